-- ids: whoever deletes the counter of ids or sets it back would have ids handed out again. ids_lost looks at it against
-- what was ever enqueued, a run of many steps counting once, and against what is stored.
local function ids_lost(ids, steps, stats)
  local last = tonumber(redis.call('GET', ids) or 0)
  local used = tonumber(redis.call('HGET', stats, 'total:enqueued') or 0)
  return last < used or last == 0 and redis.call('EXISTS', steps) == 1
end
