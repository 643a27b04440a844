-- retell: the answer of a turn that was applied before, out of what its session keeps of it: 'what was lost|claims|what was
-- handed over|leases that were taken back'. It takes steps, ghosts, tries, subs, token and now from the script.
local function retell(stored)
  local lost_part, claim_part, handed_part, reaped_part = string.match(stored, '^([^|]*)|([^|]*)|([^|]*)|?(.*)$')
  local lost, claims, members = {}, {}, {}
  for word in string.gmatch(lost_part, '[^ ]+') do
    lost[#lost + 1] = word
  end
  for q, l, list in string.gmatch(claim_part, '(%d+) (%d+)([^;]*);') do
    local ids, leased = {}, queue_key(tonumber(q), LEASED)
    for id in string.gmatch(list, '[^ ]+') do
      -- What was lost or cancelled since is not told again: no handler may start for it.
      if redis.call('ZSCORE', leased, id .. ':' .. token) and redis.call('HEXISTS', ghosts, id) == 0 then
        ids[#ids + 1] = id
        members[#members + 1] = id
      end
    end
    if #ids > 0 then
      claims[#claims + 1] = {tonumber(q), tonumber(l), table.concat(ids, ' '), redis.call('HMGET', steps, unpack(ids))}
    end
  end
  local counters = #members > 0 and counters_of(members) or {}
  return {0, now, lost, claims, counters, 0, 0, 1, redis.call('EXISTS', subs), 0, delivery(handed_part), reaped_part}
end
