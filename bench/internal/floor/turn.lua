-- The least one turn of a worker can do: complete a batch and claim the next.
-- KEYS[1] bodies (hash)   KEYS[2] ready (list)   KEYS[3] leased (sorted set of id:token)
-- ARGV[1] token   ARGV[2] lease expiry, unix ms   ARGV[3] ids wanted (0: only complete)
-- ARGV[4] n completed   ARGV[5..] n members id:token, then the n ids
-- Returns {ids, bodies}, or {} when nothing is ready.
local n = tonumber(ARGV[4])
if n > 0 then
  redis.call('ZREM', KEYS[3], unpack(ARGV, 5, 4 + n))
  redis.call('HDEL', KEYS[1], unpack(ARGV, 5 + n))
end
if ARGV[3] == '0' then return {} end
local ids = redis.call('RPOP', KEYS[2], ARGV[3])
if not ids then return {} end
local bodies = redis.call('HMGET', KEYS[1], unpack(ids))
local lease, suffix = {}, ':' .. ARGV[1]
for i, id in ipairs(ids) do
  lease[2 * i - 1] = ARGV[2]
  lease[2 * i] = id .. suffix
end
redis.call('ZADD', KEYS[3], unpack(lease))
return {ids, bodies}
