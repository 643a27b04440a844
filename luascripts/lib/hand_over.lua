-- hand_over: leases a step to an idle worker and sends it there; false when there is none. The worker asks with its next turn
-- for what it has not heard. The script has offers, handed, paused, wake_channel, events, partition, detail, now, watched,
-- event, and names = where the queues' names begin.

-- HAND_OVER_BYTES bounds a body that is sent to the worker, PAD keeps the lease set out of its O(n) compact encoding.
local HAND_OVER_BYTES, PAD = 16384, string.rep('.', 65)

-- taker returns the worker that came last to the line of a queue, if it offers a slot, can hear of it, and nothing else is
-- ready; and its offer, 'token lease-ms'.
local function taker(q)
  local newest = redis.call('ZRANGE', queue_key(q, WAITERS), -1, -1, 'WITHSCORES')
  if not newest[1] then
    return nil
  end
  if tonumber(newest[2]) < now then
    redis.call('DEL', offers)
    return nil
  end
  local offer = redis.call('HGET', offers, newest[1])
  if not offer or redis.call('HEXISTS', paused, ARGV[names + q]) == 1
    or redis.call('EXISTS', queue_key(q, READY + 1), queue_key(q, READY + 2), queue_key(q, READY + 3)) > 0
    or redis.call('PUBLISH', wake_channel .. newest[1], '') == 0 then
    return nil
  end
  return newest[1], offer
end

local function hand_over(q, l, id, body)
  local worker, offer = taker(q)
  if not worker then
    return false
  end
  local token, lease_ms = string.match(offer, '^(%S+) (%d+)$')
  local expiry = now + tonumber(lease_ms)
  local text = l .. ' ' .. id .. ' ' .. token .. ' ' .. score(expiry) .. ' ' .. ARGV[names + q]
  redis.call('ZREM', queue_key(q, WAITERS), worker)
  redis.call('HDEL', offers, worker)
  redis.call('ZADD', queue_key(q, LEASED), score(expiry * 16 + (l - 1) * 2), id .. ':' .. token, '+inf', PAD)
  redis.call('HSET', handed, worker, text)
  redis.call('PUBLISH', wake_channel .. worker, partition .. ' ' .. text .. '\n' .. body)
  if watched then
    event('enqueued', q, id, 0)
    redis.call('PUBLISH', events, score(now) .. '\n' .. lines[1] .. '\n\n' .. detail)
    redis.call('PUBLISH', events, score(now) .. ' ' .. worker .. '\nclaimed ' .. ARGV[names + q] .. ' ' .. id .. ' 0 0\n\n' .. detail)
    lines = {}
  end
  return true
end
