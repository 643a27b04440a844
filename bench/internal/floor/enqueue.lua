-- The least an enqueue can do: store the bodies, push the ids.
-- KEYS[1] bodies (hash)   KEYS[2] ready (list)
-- ARGV n × (id, body); sending the ids twice instead of the loop is slower
redis.call('HSET', KEYS[1], unpack(ARGV))
local ids = {}
for i = 1, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
return redis.call('LPUSH', KEYS[2], unpack(ids))
