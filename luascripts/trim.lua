-- trim: removes finished steps of one index whose time has passed or that are too many, oldest first, with all
-- that is kept of them. Safe to send twice: it only removes what is over the bounds when it runs.
-- KEYS: steps tries uniq uniqof results history index
-- ARGV: age = ms since the score after which a step goes; keep = how many may stay; limit = ids at the most
-- RETURNS: {0, steps removed}
--@include clock
--@include unique
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
