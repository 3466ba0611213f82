#!lua
-- Claims due jobs, longest due first, up to a number of jobs and until their bodies have enough bytes.
-- KEYS  head due jobs claims
-- ARGV  deadline, now, until, max, bytes
-- Replies with when the next job may be claimed, the newest lease before these, which count up from it, and the ids, the
-- attempts and the bodies of the jobs: a table for each job would cost more.
local head, due, jobs, claims = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local text = function(number) return string.format('%.0f', number) end
local time = redis.call('TIME')
local server = time[1] * 1000000 + time[2]
if server > tonumber(ARGV[1]) then return {'late', text(server)} end

local found = redis.call('ZRANGEBYSCORE', due, '-inf', ARGV[2], 'LIMIT', 0, ARGV[4])
local lease = tonumber(redis.call('HGET', head, 'lease') or 0)
redis.call('HLEN', jobs)
redis.call('HLEN', claims)

-- Bodies are read in parts, since most of them may be left over; everything is written at once.
local before, ids, attempts, texts = text(lease), {}, {}, {}
local dues, leases, bytes, part = {}, {}, 0, 32
for first = 1, #found, part do
  if bytes >= tonumber(ARGV[5]) then break end
  local last = math.min(first + part - 1, #found)
  local bodies = redis.call('HMGET', jobs, unpack(found, first, last))
  local earlier = redis.call('HMGET', claims, unpack(found, first, last))
  for i = first, last do
    if bytes >= tonumber(ARGV[5]) then break end
    local job, body, claim = found[i], bodies[i - first + 1] or '', earlier[i - first + 1]
    local attempt = claim and tonumber(string.match(claim, ' (%d+)$')) or 0
    lease, attempt, bytes = lease + 1, attempt + 1, bytes + #body
    local n = #dues
    dues[n + 1], dues[n + 2] = ARGV[3], job
    leases[n + 1], leases[n + 2] = job, text(lease) .. ' ' .. attempt
    ids[i], attempts[i], texts[i] = job, attempt, body
  end
end
if #ids > 0 then
  redis.call('ZADD', due, unpack(dues))
  redis.call('HSET', claims, unpack(leases))
  redis.call('HSET', head, 'lease', text(lease))
end
local next_due = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2] or ''
return {'claimed', next_due, before, ids, attempts, texts}
