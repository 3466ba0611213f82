//! The OpenAPI document of a host, and checks of requests and answers against it.
#![allow(dead_code, reason = "each test file takes what it needs")]

use serde_json::{Map, Value, json};

use super::host::Host;

/// The document of a host.
pub struct Documented(Value);

/// A request and its answer.
pub struct Exchange<'a> {
    pub method: &'a str,
    /// The path, with its query.
    pub path: &'a str,
    /// The request's body; null for none.
    pub sent: &'a Value,
    pub status: u16,
    pub headers: &'a reqwest::header::HeaderMap,
    /// The answer's body; empty for a stream.
    pub body: &'a [u8],
}

/// Headers that appear only while the store is unavailable.
const SELDOM: [&str; 1] = ["Tillgate-Stale"];

impl Documented {
    pub async fn of(host: &Host) -> Self {
        let (status, document) = host.get("/openapi.json", "").await;
        assert_eq!(status, 200, "{document}");
        Self(document)
    }

    /// Returns the ids of the operations with one of these tags.
    pub fn tagged(&self, tags: &[&str]) -> Vec<String> {
        let paths = self.0["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|methods| methods.as_object().unwrap().values());
        let tagged = operations.filter(|one| tags.contains(&one["tags"][0].as_str().unwrap()));
        tagged.map(id_of).collect()
    }

    /// Returns the operation of a method and path, and the values of the path's parameters. A template with a fixed
    /// segment takes precedence over one with a parameter.
    fn operation(&self, method: &str, path: &str) -> Option<(&Value, Map<String, Value>)> {
        let method = method.to_ascii_lowercase();
        let paths = self.0["paths"].as_object().unwrap().iter();
        let matching = paths.filter_map(|(template, methods)| {
            let operation = methods.get(&method)?;
            Some((template, operation, values(template, path)?))
        });
        let meant = matching.min_by_key(|(_, _, values)| values.len())?;
        Some((meant.1, meant.2))
    }

    fn resolved<'d>(&'d self, value: &'d Value) -> &'d Value {
        match value["$ref"].as_str() {
            Some(reference) => self.0.pointer(reference.trim_start_matches('#')).unwrap(),
            None => value,
        }
    }

    fn faults_of(&self, schema: &Value, value: &Value) -> Vec<String> {
        let schema = json!({ "allOf": [schema], "components": self.0["components"] });
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .should_validate_formats(true)
            .build(&schema)
            .unwrap();
        let faults = validator.iter_errors(value);
        faults
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect()
    }

    /// Returns the id of an exchange's operation, and where the exchange does not fit the document.
    pub fn check(&self, exchange: &Exchange<'_>) -> (String, Vec<String>) {
        let (path, query) = exchange.path.split_once('?').unwrap_or((exchange.path, ""));
        let Some((operation, params)) = self.operation(exchange.method, path) else {
            return (String::new(), vec!["there is no such operation".to_owned()]);
        };
        let mut faults = Vec::new();
        if (200..300).contains(&exchange.status) {
            faults.extend(self.faults_of_request(operation, params, query, exchange.sent));
        }
        let status = exchange.status.to_string();
        match operation["responses"].get(&status) {
            Some(answer) => faults.extend(self.faults_of_answer(self.resolved(answer), exchange)),
            None => faults.push(format!("the status {status} is not documented")),
        }
        (id_of(operation), faults)
    }

    /// Returns where an accepted request does not fit the document.
    fn faults_of_request(
        &self,
        operation: &Value,
        params: Map<String, Value>,
        query: &str,
        sent: &Value,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        let queried = form_urlencoded::parse(query.as_bytes());
        let queried = queried.map(|(name, value)| ("query", name.into_owned(), value.into_owned()));
        let in_path = params
            .into_iter()
            .map(|(name, value)| ("path", name, value.as_str().unwrap().to_owned()));
        for (place, name, text) in in_path.chain(queried) {
            let mut known = operation["parameters"].as_array().into_iter().flatten();
            let Some(known) = known.find(|one| one["name"] == *name && one["in"] == place) else {
                faults.push(format!("the parameter {name} is not documented"));
                continue;
            };
            let schema = &known["schema"];
            let value = match schema["type"].as_str() {
                Some("integer" | "boolean") => {
                    serde_json::from_str(&text).unwrap_or_else(|_| json!(text))
                }
                _ => json!(text),
            };
            let found = self.faults_of(schema, &value);
            faults.extend(
                found
                    .into_iter()
                    .map(|it| format!("parameter {name}: {it}")),
            );
        }
        let body = &operation["requestBody"];
        match (sent.is_null(), body.is_null()) {
            (true, false) if body["required"] == true => {
                faults.push("a body that is required is not".to_owned());
            }
            (true, _) => {}
            (false, true) => faults.push("a body is not documented".to_owned()),
            (false, false) => {
                // It must fit one of the media types.
                let contents = body["content"].as_object().unwrap().values();
                let found = contents.map(|content| self.faults_of(&content["schema"], sent));
                let found = found.min_by_key(Vec::len).unwrap();
                faults.extend(found.into_iter().map(|it| format!("sent {it}")));
            }
        }
        faults
    }

    fn faults_of_answer(&self, answer: &Value, exchange: &Exchange<'_>) -> Vec<String> {
        let mut faults = Vec::new();
        let headers = exchange.headers;
        // A dry run makes no version.
        let is_dry_run = exchange.path.contains("dryRun=true");
        for name in answer["headers"].as_object().unwrap().keys() {
            let may_lack = SELDOM.contains(&&**name) || is_dry_run && name == "ETag";
            if !headers.contains_key(name) && !may_lack {
                faults.push(format!("the header {name} is documented and not there"));
            }
        }
        let media_type = headers.get("content-type");
        let media_type = media_type.map(|value| value.to_str().unwrap().split(';').next().unwrap());
        let contents = answer.get("content");
        let (Some(media_type), Some(contents)) = (media_type, contents) else {
            if contents.is_some() || !exchange.body.is_empty() {
                let has = media_type.unwrap_or("nothing");
                faults.push(format!("it has {has}, and the document says {contents:?}"));
            }
            return faults;
        };
        let Some(content) = contents.get(media_type) else {
            faults.push(format!("the media type {media_type} is not documented"));
            return faults;
        };
        if media_type.ends_with("json") {
            let body: Value = serde_json::from_slice(exchange.body).unwrap();
            faults.extend(self.faults_of(&content["schema"], &body));
            let codes = answer["x-problem-codes"].as_array();
            if codes.is_some_and(|codes| !codes.contains(&body["code"])) {
                faults.push(format!("the code {} is not documented", body["code"]));
            }
        }
        faults
    }
}

fn id_of(operation: &Value) -> String {
    operation["operationId"].as_str().unwrap().to_owned()
}

/// Returns the values of a template's parameters in a path, if the path matches the template.
fn values(template: &str, path: &str) -> Option<Map<String, Value>> {
    let (steps, found) = (template.split('/'), path.split('/'));
    if steps.clone().count() != found.clone().count() {
        return None;
    }
    let mut values = Map::new();
    for (step, found) in steps.zip(found) {
        match step.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
            Some(name) => {
                values.insert(name.to_owned(), json!(found));
            }
            None if step == found => {}
            None => return None,
        }
    }
    Some(values)
}
