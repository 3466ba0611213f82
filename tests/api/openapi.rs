//! The OpenAPI document: every route is described completely or says why it is not, with examples that fit their schemas.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use tillgate_http::{Access, Audits, Describes, Route};

use crate::support::host::Host;

/// The reasons why routes are not in the document.
const EXEMPT: &[&str] = &["the page and its files are for browsers"];

async fn host() -> (Host, Vec<Route>, Value) {
    let host = Host::start().await;
    let routes = host.features.routes(&host.app);
    let (status, document) = host.get("/openapi.json", "").await;
    assert_eq!(status, 200);
    (host, routes, document)
}

/// Returns each operation of a document, with its method and path.
fn operations(document: &Value) -> impl Iterator<Item = (String, &Map<String, Value>)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, operation)| {
            let name = format!("{} {path}", method.to_ascii_uppercase());
            (name, operation.as_object().unwrap())
        })
    })
}

/// Resolves a reference within the document.
fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value["$ref"].as_str() {
        Some(reference) => document
            .pointer(reference.trim_start_matches('#'))
            .unwrap_or_else(|| panic!("{reference} is not there")),
        None => value,
    }
}

/// Returns where an example does not fit its schema in the document.
fn faults(document: &Value, schema: &Value, example: &Value) -> Vec<String> {
    let schema = json!({ "allOf": [schema], "components": document["components"] });
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let faults = validator.iter_errors(example);
    faults
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_described_or_says_why_not() {
    let (_host, routes, document) = host().await;
    let described: BTreeSet<_> = operations(&document).map(|(name, _)| name).collect();
    let mut served = BTreeSet::new();
    for route in &routes {
        let name = format!("{} {}", route.method, route.path);
        match route.to_described().describes {
            Describes::With(_) => {
                served.insert(name);
            }
            Describes::Exempt(why) => assert!(EXEMPT.contains(&why), "{name}: {why}"),
            Describes::Nothing => panic!("{name} is not described"),
        }
    }
    assert_eq!(described, served);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_changes_nothing_although_it_is_a_post_says_so() {
    let (_host, routes, document) = host().await;
    let unchanging: BTreeSet<_> = operations(&document)
        .filter(|(_, operation)| operation.get("x-changes-nothing") == Some(&json!(true)))
        .map(|(name, _)| name)
        .collect();
    let expected = [
        "POST /api/v1/conditions/{conditionId}/evaluate",
        "POST /api/v1/evaluations",
        "POST /api/v1/exchange-rates/convert",
        "POST /api/v1/project-restrictions/evaluate",
        "POST /oauth2/token",
    ];
    assert_eq!(unchanging, expected.map(str::to_owned).into());
    for route in &routes {
        let name = format!("{} {}", route.method, route.path);
        let is_audited = matches!(route.audits, Audits::Change(_));
        assert!(!is_audited || !unchanging.contains(&name), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_says_who_may_call_it_and_what_it_is_asked_and_answers() {
    let (_host, routes, document) = host().await;
    let (mut ids, tags) = (BTreeSet::new(), document["tags"].as_array().unwrap());
    let mut statuses = BTreeMap::new();
    for (name, operation) in operations(&document) {
        let route = routes
            .iter()
            .find(|route| format!("{} {}", route.method, route.path) == name)
            .unwrap();
        let id = operation["operationId"].as_str().unwrap();
        assert!(ids.insert(id.to_owned()), "{name}: {id} is taken");
        let tag = &operation["tags"][0];
        assert!(tags.iter().any(|one| one["name"] == *tag), "{name}: {tag}");
        let summary = operation["summary"].as_str().unwrap();
        assert!(
            !summary.is_empty() && !summary.ends_with('.'),
            "{name}: {summary}"
        );
        let security = operation["security"].as_array().unwrap();
        let is_public = matches!(route.access, Access::Public);
        assert_eq!(
            security.iter().all(|one| one.get("bearer").is_none()),
            is_public,
            "{name}"
        );
        let parameters = operation
            .get("parameters")
            .map_or(&[][..], |all| all.as_array().unwrap());
        let in_path = parameters.iter().filter(|one| one["in"] == "path");
        let in_path: BTreeSet<_> = in_path.map(|one| one["name"].as_str().unwrap()).collect();
        let braced = route.path.split('{').skip(1);
        let braced: BTreeSet<_> = braced.map(|rest| rest.split('}').next().unwrap()).collect();
        assert_eq!(in_path, braced, "{name}");
        for parameter in parameters {
            assert!(
                !parameter["description"].as_str().unwrap().is_empty(),
                "{name}"
            );
            if let Some(example) = parameter.get("example") {
                assert_eq!(
                    faults(&document, &parameter["schema"], example),
                    [""; 0],
                    "{name}"
                );
            }
        }
        let answers = operation["responses"].as_object().unwrap();
        assert!(
            answers.keys().any(|status| status.starts_with('2')),
            "{name}"
        );
        if let Some(body) = operation.get("requestBody") {
            assert!(
                !body["content"].as_object().unwrap().is_empty(),
                "{name} says what it takes"
            );
            assert!(
                operation["x-max-body-bytes"].as_u64().unwrap() > 0,
                "{name}"
            );
        }
        if !is_public {
            for status in ["400", "401", "403", "406", "500", "503"] {
                assert!(
                    answers.contains_key(status),
                    "{name} says what {status} means"
                );
            }
        }
        for (status, answer) in answers {
            let answer = resolved(&document, answer);
            assert!(
                !answer["description"].as_str().unwrap().is_empty(),
                "{name}: {status}"
            );
            assert!(
                answer["headers"].get("Correlation-Id").is_some(),
                "{name}: {status}"
            );
            let is_problem = status.parse::<u16>().unwrap() >= 400;
            if is_problem && answer["content"].get("application/json").is_none() {
                let problem = &answer["content"]["application/problem+json"];
                assert!(
                    problem.is_object(),
                    "{name}: {status} has a problem document"
                );
                for code in codes(answer) {
                    assert_eq!(*statuses.entry(code).or_insert(status), status, "{code}");
                }
                for example in problem["examples"].as_object().unwrap().values() {
                    let problem = &example["value"];
                    assert_eq!(problem["status"].to_string(), *status, "{name}");
                    let code = problem["code"].as_str().unwrap();
                    assert!(codes(answer).contains(code), "{name}: {code}");
                }
            }
        }
    }
}

/// Returns the problem codes of an answer: at least one, and the description explains each.
fn codes(answer: &Value) -> BTreeSet<&str> {
    let codes = answer["x-problem-codes"].as_array().unwrap();
    let names: BTreeSet<_> = codes.iter().map(|code| code.as_str().unwrap()).collect();
    assert!(!names.is_empty() && names.len() == codes.len(), "{codes:?}");
    let description = answer["description"].as_str().unwrap();
    for name in &names {
        let meaning = format!("`{name}`: ");
        assert!(description.contains(&meaning), "{name}: {description}");
    }
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn every_body_has_an_example_that_fits_its_schema() {
    let (_host, _, document) = host().await;
    let mut looked_at = 0;
    for (name, operation) in operations(&document) {
        let answers = operation["responses"].as_object().unwrap().values();
        let bodies = answers.map(|answer| resolved(&document, answer));
        for body in bodies.chain(operation.get("requestBody")) {
            let Some(contents) = body.get("content") else {
                continue;
            };
            for (media_type, content) in contents.as_object().unwrap() {
                // Bytes cannot be shown.
                if media_type == "application/zip" {
                    continue;
                }
                let examples = content["examples"].as_object().unwrap();
                assert!(
                    !examples.is_empty(),
                    "{name} has an example of {media_type}"
                );
                for (title, example) in examples {
                    let faults = faults(&document, &content["schema"], &example["value"]);
                    assert!(
                        faults.is_empty(),
                        "{name}, {media_type}, {title}: {faults:#?}"
                    );
                    looked_at += 1;
                }
            }
        }
    }
    assert!(looked_at > 100, "{looked_at}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_the_same_for_everyone_and_is_not_sent_twice() {
    let host = Host::start().await;
    let url = format!("{}/openapi.json", host.url);
    let first = host.http.get(&url).send().await.unwrap();
    let tag = first.headers()["etag"].clone();
    assert_eq!(first.headers()["content-type"], "application/json");
    let again = host.http.get(&url).header("if-none-match", tag);
    assert_eq!(again.send().await.unwrap().status(), 304);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_names_the_built_in_roles_that_may_call_an_operation() {
    let (_host, _, document) = host().await;
    let roles_of = |permission: &str| -> Vec<_> {
        let roles = document["x-roles"].as_array().unwrap().iter();
        let having = roles.filter(|role| {
            let mut permissions = role["permissions"].as_array().unwrap().iter();
            permissions.any(|one| one == permission)
        });
        having.map(|role| role["name"].as_str().unwrap()).collect()
    };
    let import = "exr.reference-rate.import";
    let operation = &document["paths"]["/api/v1/reference-rates/import"]["post"];
    assert_eq!(operation["security"], json!([{ "bearer": [import] }]));
    assert_eq!(roles_of(import), ["exr.editor", "platform.operator"]);
    for (name, operation) in operations(&document) {
        let permissions = operation["security"].as_array().unwrap().iter();
        let permissions = permissions.filter_map(|one| one["bearer"].as_array());
        for permission in permissions.flatten() {
            assert!(
                !roles_of(permission.as_str().unwrap()).is_empty(),
                "{name}: {permission}"
            );
        }
    }
}

/// Returns all sources of the host below a folder.
fn sources(folder: &std::path::Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap();
    let texts = entries.map(|entry| {
        let path = entry.unwrap().path();
        match path.extension() {
            _ if path.is_dir() => sources(&path),
            Some(extension) if extension == "rs" => std::fs::read_to_string(path).unwrap(),
            _ => String::new(),
        }
    });
    texts.collect()
}

/// If both had the same name, the document would have one schema for both, whichever came first.
#[test]
fn no_schema_by_hand_has_the_name_of_a_derived_one() {
    let sources = sources(std::path::Path::new(env!("CARGO_MANIFEST_DIR")));
    let by_hand = regex::Regex::new(r#"component\(\s*generator,\s*"(\w+)""#).unwrap();
    let by_hand = by_hand.captures_iter(&sources);
    let by_hand: BTreeSet<_> = by_hand.map(|found| found[1].to_owned()).collect();
    let derived = r"#\[derive\([^)]*JsonSchema[^)]*\)\](?:\s*(?:#\[[^\n]*\]|///[^\n]*))*\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum) (\w+)";
    let derived = regex::Regex::new(derived).unwrap();
    let renamed = regex::Regex::new(r#"schemars\(rename = "(\w+)""#).unwrap();
    let derived = derived.captures_iter(&sources).map(|found| {
        let other = renamed.captures(&found[0]);
        let name = other.as_ref().unwrap_or(&found);
        name[1].to_owned()
    });
    let derived: BTreeSet<_> = derived.collect();
    assert!(
        by_hand.len() > 25 && derived.len() > 75,
        "{by_hand:?} {derived:?}"
    );
    let clashes: Vec<_> = by_hand.intersection(&derived).collect();
    assert!(clashes.is_empty(), "{clashes:?}");
}
