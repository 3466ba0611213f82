#!lua
-- Puts messages as another store had them; those that are there already are left alone.
-- KEYS  stream
-- ARGV  latest, then of each message: its id, how many words, the words
local at = 2
while at <= #ARGV do
  local id, words = ARGV[at], tonumber(ARGV[at + 1])
  local added = redis.pcall('XADD', KEYS[1], id, unpack(ARGV, at + 2, at + 1 + words))
  if type(added) == 'table' and added.err and not string.find(added.err, 'equal or smaller', 1, true) then
    return added
  end
  at = at + 2 + words
end
return 1
