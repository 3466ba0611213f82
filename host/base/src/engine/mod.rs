//! The module under wasmtime: what it is asked, and a pool of instances that answer.
//!
//! The module is compiled when the host is built, so a start only loads its machine code. Instances are few (one for each thread that decides), warm and reused; a decision runs on
//! the calling thread in about a microsecond. Instances share nothing, and one that trapped or exceeded its deadline is
//! never entered again: its state is undefined (`engine.md`, "In the host").

mod instance;
mod pool;
mod prepared;
mod settings;
mod totals;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tillgate_engine::decision::Tally;
use tillgate_engine::{Code, Fault};

pub use self::pool::{CompiledModule, EnginePool, EngineStatus, Lease, ROUND};

/// The module's bytes, the same that the npm package and the page decide with.
pub const MODULE: &[u8] = include_bytes!(concat!(env!("ENGINE_DIR"), "/tillgate_bg.wasm"));

/// The name and the digest of the module, as the package has them.
pub const ENGINE_JS: &[u8] = include_bytes!(concat!(env!("ENGINE_DIR"), "/engine.js"));

/// The same module as machine code, made by the build.
pub const MACHINE_CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tillgate.cwasm"));

/// The module's SHA-256, in hex.
pub const MODULE_SHA256: &str = env!("ENGINE_SHA256");

/// The first half of the SHA-256 of a document.
type DocumentDigest = [u8; 16];

/// A document that the module prepares once and evaluates many requests against: a catalog's conditions, or one project.
#[derive(Clone, Debug)]
pub struct Document {
    kind: &'static str,
    text: Bytes,
    digest: DocumentDigest,
}

impl Document {
    /// A catalog: `{ "global": [..], "tenant": [..] }`.
    #[must_use]
    pub fn catalog(text: Bytes) -> Self {
        Self::new("catalog", text)
    }

    /// A project: `{ "restrictions": [..] }`.
    #[must_use]
    pub fn project(text: Bytes) -> Self {
        Self::new("project", text)
    }

    fn new(kind: &'static str, text: Bytes) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(kind);
        hasher.update(&text);
        let mut digest = [0; 16];
        digest
            .iter_mut()
            .zip(hasher.finalize())
            .for_each(|(place, byte)| *place = byte);
        Self { kind, text, digest }
    }

    /// The document's text.
    #[must_use]
    pub const fn text(&self) -> &Bytes {
        &self.text
    }
}

/// What the module is asked to decide.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// One item, one condition of a catalog.
    Condition(&'a Document, &'a str),
    /// One item, a project. With a catalog in its place, the project is one that the tenant does not have.
    Project(&'a Document),
    /// A basket, over a catalog and perhaps a project.
    Basket(&'a Document, Option<&'a Document>),
}

/// How the module is asked to decide.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvaluateOptions {
    /// Each result says what was compared.
    pub explain: bool,
    /// Unknown members of the request are ignored.
    pub lenient: bool,
    /// What the decision log needs is answered too.
    pub record: bool,
}

impl EvaluateOptions {
    /// The words before the line of a call.
    const fn words(self) -> [&'static str; 3] {
        [
            if self.record { "record " } else { "" },
            if self.lenient { "lenient " } else { "" },
            if self.explain { "explain " } else { "" },
        ]
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    /// The module refused the request.
    #[error("{0:?}")]
    Refused(Code, Vec<Fault>),
    /// The instance trapped or exceeded a limit, and was discarded.
    #[error("the module failed: {0}")]
    Failed(String),
}

/// A decision: the module's answer, and what is counted of it.
#[derive(Clone, Debug)]
pub struct Decided {
    /// JSON.
    pub answer: Bytes,
    /// What the decision log needs ([`tillgate_engine::record`]), if that was asked for: a JSON array.
    pub rows: Bytes,
    /// How many results it has, by rule and decision.
    pub tally: Tally,
}

fn failed(cause: impl std::fmt::Display) -> EngineError {
    EngineError::Failed(format!("{cause:#}"))
}
