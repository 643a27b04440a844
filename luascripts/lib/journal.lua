-- journal: what a task has recorded. Fields that begin with r: are written once: journal_differs tells whether another
-- value stands there already. at is where the fields of a step begin in ARGV, each a name and a value.
local function journal_differs(journal, at, n)
  local names, values = {}, {}
  for i = at, at + 2 * n - 1, 2 do
    if string.sub(ARGV[i], 1, 2) == 'r:' then
      local k = #names + 1
      names[k], values[k] = ARGV[i], ARGV[i + 1]
    end
  end
  if #names == 0 then
    return false
  end
  local stored = redis.call('HMGET', journal, unpack(names))
  for k = 1, #names do
    if stored[k] and stored[k] ~= values[k] then
      return true
    end
  end
  return false
end

-- journal_write stores the fields; first tells that the journal may be new.
local function journal_write(journal, journals, id, first, now, at, n)
  if n > 0 then
    redis.call('HSET', journal, unpack(ARGV, at, at + 2 * n - 1))
  end
  if first then
    redis.call('ZADD', journals, 'NX', score(now), id)
  end
end
