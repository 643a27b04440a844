-- holder: who holds a unique key. holder_of returns the id, or where nobody does nil and who still stands there:
-- the key's time has passed, or its holder is gone without having freed it.
local function holder_of(uniq, uniqx, steps, digest, now)
  local id = redis.call('HGET', uniq, digest)
  if not id then
    return nil, nil
  end
  local ends = redis.call('ZSCORE', uniqx, digest)
  if ends and tonumber(ends) <= now or not ends and redis.call('HEXISTS', steps, id) == 0 then
    return nil, id
  end
  return id, nil
end

-- hold_key gives a key to an id, in place of a former one that still stands there, with a mark as lib/unique has them:
-- until a time in ms, or while the id is unfinished.
local function hold_key(uniq, uniqof, uniqx, digest, id, mark, ends, former)
  if former then
    redis.call('HDEL', uniqof, former)
  end
  redis.call('HSET', uniq, digest, id)
  redis.call('HSET', uniqof, id, mark .. digest)
  if ends then
    redis.call('ZADD', uniqx, score(ends), digest)
  else
    redis.call('ZREM', uniqx, digest)
  end
end
