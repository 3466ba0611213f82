//! Forbidden addresses are not dialed, whatever a webhook's URL contains and whatever its name resolves to.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Method;
use serde_json::json;
use tillgate_base::egress::Names;
use tillgate_store::MemoryStore;
use tillgate_store::clock::StoppedClock;

use super::shop::{START, Shop, WEBHOOKS, settings};
use crate::support::host::Host;
use crate::support::receiver::Receiver;

/// Names with the answers that a test gives them, one after the other; the last one repeats forever.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers(Arc<Mutex<HashMap<String, Vec<Vec<IpAddr>>>>>);

impl Answers {
    pub(super) fn set(&self, name: &str, answers: &[&[&str]]) {
        let parse = |answer: &&[&str]| answer.iter().map(|at| at.parse().unwrap()).collect();
        let mut answers: Vec<Vec<IpAddr>> = answers.iter().map(parse).collect();
        answers.reverse();
        self.0.lock().unwrap().insert(name.to_owned(), answers);
    }
}

impl Names for Answers {
    fn look_up(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut all = self.0.lock().unwrap();
        let found = all.get_mut(name).map(|answers| match answers.len() {
            0 | 1 => answers.first().cloned().unwrap_or_default(),
            _ => answers.pop().unwrap_or_default(),
        });
        let found = found.ok_or_else(|| io::Error::other("no such name"));
        async { found }.boxed()
    }
}

pub(super) async fn shop(names: &Answers, allowed: &[&str]) -> Shop {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let host = Host::start_resolving(store, clock.clone(), Arc::new(names.clone()), |config| {
        config.webhooks.allow_http = true;
        let allowed = allowed.iter().map(|network| network.parse().unwrap());
        config.webhooks.allow_private = allowed.collect();
    });
    Shop::of(host.await, clock).await
}

/// Forbidden addresses in the forms that a URL may contain.
const LITERALS: [&str; 24] = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "017700000001",
    "127.0.0.1.",
    "0.0.0.0",
    "0",
    "10.0.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.168.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::7f00:1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
];

/// The addresses that a name may resolve to.
const ANSWERS: [&[&str]; 18] = [
    &["127.0.0.1"],
    &["::1"],
    &["10.1.2.3"],
    &["169.254.169.254"],
    &["172.31.255.255"],
    &["192.168.1.1"],
    &["100.100.100.200"],
    &["0.0.0.0"],
    &["::ffff:127.0.0.1"],
    &["64:ff9b::a9fe:a9fe"],
    &["64:ff9b:1::7f00:1"],
    &["2002:7f00:1::1"],
    &["2001::1"],
    &["fc00::1"],
    &["ff02::1"],
    &["8.8.8.8", "127.0.0.1"],
    &["127.0.0.1", "8.8.8.8"],
    &["2606:4700:4700::1111", "::1"],
];

#[tokio::test]
async fn a_webhook_with_a_private_address_is_refused_when_it_is_created_or_replaced() {
    let shop = shop(&Answers::default(), &["127.0.0.0/8"]).await;
    let id = shop.webhook("http://127.0.0.1:1/hook", json!({})).await;
    let refused = LITERALS.iter().filter(|literal| !is_loopback(literal));
    for literal in refused {
        let webhook = settings(&format!("http://{literal}/hook"), json!({}));
        for (method, path) in [
            (Method::POST, WEBHOOKS.to_owned()),
            (Method::PUT, format!("{WEBHOOKS}/{id}")),
        ] {
            let (status, problem) = shop.send(method, &path, &webhook).await;
            assert_eq!(status, 400, "{literal}: {problem}");
            let told = problem["message"][0].as_str().unwrap();
            assert_eq!(
                told,
                "$.callbackUrl must have an address of the public internet, or one that webhooks.allow_private allows"
            );
        }
    }
    assert_eq!(shop.get(WEBHOOKS).await.as_array().unwrap().len(), 1);
}

/// Returns whether the URL's host is an address of 127.0.0.0/8.
fn is_loopback(literal: &str) -> bool {
    let url: reqwest::Url = format!("http://{literal}/").parse().unwrap();
    let host = url.host_str().unwrap();
    host == "127.0.0.1" || host == "[::ffff:7f00:1]"
}

#[tokio::test]
async fn no_private_address_is_dialled_by_a_delivery_or_a_ping() {
    let (names, receiver) = (Answers::default(), Receiver::start().await);
    let shop = shop(&names, &[]).await;
    let port = receiver.url.split([':', '/']).nth(4).unwrap();
    let mut hosts: Vec<String> = LITERALS.iter().map(|&literal| literal.to_owned()).collect();
    for (number, answer) in ANSWERS.iter().enumerate() {
        let name = format!("receiver-{number}.example");
        names.set(&name, &[answer]);
        hosts.push(name);
    }
    assert!(hosts.len() >= 40);
    for host in hosts {
        let url = format!("http://{host}:{port}/hook");
        let trial = settings(&url, json!({}));
        let (status, answer) = shop
            .send(Method::POST, &format!("{WEBHOOKS}/ping"), &trial)
            .await;
        assert_eq!(status, 200, "{host}: {answer}");
        assert_eq!(
            answer["error"]["kind"], "REFUSED_ADDRESS",
            "{host}: {answer}"
        );
        // A webhook with a literal address cannot be created in the first place.
        if LITERALS.contains(&&*host) {
            continue;
        }
        let id = shop.webhook(&url, json!({})).await;
        let path = format!("{WEBHOOKS}/{id}/ping");
        assert_eq!(shop.send(Method::POST, &path, &json!({})).await.0, 202);
        shop.run().await;
        let delivery = shop.deliveries(&format!("webhookId={id}")).await.remove(0);
        assert_eq!(delivery["status"], "RETRYING", "{host}");
        assert_eq!(
            delivery["lastError"]["kind"], "REFUSED_ADDRESS",
            "{host}: {delivery}"
        );
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_checked_at_each_connection() {
    let (names, receiver) = (Answers::default(), Receiver::start().await);
    // 127.0.0.1 stands for a public address here, and 127.0.0.2 for a private one.
    let shop = shop(&names, &["127.0.0.1/32"]).await;
    let port = receiver.url.split([':', '/']).nth(4).unwrap();
    names.set("rebinding.example", &[&["127.0.0.1"], &["127.0.0.2"]]);
    let trial = settings(&format!("http://rebinding.example:{port}/hook"), json!({}));
    let path = format!("{WEBHOOKS}/ping");
    receiver.answer(crate::support::receiver::Answer::Raw(
        b"HTTP/1.1 204 OK\r\n\r\n".to_vec(),
    ));
    let (_, first) = shop.send(Method::POST, &path, &trial).await;
    assert_eq!(first["delivered"], true, "{first}");
    let (_, second) = shop.send(Method::POST, &path, &trial).await;
    assert_eq!(second["error"]["kind"], "REFUSED_ADDRESS", "{second}");
    assert_eq!(receiver.connections(), 1);
}
