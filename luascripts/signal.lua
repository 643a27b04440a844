-- signal: sends a signal to a run, once for its key, and rouses the steps that wait for it in the queues that the call
-- has the keys of. Other queues are answered, and left to the sweep meanwhile. Sending counts as an enqueue: maxmemory
-- refuses it before anything is stored. Rousing goes on.
-- KEYS: steps sess stats paused sweep journals signals
-- KEYS per queue: leased scheduled retrying snoozed waiting completed discarded cancelled waiters ready_h ready_d ready_l
-- ARGV: lane, seq = session; rouse = 1: send nothing; id = of the run; task = queue index of a single task, 0 for a run
--   of many steps; name; key = by which the signal is known if it is sent again, '' for none; payload;
--   max_bytes = limit of the payload; max_signals = that a run may have queued; wake = channel prefix; partition;
--   nq, then nq queue names
-- RETURNS: {0, now ms, 'accepted', 'duplicate', 'unknown', 'ended', 'full' or 'large', {queue still to rouse, ...}}
--   or {status < 0}: -1 no session, -2 stale, -3 gap
local FIXED = 7
--@include clock
--@include session
--@include stats
--@include wake
--@include queues
--@include place
--@include signals
--@include send
local steps, sess, stats, paused = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sweep, journals, signals = KEYS[5], KEYS[6], KEYS[7]
local lane, seq, only_rouse, id, task = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4], tonumber(ARGV[5])
local name, known_by, payload = ARGV[6], ARGV[7], ARGV[8]
local max_bytes, max_signals = tonumber(ARGV[9]), tonumber(ARGV[10])
local wake_channel, partition, nq = ARGV[11], ARGV[12], tonumber(ARGV[13])
-- ROUSED is how many steps one call rouses at the most; the sweep has the others.
local ROUSED = 250

-- Guard.
local now = now_ms()
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local queues = {}
  local outcome, rest = string.match(replay, '^(%a+)(.*)$')
  for queue in string.gmatch(rest, '[^ ]+') do
    queues[#queues + 1] = queue
  end
  return {0, now, outcome, queues}
end
if state ~= APPLY then
  return {state}
end
local outcome
if not only_rouse then
  outcome = refusal(steps, signals, id, task, known_by, #payload, max_bytes, 0, max_signals)
end

-- Write. A signal comes first: it is what maxmemory refuses. Rousing begins with a write that needs no memory.
local others = {}

local function rouse()
  local item = 's ' .. id .. ' ' .. name
  redis.call('ZREM', sweep, item)
  local line = queued(signals, name) and redis.call('HGET', signals, 'gw:' .. name)
  if not line then
    return
  end
  local index_of, named, rest, roused = {}, {}, {}, 0
  for q = 1, nq do
    index_of[ARGV[13 + q]] = q
  end
  for waiter, queue, l in string.gmatch(line, '([^ ;]+) ([^ ]+) (%d);') do
    local q = index_of[queue]
    if q and roused < ROUSED then
      roused = roused + 1
      if redis.call('ZREM', queue_key(q, WAITING), waiter) == 1 then
        make_ready(q, tonumber(l), waiter)
      end
    else
      rest[#rest + 1] = waiter .. ' ' .. queue .. ' ' .. l .. ';'
      if not named[queue] then
        named[queue] = true
        others[#others + 1] = queue
      end
    end
  end
  if #rest == 0 then
    redis.call('HDEL', signals, 'gw:' .. name)
  else
    redis.call('HSET', signals, 'gw:' .. name, table.concat(rest))
    redis.call('ZADD', sweep, score(now), item)
  end
end

if not outcome then
  outcome = 'accepted'
  if not only_rouse then
    send(signals, journals, id, task, name, known_by, payload, now)
    count(stats, now, 'signalled', 1)
  end
  rouse()
end
push_ready(nq)
wake_touched(nq, 13, paused, wake_channel, partition, now)
answer(sess, lane, seq, outcome .. ' ' .. table.concat(others, ' '))
return {0, now, outcome, others}
