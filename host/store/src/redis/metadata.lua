#!lua flags=no-writes
-- Returns the counters of a partition, the bounds of its logs and the names of its queues.
-- KEYS  head logs trimmed queues
-- ARGV  deadline
return {
  redis.call('HMGET', KEYS[1], 'revision', 'at', 'lease'),
  redis.call('HGETALL', KEYS[2]),
  redis.call('HGETALL', KEYS[3]),
  redis.call('SMEMBERS', KEYS[4]),
}
