-- The least an enqueue can do: store the bodies, push the ids.
-- KEYS[1] bodies (hash)   KEYS[2] ready (list)
-- ARGV[1] n   ARGV[2..] n × (id, body), then the n ids once more: no loop in Lua
local last = 1 + 2 * tonumber(ARGV[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 2, last))
return redis.call('LPUSH', KEYS[2], unpack(ARGV, last + 1))
