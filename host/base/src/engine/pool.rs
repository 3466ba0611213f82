//! The pool of idle instances of a compiled module.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use crossbeam_queue::ArrayQueue;
use wasmtime::{Engine, InstancePre, Linker, Module};

use super::instance::{Instance, State};
use super::settings::settings;
use super::totals::Totals;
use super::{Call, Decided, Document, EngineError, EvaluateOptions, MACHINE_CODE, failed};

/// The interval of [`EnginePool::release_unused`], and the number of intervals for which an unused document is kept.
pub const ROUND: Duration = Duration::from_secs(10);
const UNUSED_ROUNDS: u64 = 3;

/// The linear memory of all instances above which a large one is not kept: 256 MiB.
const MAX_MEMORY: usize = 256 << 20;

/// The interval at which the epoch advances.
const TICK: Duration = Duration::from_millis(10);

/// A compiled module, ready to make instances. Its clones share the machine code.
#[derive(Clone)]
pub struct CompiledModule {
    engine: Engine,
    module: InstancePre<State>,
}

impl std::fmt::Debug for CompiledModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompiledModule").finish_non_exhaustive()
    }
}

impl CompiledModule {
    /// Returns this program's module. A process loads it once, at the first call.
    ///
    /// # Errors
    /// When its machine code does not run on this processor.
    #[expect(unsafe_code, reason = "wasmtime cannot check machine code")]
    pub fn of_this_program() -> Result<Self, EngineError> {
        // SAFETY: wasmtime's compiler has made these bytes in the build of this program.
        static LOADED: LazyLock<Result<CompiledModule, EngineError>> =
            LazyLock::new(|| unsafe { CompiledModule::load(MACHINE_CODE) });
        LOADED.clone()
    }

    /// Loads a module from its machine code.
    ///
    /// # Safety
    /// wasmtime's compiler must have made the machine code.
    ///
    /// # Errors
    /// When it was made by another version, or for other processors.
    #[expect(unsafe_code, reason = "wasmtime cannot check machine code")]
    pub unsafe fn load(machine_code: &[u8]) -> Result<Self, EngineError> {
        let engine = Engine::new(&settings()).map_err(failed)?;
        // SAFETY: the caller has promised it.
        let module = unsafe { Module::deserialize(&engine, machine_code) }.map_err(failed)?;
        let mut linker = Linker::new(&engine);
        // Only the JavaScript face uses these imports. The C ABI never calls them, so hosted code can reach nothing
        // outside itself.
        linker
            .define_unknown_imports_as_traps(&module)
            .map_err(failed)?;
        let module = linker.instantiate_pre(&module).map_err(failed)?;
        tick(&engine)?;
        Ok(Self { engine, module })
    }
}

/// A compiled module and its idle instances.
pub struct EnginePool {
    compiled: CompiledModule,
    idle: ArrayQueue<Box<Instance>>,
    made: AtomicU64,
    failed: AtomicU64,
    totals: Arc<Totals>,
}

/// The state of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineStatus {
    /// The number of instances made since the start.
    pub made: u64,
    /// The number of these that trapped or exceeded a limit.
    pub failed: u64,
    /// The number of instances that are deciding now.
    pub in_use: usize,
    /// The number of instances that are idle.
    pub idle: usize,
    /// The linear memory of all instances, in bytes.
    pub memory: usize,
    /// The number of documents that the instances have prepared, each for itself.
    pub prepared: usize,
    /// The size of these documents, in bytes.
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
    /// Creates a pool for `threads` threads that decide at once.
    ///
    /// # Errors
    /// When the module does not have this program's ABI.
    pub fn new(compiled: CompiledModule, threads: usize) -> Result<Self, EngineError> {
        let pool = Self {
            compiled,
            idle: ArrayQueue::new(threads.max(1)),
            made: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            totals: Arc::default(),
        };
        let first = pool.instance()?;
        pool.keep(first);
        Ok(pool)
    }

    /// Returns how many instances were made, and how many of these trapped or exceeded a limit.
    #[must_use]
    pub fn instances(&self) -> (u64, u64) {
        (
            self.made.load(Ordering::Relaxed),
            self.failed.load(Ordering::Relaxed),
        )
    }

    /// Returns the current state of the pool.
    #[must_use]
    pub fn status(&self) -> EngineStatus {
        let (made, failed) = self.instances();
        let count = |number: &AtomicUsize| number.load(Ordering::Relaxed);
        let idle = self.idle.len();
        EngineStatus {
            made,
            failed,
            in_use: count(&self.totals.instances).saturating_sub(idle),
            idle,
            memory: count(&self.totals.memory),
            prepared: count(&self.totals.prepared),
            prepared_bytes: count(&self.totals.prepared_bytes),
        }
    }

    /// Returns the linear memory of all instances, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.status().memory
    }

    /// Returns whether there is an instance that can decide, or one can be made.
    #[must_use]
    pub fn can_decide(&self) -> bool {
        if !self.idle.is_empty() {
            return true;
        }
        let made = self.instance();
        made.map(|instance| self.keep(instance)).is_ok()
    }

    /// Lets the module decide. The request and the answer are JSON.
    ///
    /// # Errors
    /// [`EngineError::Refused`] for an invalid request, or for a condition that is not in force.
    pub fn evaluate(&self, call: Call<'_>, request: &[u8]) -> Result<Bytes, EngineError> {
        let decided = self
            .lease()?
            .evaluate(call, EvaluateOptions::default(), request)?;
        Ok(decided.answer)
    }

    /// Lets the module do rate math. The request is JSON with many calls, and the answer is JSON with their results.
    ///
    /// # Errors
    /// [`EngineError::Refused`] with every fault of every call. Then no call is answered.
    pub fn rates(&self, request: &[u8]) -> Result<Bytes, EngineError> {
        self.lease()?.run(|instance| instance.rates(request))
    }

    /// Lets the module inspect a rule, given as parts of its JSON. The answer is JSON.
    ///
    /// # Errors
    /// [`EngineError::Refused`] with every fault of the rule.
    pub fn findings(&self, rule: &[&[u8]]) -> Result<Bytes, EngineError> {
        self.lease()?.run(|instance| instance.findings(rule))
    }

    /// Lets the module run tests. The request is JSON in parts, and the answer is JSON.
    ///
    /// # Errors
    /// [`EngineError::Refused`] with every fault of the document and its tests.
    pub fn tests(&self, request: &[&[u8]]) -> Result<Bytes, EngineError> {
        self.lease()?.run(|instance| instance.tests(request))
    }

    /// Returns an instance for one call.
    ///
    /// # Errors
    /// [`EngineError::Failed`] when none is idle and none can be made.
    pub fn lease(&self) -> Result<Lease<'_>, EngineError> {
        let instance = match self.idle.pop() {
            Some(instance) => instance,
            None => self.instance()?,
        };
        Ok(Lease {
            pool: self,
            instance: Some(instance),
        })
    }

    fn instance(&self) -> Result<Box<Instance>, EngineError> {
        self.made.fetch_add(1, Ordering::Relaxed);
        Instance::new(&self.compiled.engine, &self.compiled.module, &self.totals).map(Box::new)
    }

    /// Releases prepared documents that no request has used for a while. Drops instances that hold far more memory than
    /// they need, because linear memory never shrinks. Called every [`ROUND`].
    pub fn release_unused(&self) {
        let round = self.totals.round.fetch_add(1, Ordering::Relaxed) + 1;
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
        // All instances together must not hold too much memory either.
        if instance.is_large() && self.totals.memory.load(Ordering::Relaxed) > MAX_MEMORY {
            return;
        }
        // More instances than threads are not worth their memory: a surplus one is dropped.
        let _ = self.idle.push(instance);
    }
}

/// An instance for one call. It goes back to the pool afterwards, unless the call failed.
pub struct Lease<'p> {
    pool: &'p EnginePool,
    /// `None` once the instance was given back or discarded.
    instance: Option<Box<Instance>>,
}

impl Lease<'_> {
    /// Returns whether this instance has prepared a document.
    #[must_use]
    pub fn has(&self, document: &Document) -> bool {
        let instance = self.instance.as_ref();
        instance.is_some_and(|instance| instance.has(document))
    }

    /// Lets the module decide. The request and the answer are JSON.
    ///
    /// # Errors
    /// As [`EnginePool::evaluate`].
    pub fn evaluate(
        self,
        call: Call<'_>,
        options: EvaluateOptions,
        request: &[u8],
    ) -> Result<Decided, EngineError> {
        self.run(|instance| instance.evaluate(call, options, request))
    }

    fn run<T>(
        mut self,
        call: impl FnOnce(&mut Instance) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let Some(instance) = &mut self.instance else {
            return Err(failed("the instance is gone"));
        };
        let answer = call(instance);
        instance.count_memory();
        if matches!(answer, Err(EngineError::Failed(_))) {
            self.instance = None;
            self.pool.failed.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take() {
            self.pool.keep(instance);
        }
    }
}

/// Advances the epoch for as long as the engine lives.
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
