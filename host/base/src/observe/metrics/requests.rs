//! Metrics of requests: their number by route, method and status, and the time that their answers took.
//!
//! The label of a route is its template, and requests that no route takes are counted together, so no request makes a
//! label. A status that a route has never answered takes no memory.

use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::registry::Registry;

use super::{Counter, Counters, Histogram, Histograms, counters, histograms};

/// The label of requests that no route takes.
const NONE: &str = "none";

/// The statuses that are counted separately; the last entry stands for all others.
const STATUSES: [(u16, &str); 23] = [
    (200, "200"),
    (201, "201"),
    (202, "202"),
    (204, "204"),
    (304, "304"),
    (400, "400"),
    (401, "401"),
    (403, "403"),
    (404, "404"),
    (405, "405"),
    (406, "406"),
    (408, "408"),
    (409, "409"),
    (410, "410"),
    (412, "412"),
    (413, "413"),
    (415, "415"),
    (422, "422"),
    (429, "429"),
    (499, "499"),
    (500, "500"),
    (503, "503"),
    (0, "other"),
];

/// The metrics of requests.
#[derive(Clone, Debug)]
pub struct Requests {
    counts: Counters<3>,
    durations: Histograms<2>,
}

impl Requests {
    pub fn new(registry: &Mutex<Registry>) -> Self {
        Self {
            counts: counters(
                registry,
                "tillgate_http_requests",
                "Requests by route, method and status",
                ["route", "method", "status"],
            ),
            durations: histograms(
                registry,
                "tillgate_http_request_duration",
                "The time until the answer was ready; streams continue after that",
                ["route", "method"],
                Histogram::long,
            ),
        }
    }

    /// Returns the recorder of a route's requests.
    #[must_use]
    pub fn of(&self, route: &'static str, method: &'static str) -> Recorder {
        Recorder {
            route,
            method,
            families: self.clone(),
            counts: std::array::from_fn(|_| OnceLock::new()),
            duration: OnceLock::new(),
        }
    }

    /// Returns the recorder of the requests that no route takes.
    #[must_use]
    pub fn of_none(&self) -> Recorder {
        self.of(NONE, NONE)
    }
}

/// Records the requests of a route.
#[derive(Debug)]
pub struct Recorder {
    route: &'static str,
    method: &'static str,
    families: Requests,
    counts: [OnceLock<Counter>; STATUSES.len()],
    duration: OnceLock<Histogram>,
}

impl Recorder {
    /// Records a request, by the status of its answer and the time that it took.
    pub fn record(&self, status: u16, took: Duration) {
        let index = STATUSES.iter().position(|(known, _)| *known == status);
        let index = index.unwrap_or(STATUSES.len() - 1);
        if let (Some(count), Some((_, text))) = (self.counts.get(index), STATUSES.get(index)) {
            let new = || self.families.counts.with([self.route, self.method, text]);
            count.get_or_init(new).inc();
        }
        let new = || self.families.durations.with([self.route, self.method]);
        self.duration.get_or_init(new).record(took);
    }
}
