-- run: the end of runs of many steps. A run's hash has `st` (r running, F failing, X being cancelled; at the end c
-- completed, f failed, x cancelled), `left` = nodes that have not ended, `bad` where one has ended without completing,
-- `fin` = when it ended, `keep` = how long it stays after that, both in ms, and `up` = 'member name' where a step of
-- another run waits for it under that signal. end_run notes a run that ends, whose hash says so already, and returns the
-- line of its event. settle_ended does what is left for those, once a call: they are removed in their time, their unique
-- keys are free, and the sweep tells who waits.
local ended_runs, over, told = {}, {}, {}

local function end_run(id, keep, up, final, now)
  ended_runs[#ended_runs + 1] = id
  over[#over + 1] = score(now + tonumber(keep or 0))
  over[#over + 1] = id
  if up then
    told[#told + 1] = score(now)
    told[#told + 1] = 'c ' .. id .. ' ' .. up
  end
  return 'finished - ' .. id .. ' - 0 ' .. final
end

local function settle_ended(runs, sweep, uniq, uniqof)
  if #ended_runs == 0 then
    return
  end
  redis.call('ZADD', runs, unpack(over))
  redis.call('ZREM', sweep, unpack(ended_runs))
  if #told > 0 then
    redis.call('ZADD', sweep, unpack(told))
  end
  free_unique(uniq, uniqof, ended_runs)
end
