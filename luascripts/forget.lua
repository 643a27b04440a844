-- forget: removes a run of many steps with all that belongs to it, a chunk of its nodes a call and the run itself with
-- the last: one that has ended when its time has passed, or was not committed by its expiry. Safe to send twice: from
-- the first chunk on the run has no state, so nothing opens it again.
-- KEYS: steps tries uniq uniqof results history runs building sweep journals run
-- KEYS per queue: discarded
-- KEYS per step: journal
-- ARGV: id; at_once = 1 not to wait for the time; last = 1 for the last chunk; n, then n x 'run.node';
--   nq, then per queue: n, n x 'run.node'
-- RETURNS: {0, 1 removed, or 0: the run lives, has time left or is not known}
--@include clock
--@include unique
local steps, tries, uniq, uniqof, results, history = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local runs, building, sweep, journals, run = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local FIXED = 11
local id, at_once, last, n = ARGV[1], ARGV[2] == '1', ARGV[3] == '1', tonumber(ARGV[4])

-- Guard.
local ends = redis.call('ZSCORE', runs, id) or redis.call('ZSCORE', building, id)
if not ends or not at_once and tonumber(ends) > now_ms() then
  return {0, 0}
end

-- Write. Nothing here needs memory, so all of it runs at maxmemory.
redis.call('HDEL', run, 'st')
if n > 0 then
  for _, side in ipairs({steps, tries, results, history}) do
    redis.call('HDEL', side, unpack(ARGV, 5, 4 + n))
  end
  redis.call('ZREM', journals, unpack(ARGV, 5, 4 + n))
end
local nq = tonumber(ARGV[5 + n])
local cursor = 6 + n
for q = 1, nq do
  local members = tonumber(ARGV[cursor])
  redis.call('ZREM', KEYS[FIXED + q], unpack(ARGV, cursor + 1, cursor + members))
  cursor = cursor + 1 + members
end
for k = FIXED + nq + 1, #KEYS do
  redis.call('DEL', KEYS[k])
end
if last then
  free_unique(uniq, uniqof, {id}, at_once)
  for _, side in ipairs({steps, results}) do
    redis.call('HDEL', side, id)
  end
  redis.call('DEL', run)
  redis.call('ZREM', runs, id)
  redis.call('ZREM', building, id)
  redis.call('ZREM', sweep, id)
end
return {0, 1}
