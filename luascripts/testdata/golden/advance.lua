-- advance: ends steps whose end changes more than themselves, each under its fence: nodes of runs, which release those
-- that depend on them and may end their run; tasks, whose journal goes; completions with a transaction, which is checked
-- before anything is written and applied with the completion or not at all.
-- KEYS: steps sess ghosts tries uniq uniqof results history stats subs paused ids sweep runs journals
-- KEYS per queue: leased scheduled retrying snoozed waiting completed discarded cancelled waiters ready_h ready_d ready_l
-- KEYS per step: run journal
-- Where a step has no run or no journal, steps stands for it. The keys of transactions come behind.
-- ARGV: lane, seq = session; worker = worker id; max_bytes = of one value of a transaction; max_signals = that a run may
--   have queued; wake = channel prefix; events = channel; partition; partitions = how many there are;
--   detail = event details; nq, then nq queue names;
--   n, then per step: queue index, operation (c complete, k complete and keep the result, d discard), 'id:token', id,
--     body of a discarded step, result or output ('' none), keep-until ms of k, journal 0/1, item for the sweep ('' none),
--     node index or -1, run id, attempt, wide 0/1: who depends on it is left to the sweep,
--     k, k x (child's node index, queue index, lane index, delay ms),
--     j, j x (command, position of its key or 0, m, m x argument)
--   commands: set value ttl-ms-or-0; delete; incrby n; hset (field value)...; sadd member...; rpush value...;
--     signal id queue-index-of-a-single-task-or-0 name key payload; enqueue queue index, lane index, due, body
-- RETURNS: {0, now ms, {'id:token', 'lost', 'cancelled' or 'tx <command from 1> <reason>', ...}, the sweep has work 0/1, watched 0/1}
--   or {status < 0}: -1 no session, -2 stale, -3 gap
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
-- queues: the twelve keys that a call has for each of its queues, behind the fixed ones.
local PER_QUEUE = 12
local LEASED, SCHEDULED, RETRYING, SNOOZED, WAITING = 1, 2, 3, 4, 5
local COMPLETED, DISCARDED, CANCELLED = 6, 7, 8
local WAITERS, READY = 9, 9

local function queue_key(fixed, q, offset)
  return KEYS[fixed + (q - 1) * PER_QUEUE + offset]
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

local function delay(fixed, q, offset, lane_index, id, due)
  redis.call('ZADD', queue_key(fixed, q, offset), score(due * 16 + lane_index - 1), id)
  if redis.call('ZRANGE', queue_key(fixed, q, offset), 0, 0)[1] == id then
    touched[q] = true
  end
end

local function push_ready(fixed, nq)
  for q = 1, nq do
    local lanes = pending[q]
    if lanes then
      touched[q] = true
      for l = 1, 3 do
        if #lanes[l] > 0 then
          redis.call('LPUSH', queue_key(fixed, q, READY + l), unpack(lanes[l]))
        end
      end
    end
  end
end

local function wake_touched(fixed, nq, names, paused, channel, partition, now)
  for q = 1, nq do
    if touched[q] then
      wake(queue_key(fixed, q, WAITERS), paused, ARGV[names + q], channel, partition, now)
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
-- fence: which steps of a call are not held any more. fence marks each item of those with its reason; one that a ghost
-- holds keeps its lease until dispose, which ends a claim whose step was cancelled or revived meanwhile: x drops it,
-- r makes it ready.
local function fence(items, fixed, nq, ghosts)
  local lists, owners, seen = {}, {}, {}
  for i = 1, #items do
    local item = items[i]
    local list = lists[item.q] or {members = {}, items = {}}
    lists[item.q] = list
    list.members[#list.members + 1] = item.member
    list.items[#list.items + 1] = item
    owners[i] = item.id
  end
  for q = 1, nq do
    local list = lists[q]
    if list then
      local scores = redis.call('ZMSCORE', queue_key(fixed, q, LEASED), unpack(list.members))
      for i, item in ipairs(list.items) do
        if not scores[i] or seen[item.member] then
          item.reason = 'lost'
        else
          item.lane = math.floor(tonumber(scores[i]) % 16 / 2) + 1
          seen[item.member] = true
        end
      end
    end
  end
  if #owners > 0 then
    local marks = redis.call('HMGET', ghosts, unpack(owners))
    for i = 1, #items do
      if marks[i] and not items[i].reason then
        items[i].reason, items[i].mark = 'cancelled', string.sub(marks[i], 1, 1)
      end
    end
  end
end

local function dispose(item, fixed, ghosts)
  redis.call('ZREM', queue_key(fixed, item.q, LEASED), item.member)
  redis.call('HDEL', ghosts, item.id)
  if item.mark == 'r' then
    redis.call('RPUSH', queue_key(fixed, item.q, READY + item.lane), item.id)
    touched[item.q] = true
  end
end
-- send: adds a signal to those of a run; lib/signals.lua says how they are kept. gk:<key> stands for a key by which one
-- was known; gc counts those and gi:<slot> has them in their order, so that the oldest is forgotten.
local KEYS_KEPT = 1000

-- refusal tells why a signal cannot be sent, nil when it can. task is the queue of a single task, 0 for a run of many
-- steps; more is how many the same call adds before it.
local function refusal(steps, signals, fixed, id, task, key, size, max_bytes, more, max_signals)
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
      if redis.call('ZSCORE', queue_key(fixed, task, offset), id) then
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
-- run: the end of a run of many steps. Its hash has `st` (r running, F failing, X being cancelled; at the end c
-- completed, f failed, x cancelled), `left` = nodes that have not ended, `fin` = when it ended, `keep` = how long it
-- stays after that, both in ms, and `up` = 'member name' where a step of another run waits for it under that signal.
-- finish_run ends it: the unique key is free, what waits is told by the sweep. Returns the line of the event.
local function finish_run(run_hash, runs, sweep, uniq, uniqof, id, final, now)
  local kept = redis.call('HMGET', run_hash, 'keep', 'up')
  redis.call('HSET', run_hash, 'st', final, 'fin', score(now))
  redis.call('ZADD', runs, score(now + tonumber(kept[1] or 0)), id)
  redis.call('ZREM', sweep, id)
  if kept[2] then
    redis.call('ZADD', sweep, score(now), 'c ' .. id .. ' ' .. kept[2])
  end
  free_unique(uniq, uniqof, {id})
  return 'finished - ' .. id .. ' - 0 ' .. final
end
local FIXED = 15
local steps, sess, ghosts, tries, uniq, uniqof = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local results, history, stats, subs, paused = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local ids, sweep, runs, journals = KEYS[12], KEYS[13], KEYS[14], KEYS[15]
local lane, seq, worker, max_bytes, max_signals = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local wake_channel, events, partition, partitions = ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
local detail, nq = ARGV[10], tonumber(ARGV[11])
local NAMES_AT = 11 -- the queues' names come behind

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
  return {0, now, refused, sweep_has_work(now), redis.call('EXISTS', subs)}
end
if state ~= APPLY then
  return {state}
end

local items = {}
local cursor = NAMES_AT + nq + 2
for i = 1, tonumber(ARGV[NAMES_AT + nq + 1]) do
  local children = tonumber(ARGV[cursor + 12])
  local item = {
    q = tonumber(ARGV[cursor]), op = ARGV[cursor + 1], member = ARGV[cursor + 2], id = ARGV[cursor + 3],
    body = ARGV[cursor + 4], keep = ARGV[cursor + 5], has_journal = ARGV[cursor + 6] == '1', sweep = ARGV[cursor + 7],
    node = ARGV[cursor + 8], run_id = ARGV[cursor + 9], attempt = ARGV[cursor + 10], wide = ARGV[cursor + 11] == '1',
    children = cursor + 13, n = children, ops = {},
    run = FIXED + nq * PER_QUEUE + 2 * i - 1, journal = FIXED + nq * PER_QUEUE + 2 * i,
  }
  cursor = cursor + 13 + 4 * children
  local ops = tonumber(ARGV[cursor])
  cursor = cursor + 1
  for k = 1, ops do
    item.ops[k] = {kind = ARGV[cursor], key = tonumber(ARGV[cursor + 1]), n = tonumber(ARGV[cursor + 2]), at = cursor + 3}
    cursor = cursor + 3 + item.ops[k].n
  end
  items[i] = item
end
fence(items, FIXED, nq, ghosts)

-- Each run is read once for all of its nodes; what changes is kept in view and written at the end.
local views, order = {}, {}

-- view returns what is known of the item's run, the fields that the item needs among it.
local function view(item)
  local name = KEYS[item.run]
  local seen = views[name]
  if not seen then
    seen = {at = item.run, id = item.run_id, waits = {}, ended = {}, fields = {}, lowered = {}, freed = {}}
    views[name] = seen
    order[#order + 1] = seen
  end
  local wanted = {'st', 'left', 'ok', 's' .. item.node}
  for k = 0, item.n - 1 do
    wanted[5 + k] = 'd' .. ARGV[item.children + 4 * k]
  end
  local found = redis.call('HMGET', KEYS[item.run], unpack(wanted))
  seen.st, seen.left, seen.ok = found[1], tonumber(found[2]), tonumber(found[3] or 0)
  seen.ended[item.node] = found[4]
  for k = 5, #wanted do
    seen.waits[wanted[k]] = tonumber(found[k])
  end
  return seen
end

-- A run that is failing or being cancelled takes no more results: the sweep ends the node. A node without a run, or
-- one that has ended, only has its lease taken away.
local function check_node(item)
  local seen = view(item)
  item.view = seen
  if not seen.left then
    item.reason, item.mark, item.gone = 'lost', 'x', true
  elseif seen.ended[item.node] then
    item.reason, item.mark = 'cancelled', 'x'
  elseif seen.st ~= 'r' then
    item.reason = 'cancelled'
  end
end

local all, sent, follow_ups = {}, {}, 0

-- check_tx returns the position of the first command that cannot be applied, and why. What the others will have done is
-- noted for the transactions behind.
local function check_tx(item)
  local own, own_sent, own_follow_ups = {}, {}, 0
  for k, op in ipairs(item.ops) do
    local reason, after
    local name = KEYS[op.key]
    if op.kind == 'signal' then
      local before = own_sent[name] or sent[name] or 0
      reason = refusal(steps, KEYS[op.key], FIXED, ARGV[op.at], tonumber(ARGV[op.at + 1]), '', #ARGV[op.at + 3],
        max_bytes, before, max_signals)
      own_sent[name] = before + 1
    elseif op.kind == 'enqueue' then
      if #ARGV[op.at + 3] > max_bytes then
        reason = 'large'
      elseif ids_lost(ids, steps, stats) then
        reason = 'ids'
      end
      own_follow_ups = own_follow_ups + 1
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
  for name, n in pairs(own_sent) do
    sent[name] = n
  end
  follow_ups = follow_ups + own_follow_ups
end

for _, item in ipairs(items) do
  if not item.reason and item.node ~= '-1' then
    check_node(item)
  end
  if not item.reason then
    item.reason = check_tx(item)
  end
end

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')
local listeners, haunted = redis.call('EXISTS', subs), redis.call('EXISTS', ghosts) == 1
local watched = listeners == 1
local lines, refused, stored, index = {}, {}, {}, 0
local leases, gone, fresh, singles = {}, {}, {}, {}
local completed, discarded, unblocked, next_id = 0, 0, 0, nil

local function event(verb, q, id, detail_index, due)
  if watched then
    lines[#lines + 1] = verb .. ' ' .. ARGV[NAMES_AT + q] .. ' ' .. id .. ' ' .. detail_index .. ' ' .. due
  end
end

-- start puts a step that has been waiting for others, or is new, where its time asks for.
local function start(q, lane_index, id, due)
  if due > now then
    delay(FIXED, q, SCHEDULED, lane_index, id, due)
  else
    make_ready(q, lane_index, id)
  end
  event('enqueued', q, id, '-', due > now and score(due) or 0)
end

local function follow_up(op)
  next_id = next_id or redis.call('INCRBY', ids, follow_ups) - follow_ups + 1
  local id = score(next_id * partitions + tonumber(partition))
  next_id = next_id + 1
  fresh[#fresh + 1] = id
  fresh[#fresh + 1] = ARGV[op.at + 3]
  start(tonumber(ARGV[op.at]), tonumber(ARGV[op.at + 1]), id, due_at(ARGV[op.at + 2], now))
end

local function apply_tx(item)
  for _, op in ipairs(item.ops) do
    if op.kind == 'enqueue' then
      follow_up(op)
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

-- set_out is start for a node that may have been cancelled and revived: one that a claim or a list still has under a
-- ghost is made ready by whoever takes it there.
local function set_out(q, lane_index, id, due)
  if haunted and redis.call('HEXISTS', ghosts, id) == 1 then
    redis.call('HSET', ghosts, id, 'r' .. ARGV[NAMES_AT + q])
    event('enqueued', q, id, '-', 0)
  else
    start(q, lane_index, id, due)
  end
end

-- release counts an ended node down for those that depend on it.
local function release(item)
  local waits = item.view.waits
  for at = item.children, item.children + 4 * (item.n - 1), 4 do
    local field = 'd' .. ARGV[at]
    local left = waits[field]
    if left and left > 1 then
      waits[field] = left - 1
      item.view.lowered[#item.view.lowered + 1] = field
    elseif left then
      waits[field] = nil
      unblocked = unblocked + 1
      item.view.freed[#item.view.freed + 1] = field
      set_out(tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), item.run_id .. '.' .. ARGV[at],
        math.min(now + tonumber(ARGV[at + 3]), START_LIMIT))
    end
  end
end

local function set(seen, field, value)
  seen.fields[#seen.fields + 1] = field
  seen.fields[#seen.fields + 1] = value
end

local function end_node(item)
  local seen = item.view
  seen.left = seen.left - 1
  if item.op == 'd' then
    set(seen, 's' .. item.node, 'd')
    seen.sweep = true
    return
  end
  seen.ok = seen.ok + 1
  set(seen, 's' .. item.node, 'c' .. item.attempt)
  if item.body ~= '' then
    set(seen, 'o' .. item.node, item.body)
  end
  gone[#gone + 1] = item.id
  if item.wide then
    seen.sweep = true
  else
    release(item)
  end
end

local function end_single(item)
  singles[#singles + 1] = item.id
  if item.op == 'c' then
    gone[#gone + 1] = item.id
  elseif item.op == 'k' then
    redis.call('ZADD', queue_key(FIXED, item.q, COMPLETED), item.keep, item.id)
    redis.call('HSET', results, item.id, item.body)
  end
end

local function end_step(item)
  leases[item.q] = leases[item.q] or {}
  table.insert(leases[item.q], item.member)
  apply_tx(item)
  if item.view then
    end_node(item)
  else
    end_single(item)
  end
  if item.op == 'd' then
    discarded = discarded + 1
    redis.call('ZADD', queue_key(FIXED, item.q, DISCARDED), score(now), item.id)
    redis.call('HSET', steps, item.id, item.body)
  else
    completed = completed + 1
    if item.has_journal then
      redis.call('UNLINK', KEYS[item.journal])
      redis.call('ZREM', journals, item.id)
    end
  end
  if item.sweep ~= '' then
    redis.call('ZADD', sweep, score(now), item.sweep)
  end
  event(item.op == 'd' and 'discarded' or 'completed', item.q, item.id, index, 0)
end

for _, item in ipairs(items) do
  if item.reason then
    refused[#refused + 1] = item.member
    refused[#refused + 1] = item.reason
    stored[#stored + 1] = item.member .. ' ' .. item.reason .. ';'
    if item.mark then
      dispose(item, FIXED, ghosts)
    end
    if item.gone then
      gone[#gone + 1] = item.id
    end
  else
    end_step(item)
  end
  index = index + 1
end

for q = 1, nq do
  if leases[q] then
    redis.call('ZREM', queue_key(FIXED, q, LEASED), unpack(leases[q]))
  end
end
if #gone > 0 then
  redis.call('HDEL', steps, unpack(gone))
  redis.call('HDEL', tries, unpack(gone))
  redis.call('HDEL', history, unpack(gone))
end
if #fresh > 0 then
  redis.call('HSET', steps, unpack(fresh))
  count(stats, now, 'enqueued', follow_ups)
end
if #singles > 0 then
  free_unique(uniq, uniqof, singles)
end

-- end_run ends a run of which every node has completed. Whatever else has become of its nodes is the sweep's to judge.
local function end_run(seen)
  local all_ended = seen.left == 0
  if all_ended and seen.ok == tonumber(redis.call('HGET', KEYS[seen.at], 'n')) then
    local line = finish_run(KEYS[seen.at], runs, sweep, uniq, uniqof, seen.id, 'c', now)
    if watched then
      lines[#lines + 1] = line
    end
  elseif all_ended or seen.sweep then
    redis.call('ZADD', sweep, score(now), seen.id)
  end
end

for _, seen in ipairs(order) do
  if #seen.fields > 0 then
    for _, field in ipairs(seen.lowered) do
      if seen.waits[field] then
        set(seen, field, seen.waits[field])
      end
    end
    set(seen, 'left', seen.left)
    set(seen, 'ok', seen.ok)
    redis.call('HSET', KEYS[seen.at], unpack(seen.fields))
    if #seen.freed > 0 then
      redis.call('HDEL', KEYS[seen.at], unpack(seen.freed))
    end
    end_run(seen)
  end
end
push_ready(FIXED, nq)
wake_touched(FIXED, nq, NAMES_AT, paused, wake_channel, partition, now)
if completed > 0 then
  count(stats, now, 'completed', completed)
end
if discarded > 0 then
  count(stats, now, 'discarded', discarded)
end
if unblocked > 0 then
  count(stats, now, 'unblocked', unblocked)
end
if #lines > 0 then
  redis.call('PUBLISH', events, score(now) .. ' ' .. worker .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
end
answer(sess, lane, seq, table.concat(stored))
return {0, now, refused, sweep_has_work(now), listeners}
