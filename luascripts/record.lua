-- record: stores what tasks have recorded, each under the fence of its attempt. Safe to send twice: what is there
-- already is accepted if it is equal, and refused if it is not.
-- KEYS: ghosts journals
-- KEYS per step: leased journal
-- ARGV: n, then per step: 'id:token', id, first = its journal may be new 0/1, k, k x (field, value)
-- RETURNS: {0, now ms, {'ok', 'lost', 'cancelled' or 'different', ...}}
--@include clock
--@include journal
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
