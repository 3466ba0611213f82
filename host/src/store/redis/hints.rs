//! Hears which partitions changed on other hosts, for as long as the store is open.
//!
//! Every commit publishes its partition's name on one channel, which any server of a cluster passes on. What is said
//! while nobody listens is lost: after each new connection everyone is told that something may have changed.

use std::sync::Weak;
use std::time::Duration;

use redis::{AsyncConnectionConfig, Client, ProtocolVersion, PushInfo, PushKind, Value};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{sleep, timeout};

use super::super::Partition;
use super::Shared;

/// How long nothing is heard before the connection is tried.
const SILENCE: Duration = Duration::from_secs(2);

/// How long until a broken connection is opened again.
const PAUSE: Duration = Duration::from_millis(200);

/// Listens until the store is dropped.
pub(super) async fn listen(shared: Weak<Shared>) {
    loop {
        let Some(client) = client(&shared).await else {
            return;
        };
        if let Some(client) = client {
            // What ends it is told by the next connection's failure, if it lasts.
            let _ended = hear(&shared, client).await;
        }
        sleep(PAUSE).await;
    }
}

/// A server to listen to, if there is one; `None` when the store is gone.
async fn client(shared: &Weak<Shared>) -> Option<Option<Client>> {
    let shared = shared.upgrade()?;
    let masters = shared.servers.masters().await.unwrap_or_default();
    Some(masters.first().map(|link| link.client().clone()))
}

async fn hear(shared: &Weak<Shared>, client: Client) -> redis::RedisResult<()> {
    let (sender, mut pushes) = tokio::sync::mpsc::unbounded_channel();
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(SILENCE))
        .set_response_timeout(Some(SILENCE))
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
    let Some(channel) = shared.upgrade().map(|shared| shared.layout.channel()) else {
        return Ok(());
    };
    connection.subscribe(channel).await?;
    if let Some(shared) = shared.upgrade() {
        shared.listeners.tell_all();
    }
    loop {
        match timeout(SILENCE, take(&mut pushes)).await {
            Ok(None) => return Ok(()),
            Ok(Some(name)) => {
                let Some(shared) = shared.upgrade() else {
                    return Ok(());
                };
                if let Some(partition) = Partition::new(&name) {
                    shared.listeners.tell(&partition);
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

/// The next name that was published; `None` when the connection has ended.
async fn take(pushes: &mut UnboundedReceiver<PushInfo>) -> Option<String> {
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
