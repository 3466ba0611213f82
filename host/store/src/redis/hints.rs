//! Hints from other hosts, and the time up to which they are complete.
//!
//! A host has a link to each master (`link.rs`) and asks all of them four times a second: a sweep. A sweep is complete
//! when every master has answered and every answer shows that there are no others. Then every hint of a commit that was
//! acknowledged before the sweep was sent has been taken in, whichever master made the commit. When a link is new or
//! was lost, hints may be missing, so the next complete sweep first notifies all listeners. The first complete sweep
//! after an incomplete one wakes all of them, so that a listener that could not read in the meantime reads at once.
//! `README.md` says why this holds through failovers and moving slots, and where its limits are.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::time::sleep;

use super::super::contract::Partition;
use super::address::Address;
use super::link::{Link, LinkError, Members};
use super::router::Router;
use super::shared::Shared;
use super::url::Topology;

/// The interval at which all masters are asked.
const SWEEP_EVERY: Duration = Duration::from_millis(250);

/// The shortest pause between two sweeps.
const MIN_PAUSE: Duration = Duration::from_millis(20);

/// The number of newest hints remembered as taken in; as many before them are remembered too.
const MAX_RECENT: usize = 4_096;

/// Listens until the store is dropped.
pub(super) async fn listen(shared: Weak<Shared>) {
    let mut listener = Listener::default();
    while let Some(shared) = shared.upgrade() {
        let begin = Instant::now();
        let sent = (begin, shared.clock.now());
        let mut swept = listener.sweep(&shared).await;
        if swept.is_ok() && listener.missing {
            swept = listener.make_up(&shared).await;
        }
        let pause = if swept.is_err() && listener.opened {
            Duration::ZERO
        } else {
            SWEEP_EVERY.saturating_sub(begin.elapsed())
        };
        match swept {
            Ok(()) => {
                if shared.freshness.complete(sent) {
                    shared.listeners.wake_all();
                }
            }
            Err(why) => shared.freshness.failed(why),
        }
        drop(shared);
        sleep(pause.max(MIN_PAUSE)).await;
    }
}

/// The links to the masters.
#[derive(Default)]
struct Listener {
    links: BTreeMap<Address, Link>,
    recent: Arc<Mutex<Recent>>,
    /// True if hints may be missing: a link is new or was lost.
    missing: bool,
    /// True if the last sweep opened a link, which the next one asks.
    opened: bool,
}

/// The masters that must answer.
struct Required {
    masters: BTreeSet<Address>,
    /// The reason there may be others.
    doubt: Option<String>,
}

impl Listener {
    /// Asks every master once, then opens and drops links as required. Fails with the reason when the sweep is not
    /// complete.
    async fn sweep(&mut self, shared: &Arc<Shared>) -> Result<(), String> {
        let topology = &shared.router.url().topology;
        let asking = self.links.iter_mut().map(|(address, link)| async {
            let answer = link.ask(topology).await;
            (address.clone(), answer)
        });
        let (named, answers) = tokio::join!(named(&shared.router), join_all(asking));
        let (mut answered, mut failure) = (BTreeMap::new(), None);
        for (address, answer) in answers {
            match answer {
                // The name of the only server may now lead to another one.
                Ok(false) if *topology == Topology::Single => self.drop_link(&address),
                Ok(is_master) => drop(answered.insert(address, is_master)),
                Err(LinkError::Late(why)) => failure = Some(why),
                Err(LinkError::Broken(why)) => {
                    failure = Some(why);
                    self.drop_link(&address);
                }
            }
        }
        let required = match named {
            Some(named) => named,
            None => self.members(&answered, &shared.router).await,
        };
        let opened = self.open_required(shared, &required.masters).await;
        failure = failure.or(required.doubt).or(opened.err());
        let mut answers = required.masters.iter().map(|master| answered.get(master));
        let why = if answers.clone().any(|answer| answer.is_none()) {
            "a link to a master is new"
        } else if answers.all(|answer| answer != Some(&true)) {
            "no server is a master"
        } else {
            return failure.map_or(Ok(()), Err);
        };
        Err(failure.unwrap_or_else(|| why.to_owned()))
    }

    /// Returns the masters that the members of a cluster know, as far as these have answered; while none has, those
    /// that the router finds.
    async fn members(&self, answered: &BTreeMap<Address, bool>, router: &Router) -> Required {
        let all: Vec<(&Address, &Members)> = self
            .links
            .iter()
            .filter(|(address, _)| answered.contains_key(address))
            .filter_map(|(address, link)| Some((address, link.members()?)))
            .collect();
        // A member that no other knows has been removed, or cut off and replaced: what it knows does not count.
        let known = |of: &Address| {
            let mut others = all.iter().filter(|(other, _)| *other != of);
            all.len() == 1 || others.any(|(_, members)| members.list.masters.contains(of))
        };
        let mut required = Required {
            masters: BTreeSet::new(),
            doubt: None,
        };
        let known = || all.iter().filter(|(address, _)| known(address));
        let newest = known().map(|(_, members)| members.list.epoch).max();
        for (address, members) in known() {
            required
                .masters
                .extend(members.list.masters.iter().cloned());
            if !members.settled() {
                required.doubt = Some(format!("{address}: a master is being elected"));
            } else if Some(members.view.epoch) < newest {
                // It may still take itself for the master, and answer reads.
                required.doubt = Some(format!("{address}: it has not heard of the newest master"));
            } else if members.is_down() {
                required.doubt = Some(format!("{address}: it does not serve its slots yet"));
            }
        }
        if required.masters.is_empty() {
            match router.discover_masters().await {
                Ok(masters) => required.masters.extend(masters),
                Err(why) => required.doubt = Some(why),
            }
        }
        required
    }

    /// Opens the links that are missing, and drops those that are no longer needed.
    async fn open_required(
        &mut self,
        shared: &Arc<Shared>,
        required: &BTreeSet<Address>,
    ) -> Result<(), String> {
        let unneeded = self.links.keys().filter(|known| !required.contains(known));
        for address in unneeded.cloned().collect::<Vec<_>>() {
            self.drop_link(&address);
        }
        let missing = required
            .iter()
            .filter(|address| !self.links.contains_key(address));
        let opening = missing.map(|address| self.open(shared, address.clone()));
        let (mut result, mut opened) = (Ok(()), Vec::new());
        for link in join_all(opening).await {
            match link {
                Ok(link) => opened.push(link),
                Err(why) => result = Err(why),
            }
        }
        self.opened = !opened.is_empty();
        self.missing |= self.opened;
        self.links.extend(opened);
        result
    }

    async fn open(
        &self,
        shared: &Arc<Shared>,
        address: Address,
    ) -> Result<(Address, Link), String> {
        let client = shared.router.client(&address)?;
        let (recent, listeners) = (Arc::clone(&self.recent), Arc::downgrade(shared));
        let on_hint = move |hint| {
            if let Some(shared) = listeners.upgrade() {
                take_in(&shared, &recent, hint);
            }
        };
        let channel = shared.keyspace.channel();
        let link = Link::open(address.clone(), &client, channel, on_hint).await?;
        Ok((address, link))
    }

    fn drop_link(&mut self, address: &Address) {
        self.missing |= self.links.remove(address).is_some();
    }

    /// Makes up for hints that may be missing: once requests go to masters that are listened to, notifies all listeners
    /// that everything may have changed.
    async fn make_up(&mut self, shared: &Shared) -> Result<(), String> {
        for master in shared.router.discover_masters().await? {
            if !self.links.contains_key(&master) {
                return Err(format!("{master}: requests still go to an earlier master"));
            }
        }
        let mut recent = self.recent.lock();
        *recent = Recent::default();
        shared.listeners.notify_all();
        self.missing = false;
        Ok(())
    }
}

/// Returns the masters that the URL or the Sentinels name; `None` in a cluster, whose members name them.
async fn named(router: &Router) -> Option<Required> {
    match (&router.url().topology, router.sentinels()) {
        (Topology::Cluster, _) => None,
        (_, Some(sentinels)) => {
            let named = sentinels.named().await;
            Some(Required {
                masters: named.masters.into_iter().collect(),
                doubt: named.failure.filter(|_| !named.by_most),
            })
        }
        (_, None) => Some(Required {
            masters: router.url().addresses.iter().cloned().collect(),
            doubt: None,
        }),
    }
}

/// Hints that have been taken in. In a cluster, each hint arrives on every link, since servers pass on what is
/// published.
#[derive(Default)]
struct Recent {
    newest: HashSet<Vec<u8>>,
    older: HashSet<Vec<u8>>,
}

/// Takes in a hint: the name of a partition, a line feed, and what distinguishes this change from others.
fn take_in(shared: &Shared, recent: &Mutex<Recent>, hint: Vec<u8>) {
    // This stays locked until the listeners are notified: a link whose hint is skipped may count as having notified
    // them.
    let mut recent = recent.lock();
    if recent.newest.contains(&hint) || recent.older.contains(&hint) {
        return;
    }
    let name = hint.split(|byte| *byte == b'\n').next();
    let name = name.and_then(|name| std::str::from_utf8(name).ok());
    if let Some(partition) = name.and_then(Partition::new) {
        shared.listeners.notify(&partition);
    }
    if recent.newest.len() >= MAX_RECENT {
        recent.older = std::mem::take(&mut recent.newest);
    }
    recent.newest.insert(hint);
}
