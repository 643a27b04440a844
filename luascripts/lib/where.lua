-- where: the state of one step, read from its one membership. Given a body, a step in no sorted index is
-- ready or running ('live'): ready and leased cannot be searched by id.
local function where(steps, id, indexes, names)
  for i = 1, #indexes do
    local member_score = redis.call('ZSCORE', indexes[i], id)
    if member_score then
      return names[i], member_score
    end
  end
  if redis.call('HEXISTS', steps, id) == 0 then
    return 'absent'
  end
  return 'live'
end

local NAMES = {'scheduled', 'retrying', 'snoozed', 'waiting', 'completed', 'discarded', 'cancelled'}
