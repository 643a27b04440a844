-- open: opens session lanes of a client, or renews the time they were last seen.
-- Opening a lane that exists keeps its number, so a late duplicate resets nothing. A new one begins with the time: where
-- a late duplicate makes a lane again that was forgotten, late originals of its calls have other numbers.
-- KEYS: sess sessx
-- ARGV: lane names, each 'client.number'
-- RETURNS: {0, now ms, number, ...}: per lane, that of its last call
--@include clock
local sess, sessx = KEYS[1], KEYS[2]
local now = now_ms()

-- Write. A first write that needs no memory lets the rest run at maxmemory: a worker that starts then can drain.
redis.call('HDEL', sess, '')
-- The padding value keeps the hash out of its O(n) compact encoding.
redis.call('HSETNX', sess, 'pad', string.rep('.', 65))
local numbers = {}
for i = 1, #ARGV do
  redis.call('HSETNX', sess, ARGV[i], score(now) .. ' ')
  numbers[i] = string.match(redis.call('HGET', sess, ARGV[i]), '^%d+')
  redis.call('ZADD', sessx, score(now), ARGV[i])
end
return {0, now, unpack(numbers)}
