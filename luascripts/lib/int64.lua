-- int64: whole numbers of 64 bits, which are more than Lua's numbers hold: a high part and ten digits, low, below 10^10.
local TEN_DIGITS = 10000000000

local function add(a, b)
  local low = a.low + b.low
  local carry = math.floor(low / TEN_DIGITS)
  return {high = a.high + b.high + carry, low = low - carry * TEN_DIGITS}
end

local function fits(n)
  return (n.high < 922337203 or n.high == 922337203 and n.low <= 6854775807)
    and (n.high > -922337204 or n.high == -922337204 and n.low >= 3145224192)
end

-- int64 reads what Redis takes for a number, nil for anything else.
local function int64(text)
  local sign, digits = string.match(text, '^(%-?)([1-9]%d*)$')
  if text == '0' then
    return {high = 0, low = 0}
  end
  if not digits or #digits > 19 then
    return nil
  end
  local factor = sign == '-' and -1 or 1
  local n = add({high = factor * tonumber('0' .. string.sub(digits, 1, -11)), low = factor * tonumber(string.sub(digits, -10))},
    {high = 0, low = 0})
  if not fits(n) then
    return nil
  end
  return n
end
