//! The page at `/`: what stands in `www/`, the package's modules from `js/src/`, and the module itself, embedded.
//!
//! Nothing is built and nothing comes from elsewhere: the browser takes the same files that lie in the repository, at the
//! same paths, and the same module that the host decides with. What the page may do is said in its policy: its own
//! scripts, its own requests, and WebAssembly. Called by the table of routes alone.

use std::io::Write;
use std::sync::{Arc, LazyLock};

use ::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use ::http::{HeaderName, HeaderValue, Method, StatusCode};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::app::App;
use crate::engine::MODULE;
use crate::error::{Error, Result};
use crate::etag::{self, Etag};
use crate::http::{Access, Reply, Request, Route, Takes};

/// `engine.md`, "npm package": the policy under which everything works.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const WASM: &str = "application/wasm";

/// Where the page's HTML has the audience that a token must be for.
const AUDIENCE: &str = "{{audience}}";

const INDEX: &str = include_str!("../../www/index.html");

/// Path, media type, content.
type File = (&'static str, &'static str, &'static [u8]);

const FILES: &[File] = &[
    ("/www/style.css", CSS, include_bytes!("../../www/style.css")),
    ("/www/icon.svg", SVG, include_bytes!("../../www/icon.svg")),
    ("/www/main.js", SCRIPT, include_bytes!("../../www/main.js")),
    ("/www/dom.js", SCRIPT, include_bytes!("../../www/dom.js")),
    (
        "/www/session.js",
        SCRIPT,
        include_bytes!("../../www/session.js"),
    ),
    (
        "/www/words.js",
        SCRIPT,
        include_bytes!("../../www/words.js"),
    ),
    (
        "/www/signin.js",
        SCRIPT,
        include_bytes!("../../www/signin.js"),
    ),
    (
        "/www/verdict.js",
        SCRIPT,
        include_bytes!("../../www/verdict.js"),
    ),
    (
        "/www/strip.js",
        SCRIPT,
        include_bytes!("../../www/strip.js"),
    ),
    (
        "/www/agreement.js",
        SCRIPT,
        include_bytes!("../../www/agreement.js"),
    ),
    (
        "/www/customer.js",
        SCRIPT,
        include_bytes!("../../www/customer.js"),
    ),
    ("/www/item.js", SCRIPT, include_bytes!("../../www/item.js")),
    (
        "/www/preview.js",
        SCRIPT,
        include_bytes!("../../www/preview.js"),
    ),
    (
        "/www/basket.js",
        SCRIPT,
        include_bytes!("../../www/basket.js"),
    ),
    ("/www/list.js", SCRIPT, include_bytes!("../../www/list.js")),
    (
        "/www/editor.js",
        SCRIPT,
        include_bytes!("../../www/editor.js"),
    ),
    (
        "/www/conditions.js",
        SCRIPT,
        include_bytes!("../../www/conditions.js"),
    ),
    (
        "/www/projects.js",
        SCRIPT,
        include_bytes!("../../www/projects.js"),
    ),
    (
        "/js/src/browser.js",
        SCRIPT,
        include_bytes!("../../js/src/browser.js"),
    ),
    (
        "/js/src/index.js",
        SCRIPT,
        include_bytes!("../../js/src/index.js"),
    ),
    (
        "/js/src/load.js",
        SCRIPT,
        include_bytes!("../../js/src/load.js"),
    ),
    (
        "/js/src/engine.js",
        SCRIPT,
        include_bytes!("../../js/src/engine.js"),
    ),
    (
        "/js/src/error.js",
        SCRIPT,
        include_bytes!("../../js/src/error.js"),
    ),
    (
        "/js/src/catalog.js",
        SCRIPT,
        include_bytes!("../../js/src/catalog.js"),
    ),
    (
        "/js/src/rates.js",
        SCRIPT,
        include_bytes!("../../js/src/rates.js"),
    ),
    (
        "/js/src/client.js",
        SCRIPT,
        include_bytes!("../../js/src/client.js"),
    ),
    (
        "/js/src/host.js",
        SCRIPT,
        include_bytes!("../../js/src/host.js"),
    ),
    (
        "/js/src/changes.js",
        SCRIPT,
        include_bytes!("../../js/src/changes.js"),
    ),
    (
        "/js/src/token.js",
        SCRIPT,
        include_bytes!("../../js/src/token.js"),
    ),
    (
        "/js/engine/engine.js",
        SCRIPT,
        include_bytes!(concat!(env!("ENGINE_DIR"), "/engine.js")),
    ),
    ("/js/engine/tillgate_bg.wasm", WASM, MODULE),
];

/// The routes.
pub fn routes() -> Vec<Route> {
    let mut routes = vec![
        Route::new(Method::GET, "/", Access::Public, Takes::Nothing, index).giving("text/html"),
    ];
    routes.extend(ASSETS.iter().map(|asset| {
        let get = move |_: Arc<App>, request: Request| async move { Ok(asset.answer(&request)) };
        Route::new(Method::GET, asset.path, Access::Public, Takes::Nothing, get)
            .giving(asset.media_type.split(';').next().unwrap_or_default())
    }));
    routes
}

/// The files, ready to go out.
static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let files = FILES.iter();
    let assets = files.map(|(path, media_type, content)| {
        Asset::new(path, media_type, Bytes::from_static(content))
    });
    assets.collect()
});

/// A file, its entity tag, and its compressed form.
struct Asset {
    path: &'static str,
    media_type: &'static str,
    content: Bytes,
    etag: Etag,
    compressed: LazyLock<Option<Bytes>, Box<dyn FnOnce() -> Option<Bytes> + Send>>,
}

impl Asset {
    fn new(path: &'static str, media_type: &'static str, content: Bytes) -> Self {
        let plain = content.clone();
        Self {
            path,
            media_type,
            etag: etag::of_text(&content),
            content,
            compressed: LazyLock::new(Box::new(move || compress(&plain))),
        }
    }

    fn answer(&self, request: &Request) -> Reply {
        let reply = if request.has(&self.etag) {
            Reply::empty(StatusCode::NOT_MODIFIED)
        } else {
            match self.compressed.as_ref().filter(|_| request.takes_gzip()) {
                Some(smaller) => Reply::file(self.media_type, smaller.clone())
                    .with(CONTENT_ENCODING, HeaderValue::from_static("gzip")),
                None => Reply::file(self.media_type, self.content.clone()),
            }
        };
        // One tag for both forms, which makes it a weak one.
        let weak = [b"W/".as_slice(), self.etag.as_bytes()].concat();
        let weak = HeaderValue::from_bytes(&weak).unwrap_or_else(|_| self.etag.clone());
        protected(reply.tagged(weak))
    }
}

/// The page itself, which knows what a token must be for.
async fn index(app: Arc<App>, request: Request) -> Result<Reply> {
    let audience = escaped(&app.config.audience);
    let (before, after) = INDEX
        .split_once(AUDIENCE)
        .ok_or_else(|| Error::Bug("the page has no place for the audience".to_owned()))?;
    let html = [before, &audience, after].concat();
    Ok(Asset::new("/", HTML, html.into()).answer(&request))
}

/// What stands in an attribute's quotes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}

/// With what a browser must know. Each visit asks whether there is something newer: a page that decides with an old
/// module would not agree with its host.
fn protected(reply: Reply) -> Reply {
    let plain = HeaderValue::from_static;
    reply
        .with(CONTENT_SECURITY_POLICY, POLICY)
        .with(X_CONTENT_TYPE_OPTIONS, plain("nosniff"))
        .with(REFERRER_POLICY, plain("no-referrer"))
        .with(OPENER_POLICY, plain("same-origin"))
        .with(CACHE_CONTROL, plain("no-cache"))
        .with(VARY, plain("accept-encoding"))
}

fn compress(content: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).ok()?;
    let smaller = encoder.finish().ok()?;
    (smaller.len() < content.len()).then(|| smaller.into())
}
