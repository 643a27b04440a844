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
--@include clock
--@include session
--@include stats
--@include wake
--@include unique
--@include ids
--@include int64
--@include queues
--@include place
--@include dispose
--@include fence
--@include send
--@include tx
--@include run
--@include begin
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

--@include ended_step

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

--@include read_run

local at = 1
while at <= n do
  at = items[at].shape.node and read_run(at) or at + 1
end

--@include check_tx

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

--@include apply_tx
--@include end_node
--@include end_step

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
