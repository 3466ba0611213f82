#!lua
-- Adds a name to the index of all partitions. It writes also when the name is there: WAIT covers what a connection wrote.
-- KEYS  partitions
-- ARGV  deadline, name
redis.call('ZREM', KEYS[1], ARGV[2])
redis.call('ZADD', KEYS[1], 0, ARGV[2])
return 1
