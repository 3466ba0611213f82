//! The fuzzer of bodies (`tests/hostile/fuzz`) against the table of routes: it has an accepted request for each route,
//! and none for a route that no longer exists. The fuzzer itself checks that these requests are accepted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::host::Host;

const REQUESTS: &str = include_str!("fuzz/requests.json");

/// The page's files have routes too, but take no input except their path.
fn is_file(path: &str) -> bool {
    ["/www/", "/js/", "/files/"]
        .iter()
        .any(|folder| path.starts_with(folder))
}

#[tokio::test]
async fn the_fuzzer_of_bodies_has_a_request_for_every_route() {
    let host = Host::start().await;
    let routes = host.features.routes(&host.app);
    let routes = routes.iter().filter(|route| !is_file(route.path));
    let routes: BTreeSet<String> = routes
        .map(|route| format!("{} {}", route.method, route.path))
        .collect();
    let requests: BTreeMap<String, Vec<Value>> = serde_json::from_str(REQUESTS).unwrap();
    let known: BTreeSet<String> = requests.keys().cloned().collect();
    assert_eq!(known, routes);
    for (route, requests) in requests {
        assert!(!requests.is_empty(), "{route}");
    }
}
