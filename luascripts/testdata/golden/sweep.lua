-- sweep: applies what was planned for runs of many steps, each operation where its guard still holds: nodes are
-- cancelled, released, revived or opened again, runs are stopped, opened again or ended. Then it takes settled items
-- off the sweep, and holds items that are due for the caller.
-- KEYS: steps sess ghosts tries uniq uniqof uniqx history stats subs paused sweep runs
-- KEYS per queue: scheduled retrying snoozed waiting discarded waiters ready_h ready_d ready_l
-- KEYS per run: run
-- ARGV: lane, seq = session; wake = channel prefix; events = channel; cancels = channel; partition; detail = details of
--   the operations' events; take = items to hold at the most; hold = ms that they are held; listens = 1: answer the
--   events too; nq, then nq queue names;
--   ndone, then per settled item: item, score; nput, then per item to put on the sweep: item, score, new = 1: unless it
--   is there; nruns, then per run: id, gen = generation of the plan,
--   score = of its item, to take that off when all is done, or ''; keep = ms to hold the item for instead, or 0;
--   nops, then per operation nine arguments:
--   letter, node, queue index, lane index (1-3), was, to, due ('' now, '+ms' from now, or ms), limit, note
--     c cancel a live node as `to`      b cancel a blocked node as `to`
--     d blocked by `was` -> `to`; else nothing behind is done
--                                       r release a node blocked by `was`, at due
--     v revive a node that ended as `was`, blocked by `to` unless '', at due
--     o reopen a node that ended as `was`, limit = absolute attempt limit (0: leave it), note = history line without time
--     s state `was` -> `to`             x stop the run
--     a open the run again that is `was`, to = digest ('' none)
--     f end the run that is `was` as `to`   p put the run on the sweep
-- RETURNS: {0, now ms, {'done', 'stale', 'taken', 'absent' or 'conflict=HOLDER', per run}, {item, score, ...},
--   lines of the events} or {status < 0} as enqueue
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
-- run: the end of runs of many steps. A run's hash has `st` (r running, F failing, X being cancelled; at the end c
-- completed, f failed, x cancelled), `left` = nodes that have not ended, `bad` where one has ended without completing,
-- `fin` = when it ended, `keep` = how long it stays after that, both in ms, and `up` = 'member name' where a step of
-- another run waits for it under that signal. end_run notes a run that ends, whose hash says so already, and returns the
-- line of its event. settle_ended does what is left for those, once a call: they are removed in their time, their unique
-- keys are free, and the sweep tells who waits.
local ended_runs, over, told = {}, {}, {}

local function end_run(id, keep, up, final, now)
  ended_runs[#ended_runs + 1] = id
  over[#over + 1] = score(now + tonumber(keep or 0))
  over[#over + 1] = id
  if up then
    told[#told + 1] = score(now)
    told[#told + 1] = 'c ' .. id .. ' ' .. up
  end
  return 'finished - ' .. id .. ' - 0 ' .. final
end

local function settle_ended(runs, sweep, uniq, uniqof)
  if #ended_runs == 0 then
    return
  end
  redis.call('ZADD', runs, unpack(over))
  redis.call('ZREM', sweep, unpack(ended_runs))
  if #told > 0 then
    redis.call('ZADD', sweep, unpack(told))
  end
  free_unique(uniq, uniqof, ended_runs)
end
local FIXED, PER_QUEUE = 13, 9
local SCHEDULED, RETRYING, SNOOZED, WAITING, DISCARDED, WAITERS, READY = 1, 2, 3, 4, 5, 6, 6
local steps, sess, ghosts, tries, uniq, uniqof, uniqx = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local history, stats, subs, paused, sweep, runs = KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local lane, seq, wake_channel, events, cancels = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local partition, detail, take, hold = ARGV[6], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local listens, nq = ARGV[10] == '1', tonumber(ARGV[11])
local names = 11 -- the queues' names come behind

local function queue_key(q, offset)
  return KEYS[FIXED + (q - 1) * PER_QUEUE + offset]
end

local function run_key(r)
  return KEYS[FIXED + nq * PER_QUEUE + r]
end
-- place: puts steps into ready or a timed index. What becomes ready is collected and pushed at the end, one command a
-- list. touched are the queues that got work, or work that is due before all other: one idle worker each is woken.
local touched, pending = {}, {}

local function make_ready(q, lane_index, id)
  local lanes = pending[q] or {{}, {}, {}}
  pending[q] = lanes
  local list = lanes[lane_index]
  list[#list + 1] = id
end

local function delay(q, offset, lane_index, id, due)
  redis.call('ZADD', queue_key(q, offset), score(due * 16 + lane_index - 1), id)
  if redis.call('ZRANGE', queue_key(q, offset), 0, 0)[1] == id then
    touched[q] = true
  end
end

local function push_ready(nq)
  for q = 1, nq do
    local lanes = pending[q]
    if lanes then
      touched[q] = true
      for l = 1, 3 do
        if #lanes[l] > 0 then
          redis.call('LPUSH', queue_key(q, READY + l), unpack(lanes[l]))
        end
      end
    end
  end
end

local function wake_touched(nq, names, paused, channel, partition, now)
  for q = 1, nq do
    if touched[q] then
      wake(queue_key(q, WAITERS), paused, ARGV[names + q], channel, partition, now)
    end
  end
end

-- due_at reads a time: '' now, '+ms' from now, or ms.
local function due_at(text, now)
  if text == '' then
    return now
  end
  local from_now = string.match(text, '^%+(.*)$')
  return math.min(from_now and now + tonumber(from_now) or tonumber(text), START_LIMIT)
end

-- Guard.
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local outcomes, taken = {}, {}
  local told, held, said = string.match(replay, '^([^\n]*)\n([^|]*)|(.*)$')
  for word in string.gmatch(told, '[^ ]+') do
    outcomes[#outcomes + 1] = word
  end
  for line in string.gmatch(held, '[^\n]+') do
    taken[#taken + 1] = line
  end
  return {0, now_ms(), outcomes, taken, said}
end
if state ~= APPLY then
  return {state}
end
local now = now_ms()

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')
local LIVE = {r = true, F = true, X = true}
local lines, live, counted = {}, {}, {cancelled = 0, retried = 0, unblocked = 0}
local subscribed = redis.call('EXISTS', subs) == 1
local watched = subscribed or listens

local function tell(o, verb, due)
  if watched then
    lines[#lines + 1] = verb .. ' ' .. ARGV[names + o.q] .. ' ' .. o.member .. ' ' .. o.index .. ' ' .. (due or 0)
  end
end

-- ended and blocked return how a node stands: as what it ended, and by how much it is blocked.
local function ended(o)
  return redis.call('HGET', run_key(o.r), 's' .. o.node)
end

local function blocked(o)
  local by = redis.call('HGET', run_key(o.r), 'd' .. o.node)
  return by ~= '' and by
end

local function st(o)
  return redis.call('HGET', run_key(o.r), 'st')
end

-- overtake makes all plans stale that were made before an operator's word.
local function overtake(o)
  redis.call('HINCRBY', run_key(o.r), 'gen', 1)
end

local function by_operator(mark)
  return string.sub(mark, 1, 1) == 'x'
end

local function finish_node(o)
  redis.call('HSET', run_key(o.r), 's' .. o.node, o.to, 'bad', '1')
  if by_operator(o.to) and st(o) == 'r' then
    overtake(o)
  end
  redis.call('HINCRBY', run_key(o.r), 'left', -1)
  counted.cancelled = counted.cancelled + 1
  tell(o, 'cancelled')
end

local function open_node(o)
  redis.call('HDEL', run_key(o.r), 's' .. o.node)
  redis.call('HINCRBY', run_key(o.r), 'left', 1)
  counted.retried = counted.retried + 1
end

-- set_out makes a node ready, at its time. One that a claim or a list still has under a ghost stays where it is.
local function set_out(o, verb)
  local due = due_at(o.due, now)
  if redis.call('HEXISTS', ghosts, o.member) == 1 then
    redis.call('HSET', ghosts, o.member, 'r' .. ARGV[names + o.q])
  elseif due > now then
    delay(o.q, SCHEDULED, o.lane, o.member, due)
  else
    make_ready(o.q, o.lane, o.member)
  end
  tell(o, verb, due > now and score(due))
end

-- bodiless: a node that somebody deleted meanwhile cannot be opened again; it counts as cancelled by an operator.
local function bodiless(o)
  if redis.call('HEXISTS', steps, o.member) == 1 then
    return false
  end
  redis.call('HSET', run_key(o.r), 's' .. o.node, 'xR')
  return true
end

-- Each operation returns whether its guard held.
local apply = {}

function apply.c(o)
  if ended(o) or blocked(o) then
    return false
  end
  finish_node(o)
  if redis.call('HEXISTS', steps, o.member) == 1 then
    local waited = 0
    for offset = SCHEDULED, WAITING do
      waited = waited + redis.call('ZREM', queue_key(o.q, offset), o.member)
    end
    if waited == 0 then
      redis.call('HSET', ghosts, o.member, 'x' .. ARGV[names + o.q])
      live[#live + 1] = o.member
    end
  end
  return true
end

function apply.b(o)
  if not blocked(o) then
    return false
  end
  redis.call('HDEL', run_key(o.r), 'd' .. o.node)
  if redis.call('HEXISTS', steps, o.member) == 0 then
    redis.call('HDEL', ghosts, o.member) -- It was in no index, so whoever deleted it left this for nobody.
  end -- Else a ghost is where it ran before it was revived, and that claim is still out.
  finish_node(o)
  return true
end

function apply.d(o)
  if blocked(o) ~= o.was then
    return false
  end
  redis.call('HSET', run_key(o.r), 'd' .. o.node, o.to)
  return true
end

function apply.r(o)
  if blocked(o) ~= o.was then
    return false
  end
  redis.call('HDEL', run_key(o.r), 'd' .. o.node)
  if redis.call('HEXISTS', steps, o.member) == 0 then
    return false -- It is live and has no body now, which the next plan sees.
  end
  counted.unblocked = counted.unblocked + 1
  set_out(o, 'enqueued')
  return true
end

function apply.v(o)
  if ended(o) ~= o.was or bodiless(o) then
    return false
  end
  open_node(o)
  if by_operator(o.was) then
    overtake(o)
  end
  if o.to ~= '' then
    redis.call('HSET', run_key(o.r), 'd' .. o.node, o.to)
    tell(o, 'retried')
  else
    set_out(o, 'retried')
  end
  return true
end

function apply.o(o)
  if ended(o) ~= o.was or bodiless(o) then
    return false
  end
  redis.call('ZREM', queue_key(o.q, DISCARDED), o.member)
  local s, u, interrupted, old_limit = read_tries(tries, o.member)
  write_tries(tries, o.member, s, u, interrupted, o.limit > 0 and o.limit or old_limit, s + u)
  note(history, o.member, score(now) .. ' ' .. o.note)
  open_node(o)
  overtake(o)
  set_out(o, 'retried')
  return true
end

local function move(o, to)
  redis.call('HSET', run_key(o.r), 'st', to)
end

local function look_again(o)
  redis.call('ZADD', sweep, score(now), o.id)
end

function apply.s(o)
  if st(o) ~= o.was then
    return false
  end
  move(o, o.to)
  return true
end

function apply.x(o)
  local is = st(o)
  if is ~= 'r' and is ~= 'F' then
    return false
  end
  move(o, 'X')
  overtake(o)
  look_again(o)
  return true
end

function apply.a(o)
  if st(o) ~= o.was then
    return false
  end
  local holder, former = holder_of(uniq, uniqx, steps, o.to, now) -- nobody holds ''
  if holder and holder ~= o.id then
    return false, 'conflict=' .. holder
  end
  if o.to ~= '' then
    hold_key(uniq, uniqof, uniqx, o.to, o.id, 's', nil, former)
  end
  move(o, 'r')
  redis.call('HDEL', run_key(o.r), 'fin', 'dl')
  overtake(o)
  redis.call('ZREM', runs, o.id)
  look_again(o)
  return true
end

function apply.f(o)
  if st(o) ~= o.was or redis.call('HGET', run_key(o.r), 'left') ~= '0' then
    return false
  end
  local kept = redis.call('HMGET', run_key(o.r), 'keep', 'up')
  redis.call('HSET', run_key(o.r), 'st', o.to, 'fin', score(now))
  local line = end_run(o.id, kept[1], kept[2], o.to, now)
  if watched then
    lines[#lines + 1] = line
  end
  return true
end

function apply.p(o)
  look_again(o)
  return true
end

local OF_NODE = {c = true, b = true, d = true, r = true, v = true, o = true}

-- settled takes a run's item off the sweep, unless somebody has put it there again or its deadline is to come.
local function settled(r, id, held)
  if tonumber(redis.call('ZSCORE', sweep, id)) ~= held then
    return
  end
  local found = redis.call('HMGET', run_key(r), 'st', 'dl')
  if found[1] == 'r' and found[2] then
    redis.call('ZADD', sweep, score(math.max(tonumber(found[2]), now)), id)
  else
    redis.call('ZREM', sweep, id)
  end
end

-- hold_on holds a run's item for longer, unless somebody else has it by now or has put it there again.
local function hold_on(id, held, keep)
  if tonumber(redis.call('ZSCORE', sweep, id)) ~= held then
    return 'taken'
  end
  redis.call('ZADD', sweep, score(now + keep), id)
  return 'done'
end

-- unended tells that a live run has no node left: a node that ended since the plan was made was not the last one then,
-- and what the plan has ended was not known to whoever ended that.
local function unended(r)
  local found = redis.call('HMGET', run_key(r), 'st', 'left')
  return LIVE[found[1]] and found[2] == '0'
end

local cursor = names + nq + 1
local ndone = tonumber(ARGV[cursor])
cursor = cursor + 1
for _ = 1, ndone do
  if tonumber(redis.call('ZSCORE', sweep, ARGV[cursor])) == tonumber(ARGV[cursor + 1]) then
    redis.call('ZREM', sweep, ARGV[cursor])
  end
  cursor = cursor + 2
end
local nput = tonumber(ARGV[cursor])
cursor = cursor + 1
for _ = 1, nput do
  if ARGV[cursor + 2] == '0' or not redis.call('ZSCORE', sweep, ARGV[cursor]) then
    redis.call('ZADD', sweep, ARGV[cursor + 1], ARGV[cursor])
  end
  cursor = cursor + 3
end

local outcomes, index = {}, 0
local nruns = tonumber(ARGV[cursor])
cursor = cursor + 1
for r = 1, nruns do
  local id, gen, held = ARGV[cursor], tonumber(ARGV[cursor + 1]), ARGV[cursor + 2]
  local keep, nops = tonumber(ARGV[cursor + 3]), tonumber(ARGV[cursor + 4])
  local found = redis.call('HMGET', run_key(r), 'st', 'gen')
  local outcome = 'done'
  if not found[1] then
    outcome = 'absent'
  elseif tonumber(found[2] or 0) ~= gen then
    outcome = 'stale'
  end
  local going = outcome == 'done'
  for i = 0, nops - 1 do
    local base = cursor + 5 + 9 * i
    local o = {
      r = r, id = id, index = index + i, node = ARGV[base + 1], member = id .. '.' .. ARGV[base + 1],
      q = tonumber(ARGV[base + 2]), lane = tonumber(ARGV[base + 3]), was = ARGV[base + 4], to = ARGV[base + 5],
      due = ARGV[base + 6], limit = tonumber(ARGV[base + 7]), note = ARGV[base + 8],
    }
    if going then
      local held_good, conflict = false, nil
      if not OF_NODE[ARGV[base]] or LIVE[st(o)] then
        held_good, conflict = apply[ARGV[base]](o)
      end
      if conflict then
        outcome, going = conflict, false
      elseif not held_good then
        outcome = 'stale'
        going = ARGV[base] ~= 'd' -- What comes behind may count on it.
      end
    end
  end
  if keep > 0 then
    if outcome == 'done' then
      outcome = hold_on(id, tonumber(held), keep)
    end
  else
    if outcome == 'done' and held ~= '' and unended(r) then
      outcome = 'stale'
    end
    if held ~= '' and (outcome == 'done' or outcome == 'absent') then
      settled(r, id, tonumber(held))
    end
  end
  outcomes[r] = outcome
  index = index + nops
  cursor = cursor + 5 + 9 * nops
end

settle_ended(runs, sweep, uniq, uniqof)

local taken = {}
if take > 0 then
  local due = redis.call('ZRANGEBYSCORE', sweep, '-inf', score(now), 'LIMIT', 0, take)
  for i = 1, #due do
    redis.call('ZADD', sweep, score(now + hold), due[i])
    taken[2 * i - 1] = due[i]
    taken[2 * i] = score(now + hold)
  end
end
for verb, n in pairs(counted) do
  if n > 0 then
    count(stats, now, verb, n)
  end
end
push_ready(nq)
local said = table.concat(lines, '\n')
if subscribed and said ~= '' then
  redis.call('PUBLISH', events, score(now) .. '\n' .. said .. '\n\n' .. detail)
end
if not listens then
  said = ''
end
if #live > 0 then
  redis.call('PUBLISH', cancels, table.concat(live, ' '))
end
wake_touched(nq, names, paused, wake_channel, partition, now)
answer(sess, lane, seq, table.concat(outcomes, ' ') .. '\n' .. table.concat(taken, '\n') .. '|' .. said)
return {0, now, outcomes, taken, said}
