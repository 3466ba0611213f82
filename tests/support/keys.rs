//! Signing keys that are ready before a host starts: generating the two that a first start makes takes longer than most
//! tests. They are generated once a process and given to hosts as another host would give them, through the store.
//!
//! That a first start generates its own is tested with the real program (`first_start.rs`).

use std::sync::{Arc, LazyLock};

use tillgate_base::data::records::Records;
use tillgate_base::keys::{NewKey, StoredKeys};
use tillgate_store::clock::{Clock, Timestamp};
use tillgate_store::{Partition, Store};

/// Where each ring of keys is stored.
const TOKENS: &str = "iam";
const IDENTITY_PROVIDER: &str = "identity-provider";
const RECORD: &str = "keys";

static TOKEN_KEY: LazyLock<NewKey> = LazyLock::new(|| NewKey::generate().unwrap());

/// Its certificate is as if it was made at the start of 2026, which is where the clocks of tests stand.
static CERTIFIED_KEY: LazyLock<NewKey> = LazyLock::new(|| {
    NewKey::certified("Tillgate webhooks", Timestamp(1_767_225_600_000_000)).unwrap()
});

/// Puts keys into a store that has none. A store that cannot be reached is left to the host.
pub async fn provide(store: &Arc<dyn Store>, clock: &Arc<dyn Clock>) {
    put(store, TOKENS, &TOKEN_KEY, clock.now()).await;
    put(store, IDENTITY_PROVIDER, &CERTIFIED_KEY, clock.now()).await;
}

/// Puts a key of its own for access tokens into an empty store: what one host signs, another one does not know then.
pub async fn provide_another(store: &Arc<dyn Store>, now: Timestamp) {
    put(store, TOKENS, &NewKey::generate().unwrap(), now).await;
}

async fn put(store: &Arc<dyn Store>, partition: &str, key: &NewKey, now: Timestamp) {
    let records = Records::new(Arc::clone(store), Partition::named(partition));
    let first = StoredKeys::first(key, now);
    let _ = records.get_or_put(RECORD, &first).await;
}
