-- check_tx: whether all that a transaction does can be done. It returns the position of the first command that cannot be
-- applied, and why. What the others will have done is noted for the transactions behind. The script has steps, stats, ids,
-- max_bytes, max_signals and now.
local all, sent, follow_ups = {}, {}, 0

local function check_tx(item)
  local own, own_sent, own_follow_ups = {}, {}, 0
  for k, op in ipairs(item.ops) do
    local reason, after
    local name = KEYS[op.key]
    if op.kind == 'signal' then
      local before = own_sent[name] or sent[name] or 0
      reason = refusal(steps, KEYS[op.key], ARGV[op.at], tonumber(ARGV[op.at + 1]), '', #ARGV[op.at + 3],
        max_bytes, before, max_signals)
      own_sent[name] = before + 1
    elseif op.kind == 'enqueue' then
      if #ARGV[op.at + 3] > max_bytes then
        reason = 'large'
      elseif ids_lost(ids, steps, stats) then
        reason = 'ids'
      end
      own_follow_ups = own_follow_ups + 1
    elseif op.kind == 'run' then
      if not is_built(KEYS[op.key], KEYS[tonumber(ARGV[op.at])], ARGV[op.at + 1], now) then
        reason = 'unbuilt'
      end
    else
      reason, after = check_command(op, own, all, max_bytes)
      own[name] = after
    end
    if reason then
      return 'tx ' .. k .. ' ' .. reason
    end
  end
  for name, after in pairs(own) do
    all[name] = after
  end
  for name, count_sent in pairs(own_sent) do
    sent[name] = count_sent
  end
  follow_ups = follow_ups + own_follow_ups
end
