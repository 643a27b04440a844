-- replace: swaps the body of a holder that has not started; false when it cannot. A holder that is ready stays ready: it
-- starts with the new body, whatever delay came with it. The script has steps, uniqof, now, and touched = the queues that
-- got work.

-- place puts an id into the index that its due time asks for.
local function place(q, l, id, due)
  if due > now then
    local member_score = score(math.min(due, START_LIMIT) * 16 + l - 1)
    redis.call('ZADD', queue_key(q, SCHEDULED), member_score, id)
    if redis.call('ZRANGE', queue_key(q, SCHEDULED), 0, 0)[1] == id then
      touched[q] = true
    end
    return
  end
  redis.call('LPUSH', queue_key(q, READY + l), id)
  touched[q] = true
end

local function replace(q, l, holder, due, body)
  local mark = redis.call('HGET', uniqof, holder)
  if not mark or string.sub(mark, 1, 1) ~= 'u' then
    return false
  end
  redis.call('HSET', steps, holder, body)
  if redis.call('ZREM', queue_key(q, SCHEDULED), holder) == 1 then
    place(q, l, holder, due)
  end
  return true
end
