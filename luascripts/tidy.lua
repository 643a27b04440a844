-- tidy: forgets what time has made void in one partition: session lanes that were not seen for long, unique
-- keys whose duration has passed, counters of old minutes. Bounded, and safe to send twice.
-- KEYS: sess sessx uniq uniqof uniqx stats
-- ARGV: session_ms = life of an unseen lane; minutes = age of the oldest counters; limit = entries at the
--   most of each kind; then the verbs that stats counts
-- RETURNS: {0, lanes forgotten, unique keys freed}
--@include clock
local sess, sessx, uniq, uniqof, uniqx, stats = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local session_ms, minutes, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = now_ms()

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', sess, '')
local unseen = redis.call('ZRANGEBYSCORE', sessx, '-inf', score(now - session_ms), 'LIMIT', 0, limit)
if #unseen > 0 then
  redis.call('HDEL', sess, unpack(unseen))
  redis.call('ZREM', sessx, unpack(unseen))
end
local ended = redis.call('ZRANGEBYSCORE', uniqx, '-inf', score(now), 'LIMIT', 0, limit)
for _, digest in ipairs(ended) do
  local id = redis.call('HGET', uniq, digest)
  if id then
    redis.call('HDEL', uniqof, id)
  end
  redis.call('HDEL', uniq, digest)
  redis.call('ZREM', uniqx, digest)
end
-- Counters: on from the minute at which the last call stopped, so that none stays after a time without calls.
local oldest = math.floor(now / 60000) - minutes
local at = tonumber(redis.call('HGET', stats, 'total:tidied') or oldest - 10)
local upto = math.min(oldest, at + math.ceil(limit / (#ARGV - 3)))
local fields = {}
for minute = at + 1, upto do
  for i = 4, #ARGV do
    fields[#fields + 1] = string.format('%.0f:%s', minute, ARGV[i])
  end
end
if #fields > 0 then
  redis.call('HDEL', stats, unpack(fields))
end
redis.call('HSET', stats, 'total:tidied', score(upto))
return {0, #unseen, #ended}
