-- revive: an operator opens discarded or cancelled steps of one queue and lane again, with more attempts.
-- KEYS: steps sess ghosts tries uniq uniqof uniqx history stats subs paused waiters ready discarded cancelled
-- ARGV: lane, seq = session; events = channel; wake = channel prefix; partition; queue; detail = event details;
--   then per step: id, limit = absolute attempt limit (0: leave it), digest ('' none), note = history line without time
-- RETURNS: {0, now ms, {'revived', 'conflict=HOLDER', 'ended' (not revivable) or 'absent', per id}} or {status < 0} as enqueue
--@include clock
--@include session
--@include wake
--@include holder
--@include tries
--@include stats
local steps, sess, ghosts, tries, uniq, uniqof, uniqx = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local history, stats, subs, paused, waiters, ready = KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local discarded, cancelled = KEYS[14], KEYS[15]
local lane, seq, events, wake_channel = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local partition, queue, detail = ARGV[5], ARGV[6], ARGV[7]

-- Guard.
local state, replay = session(sess, lane, seq)
if state == REPLAY then
  local list = {}
  for word in string.gmatch(replay, '[^ ]+') do
    list[#list + 1] = word
  end
  return {0, now_ms(), list}
end
if state ~= APPLY then
  return {state}
end
local now = now_ms()

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')

-- open_again checks one step and then moves it.
local function open_again(id, limit, digest, line)
  if redis.call('HEXISTS', steps, id) == 0 then
    return 'absent'
  end
  local was_discarded = redis.call('ZSCORE', discarded, id)
  if not was_discarded and not redis.call('ZSCORE', cancelled, id) then
    return 'ended'
  end
  local holder, former
  if digest ~= '' then
    holder, former = holder_of(uniq, uniqx, steps, digest, now)
  end
  if holder and holder ~= id then
    return 'conflict=' .. holder
  end
  redis.call('ZREM', discarded, id)
  redis.call('ZREM', cancelled, id)
  if digest ~= '' then
    hold_key(uniq, uniqof, uniqx, digest, id, 's', nil, former)
  end
  local s, u, interrupted, old_limit = read_tries(tries, id)
  write_tries(tries, id, s, u, interrupted, limit > 0 and limit or old_limit, s + u)
  note(history, id, score(now) .. ' ' .. line)
  if redis.call('HEXISTS', ghosts, id) == 1 then
    redis.call('HSET', ghosts, id, 'r' .. queue)
  else
    redis.call('LPUSH', ready, id)
  end
  return 'revived'
end

local outcome, lines, revived = {}, {}, 0
for i = 8, #ARGV, 4 do
  local id = ARGV[i]
  local result = open_again(id, tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3])
  outcome[#outcome + 1] = result
  if result == 'revived' then
    revived = revived + 1
    lines[#lines + 1] = 'retried ' .. queue .. ' ' .. id .. ' ' .. (i - 8) / 4 .. ' 0'
  end
end
if revived > 0 then
  count(stats, now, 'retried', revived)
  if redis.call('EXISTS', subs) == 1 then
    redis.call('PUBLISH', events, score(now) .. '\n' .. table.concat(lines, '\n') .. '\n\n' .. detail)
  end
  wake(waiters, paused, queue, wake_channel, partition, now)
end
answer(sess, lane, seq, table.concat(outcome, ' '))
return {0, now, outcome}
