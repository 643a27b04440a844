-- read_run: reads runs as their nodes need them, and tells of each node whether it may end. A run is read once for all of its
-- nodes that stand one behind the other in items, which the script has.

-- join adds the fields of one more node to those that are read of a run; positions says where those are that do not stand
-- where a node alone has them.
local function join(positions, wanted, more)
  if not positions then
    positions, wanted = {}, {unpack(wanted)}
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
local function read_run(from)
  local key, wanted, positions, i = items[from].key, items[from].shape.wanted, nil, from + 1
  while items[i] and items[i].key == key do
    positions, wanted = join(positions, wanted, items[i].shape.wanted)
    i = i + 1
  end
  local found = redis.call('HMGET', KEYS[key], unpack(wanted))
  found[2], found.positions = tonumber(found[2]), positions
  for k = from, i - 1 do
    items[k].found = found
  end
  return i
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
