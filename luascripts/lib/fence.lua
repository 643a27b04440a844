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
