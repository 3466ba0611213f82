//! What each shop uses as it was last published, and the messages that say so.
//!
//! The rates that a shop uses are kept as the module wrote them, with their dates. Most shops of a tenant use the same:
//! they share one record, named by its content; a shop that has rates of its own has a record of its own. The lists of a
//! message are shared in the same way when they are long. Whoever refers to a shared record writes it again in the same
//! commit, so that one that seems unused is removed only while nobody has referred to it since (`retention.rs`).

use std::collections::{HashMap, HashSet};
use std::mem::take;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::math::{self, Difference};
use crate::app::App;
use crate::clock::Timestamp;
use crate::data::records::{Change, Records};
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::rates::topic::{self, SHARED_LISTS, TOPIC};
use crate::rates::units::tree::{Node, Path, Tree};
use crate::rates::units::unit::{Unit, UnitId};

/// The records of the rates that shops use: those that several may share, by content, and those of one.
pub(in crate::rates) const SHARED: &str = "used-rates/shared/";
const OWN: &str = "used-rates/shop/";

/// The list of no rates.
const NOTHING: &[u8] = b"[]";

/// Longer lists of a message are a record that messages share.
const INLINE: usize = 1 << 10;

/// What becomes of a shop.
#[derive(Debug)]
pub(in crate::rates) struct Outcome {
    pub(in crate::rates) shop: Arc<Node>,
    pub(in crate::rates) path: Arc<Path>,
    pub(in crate::rates) difference: Arc<Difference>,
}

/// Computes what has changed for shops, once for all that stand alike.
#[derive(Debug)]
pub(in crate::rates) struct Differences<'a> {
    app: &'a Arc<App>,
    records: &'a Records,
    /// When the change was made: the date of what is new, unless a later change of a unit above is seen with it.
    at: Timestamp,
    known: HashMap<Group, Arc<Difference>>,
    before: HashMap<String, Bytes>,
}

/// Shops that stand alike: they used the same, have the same settings of their own and the same units above.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Group {
    before: Option<String>,
    own: Option<String>,
    parent: Option<UnitId>,
}

/// At how many bytes what is known is forgotten: shops with rates of their own are alike to nobody.
const MAX_KNOWN: usize = 16 << 20;

/// How many bytes of calls are gathered before the module is asked.
const MAX_CALLS: usize = 2 << 20;

impl<'a> Differences<'a> {
    pub(in crate::rates) fn new(app: &'a Arc<App>, records: &'a Records, at: Timestamp) -> Self {
        Self {
            app,
            records,
            at,
            known: HashMap::new(),
            before: HashMap::new(),
        }
    }

    /// Forgets what was computed from units that have changed.
    pub(in crate::rates) fn clear(&mut self) {
        self.known.clear();
    }

    /// What has changed for these shops.
    pub(in crate::rates) async fn of(
        &mut self,
        tree: &mut Tree<'_>,
        shops: Vec<Arc<Node>>,
    ) -> Result<Vec<Outcome>> {
        if self.bytes() > MAX_KNOWN {
            self.known.clear();
            self.before.clear();
        }
        let mut placed = Vec::with_capacity(shops.len());
        for shop in shops {
            let path = tree.above(shop.unit()).await?;
            placed.push((group_of(&shop), shop, path));
        }
        self.compute(&placed).await?;
        let outcomes = placed.into_iter().map(|(group, shop, path)| {
            let difference = self.known.get(&group).map(Arc::clone);
            let difference =
                difference.ok_or_else(|| Error::Bug("a shop was not computed".to_owned()))?;
            Ok(Outcome {
                shop,
                path,
                difference,
            })
        });
        outcomes.collect()
    }

    /// How much is known, in bytes.
    fn bytes(&self) -> usize {
        let known = self.known.values().map(|known| {
            let lists = known.lists.as_ref().map_or(0, Bytes::len);
            known.rates.len() + lists
        });
        let before = self.before.values().map(Bytes::len);
        known.chain(before).sum()
    }

    async fn compute(&mut self, placed: &[(Group, Arc<Node>, Arc<Path>)]) -> Result<()> {
        let (mut groups, mut calls, mut befores) = (Vec::new(), Vec::new(), Vec::new());
        let (mut asked, mut bytes) = (HashSet::new(), 0);
        for (group, shop, path) in placed {
            if self.known.contains_key(group) || !asked.insert(group) {
                continue;
            }
            let before = self.used(group.before.as_deref()).await?;
            let levels = levels(shop, path);
            let at = self.at.max(path.changed_at()).to_millis_text();
            let call = math::difference_call(&before, &levels, &at);
            bytes += call.len();
            calls.push(call);
            groups.push(group.clone());
            befores.push(before);
            if bytes > MAX_CALLS {
                let gathered = (take(&mut groups), take(&mut calls), take(&mut befores));
                self.ask(gathered.0, gathered.1, gathered.2).await?;
                bytes = 0;
            }
        }
        self.ask(groups, calls, befores).await
    }

    /// Asks the module what has changed for groups of shops.
    async fn ask(
        &mut self,
        groups: Vec<Group>,
        calls: Vec<String>,
        befores: Vec<Bytes>,
    ) -> Result<()> {
        if groups.is_empty() {
            return Ok(());
        }
        let differences = math::differences(self.app, calls).await?;
        let compared = differences.into_iter().zip(befores);
        let differences = compared.map(|(mut difference, before)| {
            difference.is_changed = difference.rates != before;
            Arc::new(difference)
        });
        self.known.extend(groups.into_iter().zip(differences));
        Ok(())
    }

    /// The rates of a record of what shops use.
    pub(in crate::rates) async fn used(&mut self, key: Option<&str>) -> Result<Bytes> {
        let Some(key) = key else {
            return Ok(Bytes::from_static(NOTHING));
        };
        if let Some(before) = self.before.get(key) {
            return Ok(before.clone());
        }
        let before = read_used(self.records, Some(key)).await?;
        if key.starts_with(SHARED) {
            self.before.insert(key.to_owned(), before.clone());
        }
        Ok(before)
    }
}

/// The rates of a record of what shops use, a list as the module wrote it.
pub(in crate::rates) async fn read_used(records: &Records, key: Option<&str>) -> Result<Bytes> {
    let Some(key) = key else {
        return Ok(Bytes::from_static(NOTHING));
    };
    // The shop uses another record by now, and this one is gone.
    let entry = records.get_bytes(key).await?.ok_or(Error::Busy)?;
    Ok(entry.value)
}

/// The levels that a shop stands at, its own first.
pub(in crate::rates) fn levels(shop: &Node, path: &Path) -> String {
    match (shop.says_nothing(), path.levels.is_empty()) {
        (true, _) => path.levels.clone(),
        (false, true) => shop.level.clone(),
        (false, false) => format!("{},{}", shop.level, path.levels),
    }
}

fn group_of(shop: &Node) -> Group {
    let settings = &shop.unit().settings;
    Group {
        before: shop.unit().used_rates.clone(),
        own: match (shop.unit().has_rates, shop.says_nothing()) {
            // The answer names the shop, so it is like no other.
            (true, _) => Some(shop.level.clone()),
            (false, true) => None,
            (false, false) => Some(format!(
                "{:?}",
                (&settings.markup_percentage, &settings.markups)
            )),
        },
        parent: settings.parent_id.clone(),
    }
}

/// A message to a shop, and the commit that it is in.
#[derive(Clone, Copy, Debug)]
pub(in crate::rates) struct Sender<'a> {
    pub(in crate::rates) tenant: &'a TenantId,
    pub(in crate::rates) correlation: Uuid,
    pub(in crate::rates) now: Timestamp,
}

/// The shared records that a commit writes already.
#[derive(Debug, Default)]
pub(in crate::rates) struct Shared(HashSet<String>);

impl Sender<'_> {
    /// Adds to a change that a shop uses the rates of an outcome from now on, and the message that says so. Answers the
    /// shop's unit as it is from now on, to be put by the caller, if it changes; whether there is a message.
    pub(in crate::rates) fn publish(
        self,
        change: &mut Change,
        shared: &mut Shared,
        shop: &Node,
        difference: &Difference,
    ) -> Result<(Option<Unit>, bool)> {
        let unit = shop.unit();
        let key = used_key(shop, &difference.rates);
        let is_moved = unit.used_rates.as_ref() != Some(&key);
        let is_changed = is_moved || difference.is_changed;
        if is_changed && shared.0.insert(key.clone()) {
            change.put_bytes(&key, difference.rates.clone());
        }
        if let Some(before) = &unit.used_rates
            && is_moved
            && before.starts_with(OWN)
        {
            change.delete(before);
        }
        if let Some(lists) = &difference.lists {
            self.send(change, shared, &shop.id, lists);
        }
        // Put with every change, so that whoever computed from what the shop used before computes again.
        let unit = is_changed.then(|| Unit {
            used_rates: Some(key),
            ..unit.clone()
        });
        Ok((unit, difference.lists.is_some()))
    }

    /// Adds a message to a change.
    pub(in crate::rates) fn send(
        self,
        change: &mut Change,
        shared: &mut Shared,
        shop: &UnitId,
        lists: &Bytes,
    ) {
        let body = if lists.len() <= INLINE {
            topic::inline_body(self.tenant, shop, lists)
        } else {
            let key = lists_key(self.now, lists);
            if shared.0.insert(key.clone()) {
                change.put_bytes(&key, lists.clone());
            }
            topic::shared_body(self.tenant, shop, &key)
        };
        let attributes = topic::attributes(self.tenant, shop, self.correlation);
        change.append(TOPIC, attributes, body);
    }
}

/// Adds to a change that a shop is gone which used the rates of a record.
pub(in crate::rates) fn forget(change: &mut Change, used: &str) {
    if used.starts_with(OWN) {
        change.delete(used);
    }
}

/// The record of the rates that a shop uses.
fn used_key(shop: &Node, rates: &[u8]) -> String {
    if shop.unit().has_rates {
        return format!("{OWN}{}", shop.id.as_str());
    }
    format!("{SHARED}{}", digest(rates))
}

/// The record of lists that messages share: named by the day, after which they are removed together, and the content.
fn lists_key(now: Timestamp, lists: &[u8]) -> String {
    let day = now.to_millis_text();
    let day = day.get(..10).unwrap_or_default();
    format!("{SHARED_LISTS}{day}/{}", digest(lists))
}

fn digest(content: &[u8]) -> String {
    let digest = hex::encode(Sha256::digest(content));
    digest.get(..32).unwrap_or_default().to_owned()
}
