-- ended_step: reads from ARGV what an ended step is, as the header of the script has it, and what its transaction does.

-- read_shape reads what many steps have in common. waits are the fields of the run that its nodes count down.
local function read_shape(text)
  local q, op, flags, attempt, rest = string.match(text, '^(%d+) (%a) (%S+) (%d+)(.*)$')
  local node = string.find(flags, 'n', 1, true) ~= nil
  local joins = string.find(flags, '+', 1, true) ~= nil
  local shape = {
    q = tonumber(q), op = op, node = node, joins = joins, mark = op == 'd' and 'd' or 'c' .. attempt, children = {}, waits = {},
    run_keys = node and not joins and 1 or 0, extra = node and 4 or 3, wide = string.find(flags, 'w') ~= nil,
    tx = string.find(flags, 'x') ~= nil, journal = string.find(flags, 'j') ~= nil,
  }
  for flag in string.gmatch(flags, '[oks]') do
    shape[flag] = shape.extra
    shape.extra = shape.extra + 1
  end
  for child, child_q, child_lane, wait in string.gmatch(rest, '(%d+),(%d+),(%d+),(%d+)') do
    shape.waits[#shape.waits + 1] = 'd' .. child
    shape.children[#shape.children + 1] = {
      field = 'd' .. child, name = '.' .. child, q = tonumber(child_q), lane = tonumber(child_lane), wait = tonumber(wait),
    }
  end
  shape.keys = shape.run_keys + (shape.journal and 1 or 0)
  return shape
end

local described = 0 -- follow-ups

local function read_tx(cursor)
  local ops, at = {}, cursor + 1
  for k = 1, tonumber(ARGV[cursor]) do
    ops[k] = {kind = ARGV[at], key = tonumber(ARGV[at + 1]), n = tonumber(ARGV[at + 2]), at = at + 3}
    at = at + 3 + ops[k].n
    if ops[k].kind == 'enqueue' then
      ops[k].index, described = described, described + 1
    end
  end
  return ops, at
end
