#!lua flags=no-writes
-- Returns jobs of a queue by due time, after one of them, up to a number of jobs and until their bodies have enough bytes.
-- KEYS  due jobs claims
-- ARGV  deadline, after, max, bytes
local first = 0
if ARGV[2] ~= '' then
  local rank = redis.call('ZRANK', KEYS[1], ARGV[2])
  if not rank then return redis.error_reply('GONE the queue has changed') end
  first = rank + 1
end
local found = redis.call('ZRANGE', KEYS[1], first, first + tonumber(ARGV[3]) - 1, 'WITHSCORES')
local reply, bytes = {}, 0
for i = 1, #found, 2 do
  if bytes >= tonumber(ARGV[4]) then break end
  local body = redis.call('HGET', KEYS[2], found[i]) or ''
  local attempt = string.match(redis.call('HGET', KEYS[3], found[i]) or '0 0', ' (%d+)$')
  reply[#reply + 1] = {found[i], found[i + 1], attempt, body}
  bytes = bytes + #body
end
return reply
