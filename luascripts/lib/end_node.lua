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
