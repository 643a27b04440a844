-- claim: puts ready steps of a lane under a lease, as many as it may have and there is room for. The script has its tables
-- and what has_ghosts, some_paused and watched tell of them, token, lease_ms, now, PAD, wanted = steps to claim in all,
-- room = of each queue, more = 1 when there is more to do; claims, members, stored and claimed = how many say what was claimed.
local stem = ':' .. token

-- take drops the ids that a ghost or a missing body makes void; behind them there may be others.
local function take(ids)
  local bodies = redis.call('HMGET', steps, unpack(ids))
  local marks = has_ghosts and redis.call('HMGET', ghosts, unpack(ids)) or {}
  local popped = #ids
  for i = popped, 1, -1 do
    if marks[i] then
      redis.call('HDEL', ghosts, ids[i])
    end
    if not bodies[i] or marks[i] and string.sub(marks[i], 1, 1) == 'x' then
      table.remove(ids, i)
      table.remove(bodies, i)
    end
  end
  if #ids < popped then
    more = 1
  end
  return bodies
end

-- lease puts the leases of claimed steps next to PAD, and notes the steps.
local function lease(q, l, ids)
  local n, adds, expiry = #ids, {}, score((now + lease_ms) * 16 + (l - 1) * 2)
  for i = 1, n do
    adds[2 * i - 1] = expiry
    adds[2 * i] = ids[i] .. stem
    members[claimed + i] = ids[i]
  end
  adds[2 * n + 1] = '+inf'
  adds[2 * n + 2] = PAD
  redis.call('ZADD', queue_key(q, LEASED), unpack(adds))
  claimed = claimed + n
  room[q] = room[q] - n
end

local function claim(q, l, limit)
  local want = math.min(limit, wanted - claimed, room[q])
  local ids = want > 0 and not (some_paused and redis.call('HEXISTS', paused, queue_name(q)) == 1)
    and redis.call('RPOP', queue_key(q, READY + l), want)
  if not ids then
    return
  end
  local bodies = take(ids)
  if #ids == 0 then
    return
  end
  lease(q, l, ids)
  local names = table.concat(ids, ' ')
  claims[#claims + 1] = {q, l, names, bodies}
  stored[#stored + 1] = q .. ' ' .. l .. ' ' .. names .. ';'
  if watched then
    for i = 1, #ids do
      event('claimed', q, ids[i], '-', 0)
    end
  end
end

-- begin_holding marks the unique keys of claimed steps: from now on no enqueue replaces the body.
local function begin_holding(ids)
  local held = redis.call('HMGET', uniqof, unpack(ids))
  for i = 1, #ids do
    if held[i] and string.sub(held[i], 1, 1) == 'u' then
      redis.call('HSET', uniqof, ids[i], 's' .. string.sub(held[i], 2))
    end
  end
end
