//! `/metrics`: its content, that nothing in a request becomes a label, and who gets it where.

mod counted;
mod labels;
mod served;
mod work;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::exposition::Scrape;
use crate::support::host::{Host, client};
use crate::support::wait::answered;

pub(crate) const ROLES: &[&str] = &["ecs.editor", "ecs.evaluator"];
pub(crate) const ALCOHOL: &str = "/api/v1/entity-conditions/alcohol";
pub(crate) const ALCOHOL_ROUTE: &str = "/api/v1/entity-conditions/{conditionId}";
pub(crate) const EVALUATE: &str = "/api/v1/conditions/alcohol/evaluate";
pub(crate) const EVALUATE_ROUTE: &str = "/api/v1/conditions/{conditionId}/evaluate";

pub(crate) async fn get(url: &str) -> Response {
    client().get(format!("{url}/metrics")).send().await.unwrap()
}

/// Scrapes until the result satisfies `is_there`: one text is served again for some milliseconds.
pub(crate) async fn scrape_until(url: &str, is_there: impl Fn(&Scrape) -> bool) -> Scrape {
    answered("the metrics that are wanted", async || {
        let text = get(url).await.text().await.unwrap();
        let scrape = Scrape::read(&text);
        if is_there(&scrape) {
            Ok(scrape)
        } else {
            Err(text)
        }
    })
    .await
}

/// Returns the number of answers of a route, whatever their status.
pub(crate) fn answers(scrape: &Scrape, route: &str) -> f64 {
    scrape.sum("tillgate_http_requests_total", &[("route", route)])
}

pub(crate) async fn put_alcohol(host: &Host, token: &str) {
    let alcohol = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let (status, _) = host.send(Method::PUT, ALCOHOL, token, &alcohol).await;
    assert_eq!(status, 201);
}

pub(crate) fn question(age: u8) -> Value {
    json!({ "item": { "id": "1" }, "context": { "customer": { "customer_age": age } } })
}
