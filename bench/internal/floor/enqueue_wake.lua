-- A bare enqueue of one job with an exact wake-up.
-- KEYS[1] bodies (hash)   KEYS[2] ready (list)
-- ARGV[1] id   ARGV[2] body   ARGV[3] channel of the waiting worker
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('LPUSH', KEYS[2], ARGV[1])
return redis.call('PUBLISH', ARGV[3], '')
