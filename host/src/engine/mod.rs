//! The module under wasmtime: what it is asked, and a pool of instances that answer.
//!
//! The module is compiled once. Instances are few (one for each thread that decides), warm and reused; a decision runs on
//! the calling thread in about a microsecond. Instances share nothing, and one that trapped or exceeded its deadline is
//! never entered again: its state is undefined (`engine.md`, "In the host").

mod instance;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use crossbeam_queue::ArrayQueue;
use sha2::{Digest, Sha256};
use tillgate_engine::{Code, Fault};
use wasmtime::{Config, Engine, InstancePre, Linker, Module, OptLevel};

use self::instance::{Instance, State};

/// The module's bytes, the same that the npm package and the page decide with.
pub const MODULE: &[u8] = include_bytes!(concat!(env!("ENGINE_DIR"), "/tillgate_bg.wasm"));

/// The module's SHA-256, in hex.
pub const MODULE_SHA256: &str = env!("ENGINE_SHA256");

/// How often [`EnginePool::release_unused`] is called, and how many of these intervals a document is kept that nobody uses.
pub const ROUND: Duration = Duration::from_secs(10);
const UNUSED_ROUNDS: u64 = 3;

/// The linear memory of all instances beyond which a large one is not kept: 256 MiB.
const MAX_MEMORY: usize = 256 << 20;

/// How often the epoch moves.
const TICK: Duration = Duration::from_millis(10);

/// A document that the module prepares once and evaluates many requests against: a catalog's conditions, or one project.
#[derive(Clone, Debug)]
pub struct Document {
    kind: &'static str,
    text: Bytes,
    digest: [u8; 16],
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

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The module refused the request.
    #[error("{0:?}")]
    Refused(Code, Vec<Fault>),
    /// A document must be prepared that is longer than this call may prepare.
    #[error("a document is not prepared")]
    Unprepared,
    /// The instance trapped or exceeded a limit, and was discarded.
    #[error("the module failed: {0}")]
    Failed(String),
}

/// The compiled module, and the instances of it that are idle.
pub struct EnginePool {
    engine: Engine,
    module: InstancePre<State>,
    idle: ArrayQueue<Box<Instance>>,
    made: AtomicU64,
    failed: AtomicU64,
    held: Arc<Held>,
}

/// What the instances that are there hold.
#[derive(Debug, Default)]
struct Held {
    instances: AtomicUsize,
    /// The bytes of their linear memory.
    memory: AtomicUsize,
    /// The documents that they have prepared, and the bytes of these.
    prepared: AtomicUsize,
    prepared_bytes: AtomicUsize,
    /// Counts calls of [`EnginePool::release_unused`].
    round: AtomicU64,
}

/// What a pool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineStatus {
    /// How many instances were made since the start.
    pub made: u64,
    /// How many of these trapped or exceeded a limit.
    pub failed: u64,
    /// How many decide now.
    pub in_use: usize,
    /// How many are ready to.
    pub idle: usize,
    /// The bytes of linear memory of all of them.
    pub memory: usize,
    /// How many documents they have prepared, each for itself.
    pub prepared: usize,
    /// The bytes of these documents.
    pub prepared_bytes: usize,
}

impl std::fmt::Debug for EnginePool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnginePool")
            .field("made", &self.made)
            .field("failed", &self.failed)
            .finish()
    }
}

impl EnginePool {
    /// Compiles a module, for `threads` that decide at once.
    ///
    /// # Errors
    /// When it is not the module, or cannot be compiled here.
    pub fn new(module: &[u8], threads: usize) -> Result<Self, EngineError> {
        let mut config = Config::new();
        config
            .epoch_interruption(true)
            .cranelift_opt_level(OptLevel::Speed);
        let engine = Engine::new(&config).map_err(failed)?;
        let module = Module::new(&engine, module).map_err(failed)?;
        let mut linker = Linker::new(&engine);
        // What the JavaScript face imports; the C ABI never calls it, so hosted code can reach nothing outside itself.
        linker
            .define_unknown_imports_as_traps(&module)
            .map_err(failed)?;
        let module = linker.instantiate_pre(&module).map_err(failed)?;
        tick(&engine)?;
        let pool = Self {
            engine,
            module,
            idle: ArrayQueue::new(threads.max(1)),
            made: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            held: Arc::default(),
        };
        let first = pool.instance()?;
        pool.keep(first);
        Ok(pool)
    }

    /// How many instances were made, and how many of these trapped or exceeded a limit.
    #[must_use]
    pub fn instances(&self) -> (u64, u64) {
        (
            self.made.load(Ordering::Relaxed),
            self.failed.load(Ordering::Relaxed),
        )
    }

    /// What the pool does now.
    #[must_use]
    pub fn status(&self) -> EngineStatus {
        let (made, failed) = self.instances();
        let count = |number: &AtomicUsize| number.load(Ordering::Relaxed);
        let idle = self.idle.len();
        EngineStatus {
            made,
            failed,
            in_use: count(&self.held.instances).saturating_sub(idle),
            idle,
            memory: count(&self.held.memory),
            prepared: count(&self.held.prepared),
            prepared_bytes: count(&self.held.prepared_bytes),
        }
    }

    /// The bytes of linear memory of all instances.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.status().memory
    }

    /// Whether there is an instance that can decide, or can be made.
    #[must_use]
    pub fn can_decide(&self) -> bool {
        if !self.idle.is_empty() {
            return true;
        }
        let made = self.instance();
        made.map(|instance| self.keep(instance)).is_ok()
    }

    /// Has the module decide; `request` is a JSON text, and so is the answer.
    ///
    /// # Errors
    /// [`EngineError::Refused`] for a request that is not what it must be, or a condition that is not in force.
    pub fn evaluate(&self, call: Call<'_>, request: &[u8]) -> Result<Bytes, EngineError> {
        self.evaluate_within(call, request, usize::MAX)
    }

    /// The same, preparing no document of more than `most` bytes.
    ///
    /// # Errors
    /// [`EngineError::Unprepared`] when one must be; otherwise those of [`EnginePool::evaluate`].
    pub fn evaluate_within(
        &self,
        call: Call<'_>,
        request: &[u8],
        most: usize,
    ) -> Result<Bytes, EngineError> {
        self.ask(|instance| instance.evaluate(call, request, most))
    }

    /// Has the module do rate math; `request` is a JSON text of many calls, and so are their answers.
    ///
    /// # Errors
    /// [`EngineError::Refused`] with every fault of every call; then none is answered.
    pub fn rates(&self, request: &[u8]) -> Result<Bytes, EngineError> {
        self.ask(|instance| instance.rates(request))
    }

    fn ask(
        &self,
        call: impl FnOnce(&mut Instance) -> Result<Bytes, EngineError>,
    ) -> Result<Bytes, EngineError> {
        let mut instance = match self.idle.pop() {
            Some(instance) => instance,
            None => self.instance()?,
        };
        let answer = call(&mut instance);
        instance.count_memory();
        match answer {
            Err(EngineError::Failed(_)) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
            _ => self.keep(instance),
        }
        answer
    }

    fn instance(&self) -> Result<Box<Instance>, EngineError> {
        self.made.fetch_add(1, Ordering::Relaxed);
        Instance::new(&self.engine, &self.module, &self.held).map(Box::new)
    }

    /// Releases what was prepared and nobody has used for a while, and drops instances that hold far more memory than
    /// they need: it never shrinks. Called every [`ROUND`].
    pub fn release_unused(&self) {
        let round = self.held.round.fetch_add(1, Ordering::Relaxed) + 1;
        for _ in 0..self.idle.len() {
            let Some(mut instance) = self.idle.pop() else {
                return;
            };
            let released = instance.release_unused(round.saturating_sub(UNUSED_ROUNDS));
            if released.is_ok() && !instance.is_mostly_empty() {
                self.keep(instance);
            }
        }
    }

    fn keep(&self, instance: Box<Instance>) {
        // All together must not hold too much, either.
        if instance.is_large() && self.held.memory.load(Ordering::Relaxed) > MAX_MEMORY {
            return;
        }
        // More instances than threads are not worth their memory: a surplus one is dropped.
        let _ = self.idle.push(instance);
    }
}

/// Moves the epoch as long as the engine lives.
fn tick(engine: &Engine) -> Result<(), EngineError> {
    let engine = engine.weak();
    let run = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(TICK);
        }
    };
    let thread = std::thread::Builder::new()
        .name("epoch".to_owned())
        .spawn(run);
    thread
        .map(drop)
        .map_err(|cause| EngineError::Failed(cause.to_string()))
}

fn failed(cause: impl std::fmt::Display) -> EngineError {
    EngineError::Failed(format!("{cause:#}"))
}
