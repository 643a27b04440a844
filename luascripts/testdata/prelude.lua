-- prelude: stands before a script under test. It refuses every key that is not in KEYS, takes the time from the
-- test, and keeps what is published, and on demand every command, in lists that the test reads.
-- The test's last argument is 'now ms|list of messages|list of commands or nothing'.
local server, allowed = redis, {}
for i = 1, #KEYS do
  allowed[KEYS[i]] = true
end
local test_now, test_messages, test_commands = string.match(ARGV[#ARGV], '^(%d+)|([^|]+)|(.*)$')
local ARGV = (function(given)
  local own = {}
  for i = 1, #given - 1 do
    own[i] = given[i]
  end
  return own
end)(ARGV)
local redis = {}
function redis.call(command, ...)
  local arguments = {...}
  if command == 'TIME' then
    local ms = tonumber(test_now)
    return {string.format('%d', math.floor(ms / 1000)), string.format('%d', ms % 1000 * 1000)}
  end
  if command == 'PUBLISH' then
    server.call('RPUSH', test_messages, arguments[1] .. '\t' .. arguments[2])
    return tonumber(server.call('HGET', test_messages .. ':hears', arguments[1]) or 0)
  end
  for i = 1, command == 'EXISTS' and #arguments or 1 do
    if not allowed[arguments[i]] then
      error(command .. ' of a key that is not declared: ' .. tostring(arguments[i]))
    end
  end
  if test_commands ~= '' then
    server.call('RPUSH', test_commands, command)
  end
  return server.call(command, ...)
end
