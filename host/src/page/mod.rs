//! The page at `/` and the page of the API's documents at `/docs`: the files of `www/`, the package's modules from
//! `js/src/`, and the module itself, all embedded.
//!
//! Nothing is built and nothing comes from elsewhere: the browser gets the files that are in the repository, and the
//! module that the host decides with. The policy allows the page's own scripts, its own requests and WebAssembly, and
//! requests to the identity provider at which people sign in (`sign_in.rs`).
//!
//! The pages name their files below a version, which is a digest of all files, and the files import each other from
//! there. A browser keeps such a file and never asks again; another version has other paths. Only the pages themselves
//! are revalidated on each visit, so a page never decides with a module that its host does not have.

mod sign_in;

use std::io::Write;
use std::sync::{Arc, LazyLock, OnceLock};

use ::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, REFERRER_POLICY, VARY,
};
use ::http::{HeaderName, HeaderValue, Method, StatusCode};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use include_dir::{Dir, File, include_dir};
use sha2::{Digest, Sha256};
use tillgate_api::problem::PATH_NOT_FOUND;
use tillgate_base::app::App;
use tillgate_base::data::etag::{self, Etag};
use tillgate_base::engine::{ENGINE_JS, MODULE};
use tillgate_base::error::{Error, Result};
use tillgate_http::{Access, Reply, Request, Route, Takes};

/// The policy under which everything works (`engine.md`, "npm package").
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// The suffix of a file that starts a worker: a browser takes the policy of a worker from its script.
const WORKER: &str = "-worker.js";

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The placeholder for the audience that a token must be for.
const AUDIENCE: &str = "{{audience}}";

/// The placeholder for the element that says how people sign in.
const SIGN_IN: &str = "<!-- {{sign-in}} -->";

/// The path that requests for the files are counted under.
const FILES: &str = "/{file}";

/// The path of a versioned file.
const VERSIONED: &str = "/files/{version}/{*path}";

/// The caching of a file: the browser revalidates it on each visit, or keeps it and never asks again.
const REVALIDATED: HeaderValue = HeaderValue::from_static("no-cache");
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// The reason why the documents of the API leave out the page.
const FOR_BROWSERS: &str = "the page and its files are for browsers";

const INDEX_HTML: &str = include_str!("../../../www/index.html");
const DOCS_HTML: &str = include_str!("../../../www/docs/index.html");

/// The page's own files, and the modules of the package.
static WWW: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../www");
static PACKAGE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../js/src");

/// Returns the media type of a file that is served, or `None` for one that is not.
fn media_type(path: &str) -> Option<&'static str> {
    match path.rsplit_once('.')?.1 {
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "txt" => Some("text/plain; charset=utf-8"),
        "wasm" => Some("application/wasm"),
        _ => None,
    }
}

/// Returns the routes of the pages and their files.
pub fn routes() -> Vec<Route<Arc<App>>> {
    let mut routes = vec![
        Route::new(Method::GET, "/", Access::Public, Takes::Nothing, index)
            .giving("text/html")
            .undocumented(FOR_BROWSERS),
        Route::new(Method::GET, "/docs", Access::Public, Takes::Nothing, docs)
            .giving("text/html")
            .undocumented(FOR_BROWSERS),
    ];
    routes.extend(ASSETS.iter().map(|asset| {
        let get = move |_: Arc<App>, request: Request| async move {
            Ok(asset.answer(&request, POLICY, REVALIDATED))
        };
        let route = Route::new(
            Method::GET,
            &asset.path,
            Access::Public,
            Takes::Nothing,
            get,
        );
        let media_type = asset.media_type.split(';').next().unwrap_or_default();
        // The first request for a file compresses it.
        let route = route.giving(media_type).counted_as(FILES).heavy();
        route.undocumented(FOR_BROWSERS)
    }));
    let access = Access::Public;
    let file = Route::new(Method::GET, VERSIONED, access, Takes::Nothing, versioned);
    let file = file.giving_what_is_preferred().counted_as(FILES).heavy();
    routes.push(file.undocumented(FOR_BROWSERS));
    routes
}

/// Answers with a versioned file. A page from before an upgrade, or from another host, asks for another version: it
/// gets the file that this host has, which the browser must revalidate.
async fn versioned(_: Arc<App>, request: Request) -> Result<Reply> {
    let (version, path) = (request.param(0)?, request.param(1)?);
    let mut assets = ASSETS.iter();
    let asset = assets.find(|asset| asset.path.strip_prefix('/') == Some(path));
    let asset = asset.ok_or_else(|| {
        let detail = "there is nothing at this path".to_owned();
        Error::NotFound(PATH_NOT_FOUND, detail)
    })?;
    let caching = if version == *VERSION {
        IMMUTABLE
    } else {
        REVALIDATED
    };
    Ok(asset.answer(&request, POLICY, caching))
}

/// The files, ready to send.
static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let folder = |prefix: &'static str, folder: &'static Dir<'static>| {
        files(folder).into_iter().filter_map(move |file| {
            let path = format!("{prefix}/{}", file.path().display());
            Asset::new(path, Bytes::from_static(file.contents()))
        })
    };
    let engine = |path: &str, content| Asset::new(path.to_owned(), Bytes::from_static(content));
    let name = engine("/js/engine/engine.js", ENGINE_JS);
    let module = engine("/js/engine/tillgate_bg.wasm", MODULE);
    let embedded = folder("/www", &WWW).chain(folder("/js/src", &PACKAGE));
    embedded.chain(name).chain(module).collect()
});

/// The version of all files together.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    for asset in ASSETS.iter() {
        digest.update(&asset.path);
        digest.update(asset.etag.as_bytes());
    }
    let mut version = hex::encode(digest.finalize());
    version.truncate(16);
    version
});

/// The pages, which name files of this version.
static INDEX: LazyLock<String> = LazyLock::new(|| with_version(INDEX_HTML));
static DOCS: LazyLock<String> = LazyLock::new(|| with_version(DOCS_HTML));

fn with_version(html: &str) -> String {
    ["www/", "js/"]
        .iter()
        .fold(html.to_owned(), |html, folder| {
            let (plain, versioned) = (
                format!("=\"{folder}"),
                format!("=\"files/{}/{folder}", *VERSION),
            );
            html.replace(&plain, &versioned)
        })
}

/// Returns the files of a folder and of its subfolders.
fn files(folder: &'static Dir<'static>) -> Vec<&'static File<'static>> {
    let inner = folder.dirs().flat_map(files);
    folder.files().chain(inner).collect()
}

/// A file and its entity tag. It is compressed at its first use, where that makes it smaller.
struct Asset {
    path: String,
    media_type: &'static str,
    content: Bytes,
    etag: Etag,
    compressed: OnceLock<Option<Bytes>>,
}

impl Asset {
    /// Returns a file, or `None` if its type is not served.
    fn new(path: String, content: Bytes) -> Option<Self> {
        let media_type = media_type(&path)?;
        Some(Self::of_type(path, media_type, content))
    }

    fn of_type(path: String, media_type: &'static str, content: Bytes) -> Self {
        Self {
            path,
            media_type,
            etag: etag::of_text(&content),
            content,
            compressed: OnceLock::new(),
        }
    }

    /// Returns the file in gzip, if the browser accepts that and it is smaller.
    fn compressed(&self, request: &Request) -> Option<Bytes> {
        if !request.accepts_coding("gzip") {
            return None;
        }
        self.compressed.get_or_init(|| gzip(&self.content)).clone()
    }

    fn answer(&self, request: &Request, policy: HeaderValue, caching: HeaderValue) -> Reply {
        let reply = if request.has(&self.etag) {
            Reply::empty(StatusCode::NOT_MODIFIED)
        } else {
            match self.compressed(request) {
                Some(smaller) => Reply::file(self.media_type, smaller)
                    .with(CONTENT_ENCODING, HeaderValue::from_static("gzip")),
                None => Reply::file(self.media_type, self.content.clone()),
            }
        };
        // Both forms share one tag, so it must be a weak one.
        let weak = [b"W/".as_slice(), self.etag.as_bytes()].concat();
        let weak = HeaderValue::from_bytes(&weak).unwrap_or_else(|_| self.etag.clone());
        let reply = reply
            .tagged(weak)
            .with(CACHE_CONTROL, caching)
            .with(VARY, HeaderValue::from_static("accept-encoding"));
        if self.has_policy() {
            protected(reply, policy)
        } else {
            reply
        }
    }

    /// Returns whether a browser applies this answer's policy: to a document and to a worker, not to what they load.
    fn has_policy(&self) -> bool {
        self.media_type.starts_with("text/html")
            || self.media_type == "image/svg+xml"
            || self.path.ends_with(WORKER)
    }
}

/// Answers with the page, which states the audience that a token must be for and where people get one.
async fn index(app: Arc<App>, request: Request) -> Result<Reply> {
    let audience = escaped(&app.config.audience);
    let (element, policy) = match app.config.page.sign_in() {
        Some(sign_in) => (sign_in::element(sign_in), sign_in::policy(POLICY, sign_in)?),
        None => (String::new(), POLICY),
    };
    let (before, rest) = around(&INDEX, AUDIENCE)?;
    let (between, after) = around(rest, SIGN_IN)?;
    let html = [before, &audience, between, &element, after].concat();
    Ok(page("/", html).answer(&request, policy, REVALIDATED))
}

/// Answers with the page of the API's documents. People sign in there as clients, or with a token that they have.
async fn docs(app: Arc<App>, request: Request) -> Result<Reply> {
    let audience = escaped(&app.config.audience);
    let (before, after) = around(&DOCS, AUDIENCE)?;
    let html = [before, &audience, after].concat();
    Ok(page("/docs", html).answer(&request, POLICY, REVALIDATED))
}

/// Returns the HTML of a page, which is made for each request.
fn page(path: &str, html: String) -> Asset {
    Asset::of_type(path.to_owned(), "text/html; charset=utf-8", html.into())
}

/// Returns the text before and after a placeholder.
fn around<'t>(html: &'t str, placeholder: &str) -> Result<(&'t str, &'t str)> {
    html.split_once(placeholder)
        .ok_or_else(|| Error::Bug(format!("the page has no {placeholder}")))
}

/// Escapes a text for an attribute in quotes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}

/// Adds the headers that protect a page.
fn protected(reply: Reply, policy: HeaderValue) -> Reply {
    let plain = HeaderValue::from_static;
    reply
        .with(CONTENT_SECURITY_POLICY, policy)
        .with(REFERRER_POLICY, plain("no-referrer"))
        .with(OPENER_POLICY, plain("same-origin"))
}

fn gzip(content: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).ok()?;
    let smaller = encoder.finish().ok()?;
    (smaller.len() < content.len()).then(|| smaller.into())
}
