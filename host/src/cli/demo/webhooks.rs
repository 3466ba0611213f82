//! The demo's webhooks: receivers on this machine, one of which fails now and then, so that there are retries to see.
//!
//! Deliveries are printed, one line each, once the demo has printed its instructions. A terminal that does not take the
//! lines delays no delivery: excess lines are dropped.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tillgate_api::problem::OVERLOADED;
use tillgate_base::app::App;
use tillgate_base::config;
use tillgate_base::error::Result;
use tillgate_base::identity::{By, TenantId};
use tillgate_http::{Access, Listener, MAX_BODY, Reply, Request, Route, Server, Table, Takes};
use tillgate_webhooks::Webhooks;

use super::SOFTWARE;
use crate::routes::Features;
use crate::server::bind;
use tillgate_client::output::{on_line, print_on, text};

/// The key with which deliveries are signed.
pub(super) const SHARED_KEY: &str = "a shared key for the demo";

/// The number of requests in a row that the unsteady receiver fails, and then accepts: enough to open the circuit
/// breaker.
const UNSTEADY: u64 = 6;

/// The most lines that may wait to be printed, and the most characters of an event's data in one.
const MAX_LINES: usize = 256;
const SHOWN: usize = 90;

const ORDERS: [(u32, &str); 6] = [
    (4711, "RECEIVED"),
    (4711, "PACKED"),
    (4712, "RECEIVED"),
    (4711, "SHIPPED"),
    (4712, "PACKED"),
    (4713, "RECEIVED"),
];

pub(super) struct Receivers {
    socket: Listener,
    pub(super) url: String,
}

/// The lines to print, one for each delivery.
pub(super) struct Lines(mpsc::Receiver<String>);

#[derive(Debug)]
struct Shared {
    /// The number of requests that the unsteady receiver has answered.
    unsteady: AtomicU64,
    lines: mpsc::SyncSender<String>,
}

/// Allows webhooks to call this machine.
pub(super) fn configure(settings: &mut config::Webhooks) -> Result<(), String> {
    settings.allow_http = true;
    let loopback = "127.0.0.0/8".parse().map_err(|cause| format!("{cause}"))?;
    settings.allow_private.push(loopback);
    Ok(())
}

impl Receivers {
    pub(super) async fn bind() -> Result<Self, String> {
        let socket = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let address = socket.address().map_err(|cause| cause.to_string())?;
        let url = format!("http://{address}");
        Ok(Self { socket, url })
    }

    /// Starts to answer deliveries.
    pub(super) fn serve(self, app: &Arc<App>, features: &Features) -> Result<Lines> {
        let (sender, lines) = mpsc::sync_channel(MAX_LINES);
        let shared = Arc::new(Shared {
            unsteady: AtomicU64::new(0),
            lines: sender,
        });
        let (access, takes) = (Access::Public, Takes::Json(MAX_BODY));
        let routes = [
            Route::new(Method::POST, "/erp", access, takes, steady),
            Route::new(Method::POST, "/loyalty", access, takes, unsteady),
        ]
        .map(|route| route.unaudited("a receiver of the demo prints what it gets"));
        let table = Table::new(
            routes.map(|route| route.bind(&shared)),
            app.metrics.requests(),
        )?;
        let server = Server::new(table, features.tokens.clone(), app);
        tokio::spawn(self.socket.serve(server, std::future::pending()));
        Ok(Lines(lines))
    }
}

impl Lines {
    /// Prints past and future deliveries until the reader of the output is gone.
    pub(super) fn print(self) {
        std::thread::spawn(move || {
            for line in self.0 {
                if !matches!(print_on(&line), Ok(true)) {
                    return;
                }
            }
        });
    }
}

async fn steady(shared: Arc<Shared>, request: Request) -> Result<Reply> {
    shared.note("ERP", &request.body, StatusCode::NO_CONTENT);
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

async fn unsteady(shared: Arc<Shared>, request: Request) -> Result<Reply> {
    let count = shared.unsteady.fetch_add(1, Ordering::Relaxed);
    if (count / UNSTEADY).is_multiple_of(2) {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        shared.note("Loyalty", &request.body, status);
        let detail = "this receiver of the demo fails now and then";
        return Ok(Reply::problem(OVERLOADED, detail, request.correlation));
    }
    shared.note("Loyalty", &request.body, StatusCode::NO_CONTENT);
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

impl Shared {
    /// Queues a delivery for printing.
    fn note(&self, name: &str, body: &[u8], status: StatusCode) {
        let event: Value = serde_json::from_slice(body).unwrap_or_default();
        let data = BASE64_STANDARD.decode(text(&event, "data"));
        let data = data.unwrap_or_default();
        let data: String = String::from_utf8_lossy(&data).chars().take(SHOWN).collect();
        let (time, event_type) = (text(&event, "time"), text(&event, "type"));
        let line = format!("{time}  {name:7}  {status}  {event_type}  {data}");
        let _ = self.lines.try_send(format!("{}\n", on_line(&line)));
    }
}

/// Creates the webhooks before there are events.
pub(super) async fn fill(webhooks: &Webhooks, tenant: &TenantId, url: &str) -> Result<()> {
    let erp = json!({
        "name": "ERP",
        "callbackUrl": format!("{url}/erp"),
        "eventTypes": ["*"],
        "authentication": { "type": "BEARER" },
        "sharedKey": SHARED_KEY,
    });
    let loyalty = json!({
        "name": "Loyalty (fails now and then)",
        "callbackUrl": format!("{url}/loyalty"),
        "eventTypes": ["x.order-updates.v1"],
        "authentication": { "type": "BEARER" },
    });
    let by = By::new(SOFTWARE, None);
    for webhook in [erp, loyalty] {
        webhooks
            .create_from(tenant, &by, webhook.to_string().as_bytes())
            .await?;
    }
    Ok(())
}

/// Publishes events about a few orders.
pub(super) async fn publish(webhooks: &Webhooks, tenant: &TenantId) -> Result<()> {
    for (order, state) in ORDERS {
        let data = json!({ "order": order, "state": state });
        let event = json!({ "type": "x.order-updates.v1", "data": data });
        webhooks
            .publish_from(tenant, event.to_string().as_bytes())
            .await?;
    }
    Ok(())
}
