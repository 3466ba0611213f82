#!lua flags=no-writes
-- Returns whether there are more entries, and entries in key order, up to a number of entries and until their values have
-- enough bytes.
-- KEYS  keys values
-- ARGV  deadline, from, to, max, bytes
local max = tonumber(ARGV[4])
local found = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[2], ARGV[3], 'LIMIT', 0, max + 1)
local reply, bytes, first = {0}, 0, 1
local total, page = math.min(#found, max), 4
while first <= total and bytes < tonumber(ARGV[5]) do
  local last = math.min(first + page - 1, total)
  local values = redis.call('HMGET', KEYS[2], unpack(found, first, last))
  for i = 1, #values do
    reply[#reply + 1] = found[first + i - 1]
    reply[#reply + 1] = values[i]
    bytes = bytes + #(values[i] or '')
  end
  first, page = last + 1, math.min(page * 2, 64)
end
if #found >= first then reply[1] = 1 end
return reply
