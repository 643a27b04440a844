-- revive: an operator opens discarded or cancelled steps of one queue and lane again, with more attempts.
-- KEYS: steps sess ghosts tries uniq uniqof uniqx history stats subs paused waiters ready discarded cancelled
-- ARGV: lane, seq = session; events = channel; wake = channel prefix; partition; queue; detail = event details;
--   then per step: id, limit = absolute attempt limit (0: leave it), digest ('' none), note = history line without time
-- RETURNS: {0, now ms, {'revived', 'conflict=HOLDER', 'ended' (not revivable) or 'absent', per id}} or {status < 0} as enqueue
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
-- wake: tells one idle worker that a queue has work. Newest registration first; when even the newest
-- has expired all of them have. A paused queue wakes nobody: its resume does.
local function wake(waiters, paused, queue, channel, partition, now)
  local newest = redis.call('ZRANGE', waiters, -1, -1, 'WITHSCORES')
  if not newest[1] then
    return
  end
  if tonumber(newest[2]) < now then
    redis.call('DEL', waiters)
    return
  end
  if redis.call('HEXISTS', paused, queue) == 1 then
    return
  end
  redis.call('ZREM', waiters, newest[1])
  redis.call('PUBLISH', channel .. newest[1], partition)
end
-- holder: who holds a unique key. holder_of returns the id, or where nobody does nil and who still stands there:
-- the key's time has passed, or its holder is gone without having freed it.
local function holder_of(uniq, uniqx, steps, digest, now)
  local id = redis.call('HGET', uniq, digest)
  if not id then
    return nil, nil
  end
  local ends = redis.call('ZSCORE', uniqx, digest)
  if ends and tonumber(ends) <= now or not ends and redis.call('HEXISTS', steps, id) == 0 then
    return nil, id
  end
  return id, nil
end

-- hold_key gives a key to an id, in place of a former one that still stands there, with a mark as lib/unique has them:
-- until a time in ms, or while the id is unfinished.
local function hold_key(uniq, uniqof, uniqx, digest, id, mark, ends, former)
  if former then
    redis.call('HDEL', uniqof, former)
  end
  redis.call('HSET', uniq, digest, id)
  redis.call('HSET', uniqof, id, mark .. digest)
  if ends then
    redis.call('ZADD', uniqx, score(ends), digest)
  else
    redis.call('ZREM', uniqx, digest)
  end
end
-- tries: what others than the lease holder count for a step, as 'started unstarted interruptions limit
-- base': lost leases by whether the attempt had started, shutdown interruptions, the operator's absolute
-- attempt limit (0: none), and the lost leases that an operator's retry has forgiven.
local function read_tries(tries, id)
  local text = redis.call('HGET', tries, id)
  if not text then
    return 0, 0, 0, 0, 0
  end
  local s, u, i, l, b = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  return tonumber(s), tonumber(u), tonumber(i), tonumber(l), tonumber(b)
end

local function write_tries(tries, id, s, u, i, l, b)
  redis.call('HSET', tries, id, string.format('%d %d %d %d %d', s, u, i, l, b))
end

-- HISTORY_BYTES bounds the side history of one step; the oldest lines go first.
local HISTORY_BYTES = 4096

local function note(history, id, line)
  local text = (redis.call('HGET', history, id) or '') .. line .. '\n'
  while #text > HISTORY_BYTES do
    local cut = string.find(text, '\n', 1, true)
    if cut == #text then
      break
    end
    text = string.sub(text, cut + 1)
  end
  redis.call('HSET', history, id, text)
end
-- stats: counts a transition in its minute and in its total.
local function count(stats, now, verb, n)
  redis.call('HINCRBY', stats, string.format('%.0f:%s', math.floor(now / 60000), verb), n)
  redis.call('HINCRBY', stats, 'total:' .. verb, n)
end
local steps, sess, ghosts, tries, uniq, uniqof, uniqx = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local history, stats, subs, paused, waiters, ready = KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local discarded, cancelled = KEYS[14], KEYS[15]
local lane, seq, events, wake_channel = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local partition, queue, detail = ARGV[5], ARGV[6], ARGV[7]

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
local now = now_ms()

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')

-- open_again checks one step and then moves it.
local function open_again(id, limit, digest, line)
  if redis.call('HEXISTS', steps, id) == 0 then
    return 'absent'
  end
  local was_discarded = redis.call('ZSCORE', discarded, id)
  if not was_discarded and not redis.call('ZSCORE', cancelled, id) then
    return 'ended'
  end
  local holder, former
  if digest ~= '' then
    holder, former = holder_of(uniq, uniqx, steps, digest, now)
  end
  if holder and holder ~= id then
    return 'conflict=' .. holder
  end
  redis.call('ZREM', discarded, id)
  redis.call('ZREM', cancelled, id)
  if digest ~= '' then
    hold_key(uniq, uniqof, uniqx, digest, id, 's', nil, former)
  end
  local s, u, interrupted, old_limit = read_tries(tries, id)
  write_tries(tries, id, s, u, interrupted, limit > 0 and limit or old_limit, s + u)
  note(history, id, score(now) .. ' ' .. line)
  if redis.call('HEXISTS', ghosts, id) == 1 then
    redis.call('HSET', ghosts, id, 'r' .. queue)
  else
    redis.call('LPUSH', ready, id)
  end
  return 'revived'
end

local outcome, lines, revived = {}, {}, 0
for i = 8, #ARGV, 4 do
  local id = ARGV[i]
  local result = open_again(id, tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3])
  outcome[#outcome + 1] = result
  if result == 'revived' then
    revived = revived + 1
    lines[#lines + 1] = 'retried ' .. queue .. ' ' .. id .. ' ' .. (i - 8) / 4 .. ' 0'
  end
end
if revived > 0 then
  count(stats, now, 'retried', revived)
  if redis.call('EXISTS', subs) == 1 then
    redis.call('PUBLISH', events, score(now) .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
  end
  wake(waiters, paused, queue, wake_channel, partition, now)
end
answer(sess, lane, seq, table.concat(outcome, ' '))
return {0, now, outcome}
