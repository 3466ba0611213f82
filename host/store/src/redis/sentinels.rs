//! Asks the Sentinels which server each of them names as the master.
//!
//! Each is asked over its own connection, which is kept. They learn of a failover one after the other, starting with
//! the one that leads it.

use std::time::Duration;

use futures_util::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{Client, RedisResult};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::address::Address;

/// The time limit for an answer from a Sentinel.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The Sentinels that the URL names.
pub(super) struct Sentinels {
    service: String,
    each: Vec<Sentinel>,
}

struct Sentinel {
    address: Address,
    client: Client,
    connection: Mutex<Option<MultiplexedConnection>>,
}

/// The answers of the Sentinels.
pub(super) struct Named {
    /// Each named server, the one named by most first.
    pub(super) masters: Vec<Address>,
    /// The reason one of them named none.
    pub(super) failure: Option<String>,
    /// True if most of them answered.
    pub(super) by_most: bool,
}

impl Sentinels {
    pub(super) fn new(service: String, clients: Vec<(Address, Client)>) -> Self {
        let sentinel = |(address, client)| Sentinel {
            address,
            client,
            connection: Mutex::default(),
        };
        Self {
            service,
            each: clients.into_iter().map(sentinel).collect(),
        }
    }

    /// Asks all of them which server is the master.
    pub(super) async fn named(&self) -> Named {
        let asking = self.each.iter().map(|each| each.named(&self.service));
        let (mut failure, mut answers) = (None, 0);
        let mut votes: Vec<(Address, usize)> = Vec::new();
        for answer in join_all(asking).await {
            match answer {
                Ok(master) => {
                    answers += 1;
                    match votes.iter_mut().find(|(named, _)| *named == master) {
                        Some((_, votes)) => *votes += 1,
                        None => votes.push((master, 1)),
                    }
                }
                Err(why) => failure = Some(why),
            }
        }
        votes.sort_by_key(|(_, votes)| std::cmp::Reverse(*votes));
        Named {
            masters: votes.into_iter().map(|(master, _)| master).collect(),
            failure,
            by_most: answers * 2 > self.each.len(),
        }
    }
}

impl Sentinel {
    async fn named(&self, service: &str) -> Result<Address, String> {
        let mut connection = self.connection.lock().await;
        let asking = async {
            let mut open = match connection.take() {
                Some(open) => open,
                None => self.client.get_multiplexed_async_connection().await?,
            };
            let named: Option<(String, u16)> = redis::cmd("SENTINEL")
                .arg("GET-MASTER-ADDR-BY-NAME")
                .arg(service)
                .query_async(&mut open)
                .await?;
            *connection = Some(open);
            RedisResult::Ok(named)
        };
        let address = &self.address;
        match timeout(TIMEOUT, asking).await {
            Ok(Ok(Some((host, port)))) => Ok(Address { host, port }),
            Ok(Ok(None)) => Err(format!("{address}: it does not know {service}")),
            Ok(Err(cause)) => Err(format!("{address}: {cause}")),
            Err(_) => Err(format!("{address}: it does not answer")),
        }
    }
}
