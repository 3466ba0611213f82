//! What can be said of a store from outside, while hosts serve it or not: how its servers are set up, and a listing of what it
//! has, without content. The embedded store and the one on Redis each answer this; nothing is written.

use std::time::Duration;

use crate::clock::Timestamp;

/// By how much two clocks may differ before that is worth a warning.
pub const MAX_CLOCK_SKEW: Duration = Duration::from_secs(2);

/// A server, as it is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its address.
    pub address: String,
    /// Its version.
    pub version: String,
    /// Its clock, and that of the machine which asked, at the same time.
    pub clocks: (Timestamp, Timestamp),
    /// The memory that its data takes, in bytes.
    pub memory: u64,
    /// What is unsafe about its settings.
    pub issues: Vec<Issue>,
}

impl Server {
    /// By how much its clock and that of the machine which asked differ.
    #[must_use]
    pub fn skew(&self) -> Duration {
        let (theirs, ours) = self.clocks;
        theirs.since(ours).max(ours.since(theirs))
    }
}

/// An unsafe setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// What is unsafe.
    pub what: String,
    /// What to do.
    pub remedy: &'static str,
    /// Whether acknowledged commits may be lost.
    pub loses_commits: bool,
}

/// How much of what a store has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// How many partitions were looked at.
    pub partitions: u64,
    /// Whether there are more.
    pub more: bool,
    /// What is in them.
    pub kinds: Vec<Kind>,
    /// What the store takes, on its disk or in the memory of its servers.
    pub bytes: u64,
}

/// What of one kind there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// What it is.
    pub of: Item,
    /// Entries by what stands before the first slash of their keys, messages by their log, jobs by their queue.
    pub name: String,
    /// In how many partitions.
    pub partitions: u64,
    /// How many.
    pub count: u64,
    /// The bytes of their contents; on Redis estimated from a few of them.
    pub bytes: u64,
}

/// What a partition has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// Entries.
    Entry,
    /// Messages.
    Message,
    /// Jobs.
    Job,
}

impl Item {
    /// Several of it.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Entry => "entries",
            Self::Message => "messages",
            Self::Job => "jobs",
        }
    }
}
