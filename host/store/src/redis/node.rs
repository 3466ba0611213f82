//! One server and the connection to it, which is opened when it is needed and dropped when it breaks.
//!
//! Nothing here repeats a request: the sender learns whether it was never sent, or sent and not answered. One connection
//! carries the requests of all callers at once.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, Value};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::super::contract::CommitError;
use super::scripts::Request;
use super::url::Address;

/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long to wait after a failed connection before the next is tried.
const CONNECT_BACKOFF: Duration = Duration::from_millis(50);

/// Why a request has no result.
#[derive(Clone, Debug)]
pub(super) enum RequestError {
    /// Nothing happened: the request was not sent, or no server took it.
    Unavailable(String),
    /// The request was sent and not answered: it may have happened.
    Unknown(String),
    /// The server returned an error: it did nothing.
    Rejected(RedisError),
}

/// A server.
pub(super) struct Node {
    address: Address,
    client: Client,
    connection: ArcSwapOption<Connection>,
    /// When and why the last attempt to connect failed. Locked while a connection is opened.
    last_failure: Mutex<Option<(Instant, String)>>,
}

struct Connection {
    requests: MultiplexedConnection,
    /// The server's clock at an instant of this host, in microseconds.
    clock: (Instant, u64),
}

impl Node {
    pub(super) fn new(address: Address, client: Client) -> Self {
        Self {
            address,
            client,
            connection: ArcSwapOption::empty(),
            last_failure: Mutex::new(None),
        }
    }

    pub(super) const fn address(&self) -> &Address {
        &self.address
    }

    /// Sends a request once. `with_source` sends the source of its script instead of the digest; `asking` accesses a slot
    /// that is being moved to this server.
    pub(super) async fn send(
        &self,
        request: &Request,
        with_source: bool,
        asking: bool,
    ) -> Result<Value, RequestError> {
        let connection = self.connection().await.map_err(RequestError::Unavailable)?;
        let deadline = connection
            .server_clock()
            .saturating_add(micros(request.timeout));
        let command = request.to_command(deadline, with_source);
        let mut requests = connection.requests.clone();
        let reply = timeout(request.timeout, async {
            if asking {
                let mut pipeline = redis::pipe();
                pipeline.cmd("ASKING").add_command(command);
                let mut replies = requests.send_packed_commands(&pipeline, 1, 1).await?;
                replies.pop().unwrap_or_default().extract_error()
            } else {
                requests
                    .send_packed_command(&command)
                    .await?
                    .extract_error()
            }
        });
        let failure = match reply.await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) if error.code().is_some() => return Err(RequestError::Rejected(error)),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no reply within {:?}", request.timeout),
        };
        self.drop_connection(&connection);
        Err(RequestError::Unknown(format!(
            "{}: {failure}",
            self.address
        )))
    }

    /// Drops a broken connection, unless another has replaced it.
    fn drop_connection(&self, broken: &Arc<Connection>) {
        let current = self.connection.load();
        let is_current = |current: &Arc<Connection>| Arc::ptr_eq(current, broken);
        if current.as_ref().is_some_and(is_current) {
            self.connection.compare_and_swap(&*current, None);
        }
    }

    /// Drops the connection, so that the next request opens another and reads the server's clock again.
    pub(super) fn reconnect(&self) {
        self.connection.store(None);
    }

    async fn connection(&self) -> Result<Arc<Connection>, String> {
        if let Some(connection) = self.connection.load_full() {
            return Ok(connection);
        }
        let mut last_failure = self.last_failure.lock().await;
        if let Some(connection) = self.connection.load_full() {
            return Ok(connection);
        }
        if let Some((at, why)) = last_failure.as_ref()
            && at.elapsed() < CONNECT_BACKOFF
        {
            return Err(why.clone());
        }
        let connected = match timeout(CONNECT_TIMEOUT * 2, self.connect()).await {
            Ok(connected) => connected.map_err(|error| error.to_string()),
            Err(_) => Err("it does not answer".to_owned()),
        };
        match connected {
            Ok(connection) => {
                let connection = Arc::new(connection);
                self.connection.store(Some(Arc::clone(&connection)));
                *last_failure = None;
                Ok(connection)
            }
            Err(why) => {
                let why = format!("{}: {why}", self.address);
                *last_failure = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }

    async fn connect(&self) -> Result<Connection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
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
    /// An upper bound of what the server's clock shows now: part of the time it took to read the clock is counted
    /// twice.
    fn server_clock(&self) -> u64 {
        self.clock.1.saturating_add(micros(self.clock.0.elapsed()))
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

impl RequestError {
    /// The code of the server's error.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Rejected(error) => error.code(),
            Self::Unavailable(_) | Self::Unknown(_) => None,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(why) | Self::Unknown(why) => f.write_str(why),
            Self::Rejected(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl From<RequestError> for CommitError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Unknown(why) => Self::Unknown(why),
            RequestError::Unavailable(_) | RequestError::Rejected(_) => {
                Self::Unavailable(error.to_string())
            }
        }
    }
}
