//! The module under wasmtime: a pool of instances, the documents that they have prepared, and their limits.
//!
//! The module is compiled once. Instances are few (one for each thread that decides), warm and reused; a decision runs on
//! the calling thread in about a microsecond. Instances share nothing, and one that trapped or exceeded its deadline is
//! never entered again: its state is undefined (`engine.md`, "In the host").

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use crossbeam_queue::ArrayQueue;
use foldhash::fast::RandomState;
use rustix::time::{ClockId, clock_gettime};
use sha2::{Digest, Sha256};
use tillgate_engine::{Code, Fault};
use wasmtime::{
    Config, Engine, InstancePre, Linker, Memory, Module, OptLevel, Store, StoreLimits,
    StoreLimitsBuilder, Trap, TypedFunc, UpdateDeadline,
};

/// The module's bytes, the same that the npm package and the page decide with.
pub const MODULE: &[u8] = include_bytes!(concat!(env!("ENGINE_DIR"), "/tillgate_bg.wasm"));

/// The module's SHA-256, in hex.
pub const MODULE_SHA256: &str = env!("ENGINE_SHA256");

/// What an instance may allocate.
const MEMORY_LIMIT: usize = 256 << 20;

/// How much text of prepared documents an instance keeps; the least recently used go first.
const PREPARED_LIMIT: usize = 48 << 20;

/// How often the epoch moves.
const TICK: Duration = Duration::from_millis(10);

/// What a call may compute before it is ended: time of its thread, so that a busy machine ends nobody.
const DEADLINE: Duration = Duration::from_millis(50);

/// What a call may compute beyond that, for each byte of its input.
const DEADLINE_PER_BYTE: Duration = Duration::from_nanos(100);

/// What a basket may compute beyond that: it may have as many results as a hundred thousand calls.
const BASKET_DEADLINE: Duration = Duration::from_millis(200);

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

    /// The bytes of linear memory of the instances that are idle.
    #[must_use]
    pub fn memory(&self) -> usize {
        let idle: Vec<_> = std::iter::from_fn(|| self.idle.pop()).collect();
        let sizes = idle
            .iter()
            .map(|instance| instance.memory.data_size(&instance.store));
        let sum = sizes.sum();
        idle.into_iter().for_each(|instance| self.keep(instance));
        sum
    }

    /// Has the module decide; `request` is a JSON text, and so is the answer.
    ///
    /// # Errors
    /// [`EngineError::Refused`] for a request that is not what it must be, or a condition that is not in force.
    pub fn evaluate(&self, call: Call<'_>, request: &[u8]) -> Result<Bytes, EngineError> {
        let mut instance = match self.idle.pop() {
            Some(instance) => instance,
            None => self.instance()?,
        };
        let answer = instance.evaluate(call, request);
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
        Instance::new(&self.engine, &self.module).map(Box::new)
    }

    fn keep(&self, instance: Box<Instance>) {
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

/// What an instance's store holds: limits, and what the call in it has used.
struct State {
    limits: StoreLimits,
    budget: Duration,
    /// The thread's time when the call was first checked.
    seen: Option<Duration>,
}

impl State {
    /// Whether a call that is still running may go on. Called a tick or two after its start, and then at each tick.
    fn may_go_on(&mut self) -> bool {
        let used = thread_time();
        let since = *self.seen.get_or_insert(used);
        used.saturating_sub(since) < self.budget
    }
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// One instance of the module, and what it keeps prepared.
struct Instance {
    store: Store<State>,
    memory: Memory,
    input: TypedFunc<u32, u32>,
    prepare: TypedFunc<u32, u64>,
    evaluate: TypedFunc<(u32, u32), u64>,
    release: TypedFunc<u32, ()>,
    prepared: HashMap<[u8; 16], Prepared, RandomState>,
    prepared_bytes: usize,
    /// Counts calls, to know what was used last.
    calls: u64,
}

struct Prepared {
    handle: u32,
    bytes: usize,
    last_call: u64,
}

impl Instance {
    fn new(engine: &Engine, module: &InstancePre<State>) -> Result<Self, EngineError> {
        let limits = StoreLimitsBuilder::new().memory_size(MEMORY_LIMIT).build();
        let mut store = Store::new(
            engine,
            State {
                limits,
                budget: DEADLINE,
                seen: None,
            },
        );
        store.limiter(|state| &mut state.limits);
        store.epoch_deadline_callback(|mut context| {
            if context.data_mut().may_go_on() {
                return Ok(UpdateDeadline::Continue(1));
            }
            Err(Trap::Interrupt.into())
        });
        store.set_epoch_deadline(2);
        let instance = module.instantiate(&mut store).map_err(failed)?;
        let memory = instance
            .get_memory(&mut store, "memory")
            .ok_or_else(|| EngineError::Failed("the module has no memory".to_owned()))?;
        let version = instance
            .get_typed_func::<(), u32>(&mut store, "tillgate_abi_version")
            .and_then(|version| version.call(&mut store, ()))
            .map_err(failed)?;
        if version != tillgate_engine::face::abi::VERSION {
            return Err(EngineError::Failed(format!(
                "the module's ABI is version {version}"
            )));
        }
        Ok(Self {
            input: instance
                .get_typed_func(&mut store, "tillgate_input")
                .map_err(failed)?,
            prepare: instance
                .get_typed_func(&mut store, "tillgate_prepare")
                .map_err(failed)?,
            evaluate: instance
                .get_typed_func(&mut store, "tillgate_evaluate")
                .map_err(failed)?,
            release: instance
                .get_typed_func(&mut store, "tillgate_release")
                .map_err(failed)?,
            memory,
            store,
            prepared: HashMap::default(),
            prepared_bytes: 0,
            calls: 0,
        })
    }

    fn evaluate(&mut self, call: Call<'_>, request: &[u8]) -> Result<Bytes, EngineError> {
        self.calls += 1;
        match call {
            Call::Condition(catalog, id) => {
                let handle = self.handle(catalog)?;
                self.call(handle, &["condition ", id], request, DEADLINE)
            }
            Call::Project(document) => {
                let handle = self.handle(document)?;
                self.call(handle, &["project"], request, DEADLINE)
            }
            Call::Basket(catalog, None) => {
                let handle = self.handle(catalog)?;
                self.call(handle, &["basket"], request, BASKET_DEADLINE)
            }
            Call::Basket(catalog, Some(project)) => {
                let project = self.handle(project)?;
                let handle = self.handle(catalog)?;
                let line = ["basket ", &project.to_string()];
                self.call(handle, &line, request, BASKET_DEADLINE)
            }
        }
    }

    fn call(
        &mut self,
        handle: u32,
        line: &[&str],
        request: &[u8],
        deadline: Duration,
    ) -> Result<Bytes, EngineError> {
        let len = self.write(line, request)?;
        self.allow(deadline + DEADLINE_PER_BYTE * len);
        let answer = self
            .evaluate
            .call(&mut self.store, (handle, len))
            .map_err(failed)?;
        self.read(answer)
    }

    /// The handle of a document, which is prepared when it is not yet.
    fn handle(&mut self, document: &Document) -> Result<u32, EngineError> {
        if let Some(prepared) = self.prepared.get_mut(&document.digest) {
            prepared.last_call = self.calls;
            return Ok(prepared.handle);
        }
        self.make_room(document.text.len())?;
        let len = self.write(&[document.kind], &document.text)?;
        self.allow(DEADLINE + DEADLINE_PER_BYTE * len);
        let answer = self.prepare.call(&mut self.store, len).map_err(failed)?;
        let answer = self.read(answer)?;
        let handle = serde_json::from_slice(&answer).map_err(failed)?;
        let bytes = document.text.len();
        self.prepared_bytes += bytes;
        let prepared = Prepared {
            handle,
            bytes,
            last_call: self.calls,
        };
        self.prepared.insert(document.digest, prepared);
        Ok(handle)
    }

    /// Releases what was used longest ago until `bytes` more fit. What this call has already used stays.
    fn make_room(&mut self, bytes: usize) -> Result<(), EngineError> {
        while self.prepared_bytes + bytes > PREPARED_LIMIT {
            let idle = self
                .prepared
                .iter()
                .filter(|(_, kept)| kept.last_call < self.calls);
            let Some(digest) = idle
                .min_by_key(|(_, kept)| kept.last_call)
                .map(|(key, _)| *key)
            else {
                break;
            };
            if let Some(kept) = self.prepared.remove(&digest) {
                self.prepared_bytes -= kept.bytes;
                self.allow(DEADLINE);
                self.release
                    .call(&mut self.store, kept.handle)
                    .map_err(failed)?;
            }
        }
        Ok(())
    }

    fn allow(&mut self, budget: Duration) {
        let state = self.store.data_mut();
        state.budget = budget;
        state.seen = None;
        self.store.set_epoch_deadline(2);
    }

    /// Writes a call into the module's input buffer.
    fn write(&mut self, line: &[&str], text: &[u8]) -> Result<u32, EngineError> {
        let line_len: usize = line.iter().map(|part| part.len()).sum();
        let len = u32::try_from(line_len + 1 + text.len()).map_err(failed)?;
        self.allow(DEADLINE);
        let at = self.input.call(&mut self.store, len).map_err(failed)?;
        let at = usize::try_from(at).map_err(failed)?;
        let memory = self.memory.data_mut(&mut self.store);
        let mut rest = memory.get_mut(at..).unwrap_or_default();
        for part in line
            .iter()
            .map(|part| part.as_bytes())
            .chain([b"\n".as_slice(), text])
        {
            let (place, after) = rest
                .split_at_mut_checked(part.len())
                .ok_or_else(|| EngineError::Failed("the input buffer is too small".to_owned()))?;
            place.copy_from_slice(part);
            rest = after;
        }
        Ok(len)
    }

    /// Reads the answer that a packed pointer and length point to.
    fn read(&self, answer: u64) -> Result<Bytes, EngineError> {
        let at = usize::try_from(answer >> 32).map_err(failed)?;
        let len = usize::try_from(answer & u64::from(u32::MAX)).map_err(failed)?;
        let answer = at
            .checked_add(len)
            .and_then(|end| self.memory.data(&self.store).get(at..end));
        match answer.and_then(<[u8]>::split_first) {
            Some((&tillgate_engine::face::OK, json)) => Ok(Bytes::copy_from_slice(json)),
            Some((_, json)) => Err(refusal(json)),
            None => Err(EngineError::Failed(
                "the module answered nothing".to_owned(),
            )),
        }
    }
}

/// What the module says of a request that it refuses.
fn refusal(json: &[u8]) -> EngineError {
    #[derive(serde::Deserialize)]
    struct Refusal {
        code: String,
        faults: Vec<Fault>,
    }
    match serde_json::from_slice::<Refusal>(json) {
        Ok(Refusal { code, faults }) => match code.as_str() {
            "invalid" => EngineError::Refused(Code::Invalid, faults),
            "not_found" => EngineError::Refused(Code::NotFound, faults),
            _ => EngineError::Failed(format!("the module answered {code}")),
        },
        Err(cause) => failed(cause),
    }
}
