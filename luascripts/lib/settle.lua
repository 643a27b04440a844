-- settle: ends the claims of a group of n steps of a queue by one operation of apply, and returns how many still held their
-- lease; first is where the group's members begin in ARGV. The script has steps, tries, history, uniq,
-- uniqof, what has_tries, has_history, has_unique and watched tell of them, and index = the steps settled before.

-- Arguments per step behind the ids, what is counted, and the event, of each operation.
local WIDTH = {c = 0, k = 4, r = 3, s = 3, d = 1, g = 1, i = 1, w = 2}
local VERB = {c = 'completed', k = 'completed', r = 'failed', s = 'snoozed', d = 'discarded',
  g = 'released', i = 'released', w = 'released'}
local TERMINAL = {c = true, k = true, d = true}

-- forget drops what is kept beside the bodies of steps that are gone for good.
local function forget(ids)
  if has_tries then
    redis.call('HDEL', tries, unpack(ids))
  end
  if has_history then
    redis.call('HDEL', history, unpack(ids))
  end
end

local function settle(q, op, n, first)
  local good = fenced(q, n, first)
  local ids_at, extra = first + 2 * n, first + 3 * n
  local ids
  if not good then
    redis.call('ZREM', queue_key(q, LEASED), unpack(ARGV, first, extra - n - 1))
    if op == 'c' and not (watched or has_unique or has_tries or has_history) then
      redis.call('HDEL', steps, unpack(ARGV, ids_at, extra - 1))
      return n
    end
    good = {}
    for i = 1, n do
      good[i] = i
    end
  elseif #good == 0 then
    return 0
  else
    for _, i in ipairs(good) do
      redis.call('ZREM', queue_key(q, LEASED), ARGV[first + 2 * i - 1])
    end
  end
  ids = {}
  for k, i in ipairs(good) do
    ids[k] = ARGV[ids_at + i - 1]
  end
  if TERMINAL[op] and has_unique then
    free_unique(uniq, uniqof, ids)
  end
  if op == 'c' then
    redis.call('HDEL', steps, unpack(ids))
    forget(ids)
  end
  for k, i in ipairs(good) do
    local due = op ~= 'c' and apply[op](q, i, ids[k], extra, n)
    if watched then
      event(VERB[op], q, ids[k], index + i - 1, due or 0)
    end
  end
  return #good
end
