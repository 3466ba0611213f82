#!lua
-- Applies commits of one partition that touch no key and no job in common: each is decided on the state before all of
-- them, and takes effect or not on its own. Everything that can fail is done before the first write, since Lua does not
-- roll back.
-- KEYS  head keys revisions values logs queues, three of ids, then a stream for each log, then due jobs claims for each
--       queue
-- ARGV  deadline, now, period, large, listed, channel, partition, layout, then the values that `commit_arguments.rs`
--       encodes: the names of the logs, the ids, checks, settles and effects. The layout is the numbers that say which
--       values are what
-- A request has so few ops and checks that no call exceeds the number of values that Lua can unpack, some thousands.
local head, keys, revisions, values, logs, queues = unpack(KEYS, 1, 6)
local function text(number) return string.format('%.0f', number) end

-- A request that waited in a paused server for longer than its sender waits is not executed.
local time = redis.call('TIME')
local server = time[1] * 1000000 + time[2]
if server > tonumber(ARGV[1]) then return {'late'} end

local layout, consumed = cmsgpack.unpack(ARGV[8]), 0
local function next_number()
  consumed = consumed + 1
  return layout[consumed]
end
local commits, streams, checks = next_number(), next_number(), next_number()
-- The indexes of the first value of each section; `at` is the next value that is not consumed.
local log, id = 9, 9 + streams
local check = id + commits
local expected = check + checks
local at = expected + checks

-- Verifies that no key has another type: each is read by a command that only its type supports.
local last = redis.call('HMGET', head, 'revision', 'at', 'refresh')
local revision, newest = tonumber(last[1] or 0), tonumber(last[2] or 0)
local moment = math.max(tonumber(ARGV[2]), newest + 1)
-- Outcomes are looked up in the current period and the one before.
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
local new_queues, jobs = {}, {}
for i = 10 + streams, #KEYS, 3 do
  if redis.call('ZCARD', KEYS[i]) == 0 then new_queues[#new_queues + 1] = string.match(KEYS[i], '^[^}]*}:due:(.*)$') end
  redis.call('HLEN', KEYS[i + 1])
  redis.call('HLEN', KEYS[i + 2])
  jobs[i] = {due = {}, bodies = {}, again = {}, removed = {}}
end

-- The revision of an entry, empty when it does not exist. It precedes the value, and for a large value is also stored
-- separately.
local function revision_of(key)
  local separate = large and redis.call('HGET', revisions, key)
  return separate or string.match(redis.call('HGET', values, key) or '', '^%d*')
end

-- Why a commit has no effect, or nil. A check is a key and its expected revision. A settle is a job and a lease, and in
-- the layout the index of the queue's claims.
local function refusal(i, its_checks, settles)
  -- The outcome of an earlier attempt takes precedence over the checks, which its effect may have falsified.
  local outcome = done[i] or earlier[i]
  if outcome then return 'repeated', outcome end
  for k = 0, its_checks - 1 do
    if revision_of(ARGV[check + k]) ~= ARGV[expected + k] then return 'conflict', k end
  end
  for k = 0, settles - 1 do
    local claim, lease = redis.call('HGET', KEYS[layout[consumed + k + 1]], ARGV[at + 2 * k]), ARGV[at + 2 * k + 1]
    if not claim or string.match(claim, '^%d+') ~= lease or lease == '0' then return 'lost', k end
  end
end

local refusals, refused, effects, repeated = {}, {}, 0, false
for i = 1, commits do
  local its_checks, settles = next_number(), next_number()
  local why, detail = refusal(i, its_checks, settles)
  if why then
    refused[i], repeated = true, repeated or why == 'repeated'
    refusals[#refusals + 1] = {i - 1, why, detail}
  else
    effects = effects + 1
  end
  check, expected = check + its_checks, expected + its_checks
  consumed, at = consumed + settles, at + 2 * settles
end
if effects == 0 then
  -- A repeat writes too, since WAIT covers what a connection wrote: then replicas have what it repeats as well.
  if repeated then redis.call('HSET', head, 'revision', text(revision)) end
  return {revision, moment, refusals}
end
-- A partition must be in the index before its first commit takes effect.
if not last[1] and ARGV[5] ~= '1' then return {'unlisted'} end

-- From here on nothing fails.
local put, separate, inline, deleted, ends, outcomes = {}, {}, {}, {}, {}, {}
local puts, remembered, limit = 0, 0, tonumber(ARGV[4])
for i = 1, commits do
  local its_values, its_numbers = next_number(), next_number()
  if refused[i] then
    at, consumed = at + its_values, consumed + its_numbers
  else
    revision = revision + 1
    local stamp, now = text(revision), text(moment)
    -- Entries to put, key and value; then keys to delete.
    for _ = 1, next_number() do
      local key, value = ARGV[at], ARGV[at + 1]
      puts = puts + 2
      put[puts - 1], put[puts] = key, stamp .. ' ' .. value
      if #value > limit then
        separate[#separate + 1], separate[#separate + 2] = key, stamp
      elseif large then
        inline[#inline + 1] = key
      end
      at = at + 2
    end
    for _ = 1, next_number() do
      deleted[#deleted + 1] = ARGV[at]
      at = at + 1
    end
    -- Messages: body, then names and values of attributes. In the layout the index of the stream and the number of values.
    local messages = next_number()
    for nth_message = 0, messages - 1 do
      local stream, count = next_number(), next_number()
      ends[stream] = now .. '-' .. nth_message
      redis.call('XADD', KEYS[stream], ends[stream], 'time', now, 'body', unpack(ARGV, at, at + count - 1))
      at = at + count
    end
    -- Jobs as they are after the commit. In the layout the index of the queue and the number of values: the job alone when
    -- it is removed, with its due time when it is rescheduled, with its due time and body when it is enqueued.
    for _ = 1, next_number() do
      local queue, count = jobs[next_number()], next_number()
      local job = ARGV[at]
      if count == 3 then
        local n = #queue.due
        queue.due[n + 1], queue.due[n + 2] = ARGV[at + 1], job
        queue.bodies[n + 1], queue.bodies[n + 2] = job, ARGV[at + 2]
      elseif count == 2 then
        local n = #queue.again
        queue.again[n + 1], queue.again[n + 2] = ARGV[at + 1], job
      else
        queue.removed[#queue.removed + 1] = job
      end
      at = at + count
    end
    remembered = remembered + 2
    outcomes[remembered - 1], outcomes[remembered] = ARGV[id + i - 1], stamp .. ' ' .. now .. ' ' .. messages
    moment = moment + 1
  end
end

local function write(command, key, arguments)
  return #arguments > 0 and redis.call(command, key, unpack(arguments)) or 0
end
redis.call('HSET', head, 'revision', text(revision), 'at', text(moment - 1))
if write('HSET', values, put) > 0 then
  for i = 1, puts, 2 do put[i], put[i + 1] = 0, put[i] end
  redis.call('ZADD', keys, unpack(put))
end
write('HSET', revisions, separate)
write('HDEL', revisions, inline)
write('HDEL', values, deleted)
write('HDEL', revisions, deleted)
write('ZREM', keys, deleted)
for i = 1, streams do
  if ends[9 + i] then redis.call('HSET', logs, ARGV[log + i - 1], ends[9 + i]) end
end
write('SADD', queues, new_queues)
for i, queue in pairs(jobs) do
  -- A replaced job is as if it had never been claimed.
  if write('ZADD', KEYS[i], queue.due) * 2 < #queue.due then
    for n = 2, #queue.due, 2 do redis.call('HDEL', KEYS[i + 2], queue.due[n]) end
  end
  write('HSET', KEYS[i + 1], queue.bodies)
  for n = 2, #queue.again, 2 do
    local attempt = string.match(redis.call('HGET', KEYS[i + 2], queue.again[n]), ' (%d+)$')
    redis.call('HSET', KEYS[i + 2], queue.again[n], '0 ' .. attempt)
  end
  write('ZADD', KEYS[i], queue.again)
  write('ZREM', KEYS[i], queue.removed)
  write('HDEL', KEYS[i + 1], queue.removed)
  write('HDEL', KEYS[i + 2], queue.removed)
end

-- Remembers the outcomes. When a period begins, those older than the period before are removed; the others expire when
-- no commit comes any more.
local begins = math.floor(newest / ARGV[3]) < period
if begins then redis.call('UNLINK', ids, oldest) end
redis.call('HSET', ids, unpack(outcomes))
if begins or server > tonumber(last[3] or 0) then
  redis.call('HSET', head, 'refresh', text(server + 600000000))
  redis.call('PEXPIRE', ids, 2400000)
  redis.call('PEXPIRE', before, 2400000)
end
redis.call('PUBLISH', ARGV[6], ARGV[7] .. '\n' .. text(server) .. '-' .. text(revision))
return {revision - effects, moment - effects, refusals}
