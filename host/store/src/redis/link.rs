//! A link to one master: a connection on which hints arrive in order with the replies to requests.
//!
//! A commit's script publishes on the server that runs it, and a server writes to a connection in the order of what it
//! does. The client library hands over a published message as it reads it, before it completes a reply that it reads
//! later. So once a request is answered, every hint that was published on that server before the request was sent has
//! been taken in.

use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, FromRedisValue, ProtocolVersion, PushInfo, PushKind, RedisError,
    RedisResult, Value,
};
use tokio::time::timeout;

use super::address::Address;
use super::cluster::{self, MasterList, View};
use super::node::without_arguments;
use super::url::Topology;

/// The time limit for opening a connection, and for an answer to a request.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The time without an answer after which a link counts as broken. A server that only stalls answers later, in order.
const BROKEN_AFTER: Duration = Duration::from_secs(5);

/// The number of requests after which a server of a cluster is asked for all members again, although its view is
/// unchanged: nodes that were swapped between two requests leave their number as it was.
const LIST_EVERY: u32 = 20;

/// The longest an election may last. After that it has failed, and no master has its epoch.
const ELECTION: Duration = Duration::from_secs(2);

/// A link to one master.
pub(super) struct Link {
    address: Address,
    connection: MultiplexedConnection,
    answered: Instant,
    /// In a cluster: the members that the server knows.
    members: Option<Members>,
}

/// The members of a cluster as one of them knows them.
pub(super) struct Members {
    pub(super) view: View,
    pub(super) list: MasterList,
    /// The time until which the view may be that of an election without a result; `None` when it has one.
    election: Option<Instant>,
    /// True if the server executes requests to its slots.
    serves: bool,
    requests: u32,
}

/// The reason a request on a link was not answered.
pub(super) enum LinkError {
    /// No answer came in time, or it was an error: hints still arrive in order.
    Late(String),
    /// The connection has ended: hints may be lost.
    Broken(String),
}

impl Link {
    /// Connects to a server and subscribes to a channel; `on_message` is called for each message in turn and must not
    /// block.
    pub(super) async fn open(
        address: Address,
        client: &Client,
        channel: String,
        on_message: impl Fn(Vec<u8>) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let opening = async {
            let info = client.get_connection_info();
            let settings = info
                .redis_settings()
                .clone()
                .set_protocol(ProtocolVersion::RESP3);
            let client = Client::open(info.clone().set_redis_settings(settings))?;
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(Some(TIMEOUT))
                .set_response_timeout(None)
                .set_push_sender(move |push| -> Result<(), ()> {
                    if let Some(message) = message(push) {
                        on_message(message);
                    }
                    Ok(())
                });
            let mut connection = client
                .get_multiplexed_async_connection_with_config(&config)
                .await?;
            connection.subscribe(channel).await?;
            RedisResult::Ok(connection)
        };
        let connection = match timeout(TIMEOUT, opening).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(cause)) => return Err(format!("{address}: {}", without_arguments(&cause))),
            Err(_) => return Err(format!("{address}: it does not answer")),
        };
        Ok(Self {
            address,
            connection,
            answered: Instant::now(),
            members: None,
        })
    }

    /// Sends one small request, whose answer shows that every hint published on the server before it has been taken in.
    /// Returns whether the server is a master; in a cluster, [`Self::members`] tells that.
    pub(super) async fn ask(&mut self, topology: &Topology) -> Result<bool, LinkError> {
        let asking = async {
            if *topology == Topology::Cluster {
                self.ask_member().await.map(|()| Some(true))
            } else {
                self.ask_role().await
            }
        };
        let failure = match timeout(TIMEOUT, asking).await {
            Ok(Ok(is_master)) => {
                self.answered = Instant::now();
                let why = || format!("{}: it is reading its data", self.address);
                return is_master.ok_or_else(|| LinkError::Late(why()));
            }
            Ok(Err(error)) if error.code().is_some() => {
                let why = format!("{}: {error}", self.address);
                return Err(LinkError::Late(why));
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) if self.answered.elapsed() < BROKEN_AFTER => {
                let why = format!("{}: it does not answer", self.address);
                return Err(LinkError::Late(why));
            }
            Err(_) => "it does not answer".to_owned(),
        };
        Err(LinkError::Broken(format!("{}: {failure}", self.address)))
    }

    /// Returns what the server knew of the cluster when it last answered.
    pub(super) const fn members(&self) -> Option<&Members> {
        self.members.as_ref()
    }

    /// Returns whether the server is a master; `None` while it has just started and refuses other requests.
    async fn ask_role(&mut self) -> RedisResult<Option<bool>> {
        let info: String = redis::cmd("INFO")
            .arg("replication")
            .arg("persistence")
            .query_async(&mut self.connection)
            .await?;
        Ok((!cluster::is_loading(&info)).then(|| cluster::is_master(&info)))
    }

    /// Asks a member of a cluster whether its view is unchanged; when it has changed, asks for all members.
    async fn ask_member(&mut self) -> RedisResult<()> {
        let known = self.members.take();
        if let Some(members) = &known
            && members.settled()
            && members.requests < LIST_EVERY
        {
            let info: String = redis::cmd("CLUSTER")
                .arg("INFO")
                .query_async(&mut self.connection)
                .await?;
            if cluster::view(&info) == Some(members.view) {
                self.members = known.map(|members| Members {
                    serves: cluster::serves(&info),
                    requests: members.requests + 1,
                    ..members
                });
                return Ok(());
            }
        }
        // The view is read first: a change after that shows in the next view.
        let (info, nodes, slots): (String, String, Value) = redis::pipe()
            .cmd("CLUSTER")
            .arg("INFO")
            .cmd("CLUSTER")
            .arg("NODES")
            .cmd("CLUSTER")
            .arg("SLOTS")
            .query_async(&mut self.connection)
            .await?;
        let unexpected = || RedisError::from((redis::ErrorKind::Parse, "an unexpected reply"));
        let view = cluster::view(&info).ok_or_else(unexpected)?;
        let list = cluster::members(&nodes, &slots, &self.address).ok_or_else(unexpected)?;
        let election = match known {
            _ if list.epoch >= view.epoch => None,
            Some(known) if known.view == view => known.election,
            _ => Some(Instant::now() + ELECTION),
        };
        self.members = Some(Members {
            serves: cluster::serves(&info),
            view,
            list,
            election,
            requests: 0,
        });
        Ok(())
    }
}

impl Members {
    /// Returns false while an election may be going on.
    pub(super) fn settled(&self) -> bool {
        self.election.is_none_or(|end| end <= Instant::now())
    }

    /// Returns whether the server refuses requests to slots that it has.
    pub(super) const fn is_down(&self) -> bool {
        self.list.has_slots && !self.serves
    }
}

/// Returns the published message, if a push is one.
fn message(push: PushInfo) -> Option<Vec<u8>> {
    match (push.kind, push.data.into_iter().nth(1)) {
        (PushKind::Message, Some(message)) => Vec::from_redis_value(message).ok(),
        _ => None,
    }
}
