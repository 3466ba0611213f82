//! `POST /oauth2/token`: methods, media types, forms and the framing of a body (`tokens.md`, "POST /oauth2/token").

use super::super::fixture::{FORM, Service};
use super::{Case, assert_answer, rows};
use crate::support::wire::{Headers, chunked, message};

const PATH: &str = "/oauth2/token";
const TYPE: &str = "application/x-www-form-urlencoded";
const GRANT: &str = "grant_type=client_credentials";
const AUDIENCE: &str = "audience=https%3A%2F%2Fapi.tillgate.example";

const METHOD: &str = "invalid_request: this path takes POST";
const NOT_ACCEPTABLE: &str =
    "invalid_request: the answer is application/json, which Accept must allow";
const TOO_LARGE: &str = "invalid_request: the body must be at most 8192 bytes";
const CUT_SHORT: &str = "invalid_request: the body did not arrive whole";
const NOT_A_FORM: &str = "invalid_request: the body is not a form";
const MEDIA_TYPE: &str = "invalid_request: the body must be application/x-www-form-urlencoded";
const OTHER_GRANT: &str = "unsupported_grant_type: grant_type must be client_credentials";
const NO_GRANT: &str = "invalid_request: grant_type is missing";
const OTHER_AUDIENCE: &str = "invalid_request: audience must be https://api.tillgate.example";
const SCOPE: &str = "invalid_scope: scopes are not supported";
const TWO_WAYS: &str = "invalid_request: the client must authenticate in one way";
const OTHER_CLIENT: &str = "invalid_request: client_id differs from the Authorization header";

#[tokio::test]
async fn only_a_well_formed_form_by_post_gets_a_token() {
    let service = Service::start().await;
    let (id, secret) = (
        &service.operator.client_id,
        service.operator.client_secret.reveal(),
    );
    let request = service.ask(id, secret, FORM).build().unwrap();
    let basic = request.headers()["authorization"].to_str().unwrap();
    let cases = [
        methods(basic),
        media_types(basic),
        forms(basic, id, secret),
        audiences(basic),
        framings(basic),
    ];
    for case in cases.concat() {
        let answer = service.send_bytes(&case.request).await;
        assert_answer(&answer, case.status, &case.error, &case.name);
    }
    // A response to HEAD has no body that could say why.
    let head = format!("HEAD {PATH}");
    let head = message(&head, &[("authorization", basic)], "");
    let answer = service.send_bytes(&head).await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

/// Returns a request with valid credentials and this form.
fn post(basic: &str, form: impl AsRef<[u8]>) -> Vec<u8> {
    let headers = [("authorization", basic), ("content-type", TYPE)];
    message(&format!("POST {PATH}"), &headers, form)
}

fn methods(basic: &str) -> Vec<Case> {
    let right = [("authorization", basic), ("content-type", TYPE)];
    let overridden = [("x-http-method-override", "POST"), ("x-method", "POST")];
    let overridden = [right.as_slice(), &overridden].concat();
    let line = |method: &str| message(&format!("{method} {PATH}"), &right, FORM);
    let methods = [
        "GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "post",
    ];
    let others = [
        (
            "everything in the query",
            message(&format!("GET {PATH}?{FORM}"), &right, FORM),
        ),
        (
            "a method overridden",
            message(&format!("GET {PATH}"), &overridden, FORM),
        ),
    ];
    let query = format!("POST {PATH}?{FORM}");
    let in_query = [("a form in the query", message(&query, &right, ""))];
    [
        rows(405, METHOD, methods.map(|method| (method, method)), line),
        rows(405, METHOD, others, |request| request),
        rows(400, NO_GRANT, in_query, |request| request),
    ]
    .concat()
}

fn media_types(basic: &str) -> Vec<Case> {
    let with = |name: &'static str| {
        move |(values, body): (Vec<String>, &str)| {
            let form = (name != "content-type").then_some(("content-type", TYPE));
            let mut headers = vec![("authorization", basic)];
            headers.extend(form);
            headers.extend(values.iter().map(|value| (name, value.as_str())));
            message(&format!("POST {PATH}"), &headers, body)
        }
    };
    let one = |value: &str| (vec![value.to_owned()], FORM);
    let multipart = "--x\r\ncontent-disposition: form-data; name=\"grant_type\"\r\n\r\nclient_credentials\r\n--x--";
    let multipart = (
        vec!["multipart/form-data; boundary=x".to_owned()],
        multipart,
    );
    let json = r#"{"grant_type":"client_credentials","audience":"https://api.tillgate.example"}"#;
    let json = (vec!["application/json".to_owned()], json);
    let types = |types: [&str; 2]| (types.map(str::to_owned).to_vec(), FORM);
    let refused = [
        ("JSON", json),
        ("multipart", multipart),
        ("a form as JSON", one("application/json")),
        ("a form as text", one("text/plain")),
        ("a longer name", one("application/x-www-form-urlencodedx")),
        ("a suffix", one("application/x-www-form-urlencoded+json")),
        ("two types in one", one(&format!("{TYPE}, {TYPE}"))),
        ("no type", (Vec::new(), FORM)),
        ("an empty type", one("")),
        ("a form, then JSON", types([TYPE, "application/json"])),
        ("JSON, then a form", types(["application/json", TYPE])),
    ];
    let taken = [
        ("capitals", one(&TYPE.to_uppercase())),
        ("a charset", one(&format!("{TYPE}; charset=UTF-8"))),
    ];
    let unacceptable = ["text/html", "image/*"].map(|range| (range, one(range)));
    let acceptable = ["text/html, */*;q=0.1"].map(|range| (range, one(range)));
    [
        rows(400, MEDIA_TYPE, refused, with("content-type")),
        rows(200, "", taken, with("content-type")),
        rows(406, NOT_ACCEPTABLE, unacceptable, with("accept")),
        rows(200, "", acceptable, with("accept")),
    ]
    .concat()
}

fn forms(basic: &str, id: &str, secret: &str) -> Vec<Case> {
    let with = |more: &str| post(basic, format!("{FORM}&{more}"));
    let form = |form: &str| post(basic, form);
    let grant = |grant: &str| post(basic, format!("grant_type={grant}&{AUDIENCE}"));
    let bytes = |bytes: Vec<u8>| post(basic, bytes);
    let named = |name: &str| format!("invalid_request: {name}");
    let malformed = [
        ("a byte that is no hexadecimal", "x=%zz"),
        ("a lone percent", "x=%"),
        ("half a byte", "x=%4"),
        ("a percent in a name", "%=1"),
        ("half a byte in a name", "x%2=1"),
        ("invalid UTF-8 in a name", "%ff=1"),
        ("UTF-8, overlong", "x=%C0%AF"),
        ("UTF-8, a surrogate", "x=%ED%A0%80"),
        ("UTF-8, cut off", "x=%E2%82"),
    ];
    let utf_16: Vec<u8> = FORM.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let not_text = [
        ("UTF-16", utf_16),
        ("invalid UTF-8", [FORM.as_bytes(), b"&x=\xff"].concat()),
    ];
    let without_value = [
        ("JSON", br#"{"grant_type":1}"#.to_vec()),
        ("only an equals sign", b"=".to_vec()),
    ];
    let grants_without_value = [
        ("an empty grant", format!("grant_type=&{AUDIENCE}")),
        ("a grant without =", format!("grant_type&{AUDIENCE}")),
    ];
    let no_grant = [
        ("nothing", ""),
        ("only separators", "&&&&"),
        ("an audience alone", AUDIENCE),
        ("a byte order mark", &format!("\u{feff}{FORM}")),
    ];
    let grants_twice = [
        ("a grant twice", GRANT),
        (
            "a grant twice, once encoded",
            "grant%5Ftype=client_credentials",
        ),
    ];
    let other_grants = [
        ("a password", "password"),
        ("a code", "authorization_code"),
        ("a refresh", "refresh_token&refresh_token=x"),
        (
            "an assertion",
            "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer",
        ),
        ("capitals", "Client_Credentials"),
        ("a space after the grant", "client_credentials+"),
        ("a space before the grant", "%20client_credentials"),
        ("NUL after the grant", "client_credentials%00"),
        ("a line break after the grant", "client_credentials%0A"),
        ("two grants in one", "client_credentials%20password"),
        ("a quoted grant", "%22client_credentials%22"),
    ];
    let semicolons = [("semicolons", FORM.replace('&', ";"))];
    let scopes = [
        ("a scope", "scope=openid"),
        ("a scope of a space", "scope=+"),
        ("a scope of NUL", "scope=%00"),
        ("a scope of a quote", "scope=%22"),
    ];
    let other_ids = [
        ("another client_id", "client_id=other"),
        (
            "client_id in another case",
            &format!("client_id={}", id.to_lowercase()),
        ),
    ];
    let secret = format!("client_secret={secret}");
    let many: String = (0..700).map(|n| format!("p{n}=1&")).collect();
    let taken = [
        ("an empty scope", "scope="),
        ("an unknown parameter", "unknown=1"),
        ("the client's own id", &format!("&client_id={id}")),
        ("seven hundred more", many.trim_end_matches('&')),
        ("many separators", &"&".repeat(4_000)),
    ];
    let encoded = format!("grant%5ftype=client%5Fcredentials&{AUDIENCE}");
    let others = [
        ("the grant, encoded", &encoded),
        ("a separator before", &format!("&{FORM}")),
    ];
    let twice = |name: &str| named(&format!("{name} appears twice"));
    let empty = |name: &str| named(&format!("{name} has no value"));
    [
        rows(400, NOT_A_FORM, malformed, with),
        rows(400, NOT_A_FORM, not_text, bytes),
        rows(400, &empty("a parameter"), without_value, bytes),
        rows(400, &empty("grant_type"), grants_without_value, |text| {
            form(&text)
        }),
        rows(
            400,
            &empty("audience"),
            [("an empty audience", format!("{GRANT}&audience="))],
            |text| form(&text),
        ),
        rows(
            400,
            &empty("client_id"),
            [("an empty client_id", "client_id=")],
            with,
        ),
        rows(
            400,
            &empty("client_secret"),
            [("an empty client_secret", "client_secret=")],
            with,
        ),
        rows(400, NO_GRANT, no_grant, form),
        rows(400, &twice("grant_type"), grants_twice, with),
        rows(
            400,
            &twice("audience"),
            [("an audience twice", AUDIENCE)],
            with,
        ),
        rows(
            400,
            &twice("scope"),
            [("an empty scope twice", "scope=&scope=")],
            with,
        ),
        rows(
            400,
            &twice("a parameter"),
            [("an unknown parameter twice", "x=1&x=1")],
            with,
        ),
        rows(
            400,
            &twice("client_id"),
            [("client_id twice", &format!("client_id={id}&client_id={id}"))],
            |more| with(more),
        ),
        rows(400, OTHER_GRANT, other_grants, grant),
        rows(400, OTHER_GRANT, semicolons, |text| form(&text)),
        rows(400, SCOPE, scopes, with),
        rows(400, OTHER_CLIENT, other_ids, with),
        rows(
            400,
            TWO_WAYS,
            [("a secret in the body too", &secret)],
            |more| with(more),
        ),
        rows(200, "", taken, with),
        rows(200, "", others, |text| form(text)),
    ]
    .concat()
}

/// Only the platform's own audience is accepted, and each refusal names it.
fn audiences(basic: &str) -> Vec<Case> {
    let audiences = [
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
        "HTTPS://api.tillgate.example",
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
        "\"\\\r\n\u{20ac}",
        "\"\\\r\nSet-Cookie: a=b",
    ];
    let audience = |audience: &str| post(basic, format!("{GRANT}&audience={audience}"));
    let encoded = |text: &str| {
        let encoded: String = text.bytes().map(|b| format!("%{b:02x}")).collect();
        audience(&encoded)
    };
    let long = format!("https://api.tillgate.example/{}", "x".repeat(4_000));
    [
        rows(
            401,
            OTHER_AUDIENCE,
            audiences.map(|text| (text, text)),
            encoded,
        ),
        rows(401, OTHER_AUDIENCE, [("a long audience", &long)], |text| {
            audience(text)
        }),
        rows(401, OTHER_AUDIENCE, [("no audience", GRANT)], |form| {
            post(basic, form)
        }),
    ]
    .concat()
}

/// A body is bounded however it is sent.
fn framings(basic: &str) -> Vec<Case> {
    let of_length = |length: usize| format!("{FORM}&x={}", "y".repeat(length - FORM.len() - 3));
    let (exact, over) = (of_length(8 << 10), of_length((8 << 10) + 1));
    let with = |framing: Headers<'static>| {
        move |body: String| {
            let right = [("authorization", basic), ("content-type", TYPE)];
            message(&format!("POST {PATH}"), &[&right, framing].concat(), body)
        }
    };
    let in_chunks = with(&[("transfer-encoding", "chunked")]);
    let chunks = |body: &str, size: usize| chunked(body, size);
    let taken = [
        ("8 KiB in chunks", chunks(&exact, 1_000)),
        ("a byte a chunk", chunks(FORM, 1)),
    ];
    let large = [
        ("8 KiB and a byte in chunks", chunks(&over, 1_000)),
        ("8 KiB and a byte, a byte a chunk", chunks(&over, 1)),
    ];
    let broken = [
        ("a chunk of no size", format!("x\r\n{FORM}\r\n0\r\n\r\n")),
        (
            "chunks that end early",
            format!("{:x}\r\n{FORM}\r\n", FORM.len()),
        ),
    ];
    let short = [("less than announced", FORM.to_owned())];
    [
        rows(200, "", [("8 KiB", exact)], with(&[])),
        rows(413, TOO_LARGE, [("8 KiB and a byte", over)], with(&[])),
        rows(200, "", taken, in_chunks),
        rows(413, TOO_LARGE, large, in_chunks),
        rows(400, NO_GRANT, [("no chunks", chunks("", 1))], in_chunks),
        rows(400, CUT_SHORT, broken, in_chunks),
        rows(400, CUT_SHORT, short, with(&[("content-length", "200")])),
    ]
    .concat()
}
