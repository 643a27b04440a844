-- tx: completion transactions. Each command is checked against what its key holds, or will hold by then, before anything
-- is written; what passes cannot fail. A command is {kind, key = position or 0, at, n}, its n arguments from ARGV[at].
local TX_TYPE = {incrby = 'string', hset = 'hash', sadd = 'set', rpush = 'list'}
-- TX_ARGUMENTS bounds the arguments of one command, TX_TTL a time to live, in ms: a hundred years.
local TX_ARGUMENTS, TX_TTL = 500, 3153600000000

-- key_state returns what a key will hold when its turn comes: {kind, number where it is known}.
local function key_state(position, own, all)
  local name = KEYS[position]
  if own[name] or all[name] then
    return own[name] or all[name]
  end
  return {kind = redis.call('TYPE', KEYS[position]).ok}
end

local function check_incrby(op, held)
  local number = held.number
  if held.kind == 'none' then
    number = {high = 0, low = 0}
  elseif not number and not held.written then
    number = int64(redis.call('GETRANGE', KEYS[op.key], 0, 20))
  end
  if not number then
    return 'integer'
  end
  local sum = add(number, int64(ARGV[op.at]))
  if not fits(sum) then
    return 'overflow'
  end
  return nil, {kind = 'string', number = sum}
end

-- check_command returns a reason, or nil and what the key will hold.
local function check_command(op, own, all, max_bytes)
  for i = op.at, op.at + op.n - 1 do
    if #ARGV[i] > max_bytes then
      return 'large'
    end
  end
  if op.kind == 'delete' then
    return nil, {kind = 'none'}
  end
  if op.kind == 'set' then
    local ttl = tonumber(ARGV[op.at + 1])
    if ttl < 0 or ttl > TX_TTL then
      return 'arguments'
    end
    return nil, {kind = 'string', number = int64(ARGV[op.at]), written = true}
  end
  if op.n == 0 or op.n > TX_ARGUMENTS or op.kind == 'hset' and op.n % 2 == 1 then
    return 'arguments'
  end
  local held = key_state(op.key, own, all)
  if held.kind ~= 'none' and held.kind ~= TX_TYPE[op.kind] then
    return 'type'
  end
  if op.kind == 'incrby' then
    return check_incrby(op, held)
  end
  return nil, {kind = TX_TYPE[op.kind]}
end

local function apply_command(op)
  local at, last = op.at, op.at + op.n - 1
  if op.kind == 'delete' then
    redis.call('DEL', KEYS[op.key])
  elseif op.kind == 'set' then
    if ARGV[last] == '0' then
      redis.call('SET', KEYS[op.key], ARGV[at])
    else
      redis.call('SET', KEYS[op.key], ARGV[at], 'PX', ARGV[last])
    end
  elseif op.kind == 'incrby' then
    redis.call('INCRBY', KEYS[op.key], ARGV[at])
  elseif op.kind == 'hset' then
    redis.call('HSET', KEYS[op.key], unpack(ARGV, at, last))
  elseif op.kind == 'sadd' then
    redis.call('SADD', KEYS[op.key], unpack(ARGV, at, last))
  else
    redis.call('RPUSH', KEYS[op.key], unpack(ARGV, at, last))
  end
end
