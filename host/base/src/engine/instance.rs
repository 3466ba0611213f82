//! One instance of the module: calls over its C ABI, the documents that it keeps prepared, and its limits.
//!
//! A call is written into the module's input buffer, and its answer is read from where the module says
//! (`engine/README.md`, "The C ABI"). A call is limited in the CPU time of its thread, which is checked whenever the
//! epoch advances. After an [`EngineError::Failed`], the pool does not call the instance again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};
use tillgate_engine::outcome::Tally;
use tillgate_engine::{Code, Fault};
use wasmtime::{
    Engine, InstancePre, Memory, Store, StoreLimits, StoreLimitsBuilder, Trap, TypedFunc,
    UpdateDeadline,
};

use super::prepared::PreparedDocuments;
use super::totals::Totals;
use super::{Call, Decided, Document, DocumentDigest, EngineError, EvaluateOptions, failed};

/// The most memory that an instance may allocate, in bytes.
const MEMORY_LIMIT: usize = 256 << 20;

/// Instances with more linear memory than this are large. If their documents need less than an eighth of it, they are
/// mostly empty.
const LARGE: usize = 32 << 20;

/// The most CPU time of a call. The time of its thread counts, so a busy machine ends no call.
const DEADLINE: Duration = Duration::from_millis(50);

/// The additional CPU time for each byte of a call's input.
const DEADLINE_PER_BYTE: Duration = Duration::from_nanos(100);

/// The most CPU time of a basket, which may have as many results as a hundred thousand calls, and of explanations,
/// which may be as long.
const BASKET_DEADLINE: Duration = Duration::from_millis(200);

/// The most CPU time of rate math: one request may have ten thousand calls.
const RATES_DEADLINE: Duration = Duration::from_millis(200);

/// The most CPU time of tests: two hundred decisions, each of which may have a thousand results.
const TESTS_DEADLINE: Duration = Duration::from_millis(200);

/// The data of an instance's store: limits, and the time that its current call has used.
pub(super) struct State {
    limits: StoreLimits,
    budget: Duration,
    /// The thread's CPU time when the call was first checked.
    seen: Option<Duration>,
}

impl State {
    /// Returns whether a running call may continue. Called a tick or two after its start, and then at each tick.
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

/// The most CPU time of the findings of a rule, which may have a hundred thousand values.
const FINDINGS_DEADLINE: Duration = Duration::from_secs(1);

/// One instance of the module, and its prepared documents.
pub(super) struct Instance {
    store: Store<State>,
    memory: Memory,
    input: TypedFunc<u32, u32>,
    prepare: TypedFunc<u32, u64>,
    evaluate: TypedFunc<(u32, u32), u64>,
    rates: TypedFunc<u32, u64>,
    findings: TypedFunc<u32, u64>,
    tests: TypedFunc<u32, u64>,
    release: TypedFunc<u32, ()>,
    /// The address at which the module counts the results of a decision.
    tally_at: usize,
    prepared: PreparedDocuments,
    /// The bytes of its linear memory when last counted.
    memory_size: usize,
    totals: Arc<Totals>,
}

impl Instance {
    pub(super) fn new(
        engine: &Engine,
        module: &InstancePre<State>,
        totals: &Arc<Totals>,
    ) -> Result<Self, EngineError> {
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
        let tally_at = instance
            .get_typed_func::<(), u32>(&mut store, "tillgate_tally")
            .and_then(|tally| tally.call(&mut store, ()))
            .map_err(failed)?;
        let mut new = Self {
            input: instance
                .get_typed_func(&mut store, "tillgate_input")
                .map_err(failed)?,
            prepare: instance
                .get_typed_func(&mut store, "tillgate_prepare")
                .map_err(failed)?,
            evaluate: instance
                .get_typed_func(&mut store, "tillgate_evaluate")
                .map_err(failed)?,
            rates: instance
                .get_typed_func(&mut store, "tillgate_rates")
                .map_err(failed)?,
            findings: instance
                .get_typed_func(&mut store, "tillgate_findings")
                .map_err(failed)?,
            tests: instance
                .get_typed_func(&mut store, "tillgate_tests")
                .map_err(failed)?,
            release: instance
                .get_typed_func(&mut store, "tillgate_release")
                .map_err(failed)?,
            memory,
            store,
            tally_at: usize::try_from(tally_at).map_err(failed)?,
            prepared: PreparedDocuments::default(),
            memory_size: 0,
            totals: Arc::clone(totals),
        };
        new.totals.instances.fetch_add(1, Ordering::Relaxed);
        new.count_memory();
        Ok(new)
    }

    /// Adds the growth of its linear memory to the totals. Linear memory never shrinks.
    pub(super) fn count_memory(&mut self) {
        let size = self.memory.data_size(&self.store);
        let grown = size.saturating_sub(self.memory_size);
        if grown > 0 {
            self.memory_size += grown;
            self.totals.memory.fetch_add(grown, Ordering::Relaxed);
        }
    }

    pub(super) fn evaluate(
        &mut self,
        call: Call<'_>,
        options: EvaluateOptions,
        request: &[u8],
    ) -> Result<Decided, EngineError> {
        self.prepared.begin_call();
        let words = options.words();
        // The rows for the decision log are as long as the answer.
        let parts = if options.record.is_some() { 2 } else { 1 };
        let of_basket = BASKET_DEADLINE * parts;
        let deadline = if options.explain {
            of_basket
        } else {
            DEADLINE * parts
        };
        let answer = match call {
            Call::Condition(catalog, id) => {
                let handle = self.handle(catalog)?;
                self.call(handle, words, ["condition ", id], request, deadline)
            }
            Call::Project(document) => {
                let handle = self.handle(document)?;
                self.call(handle, words, ["project", ""], request, deadline)
            }
            Call::Basket(catalog, None) => {
                let handle = self.handle(catalog)?;
                self.call(handle, words, ["basket", ""], request, of_basket)
            }
            Call::Basket(catalog, Some(project)) => {
                let project = self.handle(project)?;
                let handle = self.handle(catalog)?;
                let line = ["basket ", &project.to_string()];
                self.call(handle, words, line, request, of_basket)
            }
        };
        let mut answer = answer?;
        let mut rows = Bytes::new();
        if options.record.is_some()
            && let Some(end) = answer.iter().position(|byte| *byte == b'\n')
        {
            rows = answer.split_to(end);
            answer = answer.slice(1..);
        }
        Ok(Decided {
            answer,
            rows,
            tally: self.tally()?,
        })
    }

    /// Returns the counts of the decision that was just made.
    fn tally(&self) -> Result<Tally, EngineError> {
        let memory = self.memory.data(&self.store);
        let counts = memory.get(self.tally_at..).and_then(|at| at.first_chunk());
        let counts: &[u8; size_of::<Tally>()] =
            counts.ok_or_else(|| failed("the module's counts are not in its memory"))?;
        let mut counts = counts.chunks_exact(4);
        let mut tally = Tally::default();
        for count in tally.0.as_flattened_mut() {
            let bytes = counts.next().and_then(|bytes| bytes.first_chunk());
            *count = bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes));
        }
        Ok(tally)
    }

    pub(super) fn rates(&mut self, request: &[u8]) -> Result<Bytes, EngineError> {
        let len = self.write(&[request])?;
        self.allow(RATES_DEADLINE + DEADLINE_PER_BYTE * len);
        let answer = self.rates.call(&mut self.store, len).map_err(failed)?;
        self.read(answer)
    }

    /// Lets the module inspect a rule, given as parts of its JSON.
    pub(super) fn findings(&mut self, rule: &[&[u8]]) -> Result<Bytes, EngineError> {
        let len = self.write(rule)?;
        self.allow(FINDINGS_DEADLINE + DEADLINE_PER_BYTE * len);
        let answer = self.findings.call(&mut self.store, len).map_err(failed)?;
        self.read(answer)
    }

    /// Lets the module run tests. The request may be in parts.
    pub(super) fn tests(&mut self, request: &[&[u8]]) -> Result<Bytes, EngineError> {
        let len = self.write(request)?;
        self.allow(TESTS_DEADLINE + DEADLINE_PER_BYTE * len);
        let answer = self.tests.call(&mut self.store, len).map_err(failed)?;
        self.read(answer)
    }

    fn call(
        &mut self,
        handle: u32,
        words: [&str; 3],
        line: [&str; 2],
        request: &[u8],
        deadline: Duration,
    ) -> Result<Bytes, EngineError> {
        let ([record, lenient, explain], [line, argument]) =
            (words.map(str::as_bytes), line.map(str::as_bytes));
        let parts = [record, lenient, explain, line, argument, b"\n", request];
        let len = self.write(&parts)?;
        self.allow(deadline + DEADLINE_PER_BYTE * len);
        let answer = self
            .evaluate
            .call(&mut self.store, (handle, len))
            .map_err(failed)?;
        self.read(answer)
    }

    /// Returns whether a document is prepared.
    pub(super) fn has(&self, document: &Document) -> bool {
        self.prepared.has(&document.digest)
    }

    /// Returns the handle of a document, which is prepared first if necessary.
    fn handle(&mut self, document: &Document) -> Result<u32, EngineError> {
        let round = self.totals.round.load(Ordering::Relaxed);
        if let Some(handle) = self.prepared.find(&document.digest, round) {
            return Ok(handle);
        }
        let bytes = document.text.len();
        for digest in self.prepared.displaced_by(bytes) {
            self.release(&digest)?;
        }
        let len = self.write(&[document.kind.as_bytes(), b"\n", &document.text])?;
        self.allow(DEADLINE + DEADLINE_PER_BYTE * len);
        let answer = self.prepare.call(&mut self.store, len).map_err(failed)?;
        let handle = serde_json::from_slice(&self.read(answer)?).map_err(failed)?;
        self.prepared.insert(document.digest, handle, bytes, round);
        let totals = &self.totals;
        totals.prepared.fetch_add(1, Ordering::Relaxed);
        totals.prepared_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(handle)
    }

    fn release(&mut self, digest: &DocumentDigest) -> Result<(), EngineError> {
        let Some(released) = self.prepared.remove(digest) else {
            return Ok(());
        };
        let totals = &self.totals;
        totals.prepared.fetch_sub(1, Ordering::Relaxed);
        totals
            .prepared_bytes
            .fetch_sub(released.bytes, Ordering::Relaxed);
        self.allow(DEADLINE);
        self.release
            .call(&mut self.store, released.handle)
            .map_err(failed)
    }

    /// Releases the documents that were last used before a round of the pool.
    pub(super) fn release_unused(&mut self, since: u64) -> Result<(), EngineError> {
        let unused = self.prepared.unused_since(since);
        unused.iter().try_for_each(|digest| self.release(digest))
    }

    pub(super) const fn is_large(&self) -> bool {
        self.memory_size > LARGE
    }

    /// Returns whether a new instance would need far less memory.
    pub(super) fn is_mostly_empty(&self) -> bool {
        self.is_large() && self.prepared.size() < self.memory_size / 8
    }

    fn allow(&mut self, budget: Duration) {
        let state = self.store.data_mut();
        state.budget = budget;
        state.seen = None;
        self.store.set_epoch_deadline(2);
    }

    /// Writes a call into the module's input buffer.
    fn write(&mut self, parts: &[&[u8]]) -> Result<u32, EngineError> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let len = u32::try_from(len).map_err(failed)?;
        self.allow(DEADLINE);
        let at = self.input.call(&mut self.store, len).map_err(failed)?;
        let at = usize::try_from(at).map_err(failed)?;
        let memory = self.memory.data_mut(&mut self.store);
        let mut rest = memory.get_mut(at..).unwrap_or_default();
        for part in parts {
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

impl Drop for Instance {
    fn drop(&mut self) {
        let totals = &self.totals;
        let bytes = self.prepared.iter().map(|prepared| prepared.bytes);
        totals.instances.fetch_sub(1, Ordering::Relaxed);
        totals.memory.fetch_sub(self.memory_size, Ordering::Relaxed);
        totals
            .prepared
            .fetch_sub(self.prepared.iter().len(), Ordering::Relaxed);
        totals
            .prepared_bytes
            .fetch_sub(bytes.sum(), Ordering::Relaxed);
    }
}

/// Converts the module's refusal of a request into an error.
fn refusal(json: &[u8]) -> EngineError {
    #[derive(serde::Deserialize)]
    struct Refusal {
        code: String,
        faults: Vec<Fault>,
    }
    match serde_json::from_slice::<Refusal>(json) {
        Ok(Refusal { code, faults }) => match code.as_str() {
            "invalid" | "unknown_member" => EngineError::Refused(Code::Invalid, faults),
            "condition_not_found" => EngineError::Refused(Code::ConditionNotFound, faults),
            _ => EngineError::Failed(format!("the module answered {code}")),
        },
        Err(cause) => failed(cause),
    }
}
