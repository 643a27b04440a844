-- signals: what was sent to a run, in its hash (of a single task, its journal): gt:<name> and gh:<name> count what was
-- sent and what was taken, g:<name>:<n> is a payload, gn how many are queued in all, gw:<name> the steps that wait, as
-- 'id queue lane;'. queued tells whether there is a signal to take, and how many were taken.
local function queued(signals, name)
  local counts = redis.call('HMGET', signals, 'gt:' .. name, 'gh:' .. name)
  local head = tonumber(counts[2] or 0)
  return tonumber(counts[1] or 0) > head, head
end

-- leave_line takes a step off those that wait for a name.
local function leave_line(signals, name, id)
  local waiting = redis.call('HGET', signals, 'gw:' .. name)
  if not waiting then
    return
  end
  local line = ';' .. waiting
  local from = string.find(line, ';' .. id .. ' ', 1, true)
  if not from then
    return
  end
  local rest = string.sub(line, 2, from) .. string.sub(line, string.find(line, ';', from + 1, true) + 1)
  if rest == '' then
    redis.call('HDEL', signals, 'gw:' .. name)
  else
    redis.call('HSET', signals, 'gw:' .. name, rest)
  end
end
