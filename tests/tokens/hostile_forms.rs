//! `POST /oauth2/token`, asked by who means it ill: methods, media types, forms and how bodies are sent.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::fixture::{Answer, FORM, Service};
use super::wire::{Headers, chunked, message};

const TYPE: &str = "application/x-www-form-urlencoded";
const GRANT: &str = "grant_type=client_credentials";
const AUDIENCE: &str = "audience=https%3A%2F%2Fapi.tillgate.example";

/// Asserts the whole of an answer: `tokens.md`, "POST /oauth2/token".
pub fn assert_answer(answer: &Answer, status: u16, error: &str, case: &str) {
    assert_eq!(answer.status, status, "{case}: {}", answer.body);
    let header = |name| answer.header(name);
    assert_eq!(header("content-type"), Some("application/json"), "{case}");
    assert_eq!(header("cache-control"), Some("no-store"), "{case}");
    assert_eq!(header("pragma"), Some("no-cache"), "{case}");
    let challenge = (status == 401).then_some("Basic realm=\"tillgate\"");
    assert_eq!(header("www-authenticate"), challenge, "{case}");
    assert_eq!(header("allow"), (status == 405).then_some("POST"), "{case}");
    let waits = matches!(status, 429 | 503);
    assert_eq!(header("retry-after").is_some(), waits, "{case}");
    if status == 200 {
        assert!(answer.body["access_token"].is_string(), "{case}");
        return;
    }
    assert_eq!(answer.body["error"], error, "{case}");
    assert_eq!(answer.body.as_object().unwrap().len(), 2, "{case}");
    let description = answer.body["error_description"].as_str().unwrap();
    let fits = |c| matches!(c, ' '..='~') && c != '"' && c != '\\';
    assert!(description.chars().all(fits), "{case}: {description}");
}

/// The header of the operator's credentials.
fn basic(service: &Service) -> String {
    let (id, secret) = (&service.operator.client_id, &service.operator.client_secret);
    format!("Basic {}", BASE64_STANDARD.encode(format!("{id}:{secret}")))
}

#[tokio::test]
async fn each_method_but_post_is_refused() {
    let service = Service::start().await;
    let basic = basic(&service);
    let headers = [("authorization", basic.as_str()), ("content-type", TYPE)];
    let overridden = [
        headers.as_slice(),
        &[("x-http-method-override", "POST"), ("x-method", "POST")],
    ]
    .concat();
    let query = format!("GET /oauth2/token?{FORM}");
    let rows = [
        ("options", "OPTIONS /oauth2/token", headers.as_slice()),
        ("trace", "TRACE /oauth2/token", &headers),
        ("a method that nobody knows", "BREW /oauth2/token", &headers),
        ("post in lower case", "post /oauth2/token", &headers),
        ("everything in the query", &query, &headers),
        ("a method overridden", "GET /oauth2/token", &overridden),
    ];
    for (case, line, headers) in rows {
        let answer = service.send_bytes(&message(line, headers, FORM)).await;
        assert_answer(&answer, 405, "invalid_request", case);
    }
    let head = service
        .send_bytes(&message("HEAD /oauth2/token", &headers, ""))
        .await;
    assert_eq!((head.status, head.header("allow")), (405, Some("POST")));
    assert_eq!(head.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn each_media_type_but_a_form_is_refused() {
    let service = Service::start().await;
    let basic = basic(&service);
    let multipart = "--x\r\ncontent-disposition: form-data; name=\"grant_type\"\r\n\r\nclient_credentials\r\n--x--";
    let json = r#"{"grant_type":"client_credentials","audience":"https://api.tillgate.example"}"#;
    let rows: [(&str, &[&str], &str, u16); 10] = [
        ("JSON", &["application/json"], json, 400),
        (
            "multipart",
            &["multipart/form-data; boundary=x"],
            multipart,
            400,
        ),
        (
            "a longer name",
            &["application/x-www-form-urlencodedx"],
            FORM,
            400,
        ),
        (
            "a suffix",
            &["application/x-www-form-urlencoded+json"],
            FORM,
            400,
        ),
        ("two in one", &[&format!("{TYPE}, {TYPE}")], FORM, 400),
        ("none", &[], FORM, 400),
        ("empty", &[""], FORM, 400),
        ("a form, then JSON", &[TYPE, "application/json"], FORM, 400),
        ("JSON, then a form", &["application/json", TYPE], FORM, 400),
        ("capitals", &[&TYPE.to_uppercase()], FORM, 200),
    ];
    for (case, types, body, status) in rows {
        let mut headers = vec![("authorization", basic.as_str())];
        headers.extend(types.iter().map(|media_type| ("content-type", *media_type)));
        let request = message("POST /oauth2/token", &headers, body);
        let answer = service.send_bytes(&request).await;
        assert_answer(&answer, status, "invalid_request", case);
    }
    let rows = [
        ("text/html", 406),
        ("image/*", 406),
        ("text/html, */*;q=0.1", 200),
    ];
    for (accept, status) in rows {
        let headers = [
            ("authorization", basic.as_str()),
            ("content-type", TYPE),
            ("accept", accept),
        ];
        let request = message("POST /oauth2/token", &headers, FORM);
        let answer = service.send_bytes(&request).await;
        assert_answer(&answer, status, "invalid_request", accept);
    }
}

#[tokio::test]
async fn each_ill_formed_form_is_refused() {
    let service = Service::start().await;
    let basic = basic(&service);
    let (malformed, grant) = ("invalid_request", "unsupported_grant_type");
    let with = |more: &str| format!("{FORM}&{more}").into_bytes();
    let as_grant = |grant: &str| format!("grant_type={grant}&{AUDIENCE}").into_bytes();
    let id = &service.operator.client_id;
    let many: String = (0..700).map(|n| format!("&p{n}=1")).collect();
    let rows = [
        (
            "a name twice, once encoded",
            with("grant%5Ftype=client_credentials"),
            400,
            malformed,
        ),
        ("scope empty, twice", with("scope=&scope="), 400, malformed),
        (
            "client_id twice",
            with(&format!("client_id={id}&client_id={id}")),
            400,
            malformed,
        ),
        (
            "client_id in another case",
            with(&format!("client_id={}", id.to_lowercase())),
            400,
            malformed,
        ),
        ("client_id empty", with("client_id="), 400, malformed),
        (
            "client_secret empty",
            with("client_secret="),
            400,
            malformed,
        ),
        ("a lone percent at the end", with("x=%"), 400, malformed),
        ("a percent in a name", with("%=1"), 400, malformed),
        ("half a percent in a name", with("x%2=1"), 400, malformed),
        ("UTF-8, overlong", with("x=%C0%AF"), 400, malformed),
        ("UTF-8, a surrogate", with("x=%ED%A0%80"), 400, malformed),
        ("UTF-8, cut off", with("x=%E2%82"), 400, malformed),
        (
            "a byte that is no UTF-8",
            [&with("x=")[..], &[0xff]].concat(),
            400,
            malformed,
        ),
        (
            "UTF-16",
            FORM.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            400,
            malformed,
        ),
        (
            "a byte order mark",
            format!("\u{feff}{FORM}").into_bytes(),
            400,
            malformed,
        ),
        (
            "JSON as a form",
            b"{\"grant_type\":1}".to_vec(),
            400,
            malformed,
        ),
        ("only separators", b"&&&&".to_vec(), 400, malformed),
        ("only an equals sign", b"=".to_vec(), 400, malformed),
        (
            "semicolons",
            FORM.replace('&', ";").into_bytes(),
            400,
            grant,
        ),
        (
            "NUL after the grant",
            as_grant("client_credentials%00"),
            400,
            grant,
        ),
        (
            "a line break after the grant",
            as_grant("client_credentials%0A"),
            400,
            grant,
        ),
        (
            "a space before the grant",
            as_grant("%20client_credentials"),
            400,
            grant,
        ),
        (
            "two grants in one",
            as_grant("client_credentials%20password"),
            400,
            grant,
        ),
        (
            "a quoted grant",
            as_grant("%22client_credentials%22"),
            400,
            grant,
        ),
        ("a code", as_grant("authorization_code"), 400, grant),
        (
            "a refresh",
            as_grant("refresh_token&refresh_token=x"),
            400,
            grant,
        ),
        (
            "an assertion",
            as_grant("urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"),
            400,
            grant,
        ),
        ("a scope", with("scope=openid"), 400, "invalid_scope"),
        ("a scope of NUL", with("scope=%00"), 400, "invalid_scope"),
        (
            "a scope of a quote",
            with("scope=%22"),
            400,
            "invalid_scope",
        ),
        ("seven hundred more", with(&many[1..]), 200, ""),
        ("many separators", with(&"&".repeat(4_000)), 200, ""),
        (
            "the grant, encoded",
            format!("grant%5ftype=client%5Fcredentials&{AUDIENCE}").into_bytes(),
            200,
            "",
        ),
    ];
    for (case, body, status, error) in rows {
        let headers = [("authorization", basic.as_str()), ("content-type", TYPE)];
        let request = message("POST /oauth2/token", &headers, body);
        let answer = service.send_bytes(&request).await;
        assert_answer(&answer, status, error, case);
    }
}

#[tokio::test]
async fn no_audience_but_the_platforms_own_is_taken_and_each_refusal_names_it() {
    let service = Service::start().await;
    let basic = basic(&service);
    let long = format!("https://api.tillgate.example/{}", "x".repeat(4_000));
    let rows = [
        "https://api.tillgate.exampl",
        "https://api.tillgate.examples",
        "https://api.tillgate.example.evil.example",
        "https://evil.api.tillgate.example",
        "https://api.tillgate.example/v1",
        "https://api.tillgate.example/",
        "https://api.tillgate.example/../",
        "https://api.tillgate.example:443",
        "https://api.tillgate.example@evil.example",
        "https://user@api.tillgate.example",
        "https://api.tillgate.example.",
        "https://api.tillgate.example?",
        "https://api.tillgate.example#",
        "https://API.tillgate.example",
        "http://api.tillgate.example",
        "//api.tillgate.example",
        "api.tillgate.example",
        " https://api.tillgate.example",
        "https://api.tillgate.example\n",
        "https://api.tillgate.example\0",
        "https%3A%2F%2Fapi.tillgate.example",
        "https://api.tillgate.example https://other.example",
        "https://api.tillgate.example,https://other.example",
        "[\"https://api.tillgate.example\"]",
        "https://\u{430}pi.tillgate.example",
        "*",
        "\"\\\r\nSet-Cookie: a=b",
        &long,
    ];
    for audience in rows {
        let encoded: String = audience.bytes().map(|b| format!("%{b:02x}")).collect();
        // Four thousand letters fit a form only as they are.
        let encoded = if audience.len() > 2_000 {
            audience
        } else {
            &encoded
        };
        let headers = [("authorization", basic.as_str()), ("content-type", TYPE)];
        let body = format!("{GRANT}&audience={encoded}");
        let request = message("POST /oauth2/token", &headers, body);
        let answer = service.send_bytes(&request).await;
        assert_answer(&answer, 401, "invalid_request", audience);
        assert_eq!(
            answer.body["error_description"],
            "audience must be https://api.tillgate.example"
        );
    }
}

#[tokio::test]
async fn a_body_is_bounded_however_it_is_sent() {
    let service = Service::start().await;
    let basic = basic(&service);
    let headers = [("authorization", basic.as_str()), ("content-type", TYPE)];
    let of_length = |length: usize| format!("{FORM}&x={}", "y".repeat(length - FORM.len() - 3));
    let (exact, over) = (of_length(8 << 10), of_length((8 << 10) + 1));
    let in_chunks = [("transfer-encoding", "chunked")];
    let rows: [(&str, Headers<'_>, String, u16); 10] = [
        ("8 KiB", &[], exact.clone(), 200),
        ("8 KiB and a byte", &[], over.clone(), 413),
        ("8 KiB in chunks", &in_chunks, chunked(&exact, 1_000), 200),
        (
            "8 KiB and a byte in chunks",
            &in_chunks,
            chunked(&over, 1_000),
            413,
        ),
        ("a byte a chunk", &in_chunks, chunked(FORM, 1), 200),
        ("over, a byte a chunk", &in_chunks, chunked(&over, 1), 413),
        ("no chunks", &in_chunks, chunked("", 1), 400),
        (
            "a chunk of no size",
            &in_chunks,
            format!("x\r\n{FORM}\r\n0\r\n\r\n"),
            400,
        ),
        (
            "chunks that end early",
            &in_chunks,
            format!("{:x}\r\n{FORM}\r\n", FORM.len()),
            400,
        ),
        (
            "less than announced",
            &[("content-length", "200")],
            FORM.to_owned(),
            400,
        ),
    ];
    for (case, framing, body, status) in rows {
        let headers = [headers.as_slice(), framing].concat();
        let request = message("POST /oauth2/token", &headers, body);
        let answer = service.send_bytes(&request).await;
        assert_answer(&answer, status, "invalid_request", case);
    }
}
