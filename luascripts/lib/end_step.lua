-- end_step: ends a step that nothing refuses: its lease, its transaction, what it was, and what goes with it. The script has
-- steps, results, sweep and now; leases, gone, singles, undone, completed and discarded say what is left to write at once.

local function end_single(item)
  local shape = item.shape
  singles[#singles + 1] = item.id
  if shape.op == 'c' then
    gone[#gone + 1] = item.id
  elseif shape.op == 'k' then
    redis.call('ZADD', queue_key(item.q, COMPLETED), ARGV[item.at + shape.k], item.id)
    redis.call('HSET', results, item.id, shape.o and ARGV[item.at + shape.o] or '')
  end
end

local function end_step(item)
  local shape, list = item.shape, leases[item.q]
  if not list then
    list = {}
    leases[item.q] = list
  end
  list[#list + 1] = item.member
  if item.ops then
    apply_tx(item)
  end
  if item.found then
    end_node(item)
  else
    end_single(item)
  end
  if shape.op == 'd' then
    discarded = discarded + 1
    redis.call('ZADD', queue_key(item.q, DISCARDED), score(now), item.id)
    redis.call('HSET', steps, item.id, ARGV[item.at + shape.o])
  else
    completed = completed + 1
    if shape.journal then
      redis.call('UNLINK', KEYS[item.journal])
      undone[#undone + 1] = item.id
    end
  end
  if shape.s then
    redis.call('ZADD', sweep, score(now), ARGV[item.at + shape.s])
  end
end
