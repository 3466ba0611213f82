#!lua
-- Drops the oldest messages that were published before a time, up to a number of messages and until their bodies have
-- enough bytes. Returns how many, and 1 when no more are to be dropped.
-- KEYS  stream trimmed
-- ARGV  deadline, log, before, max, bytes
local stream, trimmed = KEYS[1], KEYS[2]
local dropped, bytes, newest, first, ended = 0, 0, nil, '-', 0
redis.call('HLEN', trimmed)
while dropped < tonumber(ARGV[4]) and bytes < tonumber(ARGV[5]) do
  local oldest = redis.call('XRANGE', stream, first, '+', 'COUNT', 1)[1]
  if not oldest or tonumber(oldest[2][2]) >= tonumber(ARGV[3]) then
    ended = 1
    break
  end
  dropped, bytes, newest, first = dropped + 1, bytes + #oldest[2][4], oldest[1], '(' .. oldest[1]
end
if newest then
  local moment, index = string.match(newest, '^(%d+)-(%d+)$')
  redis.call('XTRIM', stream, 'MINID', moment .. '-' .. string.format('%.0f', index + 1))
  redis.call('HSET', trimmed, ARGV[2], newest)
end
return {dropped, ended}
