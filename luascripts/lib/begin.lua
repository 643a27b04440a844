-- begin: a run of many steps that was stored in parts before, and begins with the completion that enqueues it. Its hash
-- has `need` = nodes that are still to come, and it stands in building until its expiry.
local function is_built(run_hash, building, id, now)
  local ends = redis.call('ZSCORE', building, id)
  return ends and tonumber(ends) > now and redis.call('HGET', run_hash, 'need') == '0'
end

-- begin makes the run known. deadline is '' for none, swept tells that the sweep has to release the roots.
local function begin(run_hash, building, sweep, id, deadline, swept, now)
  redis.call('HSET', run_hash, 'st', 'r')
  redis.call('HDEL', run_hash, 'need')
  redis.call('ZREM', building, id)
  if deadline ~= '' then
    local ends = score(due_at(deadline, now))
    redis.call('HSET', run_hash, 'dl', ends)
    redis.call('ZADD', sweep, ends, id)
  end
  if swept then
    redis.call('ZADD', sweep, score(now), id)
  end
end
