-- purge: deletes what waits in one index of a queue: those of the given ids that are there. What the caller has not
-- looked at stays: nobody would be told of its end. The run of a step run.node goes on the sweep: one of its nodes is
-- gone without having ended.
-- KEYS: steps sess ghosts tries uniq uniqof results history stats subs sweep index
-- ARGV: lane, seq = session; events = channel; queue; kind = 'list' or 'zset', of the index; listens = 1: answer the
--   events too; detail = event details; then ids
-- RETURNS: {0, now ms, ids taken out of the index, steps deleted, lines of the events} or {status < 0} as enqueue
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
-- session: makes a call safe to send twice. A lane's field holds 'seq answer'. The next number
-- applies, the same number replays the stored answer, a lower one is a late original and is refused,
-- a higher one means that writes were lost in a failover and the lane is void.
local APPLY, REPLAY, NO_SESSION, STALE, GAP = 0, 1, -1, -2, -3

local function session(sess, lane, seq)
  local stored = redis.call('HGET', sess, lane)
  if not stored then
    return NO_SESSION
  end
  local sep = string.find(stored, ' ', 1, true)
  local last = tonumber(string.sub(stored, 1, sep - 1))
  if seq == last then
    return REPLAY, string.sub(stored, sep + 1)
  end
  if seq < last then
    return STALE
  end
  if seq > last + 1 then
    return GAP
  end
  return APPLY
end

local function answer(sess, lane, seq, text)
  redis.call('HSET', sess, lane, string.format('%.0f', seq) .. ' ' .. text)
end
-- unique: frees the unique keys of steps that ended. uniqof has id -> mark..digest; the mark is 'u' (held
-- while unfinished, not started yet), 's' (the same, claimed at least once), 'd' (held for a duration: only an
-- operator who removes the step frees it before its time) or 'r' (of a request: it is there until its time).
local function free_unique(uniq, uniqof, ended, by_operator)
  local held = redis.call('HMGET', uniqof, unpack(ended))
  for i = 1, #ended do
    local mark = held[i] and string.sub(held[i], 1, 1) or 'r'
    if mark ~= 'r' and (by_operator or mark ~= 'd') then
      local digest = string.sub(held[i], 2)
      if redis.call('HGET', uniq, digest) == ended[i] then
        redis.call('HDEL', uniq, digest)
      end
      redis.call('HDEL', uniqof, ended[i])
    end
  end
end
-- stats: counts a transition in its minute and in its total.
local function count(stats, now, verb, n)
  redis.call('HINCRBY', stats, string.format('%.0f:%s', math.floor(now / 60000), verb), n)
  redis.call('HINCRBY', stats, 'total:' .. verb, n)
end
-- orphans: puts the runs of deleted nodes ('run.node') on the sweep, so that none waits for a node that is gone.
local function orphans(sweep, gone, now)
  for _, member in ipairs(gone) do
    local run_id = string.match(member, '^(%d+)%.')
    if run_id then
      redis.call('ZADD', sweep, score(now), run_id)
    end
  end
end
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
