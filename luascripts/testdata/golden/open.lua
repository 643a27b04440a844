-- open: opens session lanes of a client, or renews the time they were last seen.
-- Opening a lane that exists keeps its number, so a late duplicate resets nothing. A new one begins with the time: where
-- a late duplicate makes a lane again that was forgotten, late originals of its calls have other numbers.
-- KEYS: sess sessx
-- ARGV: lane names, each 'client.number'
-- RETURNS: {0, now ms, number, ...}: per lane, that of its last call
-- clock: Redis' own time in whole milliseconds, the only clock that decides anything.
local function now_ms()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- score renders an index score exactly; '..' would lose digits past the 14th.
local function score(n)
  return string.format('%.0f', n)
end

-- START_LIMIT is the year 2150 in ms: ms*16+lane stays exact in a double up to there.
local START_LIMIT = 5680281600000
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
