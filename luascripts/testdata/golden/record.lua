-- record: stores what tasks have recorded, each under the fence of its attempt. Safe to send twice: what is there
-- already is accepted if it is equal, and refused if it is not.
-- KEYS: ghosts journals
-- KEYS per step: leased journal
-- ARGV: n, then per step: 'id:token', id, first = its journal may be new 0/1, k, k x (field, value)
-- RETURNS: {0, now ms, {'ok', 'lost', 'cancelled' or 'different', ...}}
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
-- journal: what a task has recorded. Fields that begin with r: are written once: journal_differs tells whether another
-- value stands there already. at is where the fields of a step begin in ARGV, each a name and a value.
local function journal_differs(journal, at, n)
  local names, values = {}, {}
  for i = at, at + 2 * n - 1, 2 do
    if string.sub(ARGV[i], 1, 2) == 'r:' then
      local k = #names + 1
      names[k], values[k] = ARGV[i], ARGV[i + 1]
    end
  end
  if #names == 0 then
    return false
  end
  local stored = redis.call('HMGET', journal, unpack(names))
  for k = 1, #names do
    if stored[k] and stored[k] ~= values[k] then
      return true
    end
  end
  return false
end

-- journal_write stores the fields; first tells that the journal may be new.
local function journal_write(journal, journals, id, first, now, at, n)
  if n > 0 then
    redis.call('HSET', journal, unpack(ARGV, at, at + 2 * n - 1))
  end
  if first then
    redis.call('ZADD', journals, 'NX', score(now), id)
  end
end
local ghosts, journals = KEYS[1], KEYS[2]

-- Guard.
local now = now_ms()
local cursor = 2
local outcomes, items = {}, {}
for i = 1, tonumber(ARGV[1]) do
  local member, id, first, n = ARGV[cursor], ARGV[cursor + 1], ARGV[cursor + 2] == '1', tonumber(ARGV[cursor + 3])
  local leased, at = 1 + 2 * i, cursor + 4
  if not redis.call('ZSCORE', KEYS[leased], member) then
    outcomes[i] = 'lost'
  elseif redis.call('HEXISTS', ghosts, id) == 1 then
    outcomes[i] = 'cancelled'
  elseif journal_differs(KEYS[leased + 1], at, n) then
    outcomes[i] = 'different'
  else
    outcomes[i] = 'ok'
    items[#items + 1] = {journal = leased + 1, id = id, first = first, at = at, n = n}
  end
  cursor = at + 2 * n
end

-- Write. A first write that needs no memory lets the rest run at maxmemory.
redis.call('HDEL', ghosts, '')
for _, item in ipairs(items) do
  journal_write(KEYS[item.journal], journals, item.id, item.first, now, item.at, item.n)
end
return {0, now, outcomes}
