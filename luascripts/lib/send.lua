-- send: adds a signal to those of a run; lib/signals.lua says how they are kept. gk:<key> stands for a key by which one
-- was known; gc counts those and gi:<slot> has them in their order, so that the oldest is forgotten.
local KEYS_KEPT = 1000

-- refusal tells why a signal cannot be sent, nil when it can. task is the queue of a single task, 0 for a run of many
-- steps; more is how many the same call adds before it.
local function refusal(steps, signals, id, task, key, size, max_bytes, more, max_signals)
  local known = redis.call('HMGET', signals, 'gk:' .. key, 'gn', 'st')
  if known[1] then
    return 'duplicate'
  end
  if redis.call('HEXISTS', steps, id) == 0 then
    return 'unknown'
  end
  if task == 0 then
    if known[3] ~= 'r' then
      return 'ended'
    end
  else
    for offset = COMPLETED, CANCELLED do
      if redis.call('ZSCORE', queue_key(task, offset), id) then
        return 'ended'
      end
    end
  end
  if size > max_bytes then
    return 'large'
  end
  if tonumber(known[2] or 0) + more >= max_signals then
    return 'full'
  end
  return nil
end

local function send(signals, journals, id, task, name, key, payload, now)
  local tail = redis.call('HINCRBY', signals, 'gt:' .. name, 1)
  redis.call('HSET', signals, 'g:' .. name .. ':' .. tail, payload)
  redis.call('HINCRBY', signals, 'gn', 1)
  if key ~= '' then
    local slot = 'gi:' .. redis.call('HINCRBY', signals, 'gc', 1) % KEYS_KEPT
    local oldest = redis.call('HGET', signals, slot)
    if oldest then
      redis.call('HDEL', signals, 'gk:' .. oldest)
    end
    redis.call('HSET', signals, slot, key, 'gk:' .. key, '1')
  end
  if task > 0 then
    redis.call('ZADD', journals, 'NX', score(now), id)
  end
end
