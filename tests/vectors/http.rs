//! Every vector that HTTP can carry: its catalog is put through the API, its call is made, and the answers are compared.

use std::fmt::Write;

use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tillgate_engine::restriction::ProjectId;

use super::vector::{self, Call, Vector};
use crate::support::host::Host;
use crate::support::wire::{message, send_one};

/// The subjects that have no routes, or routes of another kind: findings are those of stored rules (`rules/findings.rs`).
const WITHOUT_ROUTES: &[&str] = &[
    "rates/",
    "signature.json",
    "decisions/many.json",
    "findings.json",
    "compare.json",
    "tests.json",
];

/// The vectors that HTTP cannot carry: the reason, the file, and their names.
const NOT_OVER_HTTP: &[(&str, &str, &[&str])] = &[
    (
        "no request holds a whole catalog: its elements are put one by one",
        "decisions/catalog.json",
        &[
            "global and tenant are required, projects are not",
            "lists of null are refused",
            "lists as objects are refused",
            "null is no catalog",
            "an array is no catalog",
        ],
    ),
    (
        "no request holds a whole catalog",
        "decisions/json-text.json",
        &[
            "a document that is empty is refused",
            "a byte order mark before a document is skipped",
        ],
    ),
    (
        "an element is put under the id of its path, and what is wrong with an id is said of that",
        "decisions/catalog.json",
        &[
            "a condition lacks everything",
            "every fault of several conditions is listed",
            "a condition's id that is empty is refused",
            "a condition's id that has a space is refused",
            "a condition's id that has a slash is refused",
            "a condition's id that has a letter outside ASCII is refused",
            "a condition's id that has 65 characters is refused",
            "a condition's id that has a newline is refused",
            "a condition's id of null is refused",
            "a project of a catalog must have an id",
            "faults of projects stand beside those of conditions",
        ],
    ),
    (
        "a project is put under the id of its path, which its own must be",
        "decisions/project.json",
        &["a project that is prepared alone need not say its id"],
    ),
    (
        "the second element of an id replaces the first",
        "decisions/catalog.json",
        &[
            "a list with an id twice is refused: which one decides would be a guess",
            "a project there twice is refused, in whatever case",
        ],
    ),
    (
        "a condition is stored with the scope of its route, and refused with another",
        "decisions/resolution.json",
        &["the scope that a condition states is not looked at: its list is its scope"],
    ),
    (
        "HTTP clients take these ids for dot segments, so the host refuses them there",
        "decisions/resolution.json",
        &["ids of dots are ids"],
    ),
    (
        "a path with an empty id is that of no route",
        "decisions/resolution.json",
        &["an empty id is refused"],
    ),
    (
        "the line of a call is the module's: HTTP has a route for each call that there is",
        "decisions/catalog.json",
        &["a call that prepares neither is refused"],
    ),
    (
        "the line of a call is the module's",
        "decisions/json-text.json",
        &["a text that is no call's at all is refused as text first"],
    ),
    (
        "the line of a call is the module's",
        "decisions/project.json",
        &[
            "a project answers no condition",
            "a project answers no basket",
            "a catalog does not know the call \"\"",
            "a catalog does not know the call \"condition\"",
            "a catalog does not know the call \"conditions a\"",
            "a catalog does not know the call \"Basket\"",
            "a catalog does not know the call \"project \"",
            "a catalog does not know the call \" project\"",
        ],
    ),
    (
        "the line of a call is the module's",
        "decisions/explain.json",
        &[
            "a project explains no condition",
            "a catalog does not know the call \"explain \"",
            "a catalog does not know the call \"explain\"",
            "a catalog does not know the call \"explain explain project\"",
            "a catalog does not know the call \"explain  project\"",
            "a catalog does not know the call \"Explain project\"",
            "a catalog does not know the call \"explain condition\"",
        ],
    ),
];

/// The minimum number of vectors to run: the number when this was written.
const RUN: usize = 810;

/// The id of a project when the request names none.
const PROJECT: &str = "3f1c2a60-5b1e-4c4e-9f52-0a6f4c1de001";

const JSON: (&str, &str) = ("content-type", "application/json");

/// A catalog or one of its lists, with each element's text.
#[derive(Deserialize)]
struct Catalog<'a> {
    #[serde(borrow)]
    global: Vec<&'a RawValue>,
    tenant: Vec<&'a RawValue>,
    #[serde(default)]
    projects: Vec<&'a RawValue>,
}

/// A host, and the documents of the previous vector that it holds.
struct Shop {
    host: Host,
    operator: String,
    tenant: String,
    line: String,
    document: Vec<u8>,
    /// True if requests ask to ignore unknown members.
    lenient: bool,
    faults: Vec<String>,
    /// True if all of the faults are unknown members.
    is_only_unknown: bool,
    paths: Vec<String>,
}

impl Shop {
    async fn open() -> Self {
        let host = Host::start().await;
        let operator = host.token("platform", &["platform.operator"]).await;
        let tenant = host.token("shop", &["ecs.editor", "ecs.evaluator"]).await;
        Self {
            host,
            operator,
            tenant,
            line: String::new(),
            document: Vec::new(),
            lenient: false,
            faults: Vec::new(),
            is_only_unknown: true,
            paths: Vec::new(),
        }
    }

    /// Sends a request with an unchanged path, so that an id of dots stays an id. Returns the status and the body.
    async fn send(&self, method: Method, path: &str, body: &[u8]) -> (u16, String) {
        let global = path.starts_with("/api/v1/global-");
        let token = if global { &self.operator } else { &self.tenant };
        let bearer = format!("Bearer {token}");
        let prefer = if self.lenient {
            "handling=lenient"
        } else {
            "handling=strict"
        };
        let headers = [("authorization", bearer.as_str()), ("prefer", prefer), JSON];
        let request = message(&format!("{method} {path}"), &headers, body);
        let response = send_one(&self.host.url, &request).await;
        (response.status, response.body)
    }

    /// Puts the document of a call and removes all others. `faults` has the reasons if it is refused.
    async fn hold(&mut self, line: &str, document: &[u8], project: &str) {
        let held = self.line == line && self.document == document && !self.lenient;
        if !held || line == "project" {
            for path in std::mem::take(&mut self.paths).iter().rev() {
                let (status, body) = self.send(Method::DELETE, path, b"").await;
                assert_eq!(status, 204, "{path}: {body}");
            }
            (self.line, self.document) = (line.to_owned(), document.to_owned());
            self.faults = Vec::new();
            self.is_only_unknown = true;
            if line == "project" {
                self.put(project_path(project), document, "$").await;
            } else {
                self.put_catalog(document).await;
            }
        }
    }

    async fn put_catalog(&mut self, document: &[u8]) {
        let Ok(catalog) = serde_json::from_slice::<Catalog<'_>>(document) else {
            return self.faults.push("not a catalog of lists".to_owned());
        };
        // A tenant cannot put a condition whose id a global one has, so the tenant's come first.
        for (at, element) in catalog.tenant.iter().enumerate() {
            let path = condition_path("entity-conditions", element);
            self.put(path, element.get().as_bytes(), &format!("$.tenant[{at}]"))
                .await;
        }
        let of_tenant = std::mem::take(&mut self.faults);
        for (at, element) in catalog.global.iter().enumerate() {
            let path = condition_path("global-entity-conditions", element);
            self.put(path, element.get().as_bytes(), &format!("$.global[{at}]"))
                .await;
        }
        self.faults.extend(of_tenant);
        for (at, element) in catalog.projects.iter().enumerate() {
            let path = project_path(&member(element, "projectId").unwrap_or(PROJECT.to_owned()));
            self.put(path, element.get().as_bytes(), &format!("$.projects[{at}]"))
                .await;
        }
    }

    /// Puts one document. Its faults are recorded with their place in the vector's document.
    async fn put(&mut self, path: String, body: &[u8], place: &str) {
        let (status, answer) = self.send(Method::PUT, &path, body).await;
        match status {
            201 => self.paths.push(path),
            400 => {
                self.is_only_unknown &= code(&answer) == "unknown_member";
                let faults = messages(&answer).into_iter();
                self.faults
                    .extend(faults.map(|fault| fault.replacen('$', place, 1)));
            }
            _ => self.faults.push(format!("{path}: {status} {answer}")),
        }
    }

    /// Returns the answer to a vector's call: its status, and the body or the faults.
    async fn answer(
        &mut self,
        line: &str,
        document: &[u8],
        evaluate: Option<&(String, Vec<u8>)>,
    ) -> String {
        let request = evaluate.map_or(b"{}".as_slice(), |(_, request)| request);
        let project = serde_json::from_slice::<Value>(request).ok();
        let project = project.and_then(|request| Some(request["projectId"].as_str()?.to_owned()));
        let project = project.filter(|id| ProjectId::new(id).is_some());
        let project = project.unwrap_or(PROJECT.to_owned());
        let plain = line.strip_prefix("lenient ");
        self.lenient = plain.is_some();
        self.hold(plain.unwrap_or(line), document, &project).await;
        if !self.faults.is_empty() {
            let code = if self.is_only_unknown {
                "unknown_member"
            } else {
                "invalid"
            };
            return format!("400 {code} {:#?}", self.faults);
        }
        let Some((call, request)) = evaluate else {
            return "200 null".to_owned();
        };
        let plain = call.strip_prefix("lenient ");
        self.lenient = plain.is_some();
        let call = plain.unwrap_or(call);
        let (call, query) = match call.strip_prefix("explain ") {
            Some(call) => (call, "?explain=true"),
            None => (call, ""),
        };
        let path = match call.split_once(' ') {
            Some(("condition", id)) => format!("/api/v1/conditions/{}/evaluate", segment(id)),
            None if call == "project" => "/api/v1/project-restrictions/evaluate".to_owned(),
            None if call == "basket" => "/api/v1/evaluations".to_owned(),
            _ => return format!("no route for {call:?}"),
        } + query;
        let (status, body) = self.send(Method::POST, &path, request).await;
        match status {
            200 => format!("200 {body}"),
            400 => format!("400 {} {:#?}", code(&body), messages(&body)),
            _ => format!("{status} {}", code(&body)),
        }
    }
}

/// Returns a vector's answer in the form of [`Shop::answer`].
fn expected(vector: &Vector) -> String {
    let (kind, text) = vector.answer.split_first().expect("an answer");
    if *kind == b'0' {
        return format!("200 {}", String::from_utf8_lossy(text));
    }
    let error: Value = serde_json::from_slice(text).unwrap();
    let code = error["code"].as_str().unwrap();
    if code == "condition_not_found" {
        return format!("404 {code}");
    }
    let text = |fault: &Value, member: &str| fault[member].as_str().unwrap().to_owned();
    let faults = error["faults"].as_array().unwrap().iter();
    let faults: Vec<String> = faults
        .map(|fault| format!("{} {}", text(fault, "path"), text(fault, "message")))
        .collect();
    format!("400 {code} {faults:#?}")
}

/// Returns the messages of a problem.
fn code(body: &str) -> String {
    let problem: Value = serde_json::from_str(body).unwrap();
    problem["code"].as_str().unwrap().to_owned()
}

fn messages(body: &str) -> Vec<String> {
    let problem: Value = serde_json::from_str(body).unwrap();
    serde_json::from_value(problem["message"].clone()).unwrap()
}

fn member(element: &RawValue, name: &str) -> Option<String> {
    let value: Value = serde_json::from_str(element.get()).unwrap();
    value.get(name)?.as_str().map(str::to_owned)
}

fn condition_path(list: &str, element: &RawValue) -> String {
    let id = member(element, "id").unwrap_or("unnamed".to_owned());
    format!("/api/v1/{list}/{}", segment(&id))
}

fn project_path(id: &str) -> String {
    format!("/api/v1/projects/{}", segment(id))
}

/// Returns a text as a segment of a path.
fn segment(text: &str) -> String {
    text.bytes().fold(String::new(), |mut segment, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            segment.push(byte.into());
        } else {
            let _ = write!(segment, "%{byte:02X}");
        }
        segment
    })
}

#[tokio::test]
async fn http_answers_every_vector_that_it_can_carry() {
    let vectors = vector::all();
    for (_, file, names) in NOT_OVER_HTTP {
        for name in *names {
            let is_it = |vector: &&Vector| vector.file == *file && vector.name == *name;
            assert_eq!(vectors.iter().filter(is_it).count(), 1, "{file}: {name}");
        }
    }
    let mut shop = Shop::open().await;
    let (mut run, mut wrong) = (0, Vec::new());
    for vector in &vectors {
        let Vector {
            file, name, call, ..
        } = vector;
        let excepted =
            |(_, of, names): &(&str, &str, &[&str])| file == of && names.contains(&name.as_str());
        if WITHOUT_ROUTES.iter().any(|start| file.starts_with(start))
            || NOT_OVER_HTTP.iter().any(excepted)
        {
            continue;
        }
        let Call::Prepare {
            line,
            document,
            evaluate,
        } = call
        else {
            panic!("{file}: {name} has no route")
        };
        let actual = shop.answer(line, document, evaluate.as_ref()).await;
        let expected = expected(vector);
        run += 1;
        if actual != expected {
            wrong.push(format!(
                "{file}: {name}\n  expected {expected}\n  actual   {actual}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {run} vectors failed\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(run >= RUN, "{run} vectors were run");
}
