#!lua
-- Appends messages of another store with the ids they had there; those that the stream already has are skipped.
-- KEYS  stream
-- ARGV  deadline, then for each message its id, the number of its fields and values, and these
local at = 2
while at <= #ARGV do
  local id, count = ARGV[at], tonumber(ARGV[at + 1])
  local added = redis.pcall('XADD', KEYS[1], id, unpack(ARGV, at + 2, at + 1 + count))
  if type(added) == 'table' and added.err and not string.find(added.err, 'equal or smaller', 1, true) then
    return added
  end
  at = at + 2 + count
end
return 1
