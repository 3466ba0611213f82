//! The commands that are clients of a running host, over HTTP: they get tokens, manage clients, keys and jobs, import rates,
//! follow a topic, forward events, and keep rules as files.
//!
//! Read it in this order: [`session`] (a host, with a token), [`answer`] (what it answers, and why a command fails), then the
//! commands. The crate knows no feature: what it must know of resources to keep them as files, the program provides
//! ([`files::Resources`]).

pub mod answer;
mod changes;
pub mod clients;
pub mod credentials;
mod deviation;
pub mod files;
pub mod import_rates;
pub mod input;
pub mod jobs;
pub mod keys;
pub mod listen;
pub mod output;
pub mod private_file;
pub mod progress;
mod reconnect;
pub mod session;
mod signals;
pub mod tail;
pub mod token;

/// The exit code for malformed files.
pub const MALFORMED: u8 = 3;

/// The exit code for files with findings, failing tests, or without what was asked for.
pub const FOUND: u8 = 4;
