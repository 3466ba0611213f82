#!lua
-- One commit. Everything that can fail is asked before the first write: Lua does not roll back.
-- KEYS  head keys revisions values ids age logs queues, then a stream a log, then due jobs claims a queue
-- ARGV  latest, id, now, forget, fresh, channel, partition, then the lists that `commit.rs` writes
local head, keys, revisions, values = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ids, age, logs, queues = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local text = function(number) return string.format('%.0f', number) end

-- What an earlier attempt of the same id did.
local last = redis.call('HMGET', head, 'revision', 'at', 'refresh')
local done = redis.call('HGET', ids, ARGV[2])
if done then return {'repeated', done} end

-- A request that lay in a paused server for longer than its sender waited is not carried out.
local time = redis.call('TIME')
local server = time[1] * 1000000 + time[2]
if server > tonumber(ARGV[1]) then return {'late', text(server)} end

local at = 8
local function take()
  at = at + 1
  return ARGV[at - 1]
end
local function count() return tonumber(take()) end

-- Checks: the keys, then the revision of each; empty is absent.
local checks = count()
if checks > 0 then
  local found = redis.call('HMGET', revisions, unpack(ARGV, at, at + checks - 1))
  for i = 1, checks do
    if (found[i] or '') ~= ARGV[at + checks + i - 1] then return {'conflict', text(i - 1)} end
  end
  at = at + 2 * checks
end

-- Settles: queue, job, lease.
local settles = count()
for i = 1, settles do
  local claims, job, lease = KEYS[tonumber(take()) + 2], take(), take()
  local claim = redis.call('HGET', claims, job)
  if not claim or string.match(claim, '^%d+') ~= lease or lease == '0' then
    return {'lost', text(i - 1)}
  end
end

-- The name of a partition is in the index before its first commit takes effect.
if not last[1] and ARGV[5] ~= '1' then return {'unlisted'} end

-- That no key is of another type: each is asked something that only its type answers.
local puts, put = count(), at
at = at + 2 * puts
local deletes, delete = count(), at
at = at + deletes
if puts + deletes > 0 then
  redis.call('ZCARD', keys)
  redis.call('HLEN', revisions)
  redis.call('HLEN', values)
end
redis.call('LLEN', age)
local streams = count()
if streams > 0 then redis.call('HLEN', logs) end
for i = 9, 8 + streams do redis.call('XLEN', KEYS[i]) end
local first = {}
for i = 9 + streams, #KEYS, 3 do
  if redis.call('ZCARD', KEYS[i]) == 0 then first[#first + 1] = string.match(KEYS[i], '^[^}]*}:due:(.*)$') end
  redis.call('HLEN', KEYS[i + 1])
  redis.call('HLEN', KEYS[i + 2])
end

if #first > 0 then redis.call('SCARD', queues) end

-- From here on nothing fails.
local revision = text((last[1] or 0) + 1)
local moment = text(math.max(tonumber(ARGV[3]), (last[2] or 0) + 1))
redis.call('HSET', head, 'revision', revision, 'at', moment)

if puts > 0 then
  local order, stamps = {}, {}
  for i = put, put + 2 * puts - 1, 2 do
    order[#order + 1] = 0
    order[#order + 1] = ARGV[i]
    stamps[#stamps + 1] = ARGV[i]
    stamps[#stamps + 1] = revision
  end
  redis.call('HSET', values, unpack(ARGV, put, put + 2 * puts - 1))
  redis.call('HSET', revisions, unpack(stamps))
  redis.call('ZADD', keys, unpack(order))
end
if deletes > 0 then
  redis.call('HDEL', values, unpack(ARGV, delete, delete + deletes - 1))
  redis.call('HDEL', revisions, unpack(ARGV, delete, delete + deletes - 1))
  redis.call('ZREM', keys, unpack(ARGV, delete, delete + deletes - 1))
end

-- Messages: the stream, how many words, the words (body, then names and values of attributes).
local messages = count()
for i = 1, messages do
  local stream, words = KEYS[tonumber(take())], count()
  redis.call('XADD', stream, moment .. '-' .. text(i - 1), 'time', moment, unpack(ARGV, at, at + words - 1))
  at = at + words
end
-- The newest message of each log: its name, its place among this commit's messages.
if streams > 0 then
  local newest = {}
  for i = 1, streams do
    newest[#newest + 1] = take()
    newest[#newest + 1] = moment .. '-' .. take()
  end
  redis.call('HSET', logs, unpack(newest))
end

-- A queue that had no job may be new.
if #first > 0 then redis.call('SADD', queues, unpack(first)) end
-- Jobs as they are after the commit: queue, job, 'new' due body | 'next' due | 'done'.
local jobs = count()
for i = 1, jobs do
  local queue, job, what = tonumber(take()), take(), take()
  local due, bodies, claims = KEYS[queue], KEYS[queue + 1], KEYS[queue + 2]
  if what == 'new' then
    if redis.call('ZADD', due, take(), job) == 0 then redis.call('HDEL', claims, job) end
    redis.call('HSET', bodies, job, take())
  elseif what == 'next' then
    local attempt = string.match(redis.call('HGET', claims, job), ' (%d+)$')
    redis.call('ZADD', due, take(), job)
    redis.call('HSET', claims, job, '0 ' .. attempt)
  else
    redis.call('ZREM', due, job)
    redis.call('HDEL', bodies, job)
    redis.call('HDEL', claims, job)
  end
end

-- Remembers what it did, and forgets some of what is old; all of it goes by itself when nobody commits any more.
redis.call('HSET', ids, ARGV[2], revision .. ' ' .. moment .. ' ' .. text(messages))
redis.call('RPUSH', age, moment .. ' ' .. ARGV[2])
for _ = 1, 4 do
  local oldest = redis.call('LINDEX', age, 0)
  local blank = string.find(oldest, ' ', 1, true)
  if tonumber(string.sub(oldest, 1, blank - 1)) >= tonumber(ARGV[4]) then break end
  redis.call('LPOP', age)
  redis.call('HDEL', ids, string.sub(oldest, blank + 1))
end
if server > tonumber(last[3] or 0) then
  redis.call('HSET', head, 'refresh', text(server + 600000000))
  redis.call('PEXPIRE', ids, 2400000)
  redis.call('PEXPIRE', age, 2400000)
end
redis.call('PUBLISH', ARGV[6], ARGV[7])
return {'done', revision .. ' ' .. moment .. ' ' .. text(messages)}
