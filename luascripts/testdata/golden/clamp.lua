-- clamp: brings leases that end later than a full lease from now back to one lease from now, so that a clock
-- that was set back freezes nothing longer than that. Safe to send twice.
-- KEYS: leased
-- ARGV: lease_ms = the longest lease in use; limit = members at the most
-- RETURNS: {0, leases clamped}
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
local leased = KEYS[1]
local lease_ms, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local latest = now_ms() + lease_ms

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('ZREM', leased, '')
-- The upper end leaves the padding member out, whose score is +inf.
local late = redis.call('ZRANGEBYSCORE', leased, '(' .. score(latest * 16 + 15), score(START_LIMIT * 32), 'WITHSCORES', 'LIMIT', 0, limit)
for i = 1, #late, 2 do
  redis.call('ZADD', leased, score(latest * 16 + tonumber(late[i + 1]) % 16), late[i])
end
return {0, #late / 2}
