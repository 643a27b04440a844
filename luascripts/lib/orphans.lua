-- orphans: puts the runs of deleted nodes ('run.node') on the sweep, so that none waits for a node that is gone.
local function orphans(sweep, gone, now)
  for _, member in ipairs(gone) do
    local run_id = string.match(member, '^(%d+)%.')
    if run_id then
      redis.call('ZADD', sweep, score(now), run_id)
    end
  end
end
