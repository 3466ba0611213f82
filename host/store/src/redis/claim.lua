#!lua
-- Claims due jobs, longest due first, up to a number of jobs and until their bodies have enough bytes.
-- KEYS  head due jobs claims
-- ARGV  deadline, now, until, max, bytes
local head, due, jobs, claims = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local text = function(number) return string.format('%.0f', number) end
local time = redis.call('TIME')
local server = time[1] * 1000000 + time[2]
if server > tonumber(ARGV[1]) then return {'late', text(server)} end

local found = redis.call('ZRANGEBYSCORE', due, '-inf', ARGV[2], 'LIMIT', 0, ARGV[4])
local lease = tonumber(redis.call('HGET', head, 'lease') or 0)
redis.call('HLEN', jobs)
redis.call('HLEN', claims)

local claimed, bytes = {}, 0
for i = 1, #found do
  if bytes >= tonumber(ARGV[5]) then break end
  local job = found[i]
  local body = redis.call('HGET', jobs, job) or ''
  local claim = redis.call('HGET', claims, job)
  local attempt = claim and tonumber(string.match(claim, ' (%d+)$')) or 0
  lease, attempt, bytes = lease + 1, attempt + 1, bytes + #body
  redis.call('ZADD', due, ARGV[3], job)
  redis.call('HSET', claims, job, text(lease) .. ' ' .. text(attempt))
  claimed[#claimed + 1] = {job, text(lease), text(attempt), body}
end
if #claimed > 0 then redis.call('HSET', head, 'lease', text(lease)) end
return {'claimed', redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2] or '', claimed}
