//! The JavaScript face: strings in, strings out. Errors are return values: the module throws nothing.
//!
//! Requests, answers and documents are passed as JSON texts. An object with arbitrary members, such as an item's
//! properties, passes several times faster that way. Reading objects with `serde-wasm-bindgen` would also add a quarter
//! to the module's size, because its errors print floats. The error of a preparation is rare, and is passed as an
//! object.

use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::prelude::*;

use super::{FAILED, Line, Prepared};
use crate::error::Error;
use crate::outcome::Reason;

/// A catalog or a project, prepared for many evaluations.
#[wasm_bindgen(js_name = Prepared)]
#[derive(Debug)]
pub struct JsPrepared(Prepared);

#[wasm_bindgen(js_class = Prepared)]
impl JsPrepared {
    /// Prepares a document (`catalog` or `project`, and its JSON text). Returns a `Prepared`, or an error
    /// `{ code, path, message, faults }`.
    pub fn prepare(line: &str, document: &str) -> JsValue {
        match Prepared::new(line, document.as_bytes()) {
            Ok(prepared) => Self(prepared).into(),
            Err(error) => to_object(&error),
        }
    }

    /// Decides about a request's JSON text. Returns `0` and the answer's text, or `1` and the error's.
    #[wasm_bindgen(js_name = evaluateText)]
    pub fn evaluate_text(&self, line: &str, request: &str) -> String {
        let mut out = Vec::with_capacity(512);
        self.0
            .evaluate(Line::of(line), request.as_bytes(), None, &mut out);
        text(out)
    }

    /// Decides about the JSON text of many rows. Returns `0` and the answer's text, or `1` and the error's.
    #[wasm_bindgen(js_name = evaluateManyText)]
    pub fn evaluate_many_text(&self, line: &str, rows: &str) -> String {
        let mut out = Vec::with_capacity(512);
        let answered = self
            .0
            .evaluate_many(Line::of(line), rows.as_bytes(), &mut out);
        super::write_error(answered, &mut out);
        text(out)
    }
}

/// Does rate math, many calls at a time. Returns `0` and the answer's text, or `1` and the error's.
#[wasm_bindgen]
pub fn rates(request: &str) -> String {
    exchange(request, super::rates)
}

/// Makes or verifies a webhook's signature. Returns `0` and the answer's text, or `1` and the error's.
#[wasm_bindgen]
pub fn signature(request: &str) -> String {
    exchange(request, super::signature)
}

/// Finds what is wrong with a rule. Returns `0` and the answer's text, or `1` and the error's.
#[wasm_bindgen]
pub fn findings(request: &str) -> String {
    exchange(request, super::findings)
}

/// Compares the decisions of two versions of a rule. Returns `0` and the answer's text, or `1` and the error's.
#[wasm_bindgen]
pub fn compare(request: &str) -> String {
    exchange(request, super::compare)
}

/// Runs the tests of a condition, a project or a catalog. Returns `0` and the answer's text, or `1` and the error's.
#[wasm_bindgen]
pub fn tests(request: &str) -> String {
    exchange(request, super::tests)
}

/// Returns a sentence for an operator about a reason's code, or `undefined` if there is no such reason.
#[wasm_bindgen]
pub fn describe(reason: &str) -> Option<String> {
    Reason::from_code(reason).map(|reason| reason.description().to_owned())
}

/// Converts an error to an object, which has `null` and not `undefined` for a missing value.
fn to_object(error: &Error) -> JsValue {
    let object = error.serialize(&Serializer::json_compatible());
    object.unwrap_or(JsValue::NULL)
}

fn exchange(request: &str, run: fn(&[u8], &mut Vec<u8>) -> Result<(), Error>) -> String {
    let mut out = Vec::with_capacity(512);
    let answered = run(request.as_bytes(), &mut out);
    super::write_error(answered, &mut out);
    text(out)
}

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).unwrap_or_else(|_| char::from(FAILED).to_string())
}
