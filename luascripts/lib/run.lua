-- run: the end of a run of many steps. Its hash has `st` (r running, F failing, X being cancelled; at the end c
-- completed, f failed, x cancelled), `left` = nodes that have not ended, `fin` = when it ended, `keep` = how long it
-- stays after that, both in ms, and `up` = 'member name' where a step of another run waits for it under that signal.
-- finish_run ends it: the unique key is free, what waits is told by the sweep. Returns the line of the event.
local function finish_run(run_hash, runs, sweep, uniq, uniqof, id, final, now)
  local kept = redis.call('HMGET', run_hash, 'keep', 'up')
  redis.call('HSET', run_hash, 'st', final, 'fin', score(now))
  redis.call('ZADD', runs, score(now + tonumber(kept[1] or 0)), id)
  redis.call('ZREM', sweep, id)
  if kept[2] then
    redis.call('ZADD', sweep, score(now), 'c ' .. id .. ' ' .. kept[2])
  end
  free_unique(uniq, uniqof, {id})
  return 'finished - ' .. id .. ' - 0 ' .. final
end
