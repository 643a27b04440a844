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
