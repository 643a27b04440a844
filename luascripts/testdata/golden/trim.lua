-- trim: removes finished steps of one index whose time has passed or that are too many, oldest first, with all
-- that is kept of them. Safe to send twice: it only removes what is over the bounds when it runs.
-- KEYS: steps tries uniq uniqof results history index
-- ARGV: age = ms since the score after which a step goes; keep = how many may stay; limit = ids at the most
-- RETURNS: {0, steps removed}
-- clock: Redis' own time in whole milliseconds, the only clock that decides anything.
local function now_ms()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- score renders an index score exactly; '..' would lose digits past the 14th.
local function score(n)
  return string.format('%.0f', n)
end

-- START_LIMIT is the year 2150 in ms: ms*16+lane stays exact in a double up to there.
local START_LIMIT = 5680281600000
-- unique: frees the unique keys of steps that ended. uniqof has id -> mark..digest; the mark is 'u' (held
-- while unfinished, not started yet), 's' (the same, claimed at least once), 'd' (held for a duration: only an
-- operator who removes the step frees it before its time) or 'r' (of a request: it is there until its time).
local function free_unique(uniq, uniqof, ended, by_operator)
  local held = redis.call('HMGET', uniqof, unpack(ended))
  for i = 1, #ended do
    local mark = held[i] and string.sub(held[i], 1, 1) or 'r'
    if mark ~= 'r' and (by_operator or mark ~= 'd') then
      local digest = string.sub(held[i], 2)
      if redis.call('HGET', uniq, digest) == ended[i] then
        redis.call('HDEL', uniq, digest)
      end
      redis.call('HDEL', uniqof, ended[i])
    end
  end
end
local steps, tries, uniq, uniqof, results, history, index = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local age, keep, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

-- Write. Nothing here needs memory, so all of it runs at maxmemory.
local ids = redis.call('ZRANGEBYSCORE', index, '-inf', score(now_ms() - age), 'LIMIT', 0, limit)
local over = redis.call('ZCARD', index) - keep
if over > #ids then
  ids = redis.call('ZRANGE', index, 0, math.min(over, limit) - 1)
end
if #ids > 0 then
  redis.call('ZREM', index, unpack(ids))
  free_unique(uniq, uniqof, ids)
  for _, side in ipairs({steps, tries, results, history}) do
    redis.call('HDEL', side, unpack(ids))
  end
end
return {0, #ids}
