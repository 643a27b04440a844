-- advance: ends steps whose end changes more than themselves, each under its fence: nodes of runs, which release those
-- that depend on them and may end their run; tasks, whose journal goes; completions with a transaction, which is checked
-- before anything is written and applied with the completion or not at all.
-- KEYS: steps sess ghosts tries uniq uniqof results history stats subs paused ids sweep runs journals
-- KEYS per queue: leased scheduled retrying snoozed waiting completed discarded cancelled waiters ready_h ready_d ready_l
-- KEYS per step: run journal
-- Each step has those of the two that its shape says; the nodes of one run stand one behind the other, and the first
-- brings its key. The keys of transactions come behind.
-- ARGV: lane, seq = session; worker = worker id; max_bytes = of one value of a transaction; max_signals = that a run may
--   have queued; wake = channel prefix; events = channel; partition; partitions = how many there are;
--   detail = event details, of the steps and then of what transactions enqueue; stem = length of a run's key without
--   its id; listens = 1: answer what the ends bring about; nq, then nq queue names;
--   n, then per step: shape, 'id:token', id, then what the shape says: node; result, output or body of a discarded step;
--     keep-until ms; item for the sweep; j, j x (command, position of its key or 0, m, m x argument)
--   shape: 'queue-index operation flags attempt', then ' node,queue-index,lane-index,delay-ms' per dependent to count down
--     operation: c complete, k complete and keep the result, d discard
--     flags: n a node of a run of many, o result, k keep-until, s sweep item, x transaction, j has a journal,
--       w its dependents are left to the sweep, + of the same run as the step before it, - none
--   commands: set value ttl-ms-or-0; delete; incrby n; hset (field value)...; sadd member...; rpush value...;
--     signal id queue-index-of-a-single-task-or-0 name key payload; enqueue queue index, lane index, due, body;
--     run position-of-building id deadline swept r, r x (queue index, lane index, 'run.node', due) as build has them
-- RETURNS: {0, now ms, {'id:token', 'lost', 'cancelled' or 'tx <command from 1> <reason>', ...}, the sweep has work 0/1, watched 0/1,
--   lines of the events of others: steps that may start, runs that have ended}
--   or {status < 0}: -1 no session, -2 stale, -3 gap
local FIXED = 15
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
-- stats: counts a transition in its minute and in its total.
local function count(stats, now, verb, n)
  redis.call('HINCRBY', stats, string.format('%.0f:%s', math.floor(now / 60000), verb), n)
  redis.call('HINCRBY', stats, 'total:' .. verb, n)
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
-- ids: whoever deletes the counter of ids or sets it back would have ids handed out again. ids_lost looks at it against
-- what was ever enqueued, a run of many steps counting once, and against what is stored.
local function ids_lost(ids, steps, stats)
  local last = tonumber(redis.call('GET', ids) or 0)
  local used = tonumber(redis.call('HGET', stats, 'total:enqueued') or 0)
  return last < used or last == 0 and redis.call('EXISTS', steps) == 1
end
-- int64: whole numbers of 64 bits, which are more than Lua's numbers hold: a high part and ten digits, low, below 10^10.
local TEN_DIGITS = 10000000000

local function add(a, b)
  local low = a.low + b.low
  local carry = math.floor(low / TEN_DIGITS)
  return {high = a.high + b.high + carry, low = low - carry * TEN_DIGITS}
end

local function fits(n)
  return (n.high < 922337203 or n.high == 922337203 and n.low <= 6854775807)
    and (n.high > -922337204 or n.high == -922337204 and n.low >= 3145224192)
end

-- int64 reads what Redis takes for a number, nil for anything else.
local function int64(text)
  local sign, digits = string.match(text, '^(%-?)([1-9]%d*)$')
  if text == '0' then
    return {high = 0, low = 0}
  end
  if not digits or #digits > 19 then
    return nil
  end
  local factor = sign == '-' and -1 or 1
  local n = add({high = factor * tonumber('0' .. string.sub(digits, 1, -11)), low = factor * tonumber(string.sub(digits, -10))},
    {high = 0, low = 0})
  if not fits(n) then
    return nil
  end
  return n
end
-- queues: the twelve keys that a call has for each of its queues, behind the FIXED ones of the script.
local PER_QUEUE = 12
local LEASED, SCHEDULED, RETRYING, SNOOZED, WAITING = 1, 2, 3, 4, 5
local COMPLETED, DISCARDED, CANCELLED = 6, 7, 8
local WAITERS, READY = 9, 9

local function queue_key(q, offset)
  return KEYS[FIXED + (q - 1) * PER_QUEUE + offset]
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
-- dispose: ends a claim whose step was cancelled or revived meanwhile, and whose lease has been removed: the mark x drops
-- it, r makes it ready in the lane of its lease, of which lease is the score. It tells whether something became ready.
local function leased_lane(lease)
  return math.floor(lease % 16 / 2) + 1
end

local function dispose(ghosts, q, id, mark, lease)
  redis.call('HDEL', ghosts, id)
  if string.sub(mark, 1, 1) ~= 'r' then
    return false
  end
  redis.call('RPUSH', queue_key(q, READY + leased_lane(lease)), id)
  return true
end
-- fence: which steps of a call are not held any more. fence marks each item of those with its reason, and returns
-- whether there are ghosts; an item that a ghost holds keeps its lease until let_go.
local function fence(items, nq, ghosts)
  local lists, owners, seen, missing = {}, {}, {}, {}
  for i = 1, #items do
    local item = items[i]
    local list = lists[item.q]
    if not list then
      list = {}
      lists[item.q] = list
    end
    if seen[item.member] then
      item.reason = 'lost'
    end
    seen[item.member] = true
    list[#list + 1] = item.member
    owners[i] = item.id
  end
  for q = 1, nq do
    if lists[q] then
      local held = redis.call('ZMSCORE', queue_key(q, LEASED), unpack(lists[q]))
      for k, member in ipairs(lists[q]) do
        missing[member] = not held[k]
      end
    end
  end
  local haunted = #items > 0 and redis.call('EXISTS', ghosts) == 1
  local marks = haunted and redis.call('HMGET', ghosts, unpack(owners)) or {}
  for i = 1, #items do
    local item = items[i]
    if missing[item.member] then
      item.reason = 'lost'
    elseif marks[i] and not item.reason then
      item.reason, item.mark = 'cancelled', string.sub(marks[i], 1, 1)
    end
  end
  return haunted
end

local function let_go(item, ghosts)
  local lease = redis.call('ZSCORE', queue_key(item.q, LEASED), item.member)
  redis.call('ZREM', queue_key(item.q, LEASED), item.member)
  if dispose(ghosts, item.q, item.id, item.mark, lease) then
    touched[item.q] = true
  end
end
-- send: adds a signal to those of a run; lib/signals.lua says how they are kept. gk:<key> stands for a key by which one
-- was known; gc counts those and gi:<slot> has them in their order, so that the oldest is forgotten.
local KEYS_KEPT = 1000

-- refusal tells why a signal cannot be sent, nil when it can. task is the queue of a single task, 0 for a run of many
-- steps; more is how many the same call adds before it.
local function refusal(steps, signals, id, task, key, size, max_bytes, more, max_signals)
  local known = redis.call('HMGET', signals, 'gk:' .. key, 'gn', 'st')
  if known[1] then
    return 'duplicate'
  end
  if redis.call('HEXISTS', steps, id) == 0 then
    return 'unknown'
  end
  if task == 0 then
    if known[3] ~= 'r' then
      return 'ended'
    end
  else
    for offset = COMPLETED, CANCELLED do
      if redis.call('ZSCORE', queue_key(task, offset), id) then
        return 'ended'
      end
    end
  end
  if size > max_bytes then
    return 'large'
  end
  if tonumber(known[2] or 0) + more >= max_signals then
    return 'full'
  end
  return nil
end

local function send(signals, journals, id, task, name, key, payload, now)
  local tail = redis.call('HINCRBY', signals, 'gt:' .. name, 1)
  redis.call('HSET', signals, 'g:' .. name .. ':' .. tail, payload)
  redis.call('HINCRBY', signals, 'gn', 1)
  if key ~= '' then
    local slot = 'gi:' .. redis.call('HINCRBY', signals, 'gc', 1) % KEYS_KEPT
    local oldest = redis.call('HGET', signals, slot)
    if oldest then
      redis.call('HDEL', signals, 'gk:' .. oldest)
    end
    redis.call('HSET', signals, slot, key, 'gk:' .. key, '1')
  end
  if task > 0 then
    redis.call('ZADD', journals, 'NX', score(now), id)
  end
end
-- tx: completion transactions. Each command is checked against what its key holds, or will hold by then, before anything
-- is written; what passes cannot fail. A command is {kind, key = position or 0, at, n}, its n arguments from ARGV[at].
local TX_TYPE = {incrby = 'string', hset = 'hash', sadd = 'set', rpush = 'list'}
-- TX_ARGUMENTS bounds the arguments of one command, TX_TTL a time to live, in ms: a hundred years.
local TX_ARGUMENTS, TX_TTL = 500, 3153600000000

-- key_state returns what a key will hold when its turn comes: {kind, number where it is known}.
local function key_state(position, own, all)
  local name = KEYS[position]
  if own[name] or all[name] then
    return own[name] or all[name]
  end
  return {kind = redis.call('TYPE', KEYS[position]).ok}
end

local function check_incrby(op, held)
  local number = held.number
  if held.kind == 'none' then
    number = {high = 0, low = 0}
  elseif not number and not held.written then
    number = int64(redis.call('GETRANGE', KEYS[op.key], 0, 20))
  end
  if not number then
    return 'integer'
  end
  local sum = add(number, int64(ARGV[op.at]))
  if not fits(sum) then
    return 'overflow'
  end
  return nil, {kind = 'string', number = sum}
end

-- check_command returns a reason, or nil and what the key will hold.
local function check_command(op, own, all, max_bytes)
  for i = op.at, op.at + op.n - 1 do
    if #ARGV[i] > max_bytes then
      return 'large'
    end
  end
  if op.kind == 'delete' then
    return nil, {kind = 'none'}
  end
  if op.kind == 'set' then
    local ttl = tonumber(ARGV[op.at + 1])
    if ttl < 0 or ttl > TX_TTL then
      return 'arguments'
    end
    return nil, {kind = 'string', number = int64(ARGV[op.at]), written = true}
  end
  if op.n == 0 or op.n > TX_ARGUMENTS or op.kind == 'hset' and op.n % 2 == 1 then
    return 'arguments'
  end
  local held = key_state(op.key, own, all)
  if held.kind ~= 'none' and held.kind ~= TX_TYPE[op.kind] then
    return 'type'
  end
  if op.kind == 'incrby' then
    return check_incrby(op, held)
  end
  return nil, {kind = TX_TYPE[op.kind]}
end

local function apply_command(op)
  local at, last = op.at, op.at + op.n - 1
  if op.kind == 'delete' then
    redis.call('DEL', KEYS[op.key])
  elseif op.kind == 'set' then
    if ARGV[last] == '0' then
      redis.call('SET', KEYS[op.key], ARGV[at])
    else
      redis.call('SET', KEYS[op.key], ARGV[at], 'PX', ARGV[last])
    end
  elseif op.kind == 'incrby' then
    redis.call('INCRBY', KEYS[op.key], ARGV[at])
  elseif op.kind == 'hset' then
    redis.call('HSET', KEYS[op.key], unpack(ARGV, at, last))
  elseif op.kind == 'sadd' then
    redis.call('SADD', KEYS[op.key], unpack(ARGV, at, last))
  else
    redis.call('RPUSH', KEYS[op.key], unpack(ARGV, at, last))
  end
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
-- begin: a run of many steps that was stored in parts before, and begins with the completion that enqueues it. Its hash
-- has `need` = nodes that are still to come, and it stands in building until its expiry.
local function is_built(run_hash, building, id, now)
  local ends = redis.call('ZSCORE', building, id)
  return ends and tonumber(ends) > now and redis.call('HGET', run_hash, 'need') == '0'
end

-- begin makes the run known. deadline is '' for none, swept tells that the sweep has to release the roots.
local function begin(run_hash, building, sweep, id, deadline, swept, now)
  redis.call('HSET', run_hash, 'st', 'r')
  redis.call('HDEL', run_hash, 'need')
  redis.call('ZREM', building, id)
  if deadline ~= '' then
    local ends = score(due_at(deadline, now))
    redis.call('HSET', run_hash, 'dl', ends)
    redis.call('ZADD', sweep, ends, id)
  end
  if swept then
    redis.call('ZADD', sweep, score(now), id)
  end
end
local steps, sess, ghosts, tries, uniq, uniqof = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local results, history, stats, subs, paused = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local ids, sweep, runs, journals = KEYS[12], KEYS[13], KEYS[14], KEYS[15]
local lane, seq, worker, max_bytes, max_signals = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local wake_channel, events, partition, partitions = ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
local detail, stem, listens, nq = ARGV[10], tonumber(ARGV[11]), ARGV[12] == '1', tonumber(ARGV[13])
local NAMES_AT = 13 -- the queues' names come behind

local function sweep_has_work(now)
  local first = redis.call('ZRANGE', sweep, 0, 0, 'WITHSCORES')
  if first[1] and tonumber(first[2]) <= now then
    return 1
  end
  return 0
end

-- Guard.
local now = now_ms()
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local refused = {}
  for member, reason in string.gmatch(replay, '([^ ;]+) ([^;]+);') do
    refused[#refused + 1] = member
    refused[#refused + 1] = reason
  end
  return {0, now, refused, sweep_has_work(now), redis.call('EXISTS', subs), string.match(replay, '|(.*)$')}
end
if state ~= APPLY then
  return {state}
end

-- ended_step: reads from ARGV what an ended step is, as the header of the script has it, and what its transaction does.

-- read_shape reads what many steps have in common. waits are the fields of the run that its nodes count down.
local function read_shape(text)
  local q, op, flags, attempt, rest = string.match(text, '^(%d+) (%a) (%S+) (%d+)(.*)$')
  local node = string.find(flags, 'n', 1, true) ~= nil
  local joins = string.find(flags, '+', 1, true) ~= nil
  local shape = {
    q = tonumber(q), op = op, node = node, joins = joins, mark = op == 'd' and 'd' or 'c' .. attempt, children = {}, waits = {},
    run_keys = node and not joins and 1 or 0, extra = node and 4 or 3, wide = string.find(flags, 'w') ~= nil,
    tx = string.find(flags, 'x') ~= nil, journal = string.find(flags, 'j') ~= nil,
  }
  for flag in string.gmatch(flags, '[oks]') do
    shape[flag] = shape.extra
    shape.extra = shape.extra + 1
  end
  for child, child_q, child_lane, wait in string.gmatch(rest, '(%d+),(%d+),(%d+),(%d+)') do
    shape.waits[#shape.waits + 1] = 'd' .. child
    shape.children[#shape.children + 1] = {
      field = 'd' .. child, name = '.' .. child, q = tonumber(child_q), lane = tonumber(child_lane), wait = tonumber(wait),
    }
  end
  shape.keys = shape.run_keys + (shape.journal and 1 or 0)
  return shape
end

local described = 0 -- follow-ups

local function read_tx(cursor)
  local ops, at = {}, cursor + 1
  for k = 1, tonumber(ARGV[cursor]) do
    ops[k] = {kind = ARGV[at], key = tonumber(ARGV[at + 1]), n = tonumber(ARGV[at + 2]), at = at + 3}
    at = at + 3 + ops[k].n
    if ops[k].kind == 'enqueue' then
      ops[k].index, described = described, described + 1
    end
  end
  return ops, at
end

local items, shapes, n = {}, {}, tonumber(ARGV[NAMES_AT + nq + 1])
local cursor, next_key = NAMES_AT + nq + 2, FIXED + nq * PER_QUEUE + 1
for i = 1, n do
  local shape = shapes[ARGV[cursor]]
  if not shape then
    shape = read_shape(ARGV[cursor])
    shapes[ARGV[cursor]] = shape
  end
  local item = {
    shape = shape, q = shape.q, member = ARGV[cursor + 1], id = ARGV[cursor + 2], at = cursor,
    key = shape.joins and items[i - 1].key or next_key, journal = next_key + shape.run_keys, found = false,
  }
  cursor, next_key = cursor + shape.extra, next_key + shape.keys
  if shape.tx then
    item.ops, cursor = read_tx(cursor)
  end
  items[i] = item
end
local haunted = fence(items, nq, ghosts)

-- read_run: reads runs as their nodes need them, and tells of each node whether it may end. A run is read once for all of its
-- nodes that stand one behind the other in items, which the script has.

-- ended is the field that says how a node has ended.
local function ended_field(item)
  return 's' .. ARGV[item.at + 3]
end

-- join adds the fields of one more node to those that are read of a run; places says where what nodes wait for is.
local function join(item, wanted, places)
  wanted[#wanted + 1] = ended_field(item)
  item.place = #wanted
  for _, field in ipairs(item.shape.waits) do
    if not places[field] then
      wanted[#wanted + 1] = field
      places[field] = #wanted
    end
  end
end

-- read_run reads the run of an item, for all behind it that are of the same run, and returns the position of the next.
-- found is what was read: state, left, and then how each node stands and what the dependents wait for.
local function read_run(from)
  local item, to = items[from], from
  while items[to + 1] and items[to + 1].key == item.key do
    to = to + 1
  end
  local found
  if to == from then
    item.place = 3
    found = redis.call('HMGET', KEYS[item.key], 'st', 'left', ended_field(item), unpack(item.shape.waits))
  else
    local wanted, places = {'st', 'left'}, {}
    for k = from, to do
      join(items[k], wanted, places)
    end
    found = redis.call('HMGET', KEYS[item.key], unpack(wanted))
    found.places = places
  end
  for k = from, to do
    items[k].found = found
  end
  return to + 1
end

-- place_of returns where the k-th of what a node counts down was read.
local function place_of(found, field, k)
  return found.places and found.places[field] or 3 + k
end

-- A run that is failing or being cancelled takes no more results: the sweep ends the node. A node without a run, or
-- one that has ended, only has its lease taken away.
local function check_node(item)
  local found = item.found
  if not found[2] then
    item.reason, item.mark, item.gone = 'lost', 'x', true
  elseif found[item.place] then
    item.reason, item.mark = 'cancelled', 'x'
  elseif found[1] ~= 'r' then
    item.reason = 'cancelled'
  end
end

local at = 1
while at <= n do
  at = items[at].shape.node and read_run(at) or at + 1
end

-- check_tx: whether all that a transaction does can be done. It returns the position of the first command that cannot be
-- applied, and why. What the others will have done is noted for the transactions behind. The script has steps, stats, ids,
-- max_bytes, max_signals and now.
local all, sent, follow_ups = {}, {}, 0

local function check_tx(item)
  local own, own_sent, own_follow_ups = {}, {}, 0
  for k, op in ipairs(item.ops) do
    local reason, after
    local name = KEYS[op.key]
    if op.kind == 'signal' then
      local before = own_sent[name] or sent[name] or 0
      reason = refusal(steps, KEYS[op.key], ARGV[op.at], tonumber(ARGV[op.at + 1]), '', #ARGV[op.at + 3],
        max_bytes, before, max_signals)
      own_sent[name] = before + 1
    elseif op.kind == 'enqueue' then
      if #ARGV[op.at + 3] > max_bytes then
        reason = 'large'
      elseif ids_lost(ids, steps, stats) then
        reason = 'ids'
      end
      own_follow_ups = own_follow_ups + 1
    elseif op.kind == 'run' then
      if not is_built(KEYS[op.key], KEYS[tonumber(ARGV[op.at])], ARGV[op.at + 1], now) then
        reason = 'unbuilt'
      end
    else
      reason, after = check_command(op, own, all, max_bytes)
      own[name] = after
    end
    if reason then
      return 'tx ' .. k .. ' ' .. reason
    end
  end
  for name, after in pairs(own) do
    all[name] = after
  end
  for name, count_sent in pairs(own_sent) do
    sent[name] = count_sent
  end
  follow_ups = follow_ups + own_follow_ups
end

for i = 1, n do
  local item = items[i]
  if item.found and not item.reason then
    check_node(item)
  end
  if item.ops and not item.reason then
    item.reason = check_tx(item)
  end
end

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')
local listeners = redis.call('EXISTS', subs)
local watched = listeners == 1
local lines, brought, refused, stored = {}, {}, {}, {}
local leases, gone, fresh, singles, undone, ended = {}, {}, {}, {}, {}, {}
local completed, discarded, unblocked, begun = 0, 0, 0, 0

local function event(verb, q, id, detail_index, due)
  return verb .. ' ' .. ARGV[NAMES_AT + q] .. ' ' .. id .. ' ' .. detail_index .. ' ' .. due
end

-- bring tells of what the end of a step has done to others.
local function bring(line)
  if watched then
    lines[#lines + 1] = line
  end
  brought[#brought + 1] = line
end

-- start puts a step that has been waiting for others, or is new, where its time asks for.
local function start(q, lane_index, id, due, detail_index)
  if due > now then
    delay(q, SCHEDULED, lane_index, id, due)
  else
    make_ready(q, lane_index, id)
  end
  if watched or listens then
    bring(event('enqueued', q, id, detail_index, due > now and score(due) or 0))
  end
end

-- apply_tx: does what check_tx has found possible. The script has ids, sweep, journals, partition, partitions and now, n = the
-- steps that end, start; fresh, begun and unblocked say what began.
local next_id

local function follow_up(op)
  next_id = next_id or redis.call('INCRBY', ids, follow_ups) - follow_ups + 1
  local id = score(next_id * partitions + tonumber(partition))
  next_id = next_id + 1
  fresh[#fresh + 1] = id
  fresh[#fresh + 1] = ARGV[op.at + 3]
  start(tonumber(ARGV[op.at]), tonumber(ARGV[op.at + 1]), id, due_at(ARGV[op.at + 2], now), n + op.index)
end

local function begin_run(op)
  local roots = tonumber(ARGV[op.at + 4])
  begin(KEYS[op.key], KEYS[tonumber(ARGV[op.at])], sweep, ARGV[op.at + 1], ARGV[op.at + 2], ARGV[op.at + 3] == '1', now)
  for at = op.at + 5, op.at + 1 + 4 * roots, 4 do
    start(tonumber(ARGV[at]), tonumber(ARGV[at + 1]), ARGV[at + 2], due_at(ARGV[at + 3], now), '-')
  end
  begun, unblocked = begun + 1, unblocked + roots
end

local function apply_tx(item)
  for _, op in ipairs(item.ops) do
    if op.kind == 'enqueue' then
      follow_up(op)
    elseif op.kind == 'run' then
      begin_run(op)
    elseif op.kind == 'signal' then
      local id, name = ARGV[op.at], ARGV[op.at + 2]
      send(KEYS[op.key], journals, id, tonumber(ARGV[op.at + 1]), name, '', ARGV[op.at + 3], now)
      if redis.call('HEXISTS', KEYS[op.key], 'gw:' .. name) == 1 then
        redis.call('ZADD', sweep, score(now), 's ' .. id .. ' ' .. name)
      end
    else
      apply_command(op)
    end
  end
end
-- end_node: ends a node of a run as check_node found it, and releases what depends on it; close_run then writes at once what
-- the nodes of one run have changed of it. The script has ghosts, haunted, sweep, now, stem, start, event and bring;
-- gone, ended and unblocked say what has come of it.

-- NUMBER has the texts of small numbers, which are slow to make.
local NUMBER = setmetatable({}, {__index = function(known, n)
  known[n] = string.format('%d', n)
  return known[n]
end})

-- set_out is start for a node that may have been cancelled and revived: one that a claim or a list still has under a
-- ghost is made ready by whoever takes it there.
local function set_out(q, lane_index, id, due)
  if haunted and redis.call('HEXISTS', ghosts, id) == 1 then
    redis.call('HSET', ghosts, id, 'r' .. ARGV[NAMES_AT + q])
    bring(event('enqueued', q, id, '-', 0))
  else
    start(q, lane_index, id, due, '-')
  end
end

local function run_id(item)
  return string.sub(KEYS[item.key], stem + 1)
end

-- changes are what will be written of the run at hand, m names and values; judged tells whether the sweep has to look at it.
local changes, m, judged = {'left', false}, 2, false

local function change(field, value)
  changes[m + 1], changes[m + 2] = field, value
  m = m + 2
end

-- release counts an ended node down for those that depend on it. One that nothing blocks any more keeps an empty field.
-- A field that several nodes change is written with the last value.
local function release(item, found)
  local children = item.shape.children
  for k = 1, #children do
    local child = children[k]
    local at_child = place_of(found, child.field, k)
    local left = tonumber(found[at_child])
    if left then
      found[at_child] = left > 1 and NUMBER[left - 1] or ''
      change(child.field, found[at_child])
      if left <= 1 then
        unblocked = unblocked + 1
        set_out(child.q, child.lane, run_id(item) .. child.name, math.min(now + child.wait, START_LIMIT))
      end
    end
  end
end

local function end_node(item)
  local shape, found = item.shape, item.found
  found[2] = found[2] - 1
  change(ended_field(item), shape.mark)
  if shape.op == 'd' then
    change('bad', '1')
    judged = true
    return
  end
  if shape.o then
    change('o' .. ARGV[item.at + 3], ARGV[item.at + shape.o])
  end
  gone[#gone + 1] = item.id
  if shape.wide then
    judged = true
  else
    release(item, found)
  end
end

-- conclude ends a run of which every node has completed. Whatever else has become of its nodes is the sweep's to judge.
local function conclude(item)
  if item.found[2] == 0 then
    local run = redis.call('HMGET', KEYS[item.key], 'bad', 'keep', 'up')
    if not run[1] and not judged then
      change('st', 'c')
      change('fin', score(now))
      ended[#ended + 1] = end_run(run_id(item), run[2], run[3], 'c', now)
      return
    end
  elseif not judged then
    return
  end
  redis.call('ZADD', sweep, score(now), run_id(item))
end

-- close_run writes what the nodes before it have changed of their run.
local function close_run(item)
  if m > 2 then
    conclude(item)
    changes[2] = NUMBER[item.found[2]]
    redis.call('HSET', KEYS[item.key], unpack(changes, 1, m))
    m, judged = 2, false
  end
end
-- end_step: ends a step that nothing refuses: its lease, its transaction, what it was, and what goes with it. The script has
-- steps, results, sweep and now; leases, gone, singles, undone, completed and discarded say what is left to write at once.

local function end_single(item)
  local shape = item.shape
  singles[#singles + 1] = item.id
  if shape.op == 'c' then
    gone[#gone + 1] = item.id
  elseif shape.op == 'k' then
    redis.call('ZADD', queue_key(item.q, COMPLETED), ARGV[item.at + shape.k], item.id)
    redis.call('HSET', results, item.id, shape.o and ARGV[item.at + shape.o] or '')
  end
end

local function end_step(item)
  local shape, list = item.shape, leases[item.q]
  if not list then
    list = {}
    leases[item.q] = list
  end
  list[#list + 1] = item.member
  if item.ops then
    apply_tx(item)
  end
  if item.found then
    end_node(item)
  else
    end_single(item)
  end
  if shape.op == 'd' then
    discarded = discarded + 1
    redis.call('ZADD', queue_key(item.q, DISCARDED), score(now), item.id)
    redis.call('HSET', steps, item.id, ARGV[item.at + shape.o])
  else
    completed = completed + 1
    if shape.journal then
      redis.call('UNLINK', KEYS[item.journal])
      undone[#undone + 1] = item.id
    end
  end
  if shape.s then
    redis.call('ZADD', sweep, score(now), ARGV[item.at + shape.s])
  end
end

for i = 1, n do
  local item = items[i]
  if item.reason then
    refused[#refused + 1] = item.member
    refused[#refused + 1] = item.reason
    stored[#stored + 1] = item.member .. ' ' .. item.reason .. ';'
    if item.mark then
      let_go(item, ghosts)
    end
    if item.gone then
      gone[#gone + 1] = item.id
    end
  else
    end_step(item)
    if watched then
      lines[#lines + 1] = event(item.shape.op == 'd' and 'discarded' or 'completed', item.q, item.id, i - 1, 0)
    end
  end
  if i == n or items[i + 1].found ~= item.found then
    close_run(item)
  end
end

for q = 1, nq do
  if leases[q] then
    redis.call('ZREM', queue_key(q, LEASED), unpack(leases[q]))
  end
end
if #gone > 0 then
  redis.call('HDEL', steps, unpack(gone))
  if redis.call('EXISTS', tries, history) > 0 then
    redis.call('HDEL', tries, unpack(gone))
    redis.call('HDEL', history, unpack(gone))
  end
end
if #fresh > 0 then
  redis.call('HSET', steps, unpack(fresh))
  count(stats, now, 'enqueued', follow_ups)
end
if #undone > 0 then
  redis.call('ZREM', journals, unpack(undone))
end
if #singles > 0 then
  free_unique(uniq, uniqof, singles)
end

settle_ended(runs, sweep, uniq, uniqof)
for _, line in ipairs(ended) do
  bring(line)
end
push_ready(nq)
wake_touched(nq, NAMES_AT, paused, wake_channel, partition, now)
if completed > 0 then
  count(stats, now, 'completed', completed)
end
if discarded > 0 then
  count(stats, now, 'discarded', discarded)
end
if begun > 0 then
  count(stats, now, 'enqueued', begun)
end
if unblocked > 0 then
  count(stats, now, 'unblocked', unblocked)
end
if #lines > 0 then
  redis.call('PUBLISH', events, score(now) .. ' ' .. worker .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
end
local said = listens and table.concat(brought, '\n') or nil
answer(sess, lane, seq, table.concat(stored) .. (said and '|' .. said or ''))
return {0, now, refused, sweep_has_work(now), listeners, said}
