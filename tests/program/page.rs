//! The page's settings for sign-in, the requests that its policy allows for it, and the encodings of its files.

use std::io::Read;
use std::sync::Arc;

use flate2::read::GzDecoder;
use reqwest::header::{HeaderMap, HeaderValue};
use tillgate_base::config::SignIn;
use tillgate_store::MemoryStore;
use tillgate_store::clock::SystemClock;

use crate::support::host::Host;

const OWN_REQUESTS: &str = "; connect-src 'self'; ";

async fn signing_in(sign_in: SignIn) -> Host {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    Host::start_configured(store, clock, |config| config.page.sign_in = sign_in).await
}

fn sign_in() -> SignIn {
    SignIn {
        issuer: "https://login.example/realms/shop".to_owned(),
        client_id: "a\"b<c>&d".to_owned(),
        scopes: vec!["openid".to_owned(), "profile".to_owned()],
        resource: "https://till.example".to_owned(),
        connect: vec!["https://token.example:8443".to_owned()],
    }
}

/// Returns the content of a file of the page.
async fn text(host: &Host, path: &str) -> String {
    let (_, content) = coded(host, path, "identity").await;
    String::from_utf8(content).unwrap()
}

/// Returns the policy and the content of a page.
async fn read(host: &Host, path: &str) -> (String, String) {
    let answer = host.http.get(format!("{}{path}", host.url)).send().await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    assert_eq!(
        answer.headers()["cross-origin-opener-policy"],
        "same-origin"
    );
    let policy = answer.headers()["content-security-policy"].to_str();
    let policy = policy.unwrap().to_owned();
    (policy, answer.text().await.unwrap())
}

#[tokio::test]
async fn a_page_without_an_identity_provider_is_told_of_none_and_asks_its_host_alone() {
    let host = Host::start().await;
    let (policy, html) = read(&host, "/").await;
    assert!(policy.contains(OWN_REQUESTS), "{policy}");
    assert!(
        html.contains(
            r#"<meta name="tillgate-audience" content="https://api.tillgate.example" />"#
        )
    );
    assert!(!html.contains("sign-in"), "{html}");
    assert!(!html.contains("{{"), "{html}");
}

#[tokio::test]
async fn the_page_is_told_where_people_sign_in_and_may_ask_there() {
    let host = signing_in(sign_in()).await;
    let (policy, html) = read(&host, "/").await;
    let told = "<meta name=\"tillgate-sign-in\" content=\"{&quot;clientId&quot;:&quot;a\\&quot;b&lt;c>&amp;d&quot;,\
        &quot;issuer&quot;:&quot;https://login.example/realms/shop&quot;,\
        &quot;resource&quot;:&quot;https://till.example&quot;,&quot;scope&quot;:&quot;openid profile&quot;}\" />";
    assert!(html.contains(told), "{html}");
    let allowed = "; connect-src 'self' https://login.example https://token.example:8443; ";
    assert!(policy.contains(allowed), "{policy}");
    let (without, _) = read(&Host::start().await, "/").await;
    assert_eq!(policy.replacen(allowed, OWN_REQUESTS, 1), without);
    let (of_worker, _) = read(&host, "/www/rules/apart-worker.js").await;
    assert_eq!(of_worker, without);
}

#[tokio::test]
async fn the_page_of_the_documents_knows_the_audience_and_asks_its_host_alone() {
    let host = signing_in(sign_in()).await;
    let (policy, html) = read(&host, "/docs").await;
    assert!(policy.contains(OWN_REQUESTS), "{policy}");
    let told = r#"<meta name="tillgate-audience" content="https://api.tillgate.example" />"#;
    assert!(html.contains(told), "{html}");
    assert!(!html.contains("sign-in"), "{html}");
    assert!(!html.contains("{{"), "{html}");
    let unserved = host.http.get(format!("{}/www/docs/index.html", host.url));
    assert_eq!(unserved.send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn the_library_with_which_people_sign_in_is_served_with_its_licence() {
    let host = Host::start().await;
    let licence = text(&host, "/www/vendor/oauth4webapi-LICENSE.txt").await;
    assert!(
        licence.contains("Permission is hereby granted"),
        "{licence}"
    );
    let library = text(&host, "/www/vendor/oauth4webapi.js").await;
    assert!(library.contains("validateAuthResponse"));
}

#[tokio::test]
async fn a_host_that_is_no_demo_exchanges_no_code() {
    let host = Host::start().await;
    let body = serde_json::json!({ "code": "0".repeat(64) });
    let asked = host.http.post(format!("{}/demo/session", host.url));
    assert_eq!(asked.json(&body).send().await.unwrap().status(), 404);
}

/// Returns a file of the page as it is sent to a client that accepts these codings.
async fn coded(host: &Host, path: &str, accepted: &str) -> (HeaderMap, Vec<u8>) {
    let request = host.http.get(format!("{}{path}", host.url));
    let answer = request.header("accept-encoding", accepted).send().await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 200, "{path}, {accepted}");
    let headers = answer.headers().clone();
    (headers, answer.bytes().await.unwrap().to_vec())
}

/// Returns the decompressed body.
fn plain(headers: &HeaderMap, body: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match headers.get("content-encoding").map(HeaderValue::as_bytes) {
        Some(b"gzip") => drop(GzDecoder::new(body).read_to_end(&mut plain).unwrap()),
        coding => {
            assert_eq!(coding, None);
            plain.extend(body);
        }
    }
    plain
}

#[tokio::test]
async fn files_of_the_page_are_sent_compressed_where_that_is_accepted() {
    let host = Host::start().await;
    for path in ["/www/main.js", "/js/engine/tillgate_bg.wasm"] {
        let (headers, whole) = coded(&host, path, "identity").await;
        assert!(!headers.contains_key("content-encoding"), "{path}");
        assert!(headers["etag"].as_bytes().starts_with(b"W/\""), "{path}");
        for (accepted, coding) in [
            ("gzip", Some("gzip")),
            ("gzip, deflate, br, zstd", Some("gzip")),
            ("GZIP, BR", Some("gzip")),
            ("br; q=0.0, gzip; q=0.5", Some("gzip")),
            ("gzip;q=0, br", None),
            ("br", None),
            ("zstd", None),
        ] {
            let (of_form, body) = coded(&host, path, accepted).await;
            let sent = of_form
                .get("content-encoding")
                .map(|it| it.to_str().unwrap());
            assert_eq!(sent, coding, "{path}, {accepted}");
            for name in ["etag", "vary", "content-type"] {
                assert_eq!(of_form[name], headers[name], "{path}, {accepted}");
            }
            assert_eq!(of_form["vary"], "accept-encoding");
            assert!(plain(&of_form, &body) == whole, "{path}, {accepted}");
            assert_eq!(body.len() < whole.len(), coding.is_some(), "{path}");
        }
    }
}

#[tokio::test]
async fn only_documents_images_and_workers_carry_the_policy() {
    let host = Host::start().await;
    let (page, _) = read(&host, "/").await;
    for (path, policy) in [
        ("/docs", Some(&*page)),
        ("/www/icon.svg", Some(&*page)),
        ("/www/rules/apart-worker.js", Some(&*page)),
        ("/www/main.js", None),
        ("/www/style.css", None),
        ("/js/engine/tillgate_bg.wasm", None),
    ] {
        let answer = host.http.get(format!("{}{path}", host.url)).send().await;
        let answer = answer.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let headers = answer.headers();
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        let sent = headers.get("content-security-policy");
        assert_eq!(sent.map(|it| it.to_str().unwrap()), policy, "{path}");
    }
}

#[tokio::test]
async fn a_file_of_this_version_is_never_asked_for_again_and_one_of_another_is_not_kept() {
    let host = Host::start().await;
    let cached = async |path: &str| {
        let (headers, content) = coded(&host, path, "identity").await;
        let caching = headers["cache-control"].to_str().unwrap().to_owned();
        (caching, content)
    };
    let (revalidated, kept) = ("no-cache", "public, max-age=31536000, immutable");
    for (page, file) in [("/", "www/main.js"), ("/docs", "www/docs/docs.js")] {
        let (caching, html) = cached(page).await;
        assert_eq!(caching, revalidated);
        let html = String::from_utf8(html).unwrap();
        let (before, _) = html.split_once(&format!("/{file}\"")).unwrap();
        let path = &before[before.rfind("files/").unwrap()..];
        assert!(!html.contains("=\"www/"), "{html}");
        let (caching, content) = cached(&format!("/{path}/{file}")).await;
        assert_eq!(caching, kept);
        let unversioned = cached(&format!("/{file}")).await;
        assert_eq!(unversioned, (revalidated.to_owned(), content.clone()));
        let earlier = cached(&format!("/files/0123456789abcdef/{file}")).await;
        assert_eq!(earlier, (revalidated.to_owned(), content));
        for missing in ["www/none.js", "index.html", "www/docs/index.html", "www"] {
            let url = format!("{}/{path}/{missing}", host.url);
            assert_eq!(host.http.get(url).send().await.unwrap().status(), 404);
        }
    }
}

#[tokio::test]
async fn a_file_that_the_browser_has_in_one_form_is_not_sent_again_in_another() {
    let host = Host::start().await;
    let (headers, _) = coded(&host, "/www/main.js", "gzip").await;
    let again = host.http.get(format!("{}/www/main.js", host.url));
    let again = again.header("accept-encoding", "identity");
    let again = again.header("if-none-match", &headers["etag"]);
    let again = again.send().await.unwrap();
    assert_eq!(again.status(), 304);
    assert_eq!(again.headers()["vary"], "accept-encoding");
    assert_eq!(again.headers()["etag"], headers["etag"]);
}
