-- serve: does what is due in an index and returns when the next member is, in ms. The script has now, and PAD that is no
-- member.
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
  duty(q, offset)
  return upcoming(q, offset)
end
