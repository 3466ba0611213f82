//! Publishing: adds to a commit what a shop uses from now on, and the message that says so.
//!
//! Records of used rates that shops share, and long lists of messages, are named by their content. They may be large,
//! so a fan-out writes each once, and the commits that follow expect it to be there still. Every commit that refers to
//! shared used rates says so in a small record of its own, so that rates that seem unused are removed only while no
//! commit has referred to them since (`retention.rs`).

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use tillgate_base::data::records::{Change, Versioned};
use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;
use tillgate_store::Revision;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::content::Content;
use super::math::{self, Difference};
use super::used_record::{is_shared, reference_key, used_key};
use crate::topic::{self, SHARED_LISTS, TOPIC};
use crate::units::tree::Node;
use crate::units::unit::{Unit, UnitId};

/// The most bytes of lists in a message's body; longer lists are a record that messages share.
const INLINE: usize = 1 << 10;

/// The tenant, the change and the time of published messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Publisher<'a> {
    pub(crate) tenant: &'a TenantId,
    pub(crate) correlation: Uuid,
    pub(crate) now: Timestamp,
}

/// The shared records that successive commits refer to.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// The records that the planned commit refers to.
    planned: HashSet<String>,
    /// The records that an earlier commit has written, with their versions.
    written: HashMap<String, Revision>,
}

impl Shared {
    /// Begins another plan of the next commit.
    pub(crate) fn plan(&mut self) {
        self.planned.clear();
    }

    /// Notes that the planned commit took effect.
    pub(crate) fn committed(&mut self, revision: Revision) {
        for key in self.planned.drain() {
            self.written.entry(key).or_insert(revision);
        }
    }

    /// Forgets what was written, because it may be gone.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds to the planned change a reference to the record of a content.
    fn refer(&mut self, change: &mut Change, key: &str, content: &Content) {
        if !self.planned.insert(key.to_owned()) {
            return;
        }
        match self.written.get(key) {
            Some(&revision) => {
                let record = ();
                change.expect(key, Some(&Versioned { revision, record }));
            }
            None => change.put_bytes(key, content.bytes().clone()),
        }
        if let Some(reference) = reference_key(key) {
            change.put_bytes(&reference, Bytes::new());
        }
    }
}

impl Publisher<'_> {
    /// Adds to a change the rates that a shop uses from now on, and the message that says so. Returns the shop's unit
    /// for the caller to put, if it changes, and whether there is a message.
    pub(crate) fn publish(
        self,
        change: &mut Change,
        shared: &mut Shared,
        shop: &Node,
        difference: &Difference,
    ) -> (Option<Unit>, bool) {
        let unit = shop.unit();
        let key = used_key(shop, &difference.rates);
        let is_moved = unit.used_rates.as_ref() != Some(&key);
        let is_changed = is_moved || difference.is_changed;
        if is_changed && is_shared(&key) {
            shared.refer(change, &key, &difference.rates);
        } else if is_changed {
            change.put_bytes(&key, difference.rates.bytes().clone());
        }
        if is_moved {
            remove_used(change, unit);
        }
        if let Some(lists) = &difference.lists {
            self.send(change, shared, &shop.id, lists);
        }
        // The unit is put with every change, so that another host that used the earlier state computes again.
        let unit = is_changed.then(|| Unit {
            used_rates: Some(key),
            ..unit.clone()
        });
        (unit, difference.lists.is_some())
    }

    /// Adds a message to a change.
    pub(crate) fn send(
        self,
        change: &mut Change,
        shared: &mut Shared,
        shop: &UnitId,
        lists: &Content,
    ) {
        let body = if lists.bytes().len() <= INLINE {
            topic::inline_body(self.tenant, shop, lists.bytes())
        } else {
            let key = lists_key(self.now, lists);
            shared.refer(change, &key, lists);
            topic::shared_body(self.tenant, shop, &key)
        };
        let attributes = topic::attributes(self.tenant, shop, self.correlation);
        change.append(TOPIC, attributes, body);
    }
}

/// Deletes a shop's record of used rates in a change, unless it is shared.
pub(crate) fn remove_used(change: &mut Change, shop: &Unit) {
    if let Some(key) = shop.used_rates.as_ref().filter(|key| !is_shared(key)) {
        change.delete(key);
    }
}

/// Returns the lists of the message that sends all rates of a shop again (`given.md`, 4.3).
///
/// # Errors
/// [`Error::Bug`](tillgate_base::error::Error::Bug) when they are damaged.
pub(crate) fn all_rates(used: &[u8]) -> Result<Content> {
    topic::lists(&[], &math::read_rates(used)?, &[]).map(Content::new)
}

/// Returns the key of lists that messages share: the day, after which they are removed together, and the content.
fn lists_key(now: Timestamp, lists: &Content) -> String {
    let day = now.to_millis_text();
    let day = day.get(..10).unwrap_or_default();
    format!("{SHARED_LISTS}{day}/{}", lists.digest())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shop::used_record::SHARED;

    #[test]
    fn a_shared_record_is_written_once_and_then_expected_until_it_may_be_gone() {
        let (key, mut shared) = (format!("{SHARED}d1"), Shared::default());
        let content = Content::new(Bytes::from_static(b"[1]"));
        let refer = |shared: &mut Shared| {
            shared.plan();
            let mut change = Change::default();
            shared.refer(&mut change, &key, &content);
            shared.refer(&mut change, &key, &content);
            format!("{change:?}").matches("Put").count()
        };
        assert_eq!(
            refer(&mut shared),
            2,
            "the record, and that it is referred to"
        );
        assert_eq!(refer(&mut shared), 2, "that plan did not take effect");
        shared.committed(Revision(7));
        assert_eq!(refer(&mut shared), 1, "that it is referred to");
        shared.clear();
        assert_eq!(refer(&mut shared), 2);
    }
}
