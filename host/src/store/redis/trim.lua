#!lua
-- Drops the oldest messages that were published before a moment, until there are enough of them or of their bytes.
-- KEYS  stream trimmed
-- ARGV  latest, log, before, max, bytes
local stream, trimmed = KEYS[1], KEYS[2]
local gone, bytes, newest, first, ended = 0, 0, nil, '-', 0
redis.call('HLEN', trimmed)
while gone < tonumber(ARGV[4]) and bytes < tonumber(ARGV[5]) do
  local oldest = redis.call('XRANGE', stream, first, '+', 'COUNT', 1)[1]
  if not oldest or tonumber(oldest[2][2]) >= tonumber(ARGV[3]) then
    ended = 1
    break
  end
  gone, bytes, newest, first = gone + 1, bytes + #oldest[2][4], oldest[1], '(' .. oldest[1]
end
if newest then
  local moment, place = string.match(newest, '^(%d+)-(%d+)$')
  redis.call('XTRIM', stream, 'MINID', moment .. '-' .. string.format('%.0f', place + 1))
  redis.call('HSET', trimmed, ARGV[2], newest)
end
return {gone, ended}
