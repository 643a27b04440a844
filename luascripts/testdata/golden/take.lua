-- take: gives a task the oldest queued signal of a name, recorded in its journal in the same instant, or records the
-- timeout when the deadline has passed. Safe to send twice: a record that is there is answered as it is.
-- KEYS: ghosts journals leased journal signals
-- ARGV: member = id:token; id; name; field = of the journal; head = stands before the payload in the record;
--   deadline in ms, 0 for none; timeout = the record once it has passed; first = the journal may be new 0/1
-- RETURNS: {0, now ms, 'ok', the record} or {0, now ms, 'nothing', 'lost' or 'cancelled', ''}
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
-- signals: what was sent to a run, in its hash (of a single task, its journal): gt:<name> and gh:<name> count what was
-- sent and what was taken, g:<name>:<n> is a payload, gn how many are queued in all, gw:<name> the steps that wait, as
-- 'id queue lane;'. queued tells whether there is a signal to take, and how many were taken.
local function queued(signals, name)
  local counts = redis.call('HMGET', signals, 'gt:' .. name, 'gh:' .. name)
  local head = tonumber(counts[2] or 0)
  return tonumber(counts[1] or 0) > head, head
end

-- leave_line takes a step off those that wait for a name.
local function leave_line(signals, name, id)
  local waiting = redis.call('HGET', signals, 'gw:' .. name)
  if not waiting then
    return
  end
  local line = ';' .. waiting
  local from = string.find(line, ';' .. id .. ' ', 1, true)
  if not from then
    return
  end
  local rest = string.sub(line, 2, from) .. string.sub(line, string.find(line, ';', from + 1, true) + 1)
  if rest == '' then
    redis.call('HDEL', signals, 'gw:' .. name)
  else
    redis.call('HSET', signals, 'gw:' .. name, rest)
  end
end
local ghosts, journals, leased, journal, signals = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local member, id, name, field, head = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local deadline, timeout, first = tonumber(ARGV[6]), ARGV[7], ARGV[8] == '1'

-- Guard.
local now = now_ms()
if not redis.call('ZSCORE', leased, member) then
  return {0, now, 'lost', ''}
end
if redis.call('HEXISTS', ghosts, id) == 1 then
  return {0, now, 'cancelled', ''}
end
local record = redis.call('HGET', journal, field)
if record then
  return {0, now, 'ok', record}
end
local there, taken = queued(signals, name)
local slot = 'g:' .. name .. ':' .. taken + 1
if there then
  record = head .. redis.call('HGET', signals, slot)
elseif deadline > 0 and now >= deadline then
  record = timeout
else
  return {0, now, 'nothing', ''}
end

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')
if there then
  redis.call('HDEL', signals, slot)
  redis.call('HSET', signals, 'gh:' .. name, taken + 1)
  redis.call('HINCRBY', signals, 'gn', -1)
end
leave_line(signals, name, id)
redis.call('HSET', journal, field, record)
if first then
  redis.call('ZADD', journals, 'NX', score(now), id)
end
return {0, now, 'ok', record}
