-- apply_tx: does what check_tx has found possible. The script has ids, sweep, journals, partition, partitions and now, n = the
-- steps that end, start; fresh, begun and unblocked say what began.
local next_id

local function follow_up(op)
  next_id = next_id or redis.call('INCRBY', ids, follow_ups) - follow_ups + 1
  local id = score(next_id * partitions + tonumber(partition))
  next_id = next_id + 1
  fresh[#fresh + 1] = id
  fresh[#fresh + 1] = ARGV[op.at + 3]
  start(tonumber(ARGV[op.at]), tonumber(ARGV[op.at + 1]), id, due_at(ARGV[op.at + 2], now), n + op.index)
end

local function begin_run(op)
  local roots = tonumber(ARGV[op.at + 4])
  begin(KEYS[op.key], KEYS[tonumber(ARGV[op.at])], sweep, ARGV[op.at + 1], ARGV[op.at + 2], ARGV[op.at + 3] == '1', now)
  for at = op.at + 5, op.at + 1 + 4 * roots, 4 do
    start(tonumber(ARGV[at]), tonumber(ARGV[at + 1]), ARGV[at + 2], due_at(ARGV[at + 3], now), '-')
  end
  begun, unblocked = begun + 1, unblocked + roots
end

local function apply_tx(item)
  for _, op in ipairs(item.ops) do
    if op.kind == 'enqueue' then
      follow_up(op)
    elseif op.kind == 'run' then
      begin_run(op)
    elseif op.kind == 'signal' then
      local id, name = ARGV[op.at], ARGV[op.at + 2]
      send(KEYS[op.key], journals, id, tonumber(ARGV[op.at + 1]), name, '', ARGV[op.at + 3], now)
      if redis.call('HEXISTS', KEYS[op.key], 'gw:' .. name) == 1 then
        redis.call('ZADD', sweep, score(now), 's ' .. id .. ' ' .. name)
      end
    else
      apply_command(op)
    end
  end
end
