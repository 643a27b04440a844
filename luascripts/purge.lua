-- purge: deletes what waits in one index of a queue, a bounded number at a time. The run of a step run.node goes on
-- the sweep: one of its nodes is gone without having ended.
-- KEYS: steps sess ghosts tries uniq uniqof results history stats subs sweep index
-- ARGV: lane, seq = session; events = channel; queue; kind = 'list' or 'zset', of the index; limit = ids at the most
-- RETURNS: {0, now ms, ids taken out of the index, steps deleted} or {status < 0} as enqueue
--@include clock
--@include session
--@include unique
--@include stats
--@include orphans
local steps, sess, ghosts, tries, uniq, uniqof = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local results, history, stats, subs, sweep, index = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local lane, seq, events, queue, kind, limit = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])

-- Guard.
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local taken, deleted = string.match(replay, '^(%d+) (%d+)$')
  return {0, now_ms(), tonumber(taken), tonumber(deleted)}
end
if state ~= APPLY then
  return {state}
end
local now = now_ms()

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')
local ids
if kind == 'list' then
  ids = redis.call('RPOP', index, limit) or {}
else
  ids = redis.call('ZRANGE', index, 0, limit - 1)
  if #ids > 0 then
    redis.call('ZREM', index, unpack(ids))
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
      lines[#lines + 1] = 'deleted ' .. queue .. ' ' .. ids[i] .. ' - 0'
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
    redis.call('PUBLISH', events, score(now) .. '\n' .. table.concat(lines, '\n') .. '\n\n')
  end
end
answer(sess, lane, seq, #ids .. ' ' .. #gone)
return {0, now, #ids, #gone}
