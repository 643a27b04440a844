-- promote: makes up to most steps of a timed index ready whose time has come, each in its lane, and returns how many those
-- were. The script has due_limit.
local function promote(q, offset, most)
  local index_key = queue_key(q, offset)
  local due = redis.call('ZRANGEBYSCORE', index_key, '-inf', due_limit, 'WITHSCORES', 'LIMIT', 0, most)
  local n = #due / 2
  if n == 0 then
    return 0
  end
  local lanes = {{}, {}, {}}
  for i = 1, #due, 2 do
    local list = lanes[tonumber(due[i + 1]) % 16 + 1]
    list[#list + 1] = due[i]
  end
  redis.call('ZREMRANGEBYRANK', index_key, 0, n - 1)
  for l = 1, 3 do
    if #lanes[l] > 0 then
      redis.call('LPUSH', queue_key(q, READY + l), unpack(lanes[l]))
    end
  end
  return n
end
