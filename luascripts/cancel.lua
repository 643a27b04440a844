-- cancel: ends steps of one queue for good, wherever they are. A running one is told through its worker;
-- its result is dropped. Cancelling what has ended changes nothing.
-- KEYS: steps sess ghosts uniq uniqof stats subs scheduled retrying snoozed waiting completed discarded cancelled
-- ARGV: lane, seq = session; events = channel; cancels = channel; queue; detail = event details; then ids
-- RETURNS: {0, now ms, {state before: 'scheduled' ... 'live', 'completed', 'discarded', 'cancelled' or 'absent', per id}}
--   or {status < 0} as enqueue
--@include clock
--@include session
--@include unique
--@include stats
--@include where
local steps, sess, ghosts, uniq, uniqof, stats, subs = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local cancelled = KEYS[14]
local indexes = {KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], cancelled}
local lane, seq, events, cancels, queue, detail = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local ENDED = {completed = true, discarded = true, cancelled = true, absent = true}

-- Guard.
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local list = {}
  for word in string.gmatch(replay, '[^ ]+') do
    list[#list + 1] = word
  end
  return {0, now_ms(), list}
end
if state ~= APPLY then
  return {state}
end

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')
local now = now_ms()
local before, lines, live, ended = {}, {}, {}, {}
for i = 7, #ARGV do
  local id = ARGV[i]
  local found = where(steps, id, indexes, NAMES)
  before[#before + 1] = found
  if not ENDED[found] then
    if found == 'live' then
      redis.call('HSET', ghosts, id, 'x' .. queue)
      live[#live + 1] = id
    else
      for k = 1, 4 do
        redis.call('ZREM', indexes[k], id)
      end
    end
    redis.call('ZADD', cancelled, score(now), id)
    ended[#ended + 1] = id
    lines[#lines + 1] = 'cancelled ' .. queue .. ' ' .. id .. ' ' .. i - 7 .. ' 0'
  end
end
if #ended > 0 then
  free_unique(uniq, uniqof, ended, true)
  count(stats, now, 'cancelled', #ended)
  if redis.call('EXISTS', subs) == 1 then
    redis.call('PUBLISH', events, score(now) .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
  end
end
if #live > 0 then
  redis.call('PUBLISH', cancels, table.concat(live, ' '))
end
answer(sess, lane, seq, table.concat(before, ' '))
return {0, now, before}
