-- line: the workers that wait for a queue's work. line is how many they are. The script has room, delayed, offers, paused,
-- worker, wait_ms, wake_channel, partition, now; rank = most workers in front of this one, in_line = it stands in some line.

-- wake_peer wakes another for what is left. A worker without room will not look when a step that it has delayed is due: a
-- peer has to know of it.
local function wake_peer(q, line)
  if line > 0 and (delayed[q] and room[q] <= 0
    or redis.call('EXISTS', queue_key(q, READY + 1), queue_key(q, READY + 2), queue_key(q, READY + 3)) > 0) then
    wake(queue_key(q, WAITERS), paused, queue_name(q), wake_channel, partition, now)
  end
end

local function stand_in_line(q, line)
  if line > 0 then -- Those who died in line are in front of nobody.
    local dead = redis.call('ZRANGEBYSCORE', queue_key(q, WAITERS), '-inf', '(' .. score(now), 'LIMIT', 0, 100)
    if #dead > 0 then
      line = line - redis.call('ZREM', queue_key(q, WAITERS), unpack(dead))
      redis.call('HDEL', offers, unpack(dead))
    end
  end
  rank = math.max(rank, line)
  redis.call('ZADD', queue_key(q, WAITERS), score(now + wait_ms), worker)
  in_line = true
end
