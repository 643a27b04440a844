-- open: opens session lanes of a client, or renews the time they were last seen.
-- Opening a lane that exists keeps its number, so a late duplicate resets nothing.
-- KEYS: sess sessx
-- ARGV: lane names, each 'client.number'
-- RETURNS: {0, now ms}
--@include clock
local sess, sessx = KEYS[1], KEYS[2]
local now = now_ms()

-- Write. A first write that needs no memory lets the rest run at maxmemory: a worker that starts then can drain.
redis.call('HDEL', sess, '')
-- The padding value keeps the hash out of its O(n) compact encoding.
redis.call('HSETNX', sess, 'pad', string.rep('.', 65))
for i = 1, #ARGV do
  redis.call('HSETNX', sess, ARGV[i], '0 ')
  redis.call('ZADD', sessx, score(now), ARGV[i])
end
return {0, now}
