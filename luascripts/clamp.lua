-- clamp: brings leases that end later than a full lease from now back to one lease from now, so that a clock
-- that was set back freezes nothing longer than that. Safe to send twice.
-- KEYS: leased
-- ARGV: lease_ms = the longest lease in use; limit = members at the most
-- RETURNS: {0, leases clamped}
--@include clock
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
