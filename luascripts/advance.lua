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
