-- apply: what each operation that settles a step writes of it. It applies to the i-th of a group of n; extra is where the
-- group's own arguments begin. What waits for its time returns it. The script has steps, tries, results, now and has_tries,
-- and delayed = the queues in which a step waits for its time from now on.
local apply = {}

function apply.k(q, i, id, extra, n)
  redis.call('ZADD', queue_key(q, COMPLETED), ARGV[extra + 2 * (i - 1)], id)
  redis.call('HSET', results, id, ARGV[extra + 2 * n + 2 * (i - 1) + 1])
end

local function retry_in(offset)
  return function(q, i, id, extra)
    local base = extra + 3 * (i - 1)
    local due = math.min(now + tonumber(ARGV[base]), START_LIMIT)
    redis.call('ZADD', queue_key(q, offset), score(due * 16 + tonumber(ARGV[base + 1]) - 1), id)
    redis.call('HSET', steps, id, ARGV[base + 2])
    delayed[q] = true
    return score(due)
  end
end
apply.r = retry_in(RETRYING)
apply.s = retry_in(SNOOZED)

function apply.d(q, i, id, extra)
  redis.call('ZADD', queue_key(q, DISCARDED), score(now), id)
  redis.call('HSET', steps, id, ARGV[extra + i - 1])
end

function apply.g(q, i, id, extra)
  redis.call('RPUSH', queue_key(q, READY + tonumber(ARGV[extra + i - 1])), id)
end

function apply.i(q, i, id, extra)
  local s, u, interrupted, l, b = read_tries(tries, id)
  write_tries(tries, id, s, u, interrupted + 1, l, b)
  has_tries = true
  apply.g(q, i, id, extra)
end

function apply.w(q, i, id, extra)
  local base = extra + 2 * (i - 1)
  local due = math.min(now + tonumber(ARGV[base]), START_LIMIT)
  redis.call('ZADD', queue_key(q, SCHEDULED), score(due * 16 + tonumber(ARGV[base + 1]) - 1), id)
  delayed[q] = true
  return score(due)
end
