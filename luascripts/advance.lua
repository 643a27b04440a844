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
--   n, then per step: shape, 'id:token', id, then what the shape says: result, output or body of a discarded step;
--     keep-until ms; item for the sweep; j, j x (command, position of its key or 0, m, m x argument)
--   shape: 'queue-index operation node flags attempt', then ' node,queue-index,lane-index,delay-ms' per dependent to count down
--     operation: c complete, k complete and keep the result, d discard; node: -1 for a run of its own
--     flags: o result, k keep-until, s sweep item, x transaction, j has a journal, w its dependents are left to the sweep,
--       + of the same run as the step before it, - none
--   commands: set value ttl-ms-or-0; delete; incrby n; hset (field value)...; sadd member...; rpush value...;
--     signal id queue-index-of-a-single-task-or-0 name key payload; enqueue queue index, lane index, due, body;
--     run position-of-building id deadline swept r, r x (queue index, lane index, 'run.node', due) as build has them
-- RETURNS: {0, now ms, {'id:token', 'lost', 'cancelled' or 'tx <command from 1> <reason>', ...}, the sweep has work 0/1, watched 0/1,
--   lines of the events of others: steps that may start, runs that have ended}
--   or {status < 0}: -1 no session, -2 stale, -3 gap
--@include clock
--@include session
--@include stats
--@include wake
--@include unique
--@include ids
--@include int64
--@include queues
--@include place
--@include fence
--@include send
--@include tx
--@include run
--@include begin
local FIXED = 15
local steps, sess, ghosts, tries, uniq, uniqof = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local results, history, stats, subs, paused = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local ids, sweep, runs, journals = KEYS[12], KEYS[13], KEYS[14], KEYS[15]
local lane, seq, worker, max_bytes, max_signals = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local wake_channel, events, partition, partitions = ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
local detail, stem, listens, nq = ARGV[10], tonumber(ARGV[11]), ARGV[12] == '1', tonumber(ARGV[13])
local NAMES_AT = 13 -- the queues' names come behind

-- NUMBER has the texts of small numbers, which are slow to make.
local NUMBER = setmetatable({}, {__index = function(known, n)
  known[n] = string.format('%d', n)
  return known[n]
end})

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

-- Few shapes stand for many steps: each is read once. wanted are the fields of the run that its nodes look at.
local function read_shape(text)
  local q, op, node, flags, attempt, rest = string.match(text, '^(%d+) (%a) (%S+) (%S+) (%d+)(.*)$')
  local shape = {q = tonumber(q), op = op, children = {}, run_keys = 0, extra = 3, wide = string.find(flags, 'w') ~= nil}
  for flag in string.gmatch(flags, '[oks]') do
    shape[flag] = shape.extra
    shape.extra = shape.extra + 1
  end
  shape.tx = string.find(flags, 'x') ~= nil
  if node ~= '-1' then
    shape.node, shape.joins = node, string.find(flags, '+', 1, true) ~= nil
    shape.run_keys = shape.joins and 0 or 1
    shape.ended, shape.mark, shape.output = 's' .. node, op == 'd' and 'd' or 'c' .. attempt, 'o' .. node
    shape.wanted = {'st', 'left', shape.ended}
    for child, child_q, child_lane, wait in string.gmatch(rest, '(%d+),(%d+),(%d+),(%d+)') do
      shape.wanted[#shape.wanted + 1] = 'd' .. child
      shape.children[#shape.children + 1] = {
        field = 'd' .. child, name = '.' .. child, q = tonumber(child_q), lane = tonumber(child_lane), wait = tonumber(wait),
      }
    end
  end
  shape.journal = string.find(flags, 'j') ~= nil
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
local haunted = fence(items, FIXED, nq, ghosts)

-- join adds the fields of one more node to those that are read of a run; positions says where each is then.
local function join(positions, wanted, more)
  if not positions then
    positions = {}
    for k = 3, #wanted do
      positions[wanted[k]] = k
    end
    wanted = {unpack(wanted)}
  end
  for k = 3, #more do
    if not positions[more[k]] then
      wanted[#wanted + 1] = more[k]
      positions[more[k]] = #wanted
    end
  end
  return positions, wanted
end

-- read_run reads the run of an item, for all behind it that are of the same run, and returns the position of the next.
-- found is what was read: state, left, and then how each node stands and what the dependents wait for.
local function read_run(i)
  local from, key, wanted, positions = i, items[i].key, nil, nil
  while items[i] and items[i].key == key and items[i].shape.node do
    if not items[i].reason then
      if wanted then
        positions, wanted = join(positions, wanted, items[i].shape.wanted)
      else
        wanted = items[i].shape.wanted
      end
    end
    i = i + 1
  end
  if wanted then
    local found = redis.call('HMGET', KEYS[key], unpack(wanted))
    found[2], found.positions = tonumber(found[2]), positions
    for k = from, i - 1 do
      items[k].found = not items[k].reason and found
    end
  end
  return i
end

local at = 1
while at <= n do
  at = items[at].shape.node and read_run(at) or at + 1
end

local function position(found, field, usual)
  return found.positions and found.positions[field] or usual
end

-- A run that is failing or being cancelled takes no more results: the sweep ends the node. A node without a run, or
-- one that has ended, only has its lease taken away.
local function check_node(item)
  local found = item.found
  if not found[2] then
    item.reason, item.mark, item.gone = 'lost', 'x', true
  elseif found[position(found, item.shape.ended, 3)] then
    item.reason, item.mark = 'cancelled', 'x'
  elseif found[1] ~= 'r' then
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
  if item.found then
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
local completed, discarded, unblocked, begun, next_id = 0, 0, 0, 0, nil

local function event(verb, q, id, detail_index, due)
  return verb .. ' ' .. ARGV[NAMES_AT + q] .. ' ' .. id .. ' ' .. detail_index .. ' ' .. due
end

-- bring tells of what the end of a step has done to others.
local function bring(line)
  if watched then
    lines[#lines + 1] = line
  end
  if listens then
    brought[#brought + 1] = line
  end
end

-- start puts a step that has been waiting for others, or is new, where its time asks for.
local function start(q, lane_index, id, due, detail_index)
  if due > now then
    delay(FIXED, q, SCHEDULED, lane_index, id, due)
  else
    make_ready(q, lane_index, id)
  end
  if watched or listens then
    bring(event('enqueued', q, id, detail_index, due > now and score(due) or 0))
  end
end

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

-- changes are what will be written of the run at hand, m names and values; spots is where those of its nodes' dependents
-- are, and judged whether the sweep has to look at it.
local changes, m, spots, judged = {'left', false}, 2, {}, false

local function change(field, value)
  changes[m + 1], changes[m + 2] = field, value
  m = m + 2
end

-- release counts an ended node down for those that depend on it. One that nothing blocks any more keeps an empty field.
local function release(item, found)
  local children = item.shape.children
  for k = 1, #children do
    local child = children[k]
    local at_child = position(found, child.field, 3 + k)
    local left = tonumber(found[at_child])
    if left then
      found[at_child] = left > 1 and NUMBER[left - 1] or ''
      if not found.positions then
        change(child.field, found[at_child])
      elseif not spots[child.field] then
        change(child.field, found[at_child])
        spots[child.field] = m
      else
        changes[spots[child.field]] = found[at_child]
      end
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
  change(shape.ended, shape.mark)
  if shape.op == 'd' then
    change('bad', '1')
    judged = true
    return
  end
  if shape.o then
    change(shape.output, ARGV[item.at + shape.o])
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
    if item.found.positions then
      spots = {}
    end
  end
end

local function end_single(item)
  local shape = item.shape
  singles[#singles + 1] = item.id
  if shape.op == 'c' then
    gone[#gone + 1] = item.id
  elseif shape.op == 'k' then
    redis.call('ZADD', queue_key(FIXED, item.q, COMPLETED), ARGV[item.at + shape.k], item.id)
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
    redis.call('ZADD', queue_key(FIXED, item.q, DISCARDED), score(now), item.id)
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
      dispose(item, FIXED, ghosts)
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
  if item.found and (i == n or items[i + 1].found ~= item.found) then
    close_run(item)
  end
end

for q = 1, nq do
  if leases[q] then
    redis.call('ZREM', queue_key(FIXED, q, LEASED), unpack(leases[q]))
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
push_ready(FIXED, nq)
wake_touched(FIXED, nq, NAMES_AT, paused, wake_channel, partition, now)
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
