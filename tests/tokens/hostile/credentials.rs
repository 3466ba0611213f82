//! `POST /oauth2/token`: credentials in every form. All refusals have the same text.

use std::net::IpAddr;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_tokens::{BasicCredentials, Credentials};

use super::super::fixture::{FORM, Service};
use super::{assert_answer, rows};
use crate::support::wait::DEADLINE;
use crate::support::wire::{Headers, message};

const TYPE: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const LINE: &str = "POST /oauth2/token";

const UNKNOWN: &str =
    "invalid_client: the client is unknown, its secret is wrong, or it is not authorized";
const IN_FORM: &str = "invalid_client: the client must send its id and secret in the Authorization header (Basic), not in the form";
const LOCKED: &str = "temporarily_unavailable: too many wrong secrets in a row";

/// The example of RFC 6749, appendix B.
const EXAMPLE: &str = "1PpG%2FQ+1:z%2FtZ9VwFZqApmIQ%2BZH1I5pLk%2FuB4ud%3AX2%2F8bL%2BwfFTt1rFw%3D";

fn basic(text: impl AsRef<[u8]>) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(text))
}

/// Returns a request with these headers and the valid form.
fn post(headers: Headers<'_>) -> Vec<u8> {
    message(LINE, &[headers, &[TYPE]].concat(), FORM)
}

/// Returns a request with one `Authorization` header and the valid form.
fn authorization(value: impl AsRef<str>) -> Vec<u8> {
    post(&[("authorization", value.as_ref())])
}

/// Percent-encodes every character except a colon.
fn encoded(text: &str) -> String {
    let encode = |b: u8| {
        if b == b':' {
            ":".to_owned()
        } else {
            format!("%{b:02x}")
        }
    };
    text.bytes().map(encode).collect()
}

/// Percent-encodes the last characters of a text so that its Base64 needs padding.
fn needing_padding(text: &str) -> String {
    let encoded = |count: usize| {
        let (plain, last) = text.split_at(text.len() - count);
        plain.to_owned() + &encoded(last)
    };
    let needing = (0..3).map(encoded).find(|text| text.len() % 3 == 1);
    needing.expect("two characters more each time")
}

#[tokio::test]
async fn only_the_clients_own_credentials_in_the_one_header_are_taken() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let token = service.operator().await;
    let (pending, revoked) = (service.till("acme", 1).await, service.till("acme", 2).await);
    let path = format!("/v1/tenants/acme/clients/{}/revoke", revoked.client_id);
    assert_eq!(service.put(&path, &token, Value::Null).await.status, 200);
    let (id, secret) = (
        &service.operator.client_id,
        service.operator.client_secret.reveal(),
    );
    let right = format!("{id}:{secret}");
    let good = basic(&right);
    let (_, unprefixed) = good.split_once(' ').unwrap();
    let padded = BASE64_STANDARD.encode(needing_padding(&right));
    assert!(padded.ends_with("=="));
    let unpadded = padded.trim_end_matches('=');
    // The last character before the padding has four unused bits.
    let (rest, last) = unpadded.split_at(unpadded.len() - 1);
    let spare = char::from(last.as_bytes()[0] + 1);
    let other_alphabet = BASE64_URL_SAFE.encode(format!("{id}:~~~???"));
    let values = [
        ("an empty header", String::new()),
        ("Basic alone", "Basic".to_owned()),
        ("Basic and a space", "Basic ".to_owned()),
        ("no scheme", unprefixed.to_owned()),
        ("a tab after the scheme", good.replace(' ', "\t")),
        ("a colon after the scheme", good.replace(' ', ": ")),
        ("another scheme", good.replace("Basic", "Digest")),
        ("a longer scheme", good.replace("Basic", "Basically")),
        ("a token", format!("Bearer {token}")),
        ("quotes", good.replace(' ', " \"") + "\""),
        ("a parameter", format!("{good}, charset=\"UTF-8\"")),
        ("joined by a comma", format!("{good}, {good}")),
        ("a space inside", good.replacen("Basic ", "Basic Z ", 1)),
        ("no Base64", format!("Basic {right}")),
        ("without padding", format!("Basic {unpadded}")),
        ("too much padding", format!("Basic {padded}=")),
        ("bits to spare", format!("Basic {rest}{spare}==")),
        ("the other alphabet", format!("Basic {other_alphabet}")),
        ("encoded twice", basic(unprefixed)),
        ("invalid UTF-8", basic([0xff, b':', 0xff])),
    ];
    let texts = [
        ("no colon", id.clone()),
        ("no colon but an encoded one", right.replace(':', "%3A")),
        ("a colon before", format!(":{right}")),
        ("a colon after", format!("{right}:")),
        ("a colon alone", ":".to_owned()),
        ("no secret", format!("{id}:")),
        ("no id", format!(":{secret}")),
        ("NUL after the id", right.replace(':', "\0:")),
        ("NUL after the secret", format!("{right}\0")),
        ("a line break after the secret", format!("{right}\n")),
        ("a plus, which is a space", format!("{right}+")),
        ("a percent", format!("{right}%")),
        ("no hexadecimal", format!("%zz{right}")),
        ("invalid UTF-8 once decoded", format!("{right}%ff")),
        (
            "percent-encoded twice",
            format!("%25{:x}{}", right.as_bytes()[0], &right[1..]),
        ),
        ("a space before the id", format!(" {right}")),
        ("everything in capitals", right.to_uppercase()),
        (
            "the secret in capitals",
            format!("{id}:{}", secret.to_uppercase()),
        ),
        ("a wrong secret", format!("{id}:{}", "0".repeat(64))),
        ("part of the secret", format!("{id}:{}", &secret[..63])),
        ("more than the secret", format!("{right}0")),
        ("a long secret", format!("{id}:{}", "a".repeat(9_000))),
        (
            "another's secret",
            format!("{id}:{}", revoked.client_secret.reveal()),
        ),
        ("the id as its secret", format!("{id}:{id}")),
        ("a token as the secret", format!("{id}:{token}")),
        ("id and secret swapped", format!("{secret}:{id}")),
        ("an unknown id", format!("bm9ib2R5:{secret}")),
        ("an id of a path", format!("../../keys:{secret}")),
        ("the key of a record", format!("client/{id}:{secret}")),
        (
            "an id of 300 characters",
            format!("{}:{secret}", "a".repeat(300)),
        ),
        ("the example of RFC 6749", EXAMPLE.to_owned()),
        (
            "a pending client",
            format!("{}:{}", pending.client_id, pending.client_secret.reveal()),
        ),
        (
            "a revoked client",
            format!("{}:{}", revoked.client_id, revoked.client_secret.reveal()),
        ),
    ];
    let (bad, bearer) = (basic("a:b"), format!("Bearer {token}"));
    let repeated = [
        ("the same again", [good.as_str(), &good]),
        ("good, then bad", [&good, &bad]),
        ("bad, then good", [&bad, &good]),
        ("a token, then good", [&bearer, &good]),
        ("an empty one, then good", ["", &good]),
    ];
    let cookie = format!("authorization={good}");
    let line = format!("{LINE}?client_id={id}&client_secret={secret}&{FORM}");
    let in_form = [
        format!("{FORM}&client_id={id}&client_secret={secret}"),
        format!("{FORM}&client_id={id}&client_secret=wrong"),
        format!("{FORM}&client_secret={secret}"),
    ];
    let in_form = in_form.map(|form| (form.clone(), form));
    let id_alone = format!("{FORM}&client_id={id}");
    let assertion = format!(
        "{FORM}&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion={token}"
    );
    let elsewhere = [
        ("nowhere", post(&[])),
        ("for a proxy", post(&[("proxy-authorization", &good)])),
        ("in a cookie", post(&[("cookie", &cookie)])),
        ("in the query", message(&line, &[TYPE], FORM)),
        ("an id in the form", message(LINE, &[TYPE], id_alone)),
        ("an assertion", message(LINE, &[TYPE], assertion)),
    ];
    // The client is authenticated before its request is checked.
    let forms = [
        "grant_type=password",
        "x=1",
        "grant_type=client_credentials&audience=https%3A%2F%2Fother.example",
        &format!("{FORM}&scope=openid"),
    ];
    let of_client = |client: &str, secret: &str| {
        let value = basic(format!("{client}:{secret}"));
        move |form: &str| message(LINE, &[("authorization", value.as_str()), TYPE], form)
    };
    let faulty = |client: &str, request: &dyn Fn(&str) -> Vec<u8>| {
        rows(
            401,
            UNKNOWN,
            forms.map(|form| (format!("{client}: {form}"), form)),
            request,
        )
    };
    let taken = [
        ("Basic", good.clone()),
        ("basic", good.replace("Basic", "basic")),
        ("BASIC", good.replace("Basic", "BASIC")),
        ("bAsIc", good.replace("Basic", "bAsIc")),
        ("two spaces", good.replace(' ', "  ")),
        ("a space after", format!("{good} ")),
        ("percent-encoded", basic(encoded(&right))),
        (
            "percent-encoded in capitals",
            basic(encoded(&right).to_uppercase()),
        ),
        ("with padding", format!("Basic {padded}")),
    ];
    let cases = [
        rows(401, UNKNOWN, values, authorization),
        rows(401, UNKNOWN, texts, |text| authorization(basic(text))),
        rows(401, UNKNOWN, repeated, |values| {
            post(&values.map(|value| ("authorization", value)))
        }),
        rows(401, UNKNOWN, elsewhere, |request| request),
        rows(401, IN_FORM, in_form, |form| message(LINE, &[TYPE], form)),
        faulty(
            "pending",
            &of_client(&pending.client_id, pending.client_secret.reveal()),
        ),
        faulty(
            "revoked",
            &of_client(&revoked.client_id, revoked.client_secret.reveal()),
        ),
        faulty("unknown", &of_client("bm9ib2R5", &"0".repeat(64))),
        rows(200, "", taken, authorization),
    ];
    for case in cases.concat() {
        // After ten wrong secrets in a row a client must wait. A correct one ends the row.
        service.operator().await;
        let answer = service.send_bytes(&case.request).await;
        assert_answer(&answer, case.status, &case.error, &case.name);
    }
    let shown = BasicCredentials::from_header(&basic(EXAMPLE));
    let shown = format!("{:?}", shown.unwrap());
    assert!(shown.contains("\"1PpG/Q 1\""), "{shown}");
    assert!(!shown.contains("z/tZ9"), "a secret is shown to nobody");
}

#[tokio::test]
async fn a_secret_in_the_form_is_taken_where_that_is_switched_on() {
    let accepting = |config: &mut Config| config.tokens.client_secret_post = true;
    let service = Service::configured(accepting).await;
    let (id, secret) = (
        &service.operator.client_id,
        service.operator.client_secret.reveal(),
    );
    let right = format!("{FORM}&client_id={id}&client_secret={secret}");
    let in_form = [
        ("right", 200, "", right.clone()),
        (
            "no id",
            401,
            UNKNOWN,
            format!("{FORM}&client_secret={secret}"),
        ),
        (
            "a wrong secret",
            401,
            UNKNOWN,
            format!("{FORM}&client_id={id}&client_secret=wrong"),
        ),
        (
            "an id alone",
            401,
            UNKNOWN,
            format!("{FORM}&client_id={id}"),
        ),
    ];
    for (name, status, error, form) in in_form {
        let answer = service.send(service.ask_without_credentials(&form)).await;
        assert_answer(&answer, status, error, name);
    }
    assert_answer(
        &service.send(service.ask(id, secret, FORM)).await,
        200,
        "",
        "Basic",
    );
    let both = service.send(service.ask(id, secret, &right)).await;
    let two_ways = "invalid_request: the client must authenticate in one way";
    assert_answer(&both, 400, two_ways, "both");
    // Guessing in the form does not avoid the wait.
    let wrong = format!("{FORM}&client_id={id}&client_secret=wrong");
    for guess in 0..10 {
        let answer = service.send(service.ask_without_credentials(&wrong)).await;
        assert_answer(&answer, 401, UNKNOWN, &format!("guess {guess}"));
    }
    let answer = service.send(service.ask_without_credentials(&wrong)).await;
    assert_answer(&answer, 429, LOCKED, "guess 10");
    let metadata = service
        .get("/.well-known/oauth-authorization-server", "")
        .await;
    let methods = &metadata.body["token_endpoint_auth_methods_supported"];
    assert_eq!(
        *methods,
        json!(["client_secret_basic", "client_secret_post"])
    );
}

#[tokio::test]
async fn who_guesses_waits_whether_the_client_is_there_or_not() {
    let service = Service::start().await;
    let known = service.operator.client_id.clone();
    for id in [known.as_str(), "bm9ib2R5"] {
        for guess in 0..10 {
            let answer = service.send(service.ask(id, "wrong", FORM)).await;
            assert_answer(&answer, 401, UNKNOWN, &format!("{id} {guess}"));
        }
        let answer = service.send(service.ask(id, "wrong", FORM)).await;
        assert_answer(&answer, 429, LOCKED, id);
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
    let Credentials {
        client_id,
        client_secret,
    } = &service.operator;
    for _ in 0..12 {
        service.send(service.ask(client_id, "wrong", FORM)).await;
    }
    let other = service.ask(&till.client_id, till.client_secret.reveal(), FORM);
    assert_answer(&service.send(other).await, 200, "", "another client");
    let elsewhere = reqwest::Client::builder()
        .local_address(IpAddr::from([127, 0, 0, 2]))
        .read_timeout(DEADLINE);
    let request = service
        .ask(client_id, client_secret.reveal(), FORM)
        .build()
        .unwrap();
    let answer = elsewhere.build().unwrap().execute(request).await.unwrap();
    assert_eq!(answer.status(), 200, "the same client at another address");
    let request = || service.ask(client_id, client_secret.reveal(), FORM);
    let here = service.send(request()).await;
    assert_answer(&here, 429, LOCKED, "who guessed");
    let forwarded = request().header("x-forwarded-for", "127.0.0.2");
    let here = service.send(forwarded).await;
    assert_answer(&here, 429, LOCKED, "who says so");
}

#[tokio::test]
async fn one_connection_takes_one_request_after_another_and_no_endless_header() {
    let service = Service::start().await;
    let Credentials {
        client_id,
        client_secret,
    } = &service.operator;
    let right = authorization(basic(format!("{client_id}:{}", client_secret.reveal())));
    let requests = [&right[..], &post(&[]), &right].concat();
    let answers = service.send_all(&requests).await;
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 401, 200]);
    let endless = authorization(format!("Basic {}", "a".repeat(64 << 10)));
    assert_eq!(service.send_bytes(&endless).await.status, 431);
}
