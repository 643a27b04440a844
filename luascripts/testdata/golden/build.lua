-- build: stores runs of many steps and starts the roots of those that are complete. A run comes whole, or in parts: it
-- is opened, filled and committed; until then nothing of it is seen, and it is given up at its expiry. Each run is
-- built as far as the call says or not at all. Wakes one idle worker per queue that got work.
-- Never begins with a harmless write: at maxmemory it must be refused before anything is stored.
-- KEYS: steps sess uniq uniqof uniqx ids subs stats paused sweep building
-- KEYS per queue: scheduled waiters ready_h ready_d ready_l
-- KEYS per run: run
-- ARGV: lane, seq = session; block = ids wanted for later calls; max_bytes = limit of one body;
--   wake = channel prefix; events = channel; partition; detail = details of the roots' events;
--   nq, then nq queue names;
--   nruns, then per run: shape, then what its flags say: up = 'member name' that
--   waits for it; digest; deadline ('+ms' from
--   now, or ms); then id, the graph in the phases b and o, nbodies x ('run.node', body)
--   shape: 'phase n keep flags scope expiry nbodies', then ' d<node>=count' per blocked node, then
--     ' queue-index,lane-index,node,due' per root, due: '' now, '+ms' from now, or ms
--     phase: b whole, o open, a add, c commit; keep = ms that it stays when it has ended; scope = 0 while unfinished, or ms;
--     expiry = ms from now; flags: u up, k digest, l deadline, s the sweep has to release roots, - none
-- RETURNS: {0, now ms, first id of the block or 0, {run index, 'held' 'gone' or 'short', holder id or '', ...}}
--   or {status < 0} as enqueue
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
-- stats: counts a transition in its minute and in its total.
local function count(stats, now, verb, n)
  redis.call('HINCRBY', stats, string.format('%.0f:%s', math.floor(now / 60000), verb), n)
  redis.call('HINCRBY', stats, 'total:' .. verb, n)
end
-- ids: whoever deletes the counter of ids or sets it back would have ids handed out again. ids_lost looks at it against
-- what was ever enqueued, a run of many steps counting once, and against what is stored.
local function ids_lost(ids, steps, stats)
  local last = tonumber(redis.call('GET', ids) or 0)
  local used = tonumber(redis.call('HGET', stats, 'total:enqueued') or 0)
  return last < used or last == 0 and redis.call('EXISTS', steps) == 1
end
local FIXED, PER_QUEUE = 11, 5
local SCHEDULED, WAITERS, READY = 1, 2, 2
local IDS_LOST, TOO_LARGE = -4, -5
local steps, sess, uniq, uniqof, uniqx = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local ids, subs, stats, paused, sweep, building = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local lane, seq, block, max_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local wake_channel, events, partition, detail, nq = ARGV[5], ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
local names = 9 -- the queues' names come behind

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
  local first, refusals = string.match(replay, '^(%d+)|(.*)$')
  if not first then
    return {tonumber(replay)}
  end
  local list = {}
  for index, reason, holder in string.gmatch(refusals, '(%d+)=([^=;]+)=([^=;]*);') do
    list[#list + 1] = tonumber(index)
    list[#list + 1] = reason
    list[#list + 1] = holder
  end
  return {0, now_ms(), tonumber(first), list}
end
if state ~= APPLY then
  return {state}
end

-- refuse answers for good: a late original of this call must not be applied after all.
local function refuse(status)
  answer(sess, lane, seq, status)
  return {status}
end

-- PAD keeps the hash of a run with many nodes out of its O(n) compact encoding.
local MANY, PAD = 16, string.rep('.', 65)

-- Many runs have one shape: each is read once. fields are those of the run's hash.
local function read_shape(text)
  local phase, nodes, keep, flags, scope, expiry, nbodies, rest =
    string.match(text, '^(%a) (%d+) (%d+) (%S+) (%d+) (%d+) (%d+)(.*)$')
  local whole, fields = phase == 'b' or phase == 'o', {}
  if whole then
    fields = {'n', nodes, 'left', nodes, 'keep', keep}
    if tonumber(nodes) > MANY then
      fields[7], fields[8] = 'pad', PAD
    end
  end
  for field, by in string.gmatch(rest, ' (d%d+)=(%d+)') do
    fields[#fields + 1] = field
    fields[#fields + 1] = by
  end
  if phase == 'o' then
    fields[#fields + 1] = 'need'
    fields[#fields + 1] = nodes - nbodies
  elseif phase ~= 'a' then
    fields[#fields + 1] = 'st'
    fields[#fields + 1] = 'r'
  end
  local roots = {}
  for q, l, node, due in string.gmatch(rest, ' (%d+),(%d+),(%d+),(%S*)') do
    roots[#roots + 1] = {q = tonumber(q), lane = tonumber(l), name = '.' .. node, due = due}
  end
  local shape = {
    phase = phase, scope = tonumber(scope), expiry = tonumber(expiry), nbodies = tonumber(nbodies), whole = whole,
    fields = fields, roots = roots, swept = string.find(flags, 's') ~= nil, before = 1,
    texts = 2 * nbodies + (whole and 2 or 0), -- the graph and the bodies, each behind its id
  }
  for flag in string.gmatch(flags, '[ukl]') do
    shape[flag] = shape.before
    shape.before = shape.before + 1
  end
  return shape
end

local nruns, shapes = tonumber(ARGV[names + nq + 1]), {}
local parts = {} -- of each run its shape, where it begins, and where its id and its bodies do
local cursor = names + nq + 2
for r = 1, nruns do
  local shape = shapes[ARGV[cursor]]
  if not shape then
    shape = read_shape(ARGV[cursor])
    shapes[ARGV[cursor]] = shape
  end
  local id = cursor + shape.before
  local first = shape.whole and id or id + 1
  local last = first + shape.texts - 1
  parts[r] = {shape = shape, at = cursor, id = ARGV[id], first = first, last = last}
  for i = first + 1, last, 2 do
    if #ARGV[i] > max_bytes then
      return refuse(TOO_LARGE)
    end
  end
  cursor = last + 1
end
if block > 0 and ids_lost(ids, steps, stats) then
  return refuse(IDS_LOST)
end
local now = now_ms()

-- of returns an argument that a run has by a flag.
local function of(part, flag)
  return ARGV[part.at + part.shape[flag]]
end

-- obstacle returns why a run cannot be built, and who holds its unique key or left it behind.
local function obstacle(r, part)
  local phase = part.shape.phase
  if phase == 'a' or phase == 'c' then
    local ends = redis.call('ZSCORE', building, part.id)
    if not ends or tonumber(ends) <= now then
      return 'gone'
    end
    if phase == 'c' and tonumber(redis.call('HGET', run_key(r), 'need')) ~= part.shape.nbodies then
      return 'short'
    end
  end
  if part.shape.k then
    local holder, former = holder_of(uniq, uniqx, steps, of(part, 'k'), now)
    return holder and 'held', holder, former
  end
end

-- Write: bodies first, since HSET is what maxmemory refuses.
local watched = redis.call('EXISTS', subs) == 1
local lines, index, started, unblocked = {}, 0, 0, 0
local function store(r, part)
  local shape = part.shape
  if shape.texts > 0 then
    redis.call('HSET', steps, unpack(ARGV, part.first, part.last))
  end
  if shape.phase == 'a' then
    redis.call('HINCRBY', run_key(r), 'need', 0 - shape.nbodies)
  end
  if #shape.fields > 0 then
    redis.call('HSET', run_key(r), unpack(shape.fields))
  end
  if shape.u then
    redis.call('HSET', run_key(r), 'up', of(part, 'u'))
  end
end

local function start(r, part, former)
  local id, shape = part.id, part.shape
  if shape.k then -- As if it had started: no enqueue replaces it. That of a child is a request's.
    local mark = shape.scope == 0 and 's' or shape.u and 'r' or 'd'
    hold_key(uniq, uniqof, uniqx, of(part, 'k'), id, mark, shape.scope > 0 and now + shape.scope, former)
  end
  if shape.l then
    local ends = score(due_at(of(part, 'l'), now))
    redis.call('HSET', run_key(r), 'dl', ends)
    redis.call('ZADD', sweep, ends, id)
  end
  if shape.swept then
    redis.call('ZADD', sweep, score(now), id)
    for q = 1, nq do
      touched[q] = true
    end
  end
  for i, root in ipairs(shape.roots) do
    local member, due = id .. root.name, due_at(root.due, now)
    if due > now then
      delay(root.q, SCHEDULED, root.lane, member, due)
    else
      make_ready(root.q, root.lane, member)
    end
    if watched then
      lines[#lines + 1] = 'enqueued ' .. ARGV[names + root.q] .. ' ' .. member .. ' ' .. index + i - 1 .. ' ' .. (due > now and score(due) or 0)
    end
  end
  started = started + 1
  unblocked = unblocked + #shape.roots
end

local refused, stored = {}, {}
for r = 1, nruns do
  local part = parts[r]
  local phase = part.shape.phase
  local reason, holder, former = obstacle(r, part)
  if reason then
    refused[#refused + 1] = r
    refused[#refused + 1] = reason
    refused[#refused + 1] = holder or ''
    stored[#stored + 1] = r .. '=' .. reason .. '=' .. (holder or '') .. ';'
  else
    store(r, part)
    if phase == 'o' or phase == 'a' then
      redis.call('ZADD', building, score(now + part.shape.expiry), part.id)
    else
      start(r, part, former)
      if phase == 'c' then
        redis.call('HDEL', run_key(r), 'need')
        redis.call('ZREM', building, part.id)
      end
    end
  end
  index = index + #part.shape.roots
end
local first = 0
if block > 0 then
  first = redis.call('INCRBY', ids, block) - block + 1
end
-- Of a run one id was used, whatever number of nodes it has: ids_lost counts on it.
if started > 0 then
  count(stats, now, 'enqueued', started)
end
if unblocked > 0 then
  count(stats, now, 'unblocked', unblocked)
end
push_ready(nq)
if #lines > 0 then
  redis.call('PUBLISH', events, score(now) .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
end
wake_touched(nq, names, paused, wake_channel, partition, now)
answer(sess, lane, seq, string.format('%.0f', first) .. '|' .. table.concat(stored))
return {0, now, first, refused}
