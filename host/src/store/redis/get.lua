#!lua flags=no-writes
-- Revision and value of some keys, of one state.
-- KEYS  revisions values
-- ARGV  latest, the keys
local answer = {}
for first = 2, #ARGV, 1000 do
  local last = math.min(first + 999, #ARGV)
  local revisions = redis.call('HMGET', KEYS[1], unpack(ARGV, first, last))
  local values = redis.call('HMGET', KEYS[2], unpack(ARGV, first, last))
  for i = 1, #values do
    answer[#answer + 1] = revisions[i]
    answer[#answer + 1] = values[i]
  end
end
return answer
