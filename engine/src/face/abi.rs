//! The C ABI: bytes in, bytes out, through linear memory. It is stable; `engine/README.md` is its manual.
//!
//! The caller gets the input buffer, writes a call into it, and makes the call. The answer stays at the returned
//! pointer until the next call; there is nothing to free. Handles are not reused after their release, so a stale handle
//! is an error and never another tenant's catalog. Only one thread calls at a time: a WebAssembly instance has only
//! one, and in native code each thread has a module of its own.
//!
//! There is no unsafe block: memory is passed as addresses, and only the exported names need `unsafe` attributes,
//! because two libraries of one program could export the same name.
#![expect(unsafe_code, reason = "exported names are unsafe attributes")]

use std::cell::RefCell;

use super::{FAILED, Line, OK, Prepared};
use crate::error::{Code, Error};
use crate::json::write_number;
use crate::outcome::Tally;
use crate::swar::find;

/// The version of this ABI: incremented when the meaning of a call changes, not when a call is added.
pub const VERSION: u32 = 1;

/// Buffers larger than this many bytes are freed after the call.
const MAX_KEPT: usize = 1 << 20;

struct Module {
    input: Vec<u8>,
    output: Vec<u8>,
    tally: Tally,
    /// Sorted by handle.
    prepared: Vec<(u32, Box<Prepared>)>,
    last_handle: u32,
}

thread_local! {
    static MODULE: RefCell<Module> = const {
        RefCell::new(Module {
            input: Vec::new(),
            output: Vec::new(),
            tally: Tally([[0; 3]; 3]),
            prepared: Vec::new(),
            last_handle: 0,
        })
    };
}

/// Runs a closure on the module. The module is in use already only if an earlier call trapped and did not end. Then
/// this traps too, without the code of a panic that says so.
#[inline(always)]
fn with_module<R>(run: impl FnOnce(&mut Module) -> R) -> R {
    MODULE.with(|module| match module.try_borrow_mut() {
        Ok(mut module) => run(&mut module),
        Err(_) => std::process::abort(),
    })
}

/// Returns the version of the ABI.
#[unsafe(no_mangle)]
pub extern "C" fn tillgate_abi_version() -> u32 {
    VERSION
}

/// Returns a buffer of at least `len` bytes for the input of the next call, valid until that call. If there is not
/// enough memory, returns the highest address: a caller that does not check cannot write there, while in WebAssembly it
/// could write to null.
#[unsafe(no_mangle)]
pub extern "C" fn tillgate_input(len: usize) -> *mut u8 {
    with_module(|module| {
        if let Some(more) = len.checked_sub(module.input.len()) {
            if module.input.try_reserve(more).is_err() {
                return std::ptr::without_provenance_mut(usize::MAX);
            }
            module.input.resize(len, 0);
        }
        module.input.as_mut_ptr()
    })
}

/// Prepares a catalog or a project. The input is `catalog` or `project`, a newline and the document; the answer is the
/// handle, a JSON number.
#[unsafe(no_mangle)]
pub extern "C" fn tillgate_prepare(len: usize) -> u64 {
    exchange(len, |module, input, out| {
        let (line, document) = split(input)?;
        let prepared = Prepared::new(line, document)?;
        let handle = usize::try_from(module.store(prepared));
        out.push(OK);
        write_number(handle.unwrap_or_default(), out);
        Ok(())
    })
}

/// Decides. The input is a line that names the call, a newline and the request. `basket HANDLE` decides a basket with a
/// project that was prepared on its own. Before the line, `explain ` adds explanations to the answer, `lenient `
/// ignores unknown members, and `record ` and `record-denials ` put what a decision log needs, and a newline, before the
/// answer.
#[unsafe(no_mangle)]
pub extern "C" fn tillgate_evaluate(handle: u32, len: usize) -> u64 {
    decide(handle, len, false)
}

/// Decides about many items at a time. The input is a line that names a condition or a project, a newline and the rows.
#[unsafe(no_mangle)]
pub extern "C" fn tillgate_evaluate_many(handle: u32, len: usize) -> u64 {
    decide(handle, len, true)
}

fn decide(handle: u32, len: usize, many: bool) -> u64 {
    exchange_by(len, |module, input, out| {
        let (line, request) = split(input)?;
        let prepared = module.get(handle)?;
        let mut call = Line::of(line);
        if many {
            return prepared.evaluate_many(call, request, out);
        }
        let mut project = None;
        if let Some(handle) = call.name.strip_prefix("basket ") {
            (call.name, project) = ("basket", Some(module.get_by_text(handle)?));
        }
        let tally = prepared.evaluate(call, request, project, out);
        module.tally = tally;
        Ok(())
    })
}

/// Returns the address of the result counts of the last [`tillgate_evaluate`]: nine `u32`, three for each rule (age,
/// license, project), one for each decision (`ALLOW`, `SOFT_DENY`, `HARD_DENY`). The address never changes.
#[unsafe(no_mangle)]
pub extern "C" fn tillgate_tally() -> *const u32 {
    with_module(|module| module.tally.0.as_ptr().cast())
}

/// Does rate math, many calls at a time. The input is a request of [`crate::rate::text`], without a line before it.
#[unsafe(no_mangle)]
pub extern "C" fn tillgate_rates(len: usize) -> u64 {
    exchange(len, |_, request, out| super::rates(request, out))
}

/// Makes or verifies a webhook's signature. The input is a request of [`crate::signature`], without a line before it.
#[unsafe(no_mangle)]
pub extern "C" fn tillgate_signature(len: usize) -> u64 {
    exchange(len, |_, request, out| super::signature(request, out))
}

/// Finds what is wrong with a rule. The input is a request of [`crate::findings`], without a line before it.
#[unsafe(no_mangle)]
pub extern "C" fn tillgate_findings(len: usize) -> u64 {
    exchange(len, |_, request, out| super::findings(request, out))
}

/// Compares the decisions of two versions of a rule. The input is a request of [`crate::compare`], without a line
/// before it.
#[unsafe(no_mangle)]
pub extern "C" fn tillgate_compare(len: usize) -> u64 {
    exchange(len, |_, request, out| super::compare(request, out))
}

/// Runs the tests of a condition, a project or a catalog. The input is a request of [`crate::tests::text`], without a
/// line before it.
#[unsafe(no_mangle)]
pub extern "C" fn tillgate_tests(len: usize) -> u64 {
    exchange(len, |_, request, out| super::tests(request, out))
}

/// Releases a handle; an unknown handle is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn tillgate_release(handle: u32) {
    with_module(|module| {
        if let Ok(index) = module.search(handle) {
            module.prepared.remove(index);
        }
    });
}

impl Module {
    /// Returns the index of a handle or, as the error, the index at which to insert it.
    fn search(&self, handle: u32) -> Result<usize, usize> {
        self.prepared
            .binary_search_by_key(&handle, |(handle, _)| *handle)
    }

    fn get(&self, handle: u32) -> Result<&Prepared, Error> {
        let found = self
            .search(handle)
            .ok()
            .and_then(|index| self.prepared.get(index));
        found.map(|(_, prepared)| prepared.as_ref()).ok_or_else(|| {
            Error::new(
                Code::UnknownHandle,
                "$",
                "the handle is unknown or was released",
            )
        })
    }

    fn get_by_text(&self, handle: &str) -> Result<&Prepared, Error> {
        self.get(handle.parse().unwrap_or_default())
    }

    /// Stores a prepared document, and returns its handle. Handles count up, so one is reused only after four billion
    /// preparations; none is 0.
    fn store(&mut self, prepared: Prepared) -> u32 {
        loop {
            self.last_handle = self.last_handle.wrapping_add(1).max(1);
            if let Err(index) = self.search(self.last_handle) {
                self.prepared
                    .insert(index, (self.last_handle, Box::new(prepared)));
                return self.last_handle;
            }
        }
    }
}

/// A call with the module's state: it reads an input and writes the answer.
type Run = fn(&mut Module, &[u8], &mut Vec<u8>) -> Result<(), Error>;

/// Runs a call of a kind that is rarely made; all such calls share one copy of the code.
fn exchange(len: usize, run: Run) -> u64 {
    exchange_by(len, run)
}

/// Runs a call on the first `len` bytes of the input. Returns the location of the answer: the pointer in the upper
/// half, the length in the lower half.
#[inline(always)]
fn exchange_by(
    len: usize,
    run: impl FnOnce(&mut Module, &[u8], &mut Vec<u8>) -> Result<(), Error>,
) -> u64 {
    with_module(|module| {
        let input = std::mem::take(&mut module.input);
        let mut output = std::mem::take(&mut module.output);
        output.clear();
        let given = input
            .get(..len)
            .ok_or_else(|| Error::new(Code::Invalid, "$", "is longer than the input buffer"));
        if let Err(error) = given.and_then(|given| run(module, given, &mut output)) {
            output.clear();
            super::write_error(Err(error), &mut output);
        }
        debug_assert!(
            matches!(output.first(), Some(&(OK | FAILED))),
            "an answer starts with a status"
        );
        module.input = if input.len() > MAX_KEPT {
            Vec::new()
        } else {
            input
        };
        module.output = output;
        if module.output.capacity() > 4 * MAX_KEPT && module.output.len() < MAX_KEPT {
            module.output.shrink_to(MAX_KEPT);
        }
        let at = u64::try_from(module.output.as_ptr().addr()).unwrap_or_default();
        at << 32 | u64::try_from(module.output.len()).unwrap_or_default()
    })
}

fn split(input: &[u8]) -> Result<(&str, &[u8]), Error> {
    let invalid = |message| Error::new(Code::Invalid, "$", message);
    let (line, text) = find(input, b'\n')
        .and_then(|at| input.split_at_checked(at))
        .ok_or_else(|| invalid("the call must start with a line that names it"))?;
    let line =
        std::str::from_utf8(line).map_err(|_| invalid("the line of the call must be UTF-8"))?;
    Ok((line, text.get(1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    //! Tests the ABI in native code. The returned pointer is too short there, so the tests read the answer from the
    //! module itself; `tests/vectors/abi.rs` reads through the pointer, under wasmtime.

    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    const PROJECT: &[u8] = br#"project
{"restrictions":[]}"#;
    const QUESTION: &[u8] = br#"project
{"projectId":"3f1c2a60-5b1e-4c4e-9f52-0a6f4c1de001","item":{"id":"a"}}"#;

    fn write(input: &[u8]) {
        tillgate_input(input.len());
        MODULE.with_borrow_mut(|module| {
            for (target, byte) in module.input.iter_mut().zip(input) {
                *target = *byte;
            }
        });
    }

    fn answer() -> Vec<u8> {
        MODULE.with_borrow(|module| module.output.clone())
    }

    fn prepare(input: &[u8]) -> Vec<u8> {
        write(input);
        tillgate_prepare(input.len());
        answer()
    }

    fn evaluate(handle: u32, input: &[u8]) -> Vec<u8> {
        write(input);
        tillgate_evaluate(handle, input.len());
        answer()
    }

    fn handle(answer: &[u8]) -> Option<u32> {
        let number = answer.strip_prefix(&[OK])?;
        serde_json::from_slice(number).ok()
    }

    fn is_answer(answer: &[u8]) -> bool {
        answer.split_first().is_some_and(|(first, text)| {
            matches!(*first, OK | FAILED) && serde_json::from_slice::<IgnoredAny>(text).is_ok()
        })
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Prepare,
        Evaluate(usize),
        Release(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            Just(Step::Prepare),
            (0_usize..12).prop_map(Step::Evaluate),
            (0_usize..12).prop_map(Step::Release),
        ]
    }

    proptest! {
        #[test]
        fn a_handle_answers_from_its_preparation_to_its_release_and_never_again(
            steps in prop::collection::vec(step(), 0..60),
        ) {
            let mut known: Vec<(u32, bool)> = Vec::new();
            for step in steps {
                match step {
                    Step::Prepare => {
                        let handle = handle(&prepare(PROJECT));
                        prop_assert!(handle.is_some_and(|handle| handle != 0));
                        let handle = handle.unwrap_or_default();
                        prop_assert!(known.iter().all(|(other, _)| *other != handle));
                        known.push((handle, true));
                    }
                    Step::Release(index) => {
                        if let Some((handle, alive)) = known.get_mut(index) {
                            tillgate_release(*handle);
                            *alive = false;
                        }
                    }
                    Step::Evaluate(index) => {
                        let (handle, alive) = known.get(index).copied().unwrap_or_default();
                        let answer = evaluate(handle, QUESTION);
                        let stale = br#"1{"code":"unknown_handle""#;
                        prop_assert_eq!(answer.starts_with(stale), !alive);
                        prop_assert_eq!(answer.first() == Some(&OK), alive);
                    }
                }
            }
            for (handle, _) in known {
                tillgate_release(handle);
            }
            prop_assert!(MODULE.with_borrow(|module| module.prepared.is_empty()));
        }

        #[test]
        fn any_bytes_have_an_answer(
            input in prop::collection::vec(any::<u8>(), 0..200),
            line in "(record-denials |record )?(lenient )?(explain )?(catalog|project|basket [0-9]{0,12}|condition [a-z]?)\n",
            number in any::<u32>(),
            beyond in 0_usize..1000,
        ) {
            let mut input = [line.as_bytes(), &input].concat();
            let prepared = prepare(&input);
            prop_assert!(is_answer(&prepared));
            if let Some(handle) = handle(&prepared) {
                tillgate_release(handle);
            }
            prop_assert!(is_answer(&evaluate(number, &input)));
            input.reverse();
            prop_assert!(is_answer(&evaluate(number, &input)));
            write(&input);
            tillgate_prepare(input.len() + beyond);
            prop_assert!(is_answer(&answer()));
        }
    }

    #[test]
    fn handles_wrap_around_and_skip_those_in_use() {
        let first = handle(&prepare(PROJECT));
        MODULE.with_borrow_mut(|module| module.last_handle = u32::MAX - 1);
        let last = handle(&prepare(PROJECT));
        let next = handle(&prepare(PROJECT));
        assert_eq!((first, last, next), (Some(1), Some(u32::MAX), Some(2)));
    }

    #[test]
    fn a_large_input_is_freed_after_its_call() {
        let large = vec![b' '; 3 * MAX_KEPT];
        prepare(&large);
        MODULE.with_borrow(|module| assert_eq!(module.input.capacity(), 0));
    }
}
