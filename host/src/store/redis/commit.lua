#!lua
-- Commits of one partition that touch no key and no job in common: each is judged by the state before all of them, and
-- takes effect or not by itself. Everything that can fail is asked before the first write: Lua does not roll back.
-- KEYS  head keys revisions values ids age logs queues, then a stream a log, then due jobs claims a queue
-- ARGV  latest, now, forget, fresh, channel, partition, then what `commit.rs` writes: the names of the logs, the ids,
--       and each commit with its length before it
local head, keys, revisions, values = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ids, age, logs, queues = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local function text(number) return string.format('%.0f', number) end

-- What lay in a paused server for longer than its sender waited is not carried out.
local time = redis.call('TIME')
local server = time[1] * 1000000 + time[2]
if server > tonumber(ARGV[1]) then return {'late'} end

local at = 7
local function take()
  at = at + 1
  return ARGV[at - 1]
end
local function count() return tonumber(take()) end

local streams, log = count(), at
at = at + streams
local commits, id = count(), at
at = at + commits

-- That no key is of another type: each is asked something that only its type answers.
local last = redis.call('HMGET', head, 'revision', 'at', 'refresh')
local done = redis.call('HMGET', ids, unpack(ARGV, id, id + commits - 1))
redis.call('ZCARD', keys)
redis.call('HLEN', revisions)
redis.call('HLEN', values)
redis.call('LLEN', age)
redis.call('HLEN', logs)
redis.call('SCARD', queues)
for i = 9, 8 + streams do redis.call('XLEN', KEYS[i]) end
local first = {}
for i = 9 + streams, #KEYS, 3 do
  if redis.call('ZCARD', KEYS[i]) == 0 then first[#first + 1] = string.match(KEYS[i], '^[^}]*}:due:(.*)$') end
  redis.call('HLEN', KEYS[i + 1])
  redis.call('HLEN', KEYS[i + 2])
end

-- Why a commit has no effect, if it has none; `at` stands behind its checks and settles then.
local function judge()
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
  for i = 1, count() do
    local claims, job, lease = KEYS[tonumber(take()) + 2], take(), take()
    local claim = redis.call('HGET', claims, job)
    if not claim or string.match(claim, '^%d+') ~= lease or lease == '0' then return {'lost', text(i - 1)} end
  end
end

local answers, begins, effects = {}, {}, 0
for i = 1, commits do
  local next = count()
  next = at + next
  -- What an earlier attempt of the same id did is known before its checks are asked.
  answers[i] = done[i] and {'repeated', done[i]} or judge()
  if not answers[i] then begins[i], effects = at, effects + 1 end
  at = next
end
if effects == 0 then return answers end
-- The name of a partition is in the index before its first commit takes effect.
if not last[1] and ARGV[4] ~= '1' then return {'unlisted'} end

-- From here on nothing fails.
local revision, moment = tonumber(last[1] or 0), tonumber(last[2] or 0)
local order, stamps, put, deleted, newest, done_now, by_age = {}, {}, {}, {}, {}, {}, {}
-- Of each queue: new jobs with when they are due, and their bodies; jobs that come again; jobs that are gone.
local new, bodies, again, claimed, gone = {}, {}, {}, {}, {}
for i = 9 + streams, #KEYS, 3 do new[i], bodies[i], again[i], claimed[i], gone[i] = {}, {}, {}, {}, {} end

for i = 1, commits do
  if begins[i] then
    at = begins[i]
    revision, moment = revision + 1, math.max(tonumber(ARGV[2]), moment + 1)
    local stamp, now = text(revision), text(moment)
    for _ = 1, count() do
      local key, value = take(), take()
      order[#order + 1], order[#order + 2] = 0, key
      stamps[#stamps + 1], stamps[#stamps + 2] = key, stamp
      put[#put + 1], put[#put + 2] = key, value
    end
    for _ = 1, count() do deleted[#deleted + 1] = take() end
    -- Messages: the stream, how many words, the words (body, then names and values of attributes).
    local messages = count()
    for place = 0, messages - 1 do
      local stream, words = count(), count()
      newest[stream] = now .. '-' .. text(place)
      redis.call('XADD', KEYS[stream], newest[stream], 'time', now, unpack(ARGV, at, at + words - 1))
      at = at + words
    end
    -- Jobs as they are after the commit: queue, job, 'new' due body | 'next' due | 'done'.
    for _ = 1, count() do
      local queue, job, what = count(), take(), take()
      if what == 'new' then
        local due, body = take(), take()
        new[queue][#new[queue] + 1], new[queue][#new[queue] + 2] = due, job
        bodies[queue][#bodies[queue] + 1], bodies[queue][#bodies[queue] + 2] = job, body
      elseif what == 'next' then
        local due, attempt = take(), string.match(redis.call('HGET', KEYS[queue + 2], job), ' (%d+)$')
        again[queue][#again[queue] + 1], again[queue][#again[queue] + 2] = due, job
        claimed[queue][#claimed[queue] + 1], claimed[queue][#claimed[queue] + 2] = job, '0 ' .. attempt
      else
        gone[queue][#gone[queue] + 1] = job
      end
    end
    local outcome = stamp .. ' ' .. now .. ' ' .. text(messages)
    answers[i] = {'done', outcome}
    done_now[#done_now + 1], done_now[#done_now + 2] = ARGV[id + i - 1], outcome
    by_age[#by_age + 1] = now .. ' ' .. ARGV[id + i - 1]
  end
end

-- Lua passes no more than some thousand words at once; 3,000 is a multiple of every width.
local function write(command, key, words)
  local answer = 0
  for i = 1, #words, 3000 do
    answer = answer + redis.call(command, key, unpack(words, i, math.min(i + 2999, #words)))
  end
  return answer
end
redis.call('HSET', head, 'revision', text(revision), 'at', text(moment))
write('HSET', values, put)
write('HSET', revisions, stamps)
write('ZADD', keys, order)
write('HDEL', values, deleted)
write('HDEL', revisions, deleted)
write('ZREM', keys, deleted)
local ends = {}
for i = 1, streams do
  if newest[8 + i] then ends[#ends + 1], ends[#ends + 2] = ARGV[log + i - 1], newest[8 + i] end
end
write('HSET', logs, ends)
write('SADD', queues, first)
for queue, jobs in pairs(new) do
  -- A job that was there already is as if it had never been claimed.
  if write('ZADD', KEYS[queue], jobs) * 2 < #jobs then
    for i = 2, #jobs, 2 do redis.call('HDEL', KEYS[queue + 2], jobs[i]) end
  end
  write('HSET', KEYS[queue + 1], bodies[queue])
  write('ZADD', KEYS[queue], again[queue])
  write('HSET', KEYS[queue + 2], claimed[queue])
  write('ZREM', KEYS[queue], gone[queue])
  write('HDEL', KEYS[queue + 1], gone[queue])
  write('HDEL', KEYS[queue + 2], gone[queue])
end

-- Remembers what was done, and forgets some of what is old; all of it goes by itself when nobody commits any more.
write('HSET', ids, done_now)
write('RPUSH', age, by_age)
for _ = 1, 4 * effects do
  local oldest = redis.call('LINDEX', age, 0)
  local blank = string.find(oldest, ' ', 1, true)
  if tonumber(string.sub(oldest, 1, blank - 1)) >= tonumber(ARGV[3]) then break end
  redis.call('LPOP', age)
  redis.call('HDEL', ids, string.sub(oldest, blank + 1))
end
if server > tonumber(last[3] or 0) then
  redis.call('HSET', head, 'refresh', text(server + 600000000))
  redis.call('PEXPIRE', ids, 2400000)
  redis.call('PEXPIRE', age, 2400000)
end
redis.call('PUBLISH', ARGV[5], ARGV[6])
return answers
