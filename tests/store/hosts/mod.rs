//! Hosts on a store whose servers or disk may fail. The tests of the store itself are in `store/`, another binary.

mod disk_faults;
mod redis;
mod redis_faults;
