-- suspend: takes running tasks off their slots, each under its fence, until a time or a signal. Where a signal that a
-- step waits for is queued already, the step is ready again at once.
-- KEYS: steps sess ghosts stats subs paused journals
-- KEYS per queue: leased scheduled retrying snoozed waiting completed discarded cancelled waiters ready_h ready_d ready_l
-- KEYS per step: signals journal
-- ARGV: lane, seq = session; worker = worker id; wake = channel prefix; events = channel; partition;
--   detail = event details; nq, then nq queue names;
--   n, then per step: queue index, lane index (1-3), 'id:token', id, index (w waiting, r retrying, z snoozed),
--     due ('' never, '+ms' from now, or ms), body ('' leaves it), first = its journal may be new 0/1,
--     k, k x signal name, j, j x (field, value)
-- RETURNS: {0, now ms, {'suspended', 'ready', 'lost', 'cancelled' or 'different', ...}}
--   or {status < 0}: -1 no session, -2 stale, -3 gap
local FIXED = 7
--@include clock
--@include session
--@include stats
--@include wake
--@include queues
--@include place
--@include dispose
--@include fence
--@include journal
--@include signals
local steps, sess, ghosts, stats = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local subs, paused, journals = KEYS[5], KEYS[6], KEYS[7]
local lane, seq, worker, wake_channel, events = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local partition, detail, nq = ARGV[6], ARGV[7], tonumber(ARGV[8])
local INDEX = {w = WAITING, r = RETRYING, z = SNOOZED}
local VERB = {w = 'suspended', r = 'failed', z = 'snoozed'}

-- Guard.
local now = now_ms()
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local outcomes = {}
  for outcome in string.gmatch(replay, '%a+') do
    outcomes[#outcomes + 1] = outcome
  end
  return {0, now, outcomes}
end
if state ~= APPLY then
  return {state}
end
local items = {}
local cursor = 10 + nq
for i = 1, tonumber(ARGV[9 + nq]) do
  local names = tonumber(ARGV[cursor + 8])
  local fields = tonumber(ARGV[cursor + 9 + names])
  items[i] = {
    q = tonumber(ARGV[cursor]), back = tonumber(ARGV[cursor + 1]), member = ARGV[cursor + 2], id = ARGV[cursor + 3],
    index = ARGV[cursor + 4], due = ARGV[cursor + 5], body = cursor + 6, first = ARGV[cursor + 7] == '1',
    names = cursor + 9, n = names, fields = cursor + 10 + names, j = fields,
    signals = FIXED + nq * PER_QUEUE + 2 * i - 1, journal = FIXED + nq * PER_QUEUE + 2 * i,
  }
  cursor = cursor + 10 + names + 2 * fields
end
fence(items, nq, ghosts)
for i = 1, #items do
  local item = items[i]
  if not item.reason and journal_differs(KEYS[item.journal], item.fields, item.j) then
    item.reason = 'different'
  end
end

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')
local watched = redis.call('EXISTS', subs) == 1
local lines, outcomes, counts = {}, {}, {}

local function stand_in_line(item, name)
  local waiting = redis.call('HGET', KEYS[item.signals], 'gw:' .. name) or ''
  if not string.find(';' .. waiting, ';' .. item.id .. ' ', 1, true) then
    redis.call('HSET', KEYS[item.signals], 'gw:' .. name,
      waiting .. item.id .. ' ' .. ARGV[8 + item.q] .. ' ' .. item.back .. ';')
  end
end

local function suspend(item)
  redis.call('ZREM', queue_key(item.q, LEASED), item.member)
  if ARGV[item.body] ~= '' then
    redis.call('HSET', steps, item.id, ARGV[item.body])
  end
  journal_write(KEYS[item.journal], journals, item.id, item.first, now, item.fields, item.j)
  for k = item.names, item.names + item.n - 1 do
    if queued(KEYS[item.signals], ARGV[k]) then
      make_ready(item.q, item.back, item.id)
      return 'ready', 0
    end
  end
  for k = item.names, item.names + item.n - 1 do
    stand_in_line(item, ARGV[k])
  end
  local due = item.due == '' and START_LIMIT or due_at(item.due, now)
  delay(item.q, INDEX[item.index], item.back, item.id, due)
  return 'suspended', item.due ~= '' and due or 0
end

for i = 1, #items do
  local item = items[i]
  local verb, due = VERB[item.index], 0
  outcomes[i] = item.reason
  if item.mark then
    let_go(item, ghosts)
  elseif not item.reason then
    outcomes[i], due = suspend(item)
    counts[verb] = (counts[verb] or 0) + 1
    if watched then
      lines[#lines + 1] = verb .. ' ' .. ARGV[8 + item.q] .. ' ' .. item.id .. ' ' .. i - 1 .. ' ' .. score(due)
    end
  end
end
push_ready(nq)
for _, verb in ipairs({'suspended', 'failed', 'snoozed'}) do
  if counts[verb] then
    count(stats, now, verb, counts[verb])
  end
end
wake_touched(nq, 8, paused, wake_channel, partition, now)
if #lines > 0 then
  redis.call('PUBLISH', events, score(now) .. ' ' .. worker .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
end
answer(sess, lane, seq, table.concat(outcomes, ' '))
return {0, now, outcomes}
