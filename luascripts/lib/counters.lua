-- counters: what others than the lease holder count for some steps, as lib/tries has it: {id, counters, ...} of those that
-- have any. It takes tries from the script.
local function counters_of(members)
  local counters = {}
  local found = redis.call('HMGET', tries, unpack(members))
  for i = 1, #members do
    if found[i] then
      counters[#counters + 1] = members[i]
      counters[#counters + 1] = found[i]
    end
  end
  return counters
end
