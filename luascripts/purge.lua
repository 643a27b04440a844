-- purge: deletes what waits in one index of a queue: those of the given ids that are there. What the caller has not
-- looked at stays: nobody would be told of its end. The run of a step run.node goes on the sweep: one of its nodes is
-- gone without having ended.
-- KEYS: steps sess ghosts tries uniq uniqof results history stats subs sweep index
-- ARGV: lane, seq = session; events = channel; queue; kind = 'list' or 'zset', of the index; listens = 1: answer the
--   events too; detail = event details; then ids
-- RETURNS: {0, now ms, ids taken out of the index, steps deleted, lines of the events} or {status < 0} as enqueue
--@include clock
--@include session
--@include unique
--@include stats
--@include orphans
local steps, sess, ghosts, tries, uniq, uniqof = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local results, history, stats, subs, sweep, index = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local lane, seq, events, queue, kind = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local listens, detail, IDS = ARGV[6] == '1', ARGV[7], 8

-- Guard.
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local taken, deleted, said = string.match(replay, '^(%d+) (%d+) (.*)$')
  return {0, now_ms(), tonumber(taken), tonumber(deleted), said}
end
if state ~= APPLY then
  return {state}
end
local now = now_ms()

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')
local ids, index_of = {}, {}
for i = IDS, #ARGV do
  index_of[ARGV[i]] = i - IDS
end
if kind == 'list' then
  local popped = #ARGV >= IDS and redis.call('RPOP', index, #ARGV - IDS + 1) or {}
  for i = #popped, 1, -1 do
    if not index_of[popped[i]] then
      redis.call('RPUSH', index, popped[i])
    end
  end
  for i = 1, #popped do
    if index_of[popped[i]] then
      ids[#ids + 1] = popped[i]
    end
  end
else
  for i = IDS, #ARGV do
    if redis.call('ZREM', index, ARGV[i]) == 1 then
      ids[#ids + 1] = ARGV[i]
    end
  end
end
local gone, lines = {}, {}
if #ids > 0 then
  local marks = kind == 'list' and redis.call('HMGET', ghosts, unpack(ids)) or {}
  for i = 1, #ids do
    if marks[i] then
      redis.call('HDEL', ghosts, ids[i])
    end
    if not marks[i] or string.sub(marks[i], 1, 1) ~= 'x' then
      gone[#gone + 1] = ids[i]
      lines[#lines + 1] = 'deleted ' .. queue .. ' ' .. ids[i] .. ' ' .. index_of[ids[i]] .. ' 0'
    end
  end
end
if #gone > 0 then
  free_unique(uniq, uniqof, gone, true)
  for _, side in ipairs({steps, tries, results, history}) do
    redis.call('HDEL', side, unpack(gone))
  end
  orphans(sweep, gone, now)
  count(stats, now, 'deleted', #gone)
  if redis.call('EXISTS', subs) == 1 then
    redis.call('PUBLISH', events, score(now) .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
  end
end
local said = listens and table.concat(lines, '\n') or ''
answer(sess, lane, seq, #ids .. ' ' .. #gone .. ' ' .. said)
return {0, now, #ids, #gone, said}
