//! The page at `/`: the files of `www/`, the package's modules from `js/src/`, and the module itself, embedded.
//!
//! Nothing is built and nothing comes from elsewhere: the browser takes the same files that are in the repository, at the
//! same paths, and the same module that the host decides with. Its policy allows its own scripts, its own requests and
//! WebAssembly.

use std::io::Write;
use std::sync::{Arc, LazyLock};

use ::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, REFERRER_POLICY, VARY,
};
use ::http::{HeaderName, HeaderValue, Method, StatusCode};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use include_dir::{Dir, File, include_dir};

use crate::app::App;
use crate::data::etag::{self, Etag};
use crate::engine::MODULE;
use crate::error::{Error, Result};
use crate::http::{Access, Reply, Request, Route, Takes};

/// `engine.md`, "npm package": the policy under which everything works.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// Where the page's HTML has the audience that a token must be for.
const AUDIENCE: &str = "{{audience}}";

/// What requests of the files are counted under.
const FILES: &str = "/{file}";

const INDEX: &str = include_str!("../../../www/index.html");

/// The page's own files, and the modules of the package.
static WWW: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../www");
static PACKAGE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../js/src");

/// The media type of a file that is served; `None` for one that is not.
fn media_type(path: &str) -> Option<&'static str> {
    match path.rsplit_once('.')?.1 {
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "wasm" => Some("application/wasm"),
        _ => None,
    }
}

/// The routes.
pub fn routes() -> Vec<Route<Arc<App>>> {
    let mut routes = vec![
        Route::new(Method::GET, "/", Access::Public, Takes::Nothing, index).giving("text/html"),
    ];
    routes.extend(ASSETS.iter().map(|asset| {
        let get = move |_: Arc<App>, request: Request| async move { Ok(asset.answer(&request)) };
        let route = Route::new(
            Method::GET,
            &asset.path,
            Access::Public,
            Takes::Nothing,
            get,
        );
        let media_type = asset.media_type.split(';').next().unwrap_or_default();
        route.giving(media_type).counted_as(FILES)
    }));
    routes
}

/// The files, ready to go out.
static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let folder = |prefix: &'static str, folder: &'static Dir<'static>| {
        files(folder).into_iter().filter_map(move |file| {
            let path = format!("{prefix}/{}", file.path().display());
            Asset::new(path, Bytes::from_static(file.contents()))
        })
    };
    let engine = [
        ("/js/engine/engine.js", ENGINE_JS),
        ("/js/engine/tillgate_bg.wasm", MODULE),
    ];
    let engine = engine
        .into_iter()
        .filter_map(|(path, content)| Asset::new(path.to_owned(), Bytes::from_static(content)));
    let embedded = folder("/www", &WWW).chain(folder("/js/src", &PACKAGE));
    embedded.chain(engine).collect()
});

/// The files of a folder and of the folders in it.
fn files(folder: &'static Dir<'static>) -> Vec<&'static File<'static>> {
    let inner = folder.dirs().flat_map(files);
    folder.files().chain(inner).collect()
}

/// The name and the digest of the module, as the package has them.
const ENGINE_JS: &[u8] = include_bytes!(concat!(env!("ENGINE_DIR"), "/engine.js"));

/// A file, its entity tag, and its compressed form.
struct Asset {
    path: String,
    media_type: &'static str,
    content: Bytes,
    etag: Etag,
    compressed: LazyLock<Option<Bytes>, Box<dyn FnOnce() -> Option<Bytes> + Send>>,
}

impl Asset {
    /// A file; `None` when its type is not served.
    fn new(path: String, content: Bytes) -> Option<Self> {
        let media_type = media_type(&path)?;
        Some(Self::of_type(path, media_type, content))
    }

    fn of_type(path: String, media_type: &'static str, content: Bytes) -> Self {
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
            match self.compressed.as_ref().filter(|_| request.accepts_gzip()) {
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
        .ok_or_else(|| Error::Bug("the page has no placeholder for the audience".to_owned()))?;
    let html = [before, &audience, after].concat();
    let page = Asset::of_type("/".to_owned(), "text/html; charset=utf-8", html.into());
    Ok(page.answer(&request))
}

/// A text as it is written in an attribute's quotes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}

/// Adds the headers that protect the page. Each visit revalidates it: a page that decides with an old module would not
/// agree with its host.
fn protected(reply: Reply) -> Reply {
    let plain = HeaderValue::from_static;
    reply
        .with(CONTENT_SECURITY_POLICY, POLICY)
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
