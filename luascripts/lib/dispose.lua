-- dispose: ends a claim whose step was cancelled or revived meanwhile, and whose lease has been removed: the mark x drops
-- it, r makes it ready in the lane of its lease, of which lease is the score. It tells whether something became ready.
local function leased_lane(lease)
  return math.floor(lease % 16 / 2) + 1
end

local function dispose(ghosts, q, id, mark, lease)
  redis.call('HDEL', ghosts, id)
  if string.sub(mark, 1, 1) ~= 'r' then
    return false
  end
  redis.call('RPUSH', queue_key(q, READY + leased_lane(lease)), id)
  return true
end
