-- take: gives a task the oldest queued signal of a name, recorded in its journal in the same instant, or records the
-- timeout when the deadline has passed. Safe to send twice: a record that is there is answered as it is.
-- KEYS: ghosts journals leased journal signals
-- ARGV: member = id:token; id; name; field = of the journal; head = stands before the payload in the record;
--   deadline in ms, 0 for none; timeout = the record once it has passed; first = the journal may be new 0/1
-- RETURNS: {0, now ms, 'ok', the record} or {0, now ms, 'nothing', 'lost' or 'cancelled', ''}
--@include clock
--@include signals
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
