//! `host/operations/`: Grafana and Prometheus can read the dashboard and the alerts, which name only metrics of a
//! host; the systemd unit and the image start a host with valid settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use promql_parser::label::MatchOp;
use promql_parser::parser::{Expr, VectorSelector, parse};
use promql_parser::util::{ExprVisitor, walk_expr};
use reqwest::Method;
use saphyr::{LoadableYamlNode, Yaml};
use serde_json::Value;

use crate::base::metrics::{ROLES, get, put_alcohol, question};
use crate::http::tls::Secured;
use crate::support::exposition::Scrape;
use crate::support::host::{Host, Program};
use crate::support::wait::output;

const ALERTS: &str = include_str!("../../host/operations/alerts.yaml");
const DASHBOARD: &str = include_str!("../../host/operations/grafana.json");
const UNIT: &str = include_str!("../../host/operations/tillgate.service");
const IMAGE: &str = include_str!("../../host/operations/Containerfile");
const INSTALL: &str = include_str!("../../host/docs/install.md");
const SETTINGS: &str = include_str!("../../host/base/src/config/default.toml");
const MANUAL: &str = include_str!("../../host/docs/operate.md");

/// The labels that Prometheus adds to every series.
const ADDED: &[&str] = &["job", "instance"];

/// The metrics of a host, with their labels and the values of the labels.
type Measured = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

async fn measured() -> Measured {
    let host = Host::start().await;
    let token = host.token("acme", ROLES).await;
    put_alcohol(&host, &token).await;
    let (request, path) = (question(17), crate::base::metrics::EVALUATE);
    let (status, _) = host.send(Method::POST, path, &token, &request).await;
    assert_eq!(status, 200);
    let text = get(&host.url).await.text().await.unwrap();
    // Only a host that serves TLS has these metrics.
    let secured = Secured::start(|_| ());
    let of_secured = secured.get("/metrics").await.text().await.unwrap();
    let mut measured = Measured::new();
    // The series that Prometheus itself writes about each host.
    measured.insert("up".to_owned(), BTreeMap::new());
    let families = [Scrape::read(&text), Scrape::read(&of_secured)];
    for (name, family) in families.into_iter().flat_map(|it| it.families) {
        for (suffix, labels, _) in family.samples {
            let metric = measured.entry(format!("{name}{suffix}")).or_default();
            for (label, value) in labels {
                metric.entry(label).or_default().insert(value);
            }
        }
    }
    measured
}

/// The series that an expression selects, and the labels that it groups by.
#[derive(Default)]
struct Named {
    series: Vec<VectorSelector>,
    groups: Vec<String>,
}

impl ExprVisitor for Named {
    type Error = String;

    fn pre_visit(&mut self, expr: &Expr) -> Result<bool, String> {
        match expr {
            Expr::VectorSelector(series) => self.series.push(series.clone()),
            Expr::MatrixSelector(range) => self.series.push(range.vs.clone()),
            Expr::Aggregate(aggregate) => {
                let modifier = aggregate.modifier.iter();
                self.groups
                    .extend(modifier.flat_map(|modifier| modifier.labels().labels.clone()));
            }
            _ => {}
        }
        Ok(true)
    }
}

/// Asserts that an expression is valid and names only metrics that a host has.
fn check(expression: &str, measured: &Measured) {
    let parsed = parse(expression).unwrap_or_else(|cause| panic!("{expression}: {cause}"));
    let mut named = Named::default();
    walk_expr(&mut named, &parsed).unwrap();
    assert!(!named.series.is_empty(), "{expression}");
    let mut known: BTreeSet<&str> = ADDED.iter().copied().collect();
    for series in &named.series {
        let name = series.name.as_deref().unwrap();
        let labels = measured
            .get(name)
            .unwrap_or_else(|| panic!("{expression}: {name} is not measured"));
        known.extend(labels.keys().map(String::as_str));
        for matcher in &series.matchers.matchers {
            if ADDED.contains(&matcher.name.as_str()) {
                continue;
            }
            let values = labels
                .get(&matcher.name)
                .unwrap_or_else(|| panic!("{expression}: {name} has no label {}", matcher.name));
            if matches!(matcher.op, MatchOp::Equal | MatchOp::NotEqual) {
                assert!(
                    values.contains(&matcher.value),
                    "{expression}: {} is one of {values:?}",
                    matcher.name
                );
            }
        }
    }
    for group in &named.groups {
        assert!(known.contains(group.as_str()), "{expression}: {group}");
    }
}

fn member<'y>(yaml: &'y Yaml<'_>, name: &str) -> &'y str {
    yaml.as_mapping_get(name)
        .and_then(Yaml::as_str)
        .unwrap_or_else(|| panic!("{name} is missing: {yaml:?}"))
}

/// Returns the names of the alerts that the manual explains.
fn explained() -> BTreeSet<String> {
    let titles = MANUAL.lines().filter_map(|line| line.strip_prefix("### "));
    let titles = titles.filter(|title| title.starts_with("Tillgate"));
    titles.map(str::to_owned).collect()
}

#[tokio::test]
async fn every_alert_names_what_a_host_measures_and_says_what_to_do() {
    let measured = measured().await;
    let documents = Yaml::load_from_str(ALERTS).unwrap();
    let groups = documents[0].as_mapping_get("groups").unwrap();
    let mut names = BTreeSet::new();
    for group in groups.as_sequence().unwrap() {
        for rule in group
            .as_mapping_get("rules")
            .unwrap()
            .as_sequence()
            .unwrap()
        {
            let name = member(rule, "alert");
            assert!(names.insert(name.to_owned()), "{name} is there twice");
            check(member(rule, "expr"), &measured);
            let severity = member(rule.as_mapping_get("labels").unwrap(), "severity");
            assert!(["page", "ticket"].contains(&severity), "{name}");
            let annotations = rule.as_mapping_get("annotations").unwrap();
            for said in ["summary", "description"] {
                assert!(member(annotations, said).len() > 20, "{name}: {said}");
            }
            let part = format!("host/docs/operate.md#{}", name.to_lowercase());
            let link = format!("https://tillgate.example/{part}");
            assert_eq!(member(annotations, "runbook_url"), link);
        }
    }
    assert!(names.len() > 10);
    assert_eq!(names, explained(), "the manual explains each of them");
}

#[tokio::test]
async fn every_panel_of_the_dashboard_names_what_a_host_measures() {
    let measured = measured().await;
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let (mut ids, mut shown) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        assert!(!panel["title"].as_str().unwrap().is_empty(), "{panel}");
        let targets = panel["targets"].as_array().into_iter().flatten();
        for target in targets {
            let expression = target["expr"].as_str().unwrap();
            // Grafana replaces this variable.
            let expression = expression.replace("$__rate_interval", "5m");
            check(&expression.replace("$instance", ".+"), &measured);
            shown.insert(expression);
        }
    }
    assert!(shown.len() > 20);
}

/// Returns the lines of a file that begin with a word, without that word.
fn lines_of<'t>(text: &'t str, word: &str) -> Vec<&'t str> {
    let found: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix(word))
        .collect();
    assert!(!found.is_empty(), "{word}");
    found
}

/// Prints the settings in force for a command line of `serve`, in a separate folder.
fn effective(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let mut command = Program::command();
    command
        .current_dir(folder)
        .args(arguments)
        .arg("--print-config")
        .envs(environment.iter().copied());
    let printed = output(&mut command);
    let told = String::from_utf8(printed.stderr).unwrap();
    assert_eq!(printed.status.code(), Some(0), "{told}");
    String::from_utf8(printed.stdout).unwrap()
}

/// Returns the settings that the installation page gives the unit.
fn settings_of_unit() -> String {
    let (_, rest) = INSTALL.split_once("have at least:\n\n```toml\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_settings_of_the_unit_have_the_folder_that_systemd_makes_and_can_name_another_store() {
    let folder = tempfile::tempdir().unwrap();
    let started = lines_of(UNIT, "ExecStart=/usr/local/bin/tillgate ")[0];
    let started = started.replace("/etc/tillgate.toml", "tillgate.toml");
    let arguments: Vec<&str> = started.split(' ').collect();
    let state = lines_of(UNIT, "StateDirectory=")[0];
    let own = format!("embedded:/var/lib/{state}");
    let settings = settings_of_unit();
    let moved = settings.replace(&own, "redis://redis.example");
    for (settings, store) in [(&settings, &*own), (&moved, "redis://redis.example:6379")] {
        std::fs::write(folder.path().join("tillgate.toml"), settings).unwrap();
        let printed = effective(folder.path(), &arguments, &[]);
        let line = printed.lines().find(|line| line.starts_with("store = "));
        let from = format!(r#"store = "{store}"  # tillgate.toml"#);
        assert_eq!(line, Some(&*from));
    }
    assert!(
        !UNIT.contains("\nEnvironment"),
        "a variable is stronger than the file"
    );
}

#[test]
fn the_unit_lets_a_host_write_decisions_where_the_documents_say() {
    let logs = lines_of(UNIT, "LogsDirectory=")[0];
    let log = format!(r#""/var/log/{logs}/decisions.jsonl""#);
    assert!(INSTALL.contains(&format!("log = {log}")), "{log}");
    assert!(SETTINGS.contains(&log), "{log}");
}

#[test]
fn the_image_is_built_with_its_health_check() {
    for text in [IMAGE, INSTALL] {
        let mut builds = text.split("podman build ").skip(1).peekable();
        assert!(builds.peek().is_some());
        assert!(builds.all(|build| build.starts_with("--format docker ")));
    }
}

#[test]
fn the_image_has_settings_that_a_host_takes() {
    let folder = tempfile::tempdir().unwrap();
    let made = lines_of(IMAGE, "RUN printf ")[0];
    let made = made.replace("/etc/tillgate.toml", "tillgate.toml");
    let made = std::process::Command::new("sh")
        .args(["-c", &format!("printf {made}")])
        .current_dir(folder.path())
        .status();
    assert!(made.unwrap().success());
    let printed = effective(folder.path(), &["serve", "--config", "tillgate.toml"], &[]);
    let volume = lines_of(IMAGE, "VOLUME ")[0];
    assert!(
        printed.contains(&format!(r#"store = "embedded:{volume}""#)),
        "{printed}"
    );
    let port = lines_of(IMAGE, "EXPOSE ")[0];
    assert!(
        printed.contains(&format!(r#"listen = "0.0.0.0:{port}""#)),
        "{printed}"
    );
    assert!(printed.contains(r#"format = "json""#), "{printed}");
    for command in [
        r#"CMD ["tillgate", "health", "--config", "/etc/tillgate.toml"]"#,
        r#"CMD ["serve", "--config", "/etc/tillgate.toml"]"#,
    ] {
        assert!(IMAGE.contains(command), "{command}");
    }
}
