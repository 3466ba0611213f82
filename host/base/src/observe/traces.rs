//! OpenTelemetry traces: a span for each request, and for each attempt at a job.
//!
//! Only built with the feature `opentelemetry` (otherwise `no_traces.rs`). The environment variables of OpenTelemetry
//! apply: spans are sent as soon as one of them names an endpoint. If the caller has begun a trace (W3C Trace Context),
//! the request belongs to it, and is sampled if the caller samples it. The trace is not passed on to identity providers
//! or receivers of webhooks, which belong to others.

use std::env;
use std::sync::OnceLock;
use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Span, SpanKind, Status, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span as SdkSpan};
use uuid::Uuid;

use crate::egress::with_urls_shown;

/// The name of the service, unless the environment gives one.
const SERVICE: &str = "tillgate";

/// Traces are on if one of these names an endpoint.
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];

/// The methods that a span names, since callers may invent any number of others.
const METHODS: [Method; 8] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
    Method::TRACE,
];
const OTHER_METHOD: &str = "_OTHER";

/// The most bytes of a path in a span, since many spans wait for the collector.
const MAX_PATH: usize = 256;

/// The time that a stopping host waits for its last spans to be taken.
const FLUSH: Duration = Duration::from_secs(1);

/// The source of spans, once there is somewhere to send them.
static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// Sends spans in batches until it is dropped, which sends the last ones.
#[derive(Debug)]
pub struct Traces(Option<SdkTracerProvider>);

impl Traces {
    /// Begins to send spans, if the environment names an endpoint.
    ///
    /// # Errors
    /// When the environment has an invalid value, such as an endpoint that is not a URL.
    pub fn begin() -> Result<Self, String> {
        let is_disabled = value("OTEL_SDK_DISABLED")
            .is_some_and(|it| it.eq_ignore_ascii_case("true"))
            || value("OTEL_TRACES_EXPORTER").is_some_and(|it| it == "none");
        if is_disabled || ENDPOINTS.iter().all(|name| value(name).is_none()) {
            return Ok(Self(None));
        }
        let exporter = SpanExporter::builder().with_http().build();
        let exporter = exporter.map_err(|cause| format!("traces cannot be sent: {cause}"))?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource())
            .build();
        TRACER.get_or_init(|| provider.tracer(SERVICE));
        Ok(Self(Some(provider)))
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        let sent = self.0.take().map(|it| it.shutdown_with_timeout(FLUSH));
        if let Some(Err(cause)) = sent {
            tracing::warn!(%cause, "the last spans could not be sent");
        }
    }
}

/// Returns the value of a variable, unless it is empty.
#[expect(
    clippy::disallowed_methods,
    reason = "these are OpenTelemetry's own, which its library reads"
)]
fn value(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the resource of the spans: the program's version, its name unless the environment gives another, and
/// whatever else the environment gives.
fn resource() -> Resource {
    let name = Resource::builder().build().get(&"service.name".into());
    let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_attribute(version);
    if is_named {
        resource.build()
    } else {
        resource.with_service_name(SERVICE).build()
    }
}

/// The span of a request.
#[derive(Debug)]
pub struct RequestSpan(Option<SdkSpan>);

impl RequestSpan {
    /// Begins the span with the head of a request. `route` is `None` if no route answers it.
    pub fn begin(
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        route: Option<&'static str>,
        correlation: Uuid,
    ) -> Self {
        let Some(tracer) = TRACER.get() else {
            return Self(None);
        };
        let headers = HeaderExtractor(headers);
        let caller = TraceContextPropagator::new().extract_with_context(&Context::new(), &headers);
        let method = METHODS.iter().find(|known| *known == method);
        let method = method.map_or(OTHER_METHOD, Method::as_str);
        let name = route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
        let path = &path[..path.floor_char_boundary(MAX_PATH)];
        let mut attributes = vec![
            KeyValue::new("http.request.method", method.to_owned()),
            KeyValue::new("url.path", path.to_owned()),
            KeyValue::new("tillgate.correlation_id", correlation.to_string()),
        ];
        attributes.extend(route.map(|route| KeyValue::new("http.route", route)));
        let builder = tracer.span_builder(name).with_kind(SpanKind::Server);
        let builder = builder.with_attributes(attributes);
        Self(Some(tracer.build_with_context(builder, &caller)))
    }

    /// Ends the span with the answer's status.
    pub fn end(self, status: StatusCode) {
        let Self(Some(mut span)) = self else {
            return;
        };
        span.set_attribute(KeyValue::new(
            "http.response.status_code",
            i64::from(status.as_u16()),
        ));
        if status.is_server_error() {
            span.set_attribute(KeyValue::new("error.type", status.as_str().to_owned()));
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

/// The span of an attempt at a job.
#[derive(Debug)]
pub struct AttemptSpan(Option<SdkSpan>);

impl AttemptSpan {
    /// Begins the span of a job, by its queue, partition and id.
    pub fn begin(queue: &'static str, partition: &str, job: &str, attempt: u32) -> Self {
        let tracer = TRACER.get();
        Self(tracer.map(|tracer| {
            let attributes = [
                KeyValue::new("tillgate.queue", queue),
                KeyValue::new("tillgate.partition", partition.to_owned()),
                KeyValue::new("tillgate.job", job.to_owned()),
                KeyValue::new("tillgate.attempt", i64::from(attempt)),
            ];
            let builder = tracer.span_builder(format!("job {queue}"));
            let builder = builder
                .with_kind(SpanKind::Internal)
                .with_attributes(attributes);
            tracer.build_with_context(builder, &Context::new())
        }))
    }

    /// Records that the attempt failed.
    pub fn fail(&mut self, cause: &str) {
        if let Self(Some(span)) = self {
            span.set_status(Status::error(with_urls_shown(cause)));
        }
    }
}
