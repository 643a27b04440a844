-- place: puts steps into ready or a timed index. What becomes ready is collected and pushed at the end, one command a
-- list. touched are the queues that got work, or work that is due before all other: one idle worker each is woken.
local touched, pending = {}, {}

local function make_ready(q, lane_index, id)
  local lanes = pending[q] or {{}, {}, {}}
  pending[q] = lanes
  local list = lanes[lane_index]
  list[#list + 1] = id
end

local function delay(q, offset, lane_index, id, due)
  redis.call('ZADD', queue_key(q, offset), score(due * 16 + lane_index - 1), id)
  if redis.call('ZRANGE', queue_key(q, offset), 0, 0)[1] == id then
    touched[q] = true
  end
end

local function push_ready(nq)
  for q = 1, nq do
    local lanes = pending[q]
    if lanes then
      touched[q] = true
      for l = 1, 3 do
        if #lanes[l] > 0 then
          redis.call('LPUSH', queue_key(q, READY + l), unpack(lanes[l]))
        end
      end
    end
  end
end

local function wake_touched(nq, names, paused, channel, partition, now)
  for q = 1, nq do
    if touched[q] then
      wake(queue_key(q, WAITERS), paused, ARGV[names + q], channel, partition, now)
    end
  end
end

-- due_at reads a time: '' now, '+ms' from now, or ms.
local function due_at(text, now)
  if text == '' then
    return now
  end
  local from_now = string.match(text, '^%+(.*)$')
  return math.min(from_now and now + tonumber(from_now) or tonumber(text), START_LIMIT)
end
