-- reschedule: gives a step that waits for its time another time, or makes it ready now. The times in a task's journal
-- that it waits for move along: what was recorded about a sleep, a timeout or a next try is replaced.
-- KEYS: steps sess subs paused waiters ready scheduled retrying snoozed waiting journal
-- ARGV: lane, seq = session; events = channel; wake = channel prefix; partition; queue; detail = event details;
--   id; lane index (0-2); due = ms, or '' for now; seen = the time in ms that it is expected to wait for, '' for any;
--   then per time in the journal: field, value as it was seen, new value
-- RETURNS: {0, now ms, state before: 'scheduled', 'retrying', 'snoozed', 'waiting', or why not: 'live', 'absent', or
--   'moved' when it waits for another time} or {status < 0} as enqueue
--@include clock
--@include session
--@include wake
--@include where
local steps, sess, subs, paused, waiters, ready = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local indexes = {KEYS[7], KEYS[8], KEYS[9], KEYS[10]}
local journal = KEYS[11]
local lane, seq, events, wake_channel = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local partition, queue, detail, id, priority, due = ARGV[5], ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9]), ARGV[10]
local seen, TIMES = ARGV[11], 12

-- Guard.
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  return {0, now_ms(), replay}
end
if state ~= APPLY then
  return {state}
end
local now = now_ms()
local found, was = where(steps, id, indexes, NAMES)
if was and seen ~= '' and math.floor(tonumber(was) / 16) ~= tonumber(seen) then
  found = 'moved'
end

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('ZREM', indexes[1], '')
for i = 1, #indexes do
  if found == NAMES[i] then
    local verb = 'promoted'
    if due == '' then
      redis.call('ZREM', indexes[i], id)
      redis.call('LPUSH', ready, id)
      due = 0
    else
      verb = 'rescheduled'
      due = math.min(tonumber(due), START_LIMIT)
      redis.call('ZADD', indexes[i], score(due * 16 + priority), id)
    end
    for t = TIMES, #ARGV, 3 do
      if redis.call('HGET', journal, ARGV[t]) == ARGV[t + 1] then
        redis.call('HSET', journal, ARGV[t], ARGV[t + 2])
      end
    end
    if redis.call('EXISTS', subs) == 1 then
      redis.call('PUBLISH', events,
        score(now) .. '\n' .. verb .. ' ' .. queue .. ' ' .. id .. ' 0 ' .. score(due) .. '\n\n' .. detail)
    end
    wake(waiters, paused, queue, wake_channel, partition, now)
  end
end
answer(sess, lane, seq, found)
return {0, now, found}
