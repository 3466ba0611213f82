//! The receiver's side of webhooks: every delivery in `tests/receiver`, and certificates over time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![allow(missing_docs, reason = "nothing outside can reach a test")]

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tillgate_engine::Code;
use tillgate_engine::receiver::{
    Certificates, Credentials, Delivery, Event, Fetched, Next, Options, Refusal, Scheme,
    Signatures, WebhookVerifier,
};

const AUDIENCE: &str = "https://till.example/hook";

/// Reads `tests/receiver/deliveries.json`.
fn data() -> Value {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/receiver/deliveries.json"
    );
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Reads the options of a verifier from the data.
fn options(written: &Value) -> Options {
    let scheme = match written["scheme"].as_str().unwrap() {
        "BEARER" => Scheme::Bearer {
            audience: text(&written["audience"]),
            email: text(&written["email"]),
            issuer: text(&written["issuer"]),
        },
        _ => {
            let list = written["credentials"].as_array().unwrap().iter();
            let one = |written: &Value| Credentials {
                username: text(&written["username"]),
                password: text(&written["password"]),
            };
            Scheme::Basic(list.map(one).collect())
        }
    };
    let signatures = written.get("sharedKey").map(|keys| {
        let shared_keys = match keys {
            Value::Array(keys) => keys.iter().map(text).collect(),
            key => vec![text(key)],
        };
        let usual = Signatures::with("");
        Signatures {
            shared_keys,
            header: written.get("signatureHeader").map_or(usual.header, text),
            require_body: written.get("requireBodySignature").is_some(),
        }
    });
    let mut options = Options::new(scheme, signatures);
    if let Some(seconds) = written.get("toleranceSeconds") {
        options.tolerance_s = seconds.as_u64().unwrap();
    }
    if let Some(bytes) = written.get("maxBodyBytes") {
        options.max_body = bytes.as_u64().unwrap().try_into().unwrap();
    }
    options
}

/// A delivery from the data, as it was received.
struct Received {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    now: u64,
}

impl Received {
    fn read(written: &Value) -> Self {
        let headers = written["headers"].as_array().unwrap().iter();
        let body = match written.get("bodyBase64") {
            Some(body) => BASE64_STANDARD.decode(body.as_str().unwrap()).unwrap(),
            None => text(&written["body"]).into_bytes(),
        };
        Self {
            headers: headers
                .map(|pair| (text(&pair[0]), text(&pair[1])))
                .collect(),
            body,
            now: written["now"].as_u64().unwrap(),
        }
    }

    fn verify_at(
        &self,
        verifier: &WebhookVerifier,
        certificates: &Certificates,
        now: u64,
    ) -> Result<Event, Refusal> {
        let headers: Vec<(&str, &[u8])> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        let delivery = Delivery {
            headers: &headers,
            body: &self.body,
        };
        verifier.verify(&delivery, certificates, now)
    }
}

/// A verifier that checks no signatures, the certificates from the data, and a delivery that is accepted.
struct Stage {
    verifier: WebhookVerifier,
    published: String,
    usual: Received,
}

impl Stage {
    fn set() -> Self {
        let data = data();
        Self {
            verifier: WebhookVerifier::new(options(&data["verifiers"]["without a shared key"]))
                .unwrap(),
            published: data["certificates"].to_string(),
            usual: Received::read(&data["deliveries"][0]),
        }
    }

    /// Returns a delivery whose token names this key but is not signed with it.
    fn with_kid(&self, kid: &str) -> Received {
        let header = json!({ "alg": "RS256", "kid": kid, "typ": "JWT" }).to_string();
        let token = format!("Bearer {}.e30.AA", BASE64_URL_SAFE_NO_PAD.encode(header));
        Received {
            headers: vec![("Authorization".to_owned(), token)],
            body: self.usual.body.clone(),
            now: self.usual.now,
        }
    }

    fn now(&self) -> u64 {
        self.usual.now
    }

    /// Verifies the delivery with a new verifier, because a verifier remembers the token.
    fn verify(&self, certificates: &Certificates, now: u64) -> Result<Event, Refusal> {
        let verifier = WebhookVerifier::new(options(&data()["verifiers"]["without a shared key"]));
        self.usual.verify_at(&verifier.unwrap(), certificates, now)
    }

    fn answer(&self) -> Fetched<'_> {
        Fetched {
            body: self.published.as_bytes(),
            cache_control: Some("public, max-age=600"),
            age: None,
        }
    }

    /// Returns certificates that were fetched at the time of the delivery.
    fn fetched(&self) -> Certificates {
        let certificates = Certificates::new();
        assert_eq!(certificates.next(self.now()), Next::Fetch);
        certificates.fetched(&self.answer(), self.now()).unwrap();
        certificates
    }
}

const fn unavailable(retry_after_s: u64) -> Refusal {
    Refusal::CertificatesUnavailable { retry_after_s }
}

#[test]
fn every_delivery_is_answered_as_written() {
    let data = data();
    let certificates = data["certificates"].to_string();
    let certificates = Certificates::fixed(certificates.as_bytes()).unwrap();
    let mut wrong = Vec::new();
    let deliveries = data["deliveries"].as_array().unwrap();
    for written in deliveries {
        let verifier = &data["verifiers"][written["verifier"].as_str().unwrap()];
        let verifier = WebhookVerifier::new(options(verifier)).unwrap();
        let received = Received::read(written);
        // The second time, the verifier remembers a token that it accepted.
        for _ in 0..2 {
            let answer = match received.verify_at(&verifier, &certificates, received.now) {
                Ok(event) => json!({ "id": event.id }),
                Err(refusal) => json!({ "code": refusal.code(), "status": refusal.status() }),
            };
            if answer != written["answer"] {
                wrong.push(format!(
                    "{}: {answer}, not {}",
                    written["name"], written["answer"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(deliveries.len() > 120);
}

#[test]
fn an_event_has_what_the_envelope_has() {
    let data = data();
    let certificates = data["certificates"].to_string();
    let certificates = Certificates::fixed(certificates.as_bytes()).unwrap();
    let verifier = WebhookVerifier::new(options(&data["verifiers"]["usual"])).unwrap();
    let deliveries = data["deliveries"].as_array().unwrap().iter();
    let event = |name: &str| {
        let written = deliveries.clone().find(|it| it["name"] == name).unwrap();
        let received = Received::read(written);
        let event = received.verify_at(&verifier, &certificates, received.now);
        event.unwrap()
    };
    let expected = Event {
        id: "e-1".to_owned(),
        time: "2026-11-21T10:00:00.000Z".to_owned(),
        event_type: "entity-conditions.events.v1".to_owned(),
        data_content_type: Some("application/json".to_owned()),
        data: br#"{"action":"CREATED","id":"beer"}"#.to_vec(),
        source: Some("host.example".to_owned()),
        spec_version: Some("1.0".to_owned()),
        removed_after: None,
    };
    assert_eq!(event("a delivery as it is sent"), expected);
    let notice = event("members that are not known yet").removed_after;
    assert_eq!(notice.as_deref(), Some("2027-01-31"));
    let data = event("data that is text").data;
    assert_eq!(data, "räksmörgås".as_bytes());
}

#[test]
fn a_verifier_that_would_check_less_than_was_meant_is_not_made() {
    let bearer = |audience: &str, email: &str, issuer: &str| Scheme::Bearer {
        audience: audience.to_owned(),
        email: email.to_owned(),
        issuer: issuer.to_owned(),
    };
    let basic = |username: &str, password: &str| {
        Scheme::Basic(vec![Credentials {
            username: username.to_owned(),
            password: password.to_owned(),
        }])
    };
    let right = || bearer(AUDIENCE, "a@b", "c");
    let named = |header: &str| Signatures {
        header: header.to_owned(),
        ..Signatures::with("a shared key of 31 characters ok")
    };
    let none = Signatures {
        shared_keys: Vec::new(),
        ..Signatures::with("")
    };
    let many = Signatures {
        shared_keys: vec!["a shared key of 31 characters ok".to_owned(); 5],
        ..Signatures::with("")
    };
    let with = |signatures| Options::new(right(), Some(signatures));
    let usual = || Options::new(right(), None);
    let mut patient = usual();
    patient.tolerance_s = 86_401;
    let mut closed = usual();
    closed.max_body = 0;
    let rows = [
        (
            Options::new(bearer("", "a@b", "c"), None),
            "$.scheme.audience",
        ),
        (
            Options::new(bearer(AUDIENCE, "", "c"), None),
            "$.scheme.email",
        ),
        (
            Options::new(bearer(AUDIENCE, "a@b", ""), None),
            "$.scheme.issuer",
        ),
        (Options::new(Scheme::Basic(Vec::new()), None), "$.scheme"),
        (Options::new(basic("", "b"), None), "$.scheme[0].username"),
        (
            Options::new(basic("a:b", "b"), None),
            "$.scheme[0].username",
        ),
        (Options::new(basic("a", ""), None), "$.scheme[0].password"),
        (with(none), "$.signatures.shared_keys"),
        (with(many), "$.signatures.shared_keys"),
        (with(Signatures::with("")), "$.signatures.shared_keys[0]"),
        (
            with(Signatures::with("short")),
            "$.signatures.shared_keys[0]",
        ),
        (with(named("")), "$.signatures.header"),
        (with(named("X Signature")), "$.signatures.header"),
        (with(named("Authorization")), "$.signatures.header"),
        (with(named("Webhook-Signature")), "$.signatures.header"),
        (patient, "$.tolerance_s"),
        (closed, "$.max_body"),
    ];
    for (options, path) in rows {
        let error = WebhookVerifier::new(options).unwrap_err();
        assert_eq!(error.code, Code::Invalid, "{path}");
        assert_eq!(error.faults[0].path, path);
    }
    let error = WebhookVerifier::new(Options::new(bearer("", "", ""), None)).unwrap_err();
    assert_eq!(error.faults.len(), 3, "every fault at once");
    assert!(WebhookVerifier::new(usual()).is_ok());
}

#[test]
fn nothing_that_is_secret_is_shown() {
    let credentials = Credentials {
        username: "till".to_owned(),
        password: "s3cret".to_owned(),
    };
    let signatures = Signatures::with("a shared key: s3cret");
    let options = Options::new(Scheme::Basic(vec![credentials]), Some(signatures));
    let shown = format!("{options:?}");
    assert!(
        shown.contains("till") && !shown.contains("s3cret"),
        "{shown}"
    );
    let shown = format!("{:?}", WebhookVerifier::new(options).unwrap());
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn an_accepted_token_is_remembered_until_it_expires_and_what_comes_with_it_is_not() {
    let stage = Stage::set();
    let (verifier, certificates, now) = (&stage.verifier, stage.fetched(), stage.now());
    assert!(stage.usual.verify_at(verifier, &certificates, now).is_ok());
    // The certificates are now too old, and the token is not verified again.
    let last = now + 3_599;
    assert!(stage.usual.verify_at(verifier, &certificates, last).is_ok());
    let fixed = Certificates::fixed(stage.published.as_bytes()).unwrap();
    let expired = stage.usual.verify_at(verifier, &fixed, now + 3_600);
    assert_eq!(expired, Err(Refusal::Expired));
    let mut changed = Stage::set().usual;
    changed.body.clear();
    let refused = changed.verify_at(verifier, &certificates, now);
    assert_eq!(refused, Err(Refusal::MalformedBody));
}

#[test]
fn certificates_are_fetched_once_before_the_first_delivery() {
    let stage = Stage::set();
    let (certificates, now) = (Certificates::new(), stage.now());
    assert_eq!(stage.verify(&certificates, now), Err(unavailable(1)));
    assert_eq!(certificates.next(now), Next::Fetch);
    assert_eq!(
        certificates.next(now),
        Next::Wait { seconds: 30 },
        "one at a time"
    );
    assert_eq!(stage.verify(&certificates, now), Err(unavailable(30)));
    certificates.fetched(&stage.answer(), now).unwrap();
    assert!(stage.verify(&certificates, now).is_ok());
    assert_eq!(certificates.next(now), Next::Wait { seconds: 480 });
}

#[test]
fn certificates_are_renewed_before_they_are_too_old() {
    let stage = Stage::set();
    let (certificates, now) = (stage.fetched(), stage.now());
    assert_eq!(certificates.next(now + 479), Next::Wait { seconds: 1 });
    assert_eq!(certificates.next(now + 480), Next::Fetch);
    assert!(stage.verify(&certificates, now + 599).is_ok());
    assert_eq!(
        stage.verify(&certificates, now + 600).map(|event| event.id),
        Err(unavailable(1)),
        "nobody has reported that the address is down"
    );
    certificates.fetched(&stage.answer(), now + 600).unwrap();
    assert!(stage.verify(&certificates, now + 1_199).is_ok());
}

#[test]
fn unknown_certificates_cause_one_fetch_in_30_seconds_counted_from_the_last_attempt() {
    let stage = Stage::set();
    let (certificates, now) = (stage.fetched(), stage.now());
    let unknown = |at: u64| {
        let delivery = stage.with_kid("k-9");
        delivery.verify_at(&stage.verifier, &certificates, at)
    };
    assert_eq!(unknown(now), Err(Refusal::UnknownKid), "just fetched");
    assert_eq!(certificates.next(now + 29), Next::Wait { seconds: 451 });
    assert_eq!(unknown(now + 30), Err(unavailable(1)));
    assert_eq!(certificates.next(now + 30), Next::Fetch);
    for _ in 0..50 {
        assert_eq!(unknown(now + 31), Err(unavailable(29)), "it is on its way");
        assert_eq!(certificates.next(now + 31), Next::Wait { seconds: 29 });
    }
    certificates.failed();
    assert_eq!(unknown(now + 59), Err(unavailable(1)));
    assert_eq!(certificates.next(now + 59), Next::Wait { seconds: 1 });
    assert_eq!(certificates.next(now + 60), Next::Fetch);
    certificates.fetched(&stage.answer(), now + 61).unwrap();
    assert_eq!(unknown(now + 61), Err(Refusal::UnknownKid));
    assert_eq!(certificates.next(now + 90), Next::Wait { seconds: 451 });
}

#[test]
fn known_certificates_are_used_for_a_day_more_while_the_address_is_down() {
    let stage = Stage::set();
    let (certificates, now) = (stage.fetched(), stage.now());
    let long = |hours: u64| now + hours * 3_600;
    assert_eq!(certificates.next(long(1)), Next::Fetch);
    certificates.failed();
    let fetched = |body: &str| {
        let answer = Fetched {
            body: body.as_bytes(),
            ..stage.answer()
        };
        certificates
            .fetched(&answer, long(1))
            .map_err(|cause| cause.to_string())
    };
    for (body, expected) in [
        ("{}", "no certificate with an RSA key is published"),
        ("[]", "the certificates are not a JSON object"),
        ("<html>", "the certificates are not a JSON object"),
        (
            r#"{"k-1":"none"}"#,
            "no certificate with an RSA key is published",
        ),
    ] {
        assert_eq!(certificates.next(long(1) + 30), Next::Fetch, "{body}");
        assert_eq!(fetched(body), Err(expected.to_owned()));
        // The next row is for another day.
        assert_eq!(certificates.next(long(1)), Next::Fetch);
        certificates.failed();
    }
    // The token has expired by then; this only shows that the certificate is found.
    let expired = Err(Refusal::Expired);
    assert_eq!(stage.verify(&certificates, long(2)), expired);
    assert_eq!(certificates.next(long(2)), Next::Fetch);
    assert_eq!(
        stage.verify(&certificates, long(2)),
        expired,
        "nor while it is tried"
    );
    certificates.failed();
    assert_eq!(stage.verify(&certificates, long(24)), expired);
    let gone = stage.verify(&certificates, long(24) + 600);
    assert_eq!(gone, Err(unavailable(1)));
}

#[test]
fn a_certificate_that_cannot_be_read_does_not_affect_the_others() {
    let stage = Stage::set();
    let mut published: Value = serde_json::from_str(&stage.published).unwrap();
    published["k-0"] = json!("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    published["k-2"] = json!(7);
    let published = published.to_string();
    let certificates = Certificates::new();
    assert_eq!(certificates.next(stage.now()), Next::Fetch);
    let answer = Fetched {
        body: published.as_bytes(),
        ..stage.answer()
    };
    certificates.fetched(&answer, stage.now()).unwrap();
    assert!(stage.verify(&certificates, stage.now()).is_ok());
    assert!(Certificates::fixed(published.as_bytes()).is_err());
}

#[test]
fn how_long_certificates_are_up_to_date_is_as_the_answer_says_within_bounds() {
    let stage = Stage::set();
    let rows = [
        (None, None, 3_600),
        (Some("no-cache"), None, 3_600),
        (Some("max-age=soon"), None, 3_600),
        (Some("public, Max-Age=1200"), None, 1_200),
        (
            Some("public, s-maxage=9, max-age=\"1200\""),
            Some("200"),
            1_000,
        ),
        (Some("max-age=0"), None, 300),
        (Some("max-age=1200"), Some("5000"), 300),
        (Some("max-age=99999999"), None, 86_400),
    ];
    for (cache_control, age, expected) in rows {
        let certificates = Certificates::new();
        assert_eq!(certificates.next(0), Next::Fetch);
        let answer = Fetched {
            cache_control,
            age,
            ..stage.answer()
        };
        certificates.fetched(&answer, 0).unwrap();
        let seconds = expected / 5 * 4;
        assert_eq!(
            certificates.next(0),
            Next::Wait { seconds },
            "{cache_control:?}"
        );
    }
}

#[test]
fn a_clock_that_was_set_back_does_not_make_certificates_last_longer() {
    let stage = Stage::set();
    let (certificates, now) = (stage.fetched(), stage.now());
    assert_eq!(stage.verify(&certificates, now - 60), Err(unavailable(1)));
    assert_eq!(certificates.next(now - 60), Next::Fetch);
    certificates.fetched(&stage.answer(), now - 60).unwrap();
    assert!(stage.verify(&certificates, now - 60).is_ok());
}
