-- tries: what others than the lease holder count for a step, as 'started unstarted interruptions limit
-- base': lost leases by whether the attempt had started, shutdown interruptions, the operator's absolute
-- attempt limit (0: none), and the lost leases that an operator's retry has forgiven.
local function read_tries(tries, id)
  local text = redis.call('HGET', tries, id)
  if not text then
    return 0, 0, 0, 0, 0
  end
  local s, u, i, l, b = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  return tonumber(s), tonumber(u), tonumber(i), tonumber(l), tonumber(b)
end

local function write_tries(tries, id, s, u, i, l, b)
  redis.call('HSET', tries, id, string.format('%d %d %d %d %d', s, u, i, l, b))
end

-- HISTORY_BYTES bounds the side history of one step; the oldest lines go first.
local HISTORY_BYTES = 4096

local function note(history, id, line)
  local text = (redis.call('HGET', history, id) or '') .. line .. '\n'
  while #text > HISTORY_BYTES do
    local cut = string.find(text, '\n', 1, true)
    if cut == #text then
      break
    end
    text = string.sub(text, cut + 1)
  end
  redis.call('HSET', history, id, text)
end
