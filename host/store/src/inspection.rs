//! Inspects a store from outside, whether or not hosts serve it: the setup of its servers, and a listing of what it
//! holds, without content. Both the embedded store and the store on Redis can be listed; nothing is written.

use std::time::Duration;

use crate::clock::Timestamp;

/// The largest difference between two clocks that is not worth a warning.
pub const MAX_CLOCK_SKEW: Duration = Duration::from_secs(2);

/// A server and its setup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its address.
    pub address: String,
    /// Its version.
    pub version: String,
    /// Its clock and that of the asking machine, at the same time.
    pub clocks: (Timestamp, Timestamp),
    /// The memory its data takes, in bytes.
    pub memory: u64,
    /// Its unsafe settings.
    pub issues: Vec<Issue>,
}

impl Server {
    /// Returns the difference between its clock and that of the asking machine.
    #[must_use]
    pub fn skew(&self) -> Duration {
        let (theirs, ours) = self.clocks;
        theirs.since(ours).max(ours.since(theirs))
    }
}

/// An unsafe setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The description of what is unsafe.
    pub what: String,
    /// The advice on what to do.
    pub remedy: &'static str,
    /// True if acknowledged commits may be lost.
    pub loses_commits: bool,
}

/// A summary of what a store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The number of partitions that were looked at.
    pub partitions: u64,
    /// True if there are more partitions.
    pub more: bool,
    /// Their contents, by kind.
    pub kinds: Vec<Kind>,
    /// The bytes that the store takes on its disk or in the memory of its servers.
    pub bytes: u64,
}

/// The items of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The type of the items.
    pub of: Item,
    /// The text before the first slash of the keys of entries, the log of messages, or the queue of jobs.
    pub name: String,
    /// The number of partitions that have such items.
    pub partitions: u64,
    /// The number of items.
    pub count: u64,
    /// The bytes of their contents; on Redis, an estimate from a few of them.
    pub bytes: u64,
}

/// A type of item in a partition.
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
    /// Returns the plural of its name.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Entry => "entries",
            Self::Message => "messages",
            Self::Job => "jobs",
        }
    }
}
