//! The vectors of `tests/vectors`: the bytes to send and the bytes to expect (`vectors/README.md`).
//!
//! Objects keep the order of their members, whatever features `serde_json` is built with: the requests and the
//! expected answers are texts, and a feature for this purpose would change the crates under test.

use std::fmt;
use std::path::{Path, PathBuf};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// A call of the module.
#[derive(Debug)]
pub enum Call {
    /// A document to prepare, and optionally an evaluation: its line and its request.
    Prepare {
        line: String,
        document: Vec<u8>,
        evaluate: Option<(String, Vec<u8>)>,
    },
    /// A document to prepare, and rows to decide with it: the line and the request.
    Many {
        line: String,
        document: Vec<u8>,
        many: (String, Vec<u8>),
    },
    /// A request of rate math.
    Rates(Vec<u8>),
    /// A request about a signature.
    Signature(Vec<u8>),
    /// A rule whose findings are requested.
    Findings(Vec<u8>),
    /// Two versions of a rule.
    Compare(Vec<u8>),
    /// A document whose tests are run.
    Tests(Vec<u8>),
}

/// A parsed vector.
#[derive(Debug)]
pub struct Vector {
    /// Its file, below `tests/vectors`.
    pub file: String,
    pub name: String,
    pub call: Call,
    /// The expected bytes: `0` and the text of the result, or `1` and the text of the error; `0null` for the handle of
    /// a prepared document.
    pub answer: Vec<u8>,
}

/// Returns every vector.
pub fn all() -> Vec<Vector> {
    let folder = root().join("tests/vectors");
    let mut vectors = Vec::new();
    for path in files(&folder) {
        let text = std::fs::read(&path).expect("the vectors are readable");
        let read: Json = serde_json::from_slice(&text).expect("a file of vectors is JSON");
        let file = path.strip_prefix(&folder).expect("it is in the folder");
        let of_file = read
            .member("vectors")
            .elements()
            .iter()
            .map(|vector| Vector {
                file: file.display().to_string(),
                name: vector.member("name").text().to_owned(),
                call: call(vector.member("call")),
                answer: answer(vector.member("answer")),
            });
        vectors.extend(of_file);
    }
    assert!(!vectors.is_empty(), "there are no vectors");
    vectors
}

/// Runs every vector, and fails with the names of those whose answer differs from the expected bytes.
pub fn check(mut run: impl FnMut(&Call) -> Vec<u8>) {
    let mut wrong = Vec::new();
    let vectors = all();
    for vector in &vectors {
        let actual = run(&vector.call);
        if actual != vector.answer {
            wrong.push(format!(
                "{}: {}\n  expected {}\n  actual   {}",
                vector.file,
                vector.name,
                String::from_utf8_lossy(&vector.answer),
                String::from_utf8_lossy(&actual)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} vectors failed\n{}",
        wrong.len(),
        vectors.len(),
        wrong.join("\n")
    );
}

/// Returns the directory of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the vectors exist") {
        let path = entry.expect("the vectors exist").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn call(call: &Json) -> Call {
    if let Some(request) = sent(call, "rates") {
        return Call::Rates(request);
    }
    if let Some(request) = sent(call, "signature") {
        return Call::Signature(request);
    }
    if let Some(request) = sent(call, "findings") {
        return Call::Findings(request);
    }
    if let Some(request) = sent(call, "compare") {
        return Call::Compare(request);
    }
    if let Some(request) = sent(call, "tests") {
        return Call::Tests(request);
    }
    let request = |line: &Json| {
        let request = sent(call, "request").expect("an evaluation has a request");
        (line.text().to_owned(), request)
    };
    let line = call.member("prepare").text().to_owned();
    let document = sent(call, "document").expect("a preparation has a document");
    if let Some(many) = call.find("evaluateMany") {
        return Call::Many {
            line,
            document,
            many: request(many),
        };
    }
    Call::Prepare {
        line,
        document,
        evaluate: call.find("evaluate").map(request),
    }
}

/// Returns the bytes of a member of a call, in any of its three forms.
fn sent(call: &Json, member: &str) -> Option<Vec<u8>> {
    if let Some(bytes) = call.find(&format!("{member}Base64")) {
        return Some(
            BASE64_STANDARD
                .decode(bytes.text())
                .expect("the bytes are in Base64"),
        );
    }
    if let Some(text) = call.find(&format!("{member}Text")) {
        return Some(text.text().as_bytes().to_vec());
    }
    call.find(member).map(compact)
}

fn answer(answer: &Json) -> Vec<u8> {
    let (first, value) = match answer.find("ok") {
        Some(value) => (b'0', value),
        None => (b'1', answer.member("error")),
    };
    let mut bytes = vec![first];
    bytes.extend(compact(value));
    bytes
}

fn compact(value: &Json) -> Vec<u8> {
    serde_json::to_vec(value).expect("a JSON value is JSON")
}

/// A JSON value whose objects keep the order of their members.
enum Json {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn find(&self, key: &str) -> Option<&Json> {
        let Json::Object(members) = self else {
            panic!("expected an object with {key}");
        };
        members
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    fn member(&self, key: &str) -> &Json {
        self.find(key)
            .unwrap_or_else(|| panic!("expected a member {key}"))
    }

    fn elements(&self) -> &[Json] {
        let Json::Array(elements) = self else {
            panic!("expected an array");
        };
        elements
    }

    fn text(&self) -> &str {
        let Json::Text(text) = self else {
            panic!("expected a string");
        };
        text
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(value) => value.serialize(serializer),
            Json::Text(value) => serializer.serialize_str(value),
            Json::Array(elements) => serializer.collect_seq(elements),
            Json::Object(members) => {
                serializer.collect_map(members.iter().map(|(key, value)| (key, value)))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Number(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(Json::Number(value.into()))
            }

            fn visit_str<E>(self, value: &str) -> Result<Json, E> {
                Ok(Json::Text(value.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = access.next_element()? {
                    elements.push(element);
                }
                Ok(Json::Array(elements))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = access.next_entry()? {
                    members.push(member);
                }
                Ok(Json::Object(members))
            }
        }

        deserializer.deserialize_any(Any)
    }
}
