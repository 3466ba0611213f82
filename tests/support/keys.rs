//! Signing keys that are ready before a host starts, because generating the two keys of a first start takes longer
//! than most tests. They are generated once in a process, and hosts get them through the store, as from another host.
//!
//! `program/first_start.rs` tests with the real program that a first start generates its own keys.

use std::sync::{Arc, LazyLock};

use tillgate_base::data::records::Records;
use tillgate_base::keys::{NewKey, StoredKeys};
use tillgate_store::clock::{Clock, Timestamp};
use tillgate_store::{Partition, Store};

/// The partition of each key ring, and the key of its record.
const TOKENS: &str = "iam";
const IDENTITY_PROVIDER: &str = "identity-provider";
const RECORD: &str = "keys";

static TOKEN_KEY: LazyLock<NewKey> = LazyLock::new(|| NewKey::generate().unwrap());

/// Its certificate is dated to the start of 2026, the time of the tests' clocks.
static CERTIFIED_KEY: LazyLock<NewKey> = LazyLock::new(|| {
    NewKey::certified("Tillgate webhooks", Timestamp(1_767_225_600_000_000)).unwrap()
});

/// Puts keys into a store that has none. If the store cannot be reached, the host has to handle it.
pub async fn provide(store: &Arc<dyn Store>, clock: &Arc<dyn Clock>) {
    put(store, TOKENS, &TOKEN_KEY, clock.now()).await;
    put(store, IDENTITY_PROVIDER, &CERTIFIED_KEY, clock.now()).await;
}

/// Puts a new key for access tokens into an empty store, so that other hosts do not know the key of this host.
pub async fn provide_another(store: &Arc<dyn Store>, now: Timestamp) {
    put(store, TOKENS, &NewKey::generate().unwrap(), now).await;
}

async fn put(store: &Arc<dyn Store>, partition: &str, key: &NewKey, now: Timestamp) {
    let records = Records::new(Arc::clone(store), Partition::named(partition));
    let first = StoredKeys::first(key, now);
    let _ = records.get_or_put(RECORD, &first).await;
}
