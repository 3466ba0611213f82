//! A bounded, sharded cache of verified tokens, by their whole text: requests rarely wait for each other's locks.

use std::collections::HashMap;

use parking_lot::RwLock;
use tillgate_store::clock::Timestamp;

use super::verify::Verified;

/// The number of shards, and the most tokens of each.
const SHARDS: usize = 16;
const PER_SHARD: usize = 512;

#[derive(Debug, Default)]
pub(super) struct TokenCache {
    shards: [RwLock<Shard>; SHARDS],
}

type Shard = HashMap<Box<str>, Verified, foldhash::quality::RandomState>;

impl TokenCache {
    /// Returns the result of `find` for a cached token.
    pub(super) fn find<T>(
        &self,
        token: &str,
        find: impl FnOnce(&Verified) -> Option<T>,
    ) -> Option<T> {
        self.shard(token)?.read().get(token).and_then(find)
    }

    pub(super) fn insert(&self, token: &str, verified: Verified, now: Timestamp) {
        let Some(shard) = self.shard(token) else {
            return;
        };
        let mut shard = shard.write();
        if shard.len() >= PER_SHARD {
            shard.retain(|_, verified| verified.is_usable(now));
        }
        if shard.len() >= PER_SHARD {
            // Any half will do: a dropped token is verified again.
            let mut keep = false;
            shard.retain(|_, _| {
                keep = !keep;
                keep
            });
        }
        shard.insert(token.into(), verified);
    }

    /// Returns the number of cached tokens, and the bytes of their texts.
    pub(super) fn size(&self) -> (usize, usize) {
        let mut size = (0, 0);
        for shard in &self.shards {
            let shard = shard.read();
            size.0 += shard.len();
            size.1 += shard.keys().map(|token| token.len()).sum::<usize>();
        }
        size
    }

    /// Returns the shard of a token, by its signature: signatures are as good as random, and only valid ones are
    /// cached.
    fn shard(&self, token: &str) -> Option<&RwLock<Shard>> {
        let tail = token.as_bytes().iter().rev().skip(1).take(4);
        let sum: usize = tail.map(|byte| usize::from(*byte)).sum();
        self.shards.get(sum % SHARDS)
    }
}
