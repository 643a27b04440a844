-- queues: the twelve keys that a call has for each of its queues, behind the FIXED ones of the script.
local PER_QUEUE = 12
local LEASED, SCHEDULED, RETRYING, SNOOZED, WAITING = 1, 2, 3, 4, 5
local COMPLETED, DISCARDED, CANCELLED = 6, 7, 8
local WAITERS, READY = 9, 9

local function queue_key(q, offset)
  return KEYS[FIXED + (q - 1) * PER_QUEUE + offset]
end
