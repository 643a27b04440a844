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
