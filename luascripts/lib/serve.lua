-- serve: does what is due in an index and returns when the next member is, in ms. An index takes three quarters of what is
-- left of the budget at the most, so that a flood in one does not keep the next ones waiting. The script has now, PAD that
-- is no member, budget, and more = 1 when there is more to do.
local function upcoming(q, offset)
  local first = redis.call('ZRANGE', queue_key(q, offset), 0, 0, 'WITHSCORES')
  if not first[1] or first[1] == PAD then
    return math.huge
  end
  return math.floor(tonumber(first[2]) / 16)
end

local function serve(q, offset, duty)
  local at = upcoming(q, offset)
  if at > now then
    return at
  end
  local most = math.ceil(budget * 3 / 4)
  local done = duty(q, offset, most)
  budget = budget - done
  if done == most then
    more = 1
  end
  return upcoming(q, offset)
end
