//! `POST /oauth2/token`: credentials in every shape. Whoever is refused is refused in the same words.

use std::net::IpAddr;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
use serde_json::Value;
use tillgate::tokens::Shown;

use super::fixture::{FORM, Service};
use super::hostile_forms::assert_answer;
use super::wire::message;

const TYPE: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// A text as it would be decoded again, its last characters encoded so that its Base64 needs padding.
fn needing_padding(text: &str) -> String {
    let encoded = |count: usize| {
        let (plain, last) = text.split_at(text.len() - count);
        plain.to_owned()
            + &last
                .bytes()
                .map(|b| format!("%{b:02x}"))
                .collect::<String>()
    };
    let needing = (0..3).map(encoded).find(|text| text.len() % 3 == 1);
    needing.expect("two characters more each time")
}

#[tokio::test]
async fn whoever_shows_no_credentials_that_hold_is_refused_in_one_way() {
    let service = Service::start().await;
    let (id, secret) = (&service.operator.client_id, &service.operator.client_secret);
    let right = format!("{id}:{secret}");
    let basic = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
    let token = service.operator().await;
    let good = basic(&right);
    let padded = BASE64_STANDARD.encode(needing_padding(&right));
    assert!(padded.ends_with("=="));
    let unpadded = padded.trim_end_matches('=');
    // The last character before the padding has four bits to spare.
    let (rest, last) = unpadded.split_at(unpadded.len() - 1);
    let spare = char::from(last.as_bytes()[0] + 1);
    let header = |value: String| vec![("authorization", value)];
    let rows = [
        ("none", vec![]),
        ("an empty header", header(String::new())),
        ("Basic and a space", header("Basic ".to_owned())),
        ("no scheme", header(good["Basic ".len()..].to_owned())),
        ("a tab after the scheme", header(good.replace(' ', "\t"))),
        ("a colon after the scheme", header(good.replace(' ', ": "))),
        ("another scheme", header(good.replace("Basic", "Digest"))),
        (
            "a longer scheme",
            header(good.replace("Basic", "Basically")),
        ),
        ("in quotes", header(good.replace(' ', " \"") + "\"")),
        ("a parameter", header(format!("{good}, charset=\"UTF-8\""))),
        ("joined by a comma", header(format!("{good}, {good}"))),
        (
            "a space inside",
            header(good.replacen("Basic ", "Basic Z ", 1)),
        ),
        ("without padding", header(format!("Basic {unpadded}"))),
        ("too much padding", header(format!("Basic {padded}="))),
        ("bits to spare", header(format!("Basic {rest}{spare}=="))),
        (
            "the other alphabet",
            header(format!(
                "Basic {}",
                BASE64_URL_SAFE.encode(format!("{id}:~~~???"))
            )),
        ),
        ("encoded twice", header(basic(&good["Basic ".len()..]))),
        (
            "no colon but an encoded one",
            header(basic(&right.replace(':', "%3A"))),
        ),
        ("a colon before", header(basic(&format!(":{right}")))),
        ("a colon after", header(basic(&format!("{right}:")))),
        (
            "NUL after the id",
            header(basic(&right.replace(':', "\0:"))),
        ),
        ("NUL after the secret", header(basic(&format!("{right}\0")))),
        ("a plus is a space", header(basic(&format!("{right}+")))),
        ("a percent", header(basic(&format!("{right}%")))),
        (
            "no UTF-8 once decoded",
            header(basic(&format!("{right}%ff"))),
        ),
        (
            "percent-encoded twice",
            header(basic(&right.replacen(
                &id[..1],
                &format!("%25{:x}", id.as_bytes()[0]),
                1,
            ))),
        ),
        ("a space before the id", header(basic(&format!(" {right}")))),
        ("no secret", header(basic(&format!("{id}:")))),
        ("no id", header(basic(&format!(":{secret}")))),
        (
            "the id in another case",
            header(basic(&right.to_uppercase())),
        ),
        ("the id as its secret", header(basic(&format!("{id}:{id}")))),
        (
            "id and secret swapped",
            header(basic(&format!("{secret}:{id}"))),
        ),
        (
            "an id of a path",
            header(basic(&format!("../../keys:{secret}"))),
        ),
        (
            "the key of a record",
            header(basic(&format!("client/{id}:{secret}"))),
        ),
        (
            "an id of 300 characters",
            header(basic(&format!("{}:{secret}", "a".repeat(300)))),
        ),
        (
            "the example of RFC 6749, appendix B",
            header(basic(
                "1PpG%2FQ+1:z%2FtZ9VwFZqApmIQ%2BZH1I5pLk%2FuB4ud%3AX2%2F8bL%2BwfFTt1rFw%3D",
            )),
        ),
        ("a token", header(format!("Bearer {token}"))),
        (
            "a token as the secret",
            header(basic(&format!("{id}:{token}"))),
        ),
        (
            "good, then bad",
            vec![
                ("authorization", good.clone()),
                ("authorization", basic("a:b")),
            ],
        ),
        (
            "bad, then good",
            vec![
                ("authorization", basic("a:b")),
                ("authorization", good.clone()),
            ],
        ),
        (
            "a token, then good",
            vec![
                ("authorization", format!("Bearer {token}")),
                ("authorization", good.clone()),
            ],
        ),
        (
            "an empty one, then good",
            vec![
                ("authorization", String::new()),
                ("authorization", good.clone()),
            ],
        ),
        ("for a proxy", vec![("proxy-authorization", good.clone())]),
        (
            "a cookie",
            vec![("cookie", format!("authorization={good}"))],
        ),
    ];
    let mut bodies = Vec::new();
    for (case, headers) in rows {
        // Ten wrong secrets in a row would have to wait; a right one ends the row.
        service.operator().await;
        let mut all = vec![TYPE];
        all.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
        let request = message("POST /oauth2/token", &all, FORM);
        let answer = service.send_bytes(&request).await;
        assert_answer(&answer, 401, "invalid_client", case);
        bodies.push(answer.body);
    }
    let line = format!("POST /oauth2/token?client_id={id}&client_secret={secret}&{FORM}");
    let post = format!("{FORM}&client_id={id}&client_secret={secret}");
    let assertion = format!(
        "{FORM}&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion={token}"
    );
    for (case, line, form) in [
        ("in the query", line.as_str(), FORM),
        ("in the body", "POST /oauth2/token", &post),
        ("an assertion", "POST /oauth2/token", &assertion),
    ] {
        let answer = service.send_bytes(&message(line, &[TYPE], form)).await;
        assert_answer(&answer, 401, "invalid_client", case);
        bodies.push(answer.body);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "one body for all");
}

#[tokio::test]
async fn what_is_odd_and_means_the_same_is_taken() {
    let service = Service::start().await;
    let (id, secret) = (&service.operator.client_id, &service.operator.client_secret);
    let right = format!("{id}:{secret}");
    let encoded = BASE64_STANDARD.encode(&right);
    let lower = right.bytes().map(|b| {
        if b == b':' {
            ":".to_owned()
        } else {
            format!("%{b:02x}")
        }
    });
    let lower = BASE64_STANDARD.encode(lower.collect::<String>());
    let rows = [
        format!("Basic  {encoded}"),
        format!("Basic {encoded} "),
        format!("bAsIc {encoded}"),
        format!("Basic {lower}"),
        format!("Basic {}", BASE64_STANDARD.encode(needing_padding(&right))),
    ];
    for value in rows {
        let headers = [("authorization", value.as_str()), TYPE];
        let request = message("POST /oauth2/token", &headers, FORM);
        assert_answer(&service.send_bytes(&request).await, 200, "", &value);
    }
    let example = "1PpG%2FQ+1:z%2FtZ9VwFZqApmIQ%2BZH1I5pLk%2FuB4ud%3AX2%2F8bL%2BwfFTt1rFw%3D";
    let shown = Shown::of_header(&format!("Basic {}", BASE64_STANDARD.encode(example)));
    let shown = format!("{:?}", shown.unwrap());
    assert!(shown.contains("\"1PpG/Q 1\""), "{shown}");
    assert!(!shown.contains("z/tZ9"), "a secret is shown to nobody");
}

#[tokio::test]
async fn who_a_client_is_comes_before_what_it_asks_for() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let operator = service.operator().await;
    let (pending, revoked) = (service.till("acme", 1).await, service.till("acme", 2).await);
    let path = format!("/v1/tenants/acme/clients/{}/revoke", revoked.client_id);
    assert_eq!(service.put(&path, &operator, Value::Null).await.status, 200);
    let unknown = tillgate::tokens::Credentials {
        client_id: "bm9ib2R5".to_owned(),
        client_secret: "0".repeat(64),
    };
    let forms = [
        "grant_type=password",
        "x=1",
        "grant_type=client_credentials&audience=https%3A%2F%2Fother.example",
        &format!("{FORM}&scope=openid"),
    ];
    let mut bodies = Vec::new();
    for client in [&pending, &revoked, &unknown] {
        for form in forms {
            let answer = service.ask(&client.client_id, &client.client_secret, form);
            let answer = service.send(answer).await;
            assert_answer(&answer, 401, "invalid_client", form);
            bodies.push(answer.body);
        }
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "one body for all");
}

#[tokio::test]
async fn who_guesses_waits_whether_the_client_is_there_or_not() {
    let service = Service::start().await;
    let known = service.operator.client_id.clone();
    for id in [known.as_str(), "bm9ib2R5"] {
        for guess in 0..10 {
            let answer = service.send(service.ask(id, "wrong", FORM)).await;
            assert_answer(&answer, 401, "invalid_client", &format!("{id} {guess}"));
        }
        let answer = service.send(service.ask(id, "wrong", FORM)).await;
        assert_answer(&answer, 429, "temporarily_unavailable", id);
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
}

#[tokio::test]
async fn who_guesses_keeps_nobody_else_waiting() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let till = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}/authorize", till.client_id);
    let operator = service.operator().await;
    service.put(&path, &operator, Value::Null).await;
    let (id, secret) = (&service.operator.client_id, &service.operator.client_secret);
    for _ in 0..12 {
        service.send(service.ask(id, "wrong", FORM)).await;
    }
    let other = service.ask(&till.client_id, &till.client_secret, FORM);
    assert_answer(&service.send(other).await, 200, "", "another client");
    let elsewhere = reqwest::Client::builder().local_address(IpAddr::from([127, 0, 0, 2]));
    let request = service.ask(id, secret, FORM).build().unwrap();
    let answer = elsewhere.build().unwrap().execute(request).await.unwrap();
    assert_eq!(answer.status(), 200, "the same client at another address");
    let here = service.send(service.ask(id, secret, FORM)).await;
    assert_answer(&here, 429, "temporarily_unavailable", "who guessed");
    let forwarded = service
        .ask(id, secret, FORM)
        .header("x-forwarded-for", "127.0.0.2");
    let here = service.send(forwarded).await;
    assert_answer(&here, 429, "temporarily_unavailable", "who says so");
}

#[tokio::test]
async fn one_connection_takes_one_request_after_another_and_no_endless_header() {
    let service = Service::start().await;
    let right = service.ask(
        &service.operator.client_id,
        &service.operator.client_secret,
        FORM,
    );
    let right = right.build().unwrap().headers()["authorization"].clone();
    let headers = [("authorization", right.to_str().unwrap()), TYPE];
    let request = message("POST /oauth2/token", &headers, FORM);
    let unasked = message("POST /oauth2/token", &[TYPE], FORM);
    let answers = service
        .send_all(&[&request[..], &unasked, &request].concat())
        .await;
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 401, 200]);
    let endless = format!("Basic {}", "a".repeat(64 << 10));
    let headers = [("authorization", endless.as_str()), TYPE];
    let request = message("POST /oauth2/token", &headers, FORM);
    assert_eq!(service.send_bytes(&request).await.status, 431);
}
