//! The module under wasmtime: the questions that it answers, and a pool of its instances.
//!
//! The module is compiled when the host is built, so a start only loads its machine code. There are few instances, one
//! for each thread that decides; they stay warm and are reused. A decision runs on the calling thread in about a
//! microsecond. Instances share nothing, and one that trapped or exceeded its deadline is never entered again: its
//! state is undefined (`engine.md`, "In the host").

mod instance;
mod pool;
mod prepared;
mod settings;
mod totals;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tillgate_engine::outcome::Tally;
use tillgate_engine::record::Record;
use tillgate_engine::{Code, Fault};

pub use self::pool::{CompiledModule, EnginePool, EngineStatus, Lease, ROUND};

/// The module's bytes, which the npm package and the page use as well.
pub const MODULE: &[u8] = include_bytes!(concat!(env!("ENGINE_DIR"), "/tillgate_bg.wasm"));

/// The name and the digest of the module, as in the npm package.
pub const ENGINE_JS: &[u8] = include_bytes!(concat!(env!("ENGINE_DIR"), "/engine.js"));

/// The machine code of the module, made by the build.
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
    /// Creates a catalog: `{ "global": [..], "tenant": [..] }`.
    #[must_use]
    pub fn catalog(text: Bytes) -> Self {
        Self::new("catalog", text)
    }

    /// Creates a project: `{ "restrictions": [..] }`.
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

    /// Returns the document's text.
    #[must_use]
    pub const fn text(&self) -> &Bytes {
        &self.text
    }
}

/// A question for the module.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// One item, against one condition of a catalog.
    Condition(&'a Document, &'a str),
    /// One item, against a project. A catalog in its place means that the tenant does not have the project.
    Project(&'a Document),
    /// A basket, against a catalog and perhaps a project.
    Basket(&'a Document, Option<&'a Document>),
}

/// The options of a decision.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvaluateOptions {
    /// Each result says what was compared.
    pub explain: bool,
    /// Unknown members of the request are ignored.
    pub lenient: bool,
    /// The rows for the decision log that come with the answer.
    pub record: Option<Record>,
}

impl EvaluateOptions {
    /// Returns the words before the line of a call.
    const fn words(self) -> [&'static str; 3] {
        [
            match self.record {
                Some(record) => record.word(),
                None => "",
            },
            if self.lenient { "lenient " } else { "" },
            if self.explain { "explain " } else { "" },
        ]
    }
}

/// The reason why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    /// The module refused the request.
    #[error("{0:?}")]
    Refused(Code, Vec<Fault>),
    /// The instance trapped or exceeded a limit, and was discarded.
    #[error("the module failed: {0}")]
    Failed(String),
}

/// A decision: the module's answer, and its counts.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The answer, as JSON.
    pub answer: Bytes,
    /// The rows for the decision log ([`tillgate_engine::record`]), a JSON array; empty unless they were asked for.
    pub rows: Bytes,
    /// The number of results, by rule and decision.
    pub tally: Tally,
}

fn failed(cause: impl std::fmt::Display) -> EngineError {
    EngineError::Failed(format!("{cause:#}"))
}
