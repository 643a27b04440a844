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
