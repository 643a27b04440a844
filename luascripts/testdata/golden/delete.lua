-- delete: removes steps of one queue with all that is kept of them. A running one is told through its worker.
-- The run of a step run.node goes on the sweep: one of its nodes is gone without having ended.
-- KEYS: steps sess ghosts tries uniq uniqof results history stats subs sweep scheduled retrying snoozed waiting completed discarded cancelled
-- ARGV: lane, seq = session; events = channel; cancels = channel; queue; detail = event details; then ids
-- RETURNS: {0, now ms, {state before, per id}} or {status < 0} as enqueue
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
-- where: the state of one step, read from its one membership. Given a body, a step in no sorted index is
-- ready or running ('live'): ready and leased cannot be searched by id.
local function where(steps, id, indexes, names)
  for i = 1, #indexes do
    local member_score = redis.call('ZSCORE', indexes[i], id)
    if member_score then
      return names[i], member_score
    end
  end
  if redis.call('HEXISTS', steps, id) == 0 then
    return 'absent'
  end
  return 'live'
end

local NAMES = {'scheduled', 'retrying', 'snoozed', 'waiting', 'completed', 'discarded', 'cancelled'}
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
