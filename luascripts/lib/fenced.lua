-- fenced: the positions of a group of n settled steps that still hold their lease, or nil when all do; the others are noted
-- in lost. The group's members, each behind a 0, begin at ARGV[first], its ids behind them. The script has ghosts, has_ghosts
-- and lost. ZADD NX adds exactly the missing members, with score 0 that no lease has.
local function fenced(q, n, first)
  local leased = queue_key(q, LEASED)
  local missing = {}
  local bad = false
  if redis.call('ZADD', leased, 'NX', unpack(ARGV, first, first + 2 * n - 1)) > 0 then
    local names = redis.call('ZRANGEBYSCORE', leased, 0, 0)
    redis.call('ZREM', leased, unpack(names))
    for i = 1, #names do
      missing[names[i]] = true
    end
    bad = true
  end
  local marks
  if has_ghosts then
    marks = redis.call('HMGET', ghosts, unpack(ARGV, first + 2 * n, first + 3 * n - 1))
    for i = 1, n do
      bad = bad or marks[i]
    end
  end
  if not bad then
    return nil
  end
  local good = {}
  for i = 1, n do
    local member, id = ARGV[first + 2 * i - 1], ARGV[first + 2 * n + i - 1]
    if missing[member] then
      lost[#lost + 1] = member
      lost[#lost + 1] = 'lost'
    elseif marks and marks[i] then
      local lease = redis.call('ZSCORE', leased, member)
      redis.call('ZREM', leased, member)
      dispose(ghosts, q, id, marks[i], lease)
      lost[#lost + 1] = member
      lost[#lost + 1] = 'cancelled'
    else
      good[#good + 1] = i
    end
  end
  return good
end
