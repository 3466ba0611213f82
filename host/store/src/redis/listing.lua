#!lua flags=no-writes
-- Returns how much of each kind a partition has: for entries, the logs and the queues a list of {name, count, bytes}. A kind of
-- entries is what stands before the first slash of a key. Bytes are estimated from a few of them; nothing is read whole.
-- KEYS  keys values, then those of the logs, then two of each queue (due jobs)
-- ARGV  deadline, sample, logs, queues, then the names of the logs and of the queues
local sample, logs, queues = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local function estimate(hash, names, count)
  local bytes = 0
  for i = 1, #names do bytes = bytes + redis.call('HSTRLEN', hash, names[i]) end
  return #names > 0 and math.floor(bytes / #names * count) or 0
end

local entries, from = {}, '-'
while true do
  local first = redis.call('ZRANGEBYLEX', KEYS[1], from, '+', 'LIMIT', 0, 1)[1]
  if not first then break end
  local name = string.match(first, '^[^/]*')
  -- A zero is the byte after a slash.
  local low, high = '[' .. name .. '/', '(' .. name .. '0'
  if first == name then low, high = '[' .. first, '[' .. first end
  local count = redis.call('ZLEXCOUNT', KEYS[1], low, high)
  local some = redis.call('ZRANGEBYLEX', KEYS[1], low, high, 'LIMIT', 0, sample)
  entries[#entries + 1] = {name, count, estimate(KEYS[2], some, count)}
  from = first == name and '(' .. first or '[' .. name .. '0'
end

local messages, key, argument = {}, 3, 5
for _ = 1, logs do
  local count = redis.call('XLEN', KEYS[key])
  local bytes = count > 0 and redis.call('MEMORY', 'USAGE', KEYS[key], 'SAMPLES', sample) or 0
  messages[#messages + 1] = {ARGV[argument], count, bytes}
  key, argument = key + 1, argument + 1
end

local jobs = {}
for _ = 1, queues do
  local count = redis.call('ZCARD', KEYS[key])
  local some = redis.call('ZRANGE', KEYS[key], 0, sample - 1)
  jobs[#jobs + 1] = {ARGV[argument], count, estimate(KEYS[key + 1], some, count)}
  key, argument = key + 2, argument + 1
end
return {entries, messages, jobs}
