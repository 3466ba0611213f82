//! Hints from other hosts: listens for the names of changed partitions for as long as the store is open.
//!
//! Every commit publishes the name of its partition on one channel, which the servers of a cluster pass on to each
//! other. What is published while nobody listens is lost, so after each new connection all listeners are notified.

use std::sync::Weak;
use std::time::Duration;

use redis::{AsyncConnectionConfig, Client, ProtocolVersion, PushInfo, PushKind, Value};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{sleep, timeout};

use super::super::contract::Partition;
use super::shared::Shared;

/// After how long a silence the connection is checked.
const PING_AFTER: Duration = Duration::from_secs(2);

/// How long to wait before a broken connection is opened again.
const RECONNECT_AFTER: Duration = Duration::from_millis(200);

/// Listens until the store is dropped.
pub(super) async fn listen(shared: Weak<Shared>) {
    loop {
        let Some(client) = client(&shared).await else {
            return;
        };
        if let Some(client) = client {
            // If the cause of an error lasts, requests report it.
            let _ended = receive(&shared, client).await;
        }
        sleep(RECONNECT_AFTER).await;
    }
}

/// A server to listen to, if one is available; `None` when the store has been dropped.
async fn client(shared: &Weak<Shared>) -> Option<Option<Client>> {
    let shared = shared.upgrade()?;
    let masters = shared.router.masters().await.unwrap_or_default();
    Some(masters.first().map(|node| node.client().clone()))
}

/// Notifies listeners until the connection breaks or the store is dropped.
async fn receive(shared: &Weak<Shared>, client: Client) -> redis::RedisResult<()> {
    let (sender, mut pushes) = tokio::sync::mpsc::unbounded_channel();
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PING_AFTER))
        .set_response_timeout(Some(PING_AFTER))
        .set_push_sender(sender);
    let info = client.get_connection_info();
    let settings = info
        .redis_settings()
        .clone()
        .set_protocol(ProtocolVersion::RESP3);
    let client = Client::open(info.clone().set_redis_settings(settings))?;
    let mut connection = client
        .get_multiplexed_async_connection_with_config(&config)
        .await?;
    let Some(channel) = shared.upgrade().map(|shared| shared.keyspace.channel()) else {
        return Ok(());
    };
    connection.subscribe(channel).await?;
    if let Some(shared) = shared.upgrade() {
        shared.listeners.notify_all();
    }
    loop {
        match timeout(PING_AFTER, next_name(&mut pushes)).await {
            Ok(None) => return Ok(()),
            Ok(Some(name)) => {
                let Some(shared) = shared.upgrade() else {
                    return Ok(());
                };
                if let Some(partition) = Partition::new(&name) {
                    shared.listeners.notify(&partition);
                }
            }
            Err(_) => {
                if shared.strong_count() == 0 {
                    return Ok(());
                }
                redis::cmd("PING")
                    .query_async::<()>(&mut connection)
                    .await?;
            }
        }
    }
}

/// The next name that is published; `None` when the connection has ended.
async fn next_name(pushes: &mut UnboundedReceiver<PushInfo>) -> Option<String> {
    loop {
        let PushInfo { kind, data, .. } = pushes.recv().await?;
        match (kind, data.into_iter().nth(1)) {
            (PushKind::Disconnection, _) => return None,
            (PushKind::Message, Some(Value::BulkString(name))) => {
                return String::from_utf8(name).ok();
            }
            _ => {}
        }
    }
}
