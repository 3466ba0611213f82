#!lua flags=no-writes
-- Returns messages after a position, up to a number of messages and until their bodies have enough bytes, and the bounds
-- of the log.
-- KEYS  stream logs trimmed
-- ARGV  deadline, log, after, max, bytes
local messages, bytes, after, max = {}, 0, ARGV[3], tonumber(ARGV[4])
local page = 4
while #messages < max and bytes < tonumber(ARGV[5]) do
  local found = redis.call('XRANGE', KEYS[1], '(' .. after, '+', 'COUNT', math.min(max - #messages, page))
  if #found == 0 then break end
  for i = 1, #found do
    messages[#messages + 1] = found[i]
    bytes = bytes + #found[i][2][4]
  end
  after, page = found[#found][1], math.min(page * 2, 64)
end
return {redis.call('HGET', KEYS[2], ARGV[2]), redis.call('HGET', KEYS[3], ARGV[2]), messages}
