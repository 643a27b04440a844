-- extend: renews leases, marks attempts as started, and records the worker's own description. Safe to send
-- twice: it only ever sets a held lease to now + lease.
-- KEYS: ghosts workers
-- KEYS per queue: leased
-- ARGV: lease_ms; worker = worker id; info = its description, '' to leave it; nq;
--   then per queue: n, n x 'id:token', n x id, n x (lane*2+started)
-- RETURNS: {0, now ms, {member, reason 'lost' or 'cancelled', ...}}
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
local ghosts, workers = KEYS[1], KEYS[2]
local lease_ms, worker, info, nq = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
local now = now_ms()

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')
local lost = {}
local cursor = 5
for q = 1, nq do
  local leased = KEYS[2 + q]
  local n = tonumber(ARGV[cursor])
  local members, ids, bits = cursor + 1, cursor + n + 1, cursor + 2 * n + 1
  local scores = redis.call('ZMSCORE', leased, unpack(ARGV, members, ids - 1))
  local marks = redis.call('HMGET', ghosts, unpack(ARGV, ids, bits - 1))
  local adds = {}
  for i = 1, n do
    local member = ARGV[members + i - 1]
    if not scores[i] then
      lost[#lost + 1] = member
      lost[#lost + 1] = 'lost'
    else
      if marks[i] then
        lost[#lost + 1] = member
        lost[#lost + 1] = 'cancelled'
      end
      -- What has started stays so: a renewal from before the start may come late.
      local low = math.max(tonumber(ARGV[bits + i - 1]), tonumber(scores[i]) % 16)
      adds[#adds + 1] = score((now + lease_ms) * 16 + low)
      adds[#adds + 1] = member
    end
  end
  if #adds > 0 then
    redis.call('ZADD', leased, unpack(adds))
  end
  cursor = bits + n
end
if info ~= '' then
  redis.call('HSET', workers, worker, score(now) .. ' ' .. info)
end
return {0, now, lost}
