-- forget: removes a run of many steps with all that belongs to it, a chunk of its nodes a call and the run itself with
-- the last: one that has ended when its time has passed, or was not committed by its expiry. Safe to send twice: from
-- the first chunk on the run has no state, so nothing opens it again.
-- KEYS: steps tries uniq uniqof results history runs building sweep journals run
-- KEYS per queue: discarded
-- KEYS per step: journal
-- ARGV: id; at_once = 1 not to wait for the time; last = 1 for the last chunk; n, then n x 'run.node';
--   nq, then per queue: n, n x 'run.node'
-- RETURNS: {0, 1 removed, or 0: the run lives, has time left or is not known}
-- clock: Redis' own time in whole milliseconds, the only clock that decides anything.
local function now_ms()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- score renders an index score exactly; '..' would lose digits past the 14th.
local function score(n)
  return string.format('%.0f', n)
end

-- START_LIMIT is the year 2150 in ms: ms*16+lane stays exact in a double up to there.
local START_LIMIT = 5680281600000
-- unique: frees the unique keys of steps that ended. uniqof has id -> mark..digest; the mark is 'u' (held
-- while unfinished, not started yet), 's' (the same, claimed at least once), 'd' (held for a duration: only an
-- operator who removes the step frees it before its time) or 'r' (of a request: it is there until its time).
local function free_unique(uniq, uniqof, ended, by_operator)
  local held = redis.call('HMGET', uniqof, unpack(ended))
  for i = 1, #ended do
    local mark = held[i] and string.sub(held[i], 1, 1) or 'r'
    if mark ~= 'r' and (by_operator or mark ~= 'd') then
      local digest = string.sub(held[i], 2)
      if redis.call('HGET', uniq, digest) == ended[i] then
        redis.call('HDEL', uniq, digest)
      end
      redis.call('HDEL', uniqof, ended[i])
    end
  end
end
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
