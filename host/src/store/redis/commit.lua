#!lua
-- Commits of one partition that touch no key and no job in common: each is judged by the state before all of them, and
-- takes effect or not by itself. Everything that can fail is asked before the first write: Lua does not roll back.
-- KEYS  head keys revisions values logs queues, three of ids, then a stream a log, then due jobs claims a queue
-- ARGV  latest, now, period, large, listed, channel, partition, shape, then words: the names of the logs, the ids, and
--       what `words.rs` writes; the shape is the numbers that say which words are what
-- A request has so few ops and checks that no call gets more words than Lua passes at once, some thousand.
local head, keys, revisions, values, logs, queues = unpack(KEYS, 1, 6)
local function text(number) return string.format('%.0f', number) end

-- What lay in a paused server for longer than its sender waited is not carried out.
local time = redis.call('TIME')
local server = time[1] * 1000000 + time[2]
if server > tonumber(ARGV[1]) then return {'late'} end

local shape, told = cmsgpack.unpack(ARGV[8]), 0
local function count()
  told = told + 1
  return shape[told]
end
local commits, streams, checks = count(), count(), count()
local log, id = 9, 9 + streams
local check = id + commits
local expected = check + checks
local at = expected + checks

-- That no key is of another type: each is asked something that only its type answers.
local last = redis.call('HMGET', head, 'revision', 'at', 'refresh')
local revision, newest = tonumber(last[1] or 0), tonumber(last[2] or 0)
local moment = math.max(tonumber(ARGV[2]), newest + 1)
-- What was done is looked for in the period that runs and the one before.
local period = math.floor(moment / ARGV[3])
local ids, before, oldest = KEYS[7 + period % 3], KEYS[7 + (period + 2) % 3], KEYS[7 + (period + 1) % 3]
local done = redis.call('HMGET', ids, unpack(ARGV, id, check - 1))
local earlier = redis.call('HMGET', before, unpack(ARGV, id, check - 1))
local large = redis.call('HLEN', revisions) > 0
redis.call('ZCARD', keys)
redis.call('HLEN', values)
redis.call('HLEN', logs)
redis.call('SCARD', queues)
for i = 10, 9 + streams do redis.call('XLEN', KEYS[i]) end
local first, jobs = {}, {}
for i = 10 + streams, #KEYS, 3 do
  if redis.call('ZCARD', KEYS[i]) == 0 then first[#first + 1] = string.match(KEYS[i], '^[^}]*}:due:(.*)$') end
  redis.call('HLEN', KEYS[i + 1])
  redis.call('HLEN', KEYS[i + 2])
  jobs[i] = {due = {}, bodies = {}, again = {}, gone = {}}
end

-- The revision of an entry, empty when there is none. It stands before the value, and alone too when that is large.
local function revision_of(key)
  local alone = large and redis.call('HGET', revisions, key)
  return alone or string.match(redis.call('HGET', values, key) or '', '^%d*')
end

-- Why a commit has no effect, if it has none. A check is a key and, among those that are expected, its revision. A
-- settle is a job and a lease; the shape says where its claim lies.
local function judge(i, its_checks, settles)
  -- What an earlier attempt of the same id did is known before its checks are asked.
  local outcome = done[i] or earlier[i]
  if outcome then return 'repeated', outcome end
  for k = 0, its_checks - 1 do
    if revision_of(ARGV[check + k]) ~= ARGV[expected + k] then return 'conflict', k end
  end
  for k = 0, settles - 1 do
    local claim, lease = redis.call('HGET', KEYS[shape[told + k + 1]], ARGV[at + 2 * k]), ARGV[at + 2 * k + 1]
    if not claim or string.match(claim, '^%d+') ~= lease or lease == '0' then return 'lost', k end
  end
end

local refusals, refused, effects = {}, {}, 0
for i = 1, commits do
  local its_checks, settles = count(), count()
  local why, rest = judge(i, its_checks, settles)
  if why then
    refused[i] = true
    refusals[#refusals + 1] = {i - 1, why, rest}
  else
    effects = effects + 1
  end
  check, expected = check + its_checks, expected + its_checks
  told, at = told + settles, at + 2 * settles
end
if effects == 0 then return {revision, moment, refusals} end
-- The name of a partition is in the index before its first commit takes effect.
if not last[1] and ARGV[5] ~= '1' then return {'unlisted'} end

-- From here on nothing fails.
local put, alone, within, deleted, ends, remembered = {}, {}, {}, {}, {}, {}
local puts, nth, most = 0, 0, tonumber(ARGV[4])
for i = 1, commits do
  local words, numbers = count(), count()
  if refused[i] then
    at, told = at + words, told + numbers
  else
    revision = revision + 1
    local stamp, now = text(revision), text(moment)
    -- Entries: key and value. Keys that go.
    for _ = 1, count() do
      local key, value = ARGV[at], ARGV[at + 1]
      puts = puts + 2
      put[puts - 1], put[puts] = key, stamp .. ' ' .. value
      if #value > most then
        alone[#alone + 1], alone[#alone + 2] = key, stamp
      elseif large then
        within[#within + 1] = key
      end
      at = at + 2
    end
    for _ = 1, count() do
      deleted[#deleted + 1] = ARGV[at]
      at = at + 1
    end
    -- Messages: body, then names and values of attributes; the shape says which stream, and how many words.
    local messages = count()
    for nth_message = 0, messages - 1 do
      local stream, its_words = count(), count()
      ends[stream] = now .. '-' .. nth_message
      redis.call('XADD', KEYS[stream], ends[stream], 'time', now, 'body', unpack(ARGV, at, at + its_words - 1))
      at = at + its_words
    end
    -- Jobs as they are after the commit; the shape says which queue, and how many words: the job, then nothing when it
    -- is gone, when it is due when it comes again, when it is due and its body when it is new.
    for _ = 1, count() do
      local queue, its_words = jobs[count()], count()
      local job = ARGV[at]
      if its_words == 3 then
        local n = #queue.due
        queue.due[n + 1], queue.due[n + 2] = ARGV[at + 1], job
        queue.bodies[n + 1], queue.bodies[n + 2] = job, ARGV[at + 2]
      elseif its_words == 2 then
        local n = #queue.again
        queue.again[n + 1], queue.again[n + 2] = ARGV[at + 1], job
      else
        queue.gone[#queue.gone + 1] = job
      end
      at = at + its_words
    end
    nth = nth + 2
    remembered[nth - 1], remembered[nth] = ARGV[id + i - 1], stamp .. ' ' .. now .. ' ' .. messages
    moment = moment + 1
  end
end

local function write(command, key, words)
  return #words > 0 and redis.call(command, key, unpack(words)) or 0
end
redis.call('HSET', head, 'revision', text(revision), 'at', text(moment - 1))
if write('HSET', values, put) > 0 then
  for i = 1, puts, 2 do put[i], put[i + 1] = 0, put[i] end
  redis.call('ZADD', keys, unpack(put))
end
write('HSET', revisions, alone)
write('HDEL', revisions, within)
write('HDEL', values, deleted)
write('HDEL', revisions, deleted)
write('ZREM', keys, deleted)
for i = 1, streams do
  if ends[9 + i] then redis.call('HSET', logs, ARGV[log + i - 1], ends[9 + i]) end
end
write('SADD', queues, first)
for i, queue in pairs(jobs) do
  -- A job that was there already is as if it had never been claimed.
  if write('ZADD', KEYS[i], queue.due) * 2 < #queue.due then
    for n = 2, #queue.due, 2 do redis.call('HDEL', KEYS[i + 2], queue.due[n]) end
  end
  write('HSET', KEYS[i + 1], queue.bodies)
  for n = 2, #queue.again, 2 do
    local attempt = string.match(redis.call('HGET', KEYS[i + 2], queue.again[n]), ' (%d+)$')
    redis.call('HSET', KEYS[i + 2], queue.again[n], '0 ' .. attempt)
  end
  write('ZADD', KEYS[i], queue.again)
  write('ZREM', KEYS[i], queue.gone)
  write('HDEL', KEYS[i + 1], queue.gone)
  write('HDEL', KEYS[i + 2], queue.gone)
end

-- Remembers what was done. When a period begins, all goes that is older than the one before; what is left goes by
-- itself when nobody commits any more.
local begins = math.floor(newest / ARGV[3]) < period
if begins then redis.call('UNLINK', ids, oldest) end
redis.call('HSET', ids, unpack(remembered))
if begins or server > tonumber(last[3] or 0) then
  redis.call('HSET', head, 'refresh', text(server + 600000000))
  redis.call('PEXPIRE', ids, 2400000)
  redis.call('PEXPIRE', before, 2400000)
end
redis.call('PUBLISH', ARGV[6], ARGV[7])
return {revision - effects, moment - effects, refusals}
