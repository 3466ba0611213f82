#!lua flags=no-writes
-- What a partition holds besides entries.
-- KEYS  head logs trimmed queues
-- ARGV  latest
return {
  redis.call('HMGET', KEYS[1], 'revision', 'at', 'lease'),
  redis.call('HGETALL', KEYS[2]),
  redis.call('HGETALL', KEYS[3]),
  redis.call('SMEMBERS', KEYS[4]),
}
