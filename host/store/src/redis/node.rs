//! One server and the connection to it, which is opened when needed and dropped when it breaks.
//!
//! Nothing here repeats a request: the sender learns whether it was never sent, or was sent and not answered. One
//! connection carries the requests of all callers at once.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, RedisResult, Value};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::super::contract::CommitError;
use super::address::Address;
use super::replicated::{self, Pool, Wait};
use super::scripts::Request;

/// The time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The wait after a failed connection before the next attempt.
const CONNECT_BACKOFF: Duration = Duration::from_millis(50);

/// The reason a request has no result.
#[derive(Clone, Debug)]
pub(super) enum RequestError {
    /// Nothing happened: the request was not sent, or no server took it.
    Unavailable(String),
    /// The request was sent and not answered: it may have happened.
    Unknown(String),
    /// It was executed, but replicas may not have what was written.
    Unreplicated(Value, String),
    /// The server returned an error: it did nothing.
    Rejected(RedisError),
}

/// A server.
pub(super) struct Node {
    address: Address,
    client: Client,
    /// The runtime that connections live on: a caller's own runtime may end before other callers are done.
    runtime: Handle,
    connection: ArcSwapOption<Connection>,
    /// The connections of requests that wait for replicas.
    replicated: Pool<(Connection, Wait)>,
    /// The time and the cause of the last failed attempt to connect. Locked while a connection is opened.
    last_failure: Mutex<Option<(Instant, String)>>,
}

struct Connection {
    requests: MultiplexedConnection,
    /// The server's clock at an instant of this host, in microseconds.
    clock: (Instant, u64),
}

impl Node {
    pub(super) fn new(address: Address, client: Client, runtime: Handle) -> Self {
        Self {
            address,
            client,
            runtime,
            connection: ArcSwapOption::empty(),
            replicated: Pool::new(),
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
        if request.replicas > 0 {
            return self.send_replicated(request, with_source, asking).await;
        }
        let connection = self.connection().await.map_err(RequestError::Unavailable)?;
        let command = request.to_command(connection.deadline(request), with_source);
        let mut requests = connection.requests.clone();
        let sending = async {
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
        };
        let reply = self.reply(request.timeout, sending).await;
        if matches!(reply, Err(RequestError::Unknown(_))) {
            self.drop_connection(&connection);
        }
        reply
    }

    /// Sends a request once; its reply comes after replicas have what was written.
    async fn send_replicated(
        &self,
        request: &Request,
        with_source: bool,
        asking: bool,
    ) -> Result<Value, RequestError> {
        let busy = || RequestError::Unavailable(format!("{}: its replicas are slow", self.address));
        let taken = timeout(request.timeout, self.replicated.take()).await;
        let (_permit, idle) = taken.ok().flatten().ok_or_else(busy)?;
        let (connection, wait) = match idle {
            Some(idle) => idle,
            None => {
                let mut last_failure = self.last_failure.lock().await;
                let opened = self.open(&mut last_failure, Connection::open_to_wait).await;
                opened.map_err(RequestError::Unavailable)?
            }
        };
        let mut pipeline = redis::pipe();
        if asking {
            pipeline.cmd("ASKING");
        }
        let command = request.to_command(connection.deadline(request), with_source);
        pipeline.add_command(command);
        wait.add_to(&mut pipeline, request.replicas);
        let mut requests = connection.requests.clone();
        let sending = async {
            let replies = requests.send_packed_commands(&pipeline, usize::from(asking), 2);
            let mut replies = replies.await?.into_iter();
            let reply = replies.next().unwrap_or_default().extract_error()?;
            Ok((reply, replies.next().unwrap_or_default()))
        };
        let longest = request.timeout.saturating_add(replicated::TIMEOUT);
        let reply = self.reply(longest, sending).await;
        if !matches!(reply, Err(RequestError::Unknown(_))) {
            self.replicated.give_back((connection, wait));
        }
        let (reply, waited) = reply?;
        match wait.check(waited, request.replicas) {
            Ok(()) => Ok(reply),
            Err(why) => {
                let why = format!("{}: {why}", self.address);
                Err(RequestError::Unreplicated(reply, why))
            }
        }
    }

    /// Waits for the reply to what was sent.
    async fn reply<T>(
        &self,
        longest: Duration,
        sending: impl Future<Output = RedisResult<T>>,
    ) -> Result<T, RequestError> {
        let failure = match timeout(longest, sending).await {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(error)) if error.code().is_some() => return Err(RequestError::Rejected(error)),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no reply within {longest:?}"),
        };
        Err(RequestError::Unknown(format!(
            "{}: {failure}",
            self.address
        )))
    }

    /// Returns whether there is a connection, which may be broken.
    pub(super) fn is_connected(&self) -> bool {
        self.connection.load().is_some()
    }

    /// Drops a broken connection, unless another has replaced it.
    fn drop_connection(&self, broken: &Arc<Connection>) {
        let current = self.connection.load();
        let is_current = |current: &Arc<Connection>| Arc::ptr_eq(current, broken);
        if current.as_ref().is_some_and(is_current) {
            self.connection.compare_and_swap(&*current, None);
        }
    }

    /// Drops the connections, so that the next request opens another and reads the server's clock again.
    pub(super) fn reconnect(&self) {
        self.connection.store(None);
        self.replicated.clear();
    }

    async fn connection(&self) -> Result<Arc<Connection>, String> {
        if let Some(connection) = self.connection.load_full() {
            return Ok(connection);
        }
        let mut last_failure = self.last_failure.lock().await;
        if let Some(connection) = self.connection.load_full() {
            return Ok(connection);
        }
        let connection = self.open(&mut last_failure, Connection::open).await?;
        let connection = Arc::new(connection);
        self.connection.store(Some(Arc::clone(&connection)));
        Ok(connection)
    }

    /// Opens a connection, unless the last attempt has just failed.
    async fn open<T, F>(
        &self,
        last_failure: &mut Option<(Instant, String)>,
        open: impl FnOnce(Client) -> F,
    ) -> Result<T, String>
    where
        T: Send + 'static,
        F: Future<Output = RedisResult<T>> + Send + 'static,
    {
        if let Some((at, why)) = last_failure.as_ref()
            && at.elapsed() < CONNECT_BACKOFF
        {
            return Err(why.clone());
        }
        let opening = open(self.client.clone());
        let opening = async { timeout(CONNECT_TIMEOUT * 2, opening).await };
        let opened = match self.runtime.spawn(opening).await {
            Ok(Ok(opened)) => opened.map_err(|error| without_arguments(&error)),
            Ok(Err(_)) => Err("it does not answer".to_owned()),
            Err(ended) => Err(ended.to_string()),
        };
        let opened = opened.map_err(|why| format!("{}: {why}", self.address));
        *last_failure = opened
            .as_ref()
            .err()
            .map(|why| (Instant::now(), why.clone()));
        opened
    }
}

impl Connection {
    async fn open(client: Client) -> RedisResult<Self> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(None);
        let mut requests = client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        let before = Instant::now();
        let (seconds, micros): (u64, u64) = redis::cmd("TIME").query_async(&mut requests).await?;
        let clock = (
            before,
            seconds.saturating_mul(1_000_000).saturating_add(micros),
        );
        Ok(Self { requests, clock })
    }

    /// Opens a connection for requests that wait for replicas.
    async fn open_to_wait(client: Client) -> RedisResult<(Self, Wait)> {
        let mut connection = Self::open(client).await?;
        let wait = Wait::detect(&mut connection.requests).await?;
        Ok((connection, wait))
    }

    /// Returns the time by the server's clock until which a request may be executed: an upper bound of what the clock
    /// shows now, since part of the time it took to read the clock is counted twice, plus the time that the reply may
    /// take.
    fn deadline(&self, request: &Request) -> u64 {
        let now = self.clock.1.saturating_add(micros(self.clock.0.elapsed()));
        now.saturating_add(micros(request.timeout))
    }
}

/// Formats what a server refuses, without the arguments of a command that it does not know: it repeats them, and a
/// password may be among them.
pub(super) fn without_arguments(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    let before = text.split_once(", with args beginning with");
    before.map_or(text.clone(), |(before, _)| before.to_owned())
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

impl RequestError {
    /// Returns the code of the server's error.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Rejected(error) => error.code(),
            Self::Unavailable(_) | Self::Unknown(_) | Self::Unreplicated(..) => None,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(why) | Self::Unknown(why) | Self::Unreplicated(_, why) => {
                f.write_str(why)
            }
            Self::Rejected(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl From<RequestError> for CommitError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Unknown(why) | RequestError::Unreplicated(_, why) => Self::Unknown(why),
            RequestError::Unavailable(_) | RequestError::Rejected(_) => {
                Self::Unavailable(error.to_string())
            }
        }
    }
}
