#!lua flags=no-writes
-- Jobs of a queue in the order in which they are due, after one, until there are enough of them or of their bytes.
-- KEYS  due jobs claims
-- ARGV  latest, after, max, bytes
local first = 0
if ARGV[2] ~= '' then
  local rank = redis.call('ZRANK', KEYS[1], ARGV[2])
  if not rank then return redis.error_reply('GONE the queue has changed') end
  first = rank + 1
end
local found = redis.call('ZRANGE', KEYS[1], first, first + tonumber(ARGV[3]) - 1, 'WITHSCORES')
local answer, bytes = {}, 0
for i = 1, #found, 2 do
  if bytes >= tonumber(ARGV[4]) then break end
  local body = redis.call('HGET', KEYS[2], found[i]) or ''
  local attempt = string.match(redis.call('HGET', KEYS[3], found[i]) or '0 0', ' (%d+)$')
  answer[#answer + 1] = {found[i], found[i + 1], attempt, body}
  bytes = bytes + #body
end
return answer
