-- delete: removes steps of one queue with all that is kept of them. A running one is told through its worker.
-- The run of a step run.node goes on the sweep: one of its nodes is gone without having ended.
-- KEYS: steps sess ghosts tries uniq uniqof results history stats subs sweep scheduled retrying snoozed waiting completed discarded cancelled
-- ARGV: lane, seq = session; events = channel; cancels = channel; queue; detail = event details; then ids
-- RETURNS: {0, now ms, {state before, per id}} or {status < 0} as enqueue
--@include clock
--@include session
--@include unique
--@include stats
--@include where
--@include orphans
local steps, sess, ghosts, tries, uniq, uniqof = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local results, history, stats, subs, sweep = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local indexes = {KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17], KEYS[18]}
local lane, seq, events, cancels, queue, detail = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]

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
local before, lines, live, gone = {}, {}, {}, {}
for i = 7, #ARGV do
  local id = ARGV[i]
  local found = where(steps, id, indexes, NAMES)
  before[#before + 1] = found
  if found ~= 'absent' then
    if found == 'live' then
      redis.call('HSET', ghosts, id, 'x' .. queue)
      live[#live + 1] = id
    end
    for k = 1, #indexes do
      redis.call('ZREM', indexes[k], id)
    end
    redis.call('HDEL', steps, id)
    gone[#gone + 1] = id
    lines[#lines + 1] = 'deleted ' .. queue .. ' ' .. id .. ' ' .. i - 7 .. ' 0'
  end
end
if #gone > 0 then
  free_unique(uniq, uniqof, gone, true)
  for _, side in ipairs({tries, results, history}) do
    redis.call('HDEL', side, unpack(gone))
  end
  orphans(sweep, gone, now)
  count(stats, now, 'deleted', #gone)
  if redis.call('EXISTS', subs) == 1 then
    redis.call('PUBLISH', events, score(now) .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
  end
end
if #live > 0 then
  redis.call('PUBLISH', cancels, table.concat(live, ' '))
end
answer(sess, lane, seq, table.concat(before, ' '))
return {0, now, before}
