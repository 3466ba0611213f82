//! Requests whose reply comes after replicas have what was written: the request and `WAIT`, in one round trip.
//!
//! `WAIT` holds up everything behind it on its connection, so each of these connections carries one request at a time.
//! Where the server has `WAITAOF` and itself writes to disk, the replicas must have it on their disks too.

use std::time::Duration;

use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisResult, Value};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::info::fields;

/// The time limit for the replicas.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);

/// The most connections to one server.
const MAX_CONNECTIONS: usize = 16;

/// The idle connections, and permits for those in use.
pub(super) struct Pool<C> {
    idle: Mutex<Vec<C>>,
    permits: Semaphore,
}

/// The condition that a server waits for.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    /// What was written is in the replicas' memory.
    Memory,
    /// What was written is on the replicas' disks and on the server's own.
    Disk,
}

impl<C> Pool<C> {
    pub(super) fn new() -> Self {
        Self {
            idle: Mutex::default(),
            permits: Semaphore::new(MAX_CONNECTIONS),
        }
    }

    /// Waits until one more connection may be in use; returns an idle one to use, if there is one.
    pub(super) async fn take(&self) -> Option<(SemaphorePermit<'_>, Option<C>)> {
        let permit = self.permits.acquire().await.ok()?;
        Some((permit, self.lock().pop()))
    }

    pub(super) fn give_back(&self, connection: C) {
        self.lock().push(connection);
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Vec<C>> {
        self.idle.lock()
    }
}

impl Wait {
    /// Detects what a server can wait for.
    pub(super) async fn detect(connection: &mut MultiplexedConnection) -> RedisResult<Self> {
        let (known, info): (Vec<Value>, String) = redis::pipe()
            .cmd("COMMAND")
            .arg("INFO")
            .arg("WAITAOF")
            .cmd("INFO")
            .arg("persistence")
            .query_async(connection)
            .await?;
        let known = known.iter().any(|command| *command != Value::Nil);
        let on_disk = fields(&info).any(|field| field == ("aof_enabled", "1"));
        Ok(if known && on_disk {
            Self::Disk
        } else {
            Self::Memory
        })
    }

    /// Adds the command to a request.
    pub(super) fn add_to(self, pipeline: &mut Pipeline, replicas: u32) {
        let mut command = match self {
            Self::Memory => redis::cmd("WAIT"),
            Self::Disk => Cmd::new().arg("WAITAOF").arg(1).to_owned(),
        };
        command.arg(replicas).arg(TIMEOUT.as_millis().to_string());
        pipeline.add_command(command);
    }

    /// Checks the reply to the command; fails with the reason the request is not known to have been replicated.
    pub(super) fn check(self, reply: Value, replicas: u32) -> Result<(), String> {
        let counts: RedisResult<(u32, u32)> = match self {
            Self::Memory => redis::from_redis_value(reply).map(|replicas| (1, replicas)),
            Self::Disk => redis::from_redis_value(reply),
        }
        .map_err(Into::into);
        match counts {
            Ok((1.., there)) if there >= replicas => Ok(()),
            Ok((1.., there)) => Err(format!(
                "{there} of {replicas} replicas confirmed it within {TIMEOUT:?}"
            )),
            Ok(_) => Err(format!("it was not on the disk within {TIMEOUT:?}")),
            Err(cause) => Err(format!("replicas cannot be waited for: {cause}")),
        }
    }
}
