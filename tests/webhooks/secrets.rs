//! Secrets that a receiver repeats in any form, and addresses behind the operator's names, must not be visible to a
//! tenant.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use super::shop::{Shop, WEBHOOKS, settings};
use super::ssrf;
use crate::support::receiver::{Answer, Receiver};

const PASSWORD: &str = r#"p"ä/+ \word 1"#;
const SHARED_KEY: &str = r#"a key with "quotes" & ünïcode/"#;

/// Returns some of the forms in which a receiver may repeat a text. The unit tests have all of them.
fn forms(text: &str) -> Vec<Vec<u8>> {
    let units = text.encode_utf16().map(|unit| format!(r"\u{unit:04x}"));
    let entities = text.chars().map(|c| format!("&#{};", u32::from(c)));
    let in_url: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    let lines = BASE64_STANDARD.encode(text).into_bytes();
    let lines: Vec<&[u8]> = lines.chunks(76).collect();
    vec![
        text.into(),
        units.collect::<String>().into(),
        entities.collect::<String>().into(),
        in_url.replace('%', "%25").into(),
        hex::encode_upper(text).into(),
        lines.join(&b"\r\n"[..]),
        text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
    ]
}

fn answer(body: &[u8]) -> Answer {
    let head = format!("HTTP/1.1 500 No\r\ncontent-length: {}\r\n\r\n", body.len());
    Answer::Raw([head.as_bytes(), body].concat())
}

/// Returns the journal's text for an answer of `bytes` bytes that repeats a credential.
fn length_alone(bytes: usize) -> String {
    format!("an answer of {bytes} bytes that repeats a credential")
}

/// Tries out a webhook with these settings; returns what the journal keeps of the answer.
async fn kept(shop: &Shop, receiver: &Receiver, body: &[u8], more: &Value) -> String {
    receiver.answer(answer(body));
    let trial = settings(&receiver.url, more.clone());
    let path = format!("{WEBHOOKS}/ping");
    let (status, tried) = shop.send(Method::POST, &path, &trial).await;
    assert_eq!(status, 200, "{tried}");
    tried["answer"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_secret_that_a_receiver_answers_is_kept_in_no_form() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let basic = json!({
        "authentication": { "type": "BASIC", "username": "till", "password": PASSWORD }, "sharedKey": SHARED_KEY,
    });
    let credentials = BASE64_STANDARD.encode(format!("till:{PASSWORD}"));
    for secret in [PASSWORD, SHARED_KEY, &credentials] {
        for form in forms(secret) {
            let body = [&b"{ got: ["[..], &form, b"] }"].concat();
            let kept = kept(&shop, &receiver, &body, &basic).await;
            assert_eq!(kept, length_alone(body.len()), "{}", body.escape_ascii());
        }
    }
}

#[tokio::test]
async fn a_token_that_a_receiver_answers_is_kept_in_no_form() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let first = kept(&shop, &receiver, b"first", &json!({})).await;
    assert_eq!(first, "first");
    // The token for a receiver stays the same for a while.
    let sent = receiver.wait_for(1).await.remove(0);
    let token = sent.headers["authorization"]
        .strip_prefix("Bearer ")
        .unwrap();
    for form in forms(token) {
        // Wherever it begins in the part that would be kept.
        for before in [0, 1_000] {
            let body = [vec![b'x'; before], form.clone()].concat();
            let kept = kept(&shop, &receiver, &body, &json!({})).await;
            assert_eq!(kept, length_alone(body.len()), "{}", body.escape_ascii());
        }
    }
}

#[tokio::test]
async fn the_start_or_the_length_of_a_long_answer_is_kept() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let signed = json!({ "sharedKey": SHARED_KEY });
    let long = "é".repeat(20 << 10);
    let beginning = kept(&shop, &receiver, long.as_bytes(), &signed).await;
    assert_eq!(beginning, "é".repeat(512));
    let with_key = [SHARED_KEY, &long].concat();
    let kept = kept(&shop, &receiver, with_key.as_bytes(), &signed).await;
    assert_eq!(
        kept,
        "an answer of 9216 bytes or more that repeats a credential"
    );
}

#[tokio::test]
async fn a_refusal_names_the_host_of_the_url_and_no_address_that_the_name_has() {
    let names = ssrf::Answers::default();
    let shop = ssrf::shop(&names, &[]).await;
    let addresses = [("10.11.12.13", "IPv4"), ("fd00:11:12::13", "IPv6")];
    for (index, (address, family)) in addresses.into_iter().enumerate() {
        let host = format!("receiver-{index}.example");
        names.set(&host, &[&[address]]);
        let url = format!("http://{host}/hook?key=in-the-url");
        let trial = settings(&url, json!({}));
        let (_, tried) = shop
            .send(Method::POST, &format!("{WEBHOOKS}/ping"), &trial)
            .await;
        let expected =
            format!("{host} must not be dialed from here: its {family} address is not allowed");
        assert_eq!(tried["error"]["kind"], "REFUSED_ADDRESS");
        assert_eq!(tried["error"]["message"], expected.as_str());
        let id = shop.webhook(&url, json!({})).await;
        let path = format!("{WEBHOOKS}/{id}/ping");
        assert_eq!(shop.send(Method::POST, &path, &json!({})).await.0, 202);
        shop.run().await;
        let delivery = shop.deliveries(&format!("webhookId={id}")).await.remove(0);
        assert_eq!(delivery["lastError"]["message"], expected.as_str());
        let delivery = shop
            .get(&format!(
                "/api/v1/deliveries/{}",
                delivery["id"].as_str().unwrap()
            ))
            .await;
        assert_eq!(
            delivery["attempts"][0]["error"]["message"],
            expected.as_str()
        );
        assert!(!delivery.to_string().contains(address), "{delivery}");
    }
}

#[tokio::test]
async fn what_goes_wrong_on_the_way_names_neither_the_address_nor_the_query() {
    let names = ssrf::Answers::default();
    let shop = ssrf::shop(&names, &["127.0.0.0/8"]).await;
    names.set("closed.example", &[&["127.0.0.77"]]);
    // Port 9 of this machine is closed.
    for host in ["closed.example:9", "unknown.example"] {
        let trial = settings(&format!("http://{host}/hook?key=in-the-url"), json!({}));
        let (_, tried) = shop
            .send(Method::POST, &format!("{WEBHOOKS}/ping"), &trial)
            .await;
        assert_eq!(tried["error"]["kind"], "UNREACHABLE", "{tried}");
        let told = tried["error"]["message"].as_str().unwrap();
        assert!(
            !told.contains("127.0.0.77") && !told.contains("in-the-url"),
            "{told}"
        );
    }
}
