//! What a receiver, or a name, must not find its way to a tenant's eyes: secrets in whatever form a receiver answers them, and
//! addresses that the operator's names have.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
use reqwest::Method;
use serde_json::{Value, json};

use super::shop::{Shop, WEBHOOKS, settings};
use super::ssrf;
use crate::support::receiver::{Answer, Receiver};

const PASSWORD: &str = r#"p"ä/+ \word 1"#;
const SHARED_KEY: &str = r#"a key with "quotes" & ünïcode/"#;

/// The forms in which a receiver may answer a text.
fn forms(text: &str) -> Vec<String> {
    let json = json!(text).to_string();
    let units = text.encode_utf16().map(|unit| format!(r"\u{unit:04x}"));
    let percent = text.bytes().map(|byte| format!("%{byte:02x}"));
    let in_url: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    vec![
        text.to_owned(),
        json.trim_matches('"').to_owned(),
        units.collect(),
        percent.clone().collect(),
        percent.collect::<String>().to_ascii_uppercase(),
        in_url.replace('+', "%20"),
        in_url,
        hex::encode(text),
        hex::encode_upper(text),
        BASE64_STANDARD.encode(text),
        BASE64_URL_SAFE.encode(text),
    ]
}

/// An answer with a body.
fn answer(body: &str) -> Answer {
    let head = format!("HTTP/1.1 500 No\r\ncontent-length: {}\r\n\r\n", body.len());
    Answer::Raw([head.as_bytes(), body.as_bytes()].concat())
}

/// What the journal keeps of the answer to a test event that a webhook with these settings is tried out with.
async fn kept(shop: &Shop, receiver: &Receiver, body: &str, more: &Value) -> String {
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
            let body = format!("{{ got: [{form}] }}");
            assert_eq!(
                kept(&shop, &receiver, &body, &basic).await,
                "{ got: […] }",
                "{form}"
            );
        }
    }
}

#[tokio::test]
async fn a_token_that_a_receiver_answers_is_kept_in_no_form() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    kept(&shop, &receiver, "first", &json!({})).await;
    // The token of a receiver stays the same for a while.
    let sent = receiver.wait_for(1).await.remove(0);
    let token = sent.headers["authorization"]
        .strip_prefix("Bearer ")
        .unwrap();
    for form in forms(token) {
        // However far behind it begins in what is kept.
        for before in [String::new(), "x".repeat(1_000)] {
            let body = format!("{before}{form}");
            let kept = kept(&shop, &receiver, &body, &json!({})).await;
            assert_eq!(kept, format!("{before}…"), "{form}");
        }
    }
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
            format!("{host} must not be dialled from here: its {family} address is not allowed");
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
