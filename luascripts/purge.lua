-- purge: deletes what waits in one index of a queue, a bounded number at a time.
-- KEYS: steps sess ghosts tries uniq uniqof history stats index
-- ARGV: lane, seq = session; kind = 'list' or 'zset', of the index; limit = ids at the most
-- RETURNS: {0, ids taken out of the index, steps deleted} or {status < 0} as enqueue
--@include clock
--@include session
--@include unique
--@include stats
local steps, sess, ghosts, tries, uniq, uniqof = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local history, stats, index = KEYS[7], KEYS[8], KEYS[9]
local lane, seq, kind, limit = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

-- Guard.
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local taken, deleted = string.match(replay, '^(%d+) (%d+)$')
  return {0, tonumber(taken), tonumber(deleted)}
end
if state ~= APPLY then
  return {state}
end

-- Write.
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
local gone = {}
if #ids > 0 then
  local marks = kind == 'list' and redis.call('HMGET', ghosts, unpack(ids)) or {}
  for i = 1, #ids do
    if marks[i] then
      redis.call('HDEL', ghosts, ids[i])
    end
    if marks[i] ~= 'x' then
      gone[#gone + 1] = ids[i]
    end
  end
end
if #gone > 0 then
  free_unique(uniq, uniqof, gone, true)
  for _, side in ipairs({steps, tries, history}) do
    redis.call('HDEL', side, unpack(gone))
  end
  count(stats, now_ms(), 'deleted', #gone)
end
answer(sess, lane, seq, #ids .. ' ' .. #gone)
return {0, #ids, #gone}
