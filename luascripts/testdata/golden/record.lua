-- record: stores what tasks have recorded, an entry each, under the fence of its attempt. Safe to send twice: a record that
-- is there already is accepted if it is equal, and refused if it is not; other entries are replaced.
-- KEYS: ghosts journals
-- KEYS per queue: leased
-- KEYS per step: journal
-- ARGV: nq, then per queue: n, n x 'id:token', n x id, n x (field, value); then those steps, from 1, that may have no journal yet
-- RETURNS: {0, now ms, {step from 1, 'lost', 'cancelled' or 'different', ...}}
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
local ghosts, journals = KEYS[1], KEYS[2]
local nq = tonumber(ARGV[1])

-- Guard.
local now = now_ms()
local haunted = redis.call('EXISTS', ghosts) == 1
local refused, reasons, entries, owners, n = {}, {}, {}, {}, 0
local cursor = 2
for q = 1, nq do
  local m = tonumber(ARGV[cursor])
  local held = redis.call('ZMSCORE', KEYS[2 + q], unpack(ARGV, cursor + 1, cursor + m))
  local marks = haunted and redis.call('HMGET', ghosts, unpack(ARGV, cursor + m + 1, cursor + 2 * m)) or {}
  for i = 1, m do
    if not held[i] then
      reasons[n + i] = 'lost'
    elseif marks[i] then
      reasons[n + i] = 'cancelled'
    end
    owners[n + i], entries[n + i] = cursor + m + i, cursor + 2 * m + 2 * i - 1
  end
  n, cursor = n + m, cursor + 4 * m + 1
end

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')

-- differs stores an entry, unless another record stands there already.
local function differs(i, field, value)
  if string.sub(field, 1, 2) ~= 'r:' then
    redis.call('HSET', KEYS[2 + nq + i], field, value)
    return false
  end
  return redis.call('HSETNX', KEYS[2 + nq + i], field, value) == 0 and redis.call('HGET', KEYS[2 + nq + i], field) ~= value
end

for i = 1, n do
  local at = entries[i]
  if not reasons[i] and differs(i, ARGV[at], ARGV[at + 1]) then
    reasons[i] = 'different'
  end
  if reasons[i] then
    refused[#refused + 1] = i
    refused[#refused + 1] = reasons[i]
  end
end
local new = {}
for k = cursor, #ARGV do
  local i = tonumber(ARGV[k])
  if not reasons[i] then
    new[#new + 1] = score(now)
    new[#new + 1] = ARGV[owners[i]]
  end
end
if #new > 0 then
  redis.call('ZADD', journals, 'NX', unpack(new))
end
return {0, now, refused}
