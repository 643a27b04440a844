-- delivery: what was handed over to a worker, by its record 'lane id token expiry queue', if its lease is still held; {}
-- if it is not. It takes the key of bodies, steps, and ghosts, nq and queue_name from the script.
local function delivery(text)
  local l, id, by, expiry, name = string.match(text, '^(%d) (%S+) (%S+) (%d+) (.*)$')
  for q = 1, nq do
    if queue_name(q) == name and redis.call('ZSCORE', queue_key(q, LEASED), id .. ':' .. by) and redis.call('HEXISTS', ghosts, id) == 0 then
      return {q, tonumber(l), id, by, tonumber(expiry), redis.call('HGET', steps, id)}
    end
  end
  return {}
end
