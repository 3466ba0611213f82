//! The JavaScript face: strings in, strings out. Errors are return values: the module throws nothing.
//!
//! Requests and answers are passed as JSON texts. An object with arbitrary members, such as an item's properties, is
//! passed several times faster that way; reading objects would add a fifth to the module's size and save half a
//! microsecond a call. Only the error of a preparation, which is rare, is passed as an object.

use serde_wasm_bindgen::Serializer;
use wasm_bindgen::prelude::*;

use super::{FAILED, Prepared};
use crate::decision::Reason;
use crate::error::Error;

/// A catalog or a project, prepared for many evaluations.
#[wasm_bindgen(js_name = Prepared)]
#[derive(Debug)]
pub struct JsPrepared(Prepared);

#[wasm_bindgen(js_class = Prepared)]
impl JsPrepared {
    /// Prepares a document (`catalog` or `project`, its JSON text): a `Prepared`, or an error `{ code, path, message,
    /// faults }`.
    pub fn prepare(line: &str, document: &str) -> JsValue {
        match Prepared::new(line, document.as_bytes()) {
            Ok(prepared) => Self(prepared).into(),
            Err(error) => to_object(&error),
        }
    }

    /// Decides about a request's JSON text: `0` and the answer's text, or `1` and the error's.
    #[wasm_bindgen(js_name = evaluateText)]
    pub fn evaluate_text(&self, line: &str, request: &str) -> String {
        let mut out = Vec::with_capacity(512);
        self.0.evaluate(line, request.as_bytes(), None, &mut out);
        text(out)
    }
}

/// Rate math, many calls at a time: `0` and the answer's text, or `1` and the error's.
#[wasm_bindgen]
pub fn rates(request: &str) -> String {
    exchange(request, super::rates)
}

/// Makes or verifies a webhook's signature: `0` and the answer's text, or `1` and the error's.
#[wasm_bindgen]
pub fn signature(request: &str) -> String {
    exchange(request, super::signature)
}

/// A sentence for an operator about a reason's code; `undefined` if there is no such reason.
#[wasm_bindgen]
pub fn describe(reason: &str) -> Option<String> {
    Reason::from_code(reason).map(|reason| reason.description().to_owned())
}

fn exchange(request: &str, run: fn(&[u8], &mut Vec<u8>) -> Result<(), Error>) -> String {
    let mut out = Vec::with_capacity(512);
    let answered = run(request.as_bytes(), &mut out);
    super::write_error(answered, &mut out);
    text(out)
}

fn to_object(value: &impl serde::Serialize) -> JsValue {
    value
        .serialize(&Serializer::json_compatible())
        .unwrap_or(JsValue::NULL)
}

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).unwrap_or_else(|_| char::from(FAILED).to_string())
}
