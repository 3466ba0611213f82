//! Runs every vector through the Rust library, without the WebAssembly module.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(
    unreachable_pub,
    missing_docs,
    reason = "nothing outside can reach a test"
)]

use tillgate_engine::face::{Line, Prepared};
use tillgate_engine::{Error, compare, findings, rate, signature, tests};

#[path = "../../tests/support/vector.rs"]
mod vector;

use vector::Call;

#[test]
fn the_library_answers_every_vector() {
    vector::check(|call| match call {
        Call::Prepare {
            line,
            document,
            evaluate,
        } => match (Prepared::new(line, document), evaluate) {
            (Err(error), _) => failed(&error),
            (Ok(_), None) => b"0null".to_vec(),
            (Ok(prepared), Some((line, request))) => {
                let mut out = Vec::new();
                prepared.evaluate(Line::of(line), request, None, &mut out);
                out
            }
        },
        Call::Many {
            line,
            document,
            many: (call, request),
        } => match Prepared::new(line, document) {
            Err(error) => failed(&error),
            Ok(prepared) => {
                let mut out = Vec::new();
                match prepared.evaluate_many(Line::of(call), request, &mut out) {
                    Ok(()) => out,
                    Err(error) => failed(&error),
                }
            }
        },
        Call::Rates(request) => answered(request, rate::text::answer),
        Call::Signature(request) => answered(request, signature::text::answer),
        Call::Findings(request) => answered(request, findings::answer),
        Call::Compare(request) => answered(request, compare::answer),
        Call::Tests(request) => answered(request, tests::text::answer),
    });
}

fn answered(request: &[u8], answer: fn(&[u8], &mut Vec<u8>) -> Result<(), Error>) -> Vec<u8> {
    let mut out = b"0".to_vec();
    match answer(request, &mut out) {
        Ok(()) => out,
        Err(error) => failed(&error),
    }
}

fn failed(error: &Error) -> Vec<u8> {
    let mut out = b"1".to_vec();
    out.extend(serde_json::to_vec(error).expect("an error is JSON"));
    out
}
