//! Delivers events: the job of a delivery (`job.rs`, `claim.rs`, `hold.rs`), its attempt (`attempt.rs`) within the
//! limits of its webhook (`limiter/`), the request (`sender.rs`, `event_cache.rs`) and the proof of who sent it
//! (`identity_provider.rs`, `bearer_cache.rs`), the meaning of the answer (`answer.rs`, `redaction.rs`), its
//! consequences (`next.rs`, `disable.rs`), and the commit that records them (`conclude.rs`, `recorder.rs`,
//! `counts.rs`).
//!
//! Besides these: the health of webhooks (`health.rs`, `backlog.rs`), metrics (`metrics.rs`), and trying out a webhook
//! (`trial.rs`).

pub(super) mod answer;
mod attempt;
mod backlog;
pub(super) mod bearer_cache;
pub(super) mod claim;
pub(super) mod conclude;
pub(super) mod counts;
pub(super) mod disable;
pub(super) mod event_cache;
pub(super) mod health;
pub(super) mod hold;
pub(super) mod identity_provider;
pub(super) mod job;
pub(super) mod limiter;
pub(super) mod metrics;
mod next;
pub(super) mod recorder;
pub(super) mod redaction;
pub(super) mod sender;
pub(super) mod trial;
