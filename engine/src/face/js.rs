//! The JavaScript face: strings in and out, for the npm package and the page. Errors are values here too: nothing
//! throws out of the module.
//!
//! Requests and answers cross as JSON texts: an object with an open map, such as an item's properties, crosses several
//! times faster that way, and reading objects here would be a fifth of the module's size for half a microsecond a call.
//! What crosses rarely, an error of a preparation, crosses as an object.

use serde_wasm_bindgen::Serializer;
use wasm_bindgen::prelude::*;

use super::{FAILED, Prepared};
use crate::decision::Reason;

/// A catalog or a project that was prepared.
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

/// A sentence for an operator about a reason's code, `undefined` when it is none.
#[wasm_bindgen]
pub fn describe(reason: &str) -> Option<String> {
    Reason::from_code(reason).map(|reason| reason.description().to_owned())
}

fn to_object(value: &impl serde::Serialize) -> JsValue {
    value
        .serialize(&Serializer::json_compatible())
        .unwrap_or(JsValue::NULL)
}

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).unwrap_or_else(|_| char::from(FAILED).to_string())
}
