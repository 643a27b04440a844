-- state: all that is known of one step, read in one instant. Writes nothing.
-- KEYS: steps ghosts tries results history scheduled retrying snoozed waiting completed discarded cancelled
-- ARGV: id
-- RETURNS: {0, state name or 'live' or 'absent', its score, body, ghost mark, counters, result, history} (nil for what is not there)
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
local steps, ghosts, tries, results, history = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local indexes = {KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]}
local id = ARGV[1]

local found, at = where(steps, id, indexes, NAMES)
local function field(hash)
  return redis.call('HGET', hash, id)
end
return {0, found, at or false, field(steps), field(ghosts), field(tries), field(results), field(history)}
