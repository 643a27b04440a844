-- reap: takes back up to most leases of a queue that have expired, and returns how many those were. Nothing is decided here: the counters go out with the next claim.
-- The script has its tables and what has_tries and has_history tell of them, some_handed and handed, now, due_limit,
-- delayed, watched, and reaped = the lines of the events.
local function reap(q, _, most)
  local leased = queue_key(q, LEASED)
  local expired = redis.call('ZRANGEBYSCORE', leased, '-inf', due_limit, 'WITHSCORES', 'LIMIT', 0, most)
  local taken = 0
  for i = 1, #expired, 2 do
    local member, member_score = expired[i], tonumber(expired[i + 1])
    local id, held_by = string.match(member, '^(.*):(.*)$')
    local mark = redis.call('HGET', ghosts, id)
    redis.call('ZREM', leased, member)
    if some_handed then -- A worker that died does not ask for it any more.
      local holder = string.match(held_by, '^[^.]*')
      if string.find(redis.call('HGET', handed, holder) or '', ' ' .. held_by .. ' ', 1, true) then
        redis.call('HDEL', handed, holder)
      end
    end
    if mark then
      dispose(ghosts, q, id, mark, member_score)
    elseif redis.call('HEXISTS', steps, id) == 1 then
      taken = taken + 1
      local started = member_score % 2 == 1
      local s, u, interrupted, limit, base = read_tries(tries, id)
      if started then
        s = s + 1
      else
        u = u + 1
      end
      write_tries(tries, id, s, u, interrupted, limit, base)
      note(history, id, string.format('%.0f lost %s %s', now, started and 'started' or 'unstarted', held_by))
      has_tries, has_history = true, true
      -- From the second loss on the step waits longer and longer, so that a payload that kills its
      -- workers does not take the same neighbours along each time.
      local losses, due = s + u - base, 0
      if losses < 2 then
        redis.call('RPUSH', queue_key(q, READY + leased_lane(member_score)), id)
      else
        due = now + 1000 * 2 ^ math.min(losses, 12)
        redis.call('ZADD', queue_key(q, RETRYING), score(due * 16 + leased_lane(member_score) - 1), id)
        delayed[q] = true
      end
      event('lost', q, id, '-', score(due) .. ' ' .. held_by)
      reaped[#reaped + 1] = lines[#lines]
      if not watched then
        lines[#lines] = nil
      end
    end
  end
  if taken > 0 then
    count(stats, now, 'lost', taken)
  end
  return #expired / 2
end
