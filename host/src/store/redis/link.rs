//! A connection to one server: opened when it is needed, given up when it is broken, opened again by the next who asks.
//!
//! Nothing here repeats a request: whoever asks is told whether it was never sent, or sent and not answered. One
//! connection carries the requests of everyone at once. Called by `servers.rs` alone.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, Value};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::scripts::Request;
use super::url::Address;

/// How long a connection may take to be opened.
const CONNECT: Duration = Duration::from_secs(1);

/// How long nobody tries again after a connection was refused.
const PAUSE: Duration = Duration::from_millis(50);

/// Why a request has no result.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// Nothing happened: it was not sent, or the server said that it did not do it.
    Away(String),
    /// It was sent, and nobody knows.
    Lost(String),
    /// The server did not do it, and says why.
    Refused(RedisError),
}

/// A server.
pub(super) struct Link {
    address: Address,
    client: Client,
    open: ArcSwapOption<Connection>,
    /// Held while it is opened: when that failed last, and why.
    opening: Mutex<Option<(Instant, String)>>,
}

struct Connection {
    requests: MultiplexedConnection,
    /// What the server's clock showed at a moment of ours, in microseconds.
    clock: (Instant, u64),
}

impl Link {
    pub(super) fn new(address: Address, client: Client) -> Self {
        Self {
            address,
            client,
            open: ArcSwapOption::empty(),
            opening: Mutex::new(None),
        }
    }

    pub(super) const fn address(&self) -> &Address {
        &self.address
    }

    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    /// Sends a request once. `asking` tells the server that it is moving here.
    pub(super) async fn ask(
        &self,
        request: &Request,
        whole: bool,
        asking: bool,
    ) -> Result<Value, Failure> {
        let connection = self.connection().await.map_err(Failure::Away)?;
        let latest = connection
            .server_clock()
            .saturating_add(micros(request.patience));
        let command = request.packed(latest, whole);
        let mut requests = connection.requests.clone();
        let answer = timeout(request.patience, async {
            if asking {
                let mut pipeline = redis::pipe();
                pipeline.cmd("ASKING").add_command(command);
                let mut answers = requests.send_packed_commands(&pipeline, 1, 1).await?;
                answers.pop().unwrap_or_default().extract_error()
            } else {
                requests
                    .send_packed_command(&command)
                    .await?
                    .extract_error()
            }
        });
        let failure = match answer.await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) if error.code().is_some() => return Err(Failure::Refused(error)),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {:?}", request.patience),
        };
        self.give_up(&connection);
        Err(Failure::Lost(format!("{}: {failure}", self.address)))
    }

    /// Forgets the connection: the next request opens another.
    fn give_up(&self, broken: &Arc<Connection>) {
        let open = self.open.load();
        if open.as_ref().is_some_and(|open| Arc::ptr_eq(open, broken)) {
            self.open.compare_and_swap(&*open, None);
        }
    }

    /// Forgets the connection, since its clock is not the server's any more.
    pub(super) fn forget(&self) {
        self.open.store(None);
    }

    async fn connection(&self) -> Result<Arc<Connection>, String> {
        if let Some(open) = self.open.load_full() {
            return Ok(open);
        }
        let mut failed = self.opening.lock().await;
        if let Some(open) = self.open.load_full() {
            return Ok(open);
        }
        if let Some((at, why)) = failed.as_ref()
            && at.elapsed() < PAUSE
        {
            return Err(why.clone());
        }
        match timeout(CONNECT * 2, self.connect()).await {
            Ok(Ok(connection)) => {
                let connection = Arc::new(connection);
                self.open.store(Some(Arc::clone(&connection)));
                *failed = None;
                Ok(connection)
            }
            Ok(Err(error)) => Err(self.failed(&mut failed, &error)),
            Err(_) => Err(self.failed(&mut failed, &"it does not answer")),
        }
    }

    fn failed(&self, failed: &mut Option<(Instant, String)>, why: &dyn fmt::Display) -> String {
        let why = format!("{}: {why}", self.address);
        *failed = Some((Instant::now(), why.clone()));
        why
    }

    async fn connect(&self) -> Result<Connection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT))
            .set_response_timeout(None);
        let client = &self.client;
        let mut requests = client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        let before = Instant::now();
        let (seconds, micros): (u64, u64) = redis::cmd("TIME").query_async(&mut requests).await?;
        let clock = (
            before,
            seconds.saturating_mul(1_000_000).saturating_add(micros),
        );
        Ok(Connection { requests, clock })
    }
}

impl Connection {
    /// What the server's clock shows now, at most: some of what asking it took is counted twice.
    fn server_clock(&self) -> u64 {
        self.clock.1.saturating_add(micros(self.clock.0.elapsed()))
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

impl Failure {
    /// The code that the server refused with.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(error) => error.code(),
            Self::Away(_) | Self::Lost(_) => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away(why) | Self::Lost(why) => f.write_str(why),
            Self::Refused(error) => fmt::Display::fmt(error, f),
        }
    }
}
