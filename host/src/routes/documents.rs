//! The documents of the API, each made once. OpenAPI comes from the table of routes that this host serves.

use std::sync::{Arc, OnceLock};

use ::http::header::CACHE_CONTROL;
use ::http::{HeaderValue, Method};
use bytes::Bytes;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use tillgate_api::schema::{plain_enumerations, without_defaults};
use tillgate_base::data::encoded::Encoded;
use tillgate_base::data::etag::{self, Etag};
use tillgate_base::error::Result;
use tillgate_http::document::{Info, openapi};
use tillgate_http::{Access, Described, Operation, Reply, Request, Route, Tag, Takes};

use super::asyncapi::asyncapi;

const OPENAPI: &str = "/openapi.json";
const ASYNCAPI: &str = "/asyncapi.json";

/// The introduction that an integrator needs before the first request.
const INFO: Info = Info {
    version: env!("CARGO_PKG_VERSION"),
    description: "Tillgate decides for tills whether an item may be sold, \
        keeps the exchange rates of every shop, delivers events to webhooks, \
        and issues the tokens for all of it.\n\nGet a token with `POST \
        /oauth2/token` and send it as `Authorization: Bearer`; it names the \
        tenant. Errors are problem documents (RFC 9457). JSON is strict: a \
        duplicate or unknown member is an error, and so is an unknown query \
        parameter. With `Prefer: handling=lenient`, unknown ones are ignored. \
        When a change is answered, it is stored durably and in force.",
    examples: &[
        tillgate_rules::http::EXAMPLES,
        tillgate_rates::http::EXAMPLES,
        tillgate_tokens::http::EXAMPLES,
        tillgate_webhooks::http::EXAMPLES,
        include_str!("examples.json"),
    ],
};

/// The documents, each made at its first use.
#[derive(Debug)]
pub(super) struct Documents {
    routes: Vec<Described>,
    openapi: OnceLock<Document>,
    asyncapi: OnceLock<Document>,
}

/// A document, ready to send.
#[derive(Clone, Debug)]
struct Document {
    text: Encoded,
    etag: Etag,
}

impl Documents {
    /// Creates the documents of these routes and of the documents' own routes.
    pub(super) fn new(routes: impl Iterator<Item = Described>) -> Arc<Self> {
        let own = self::routes();
        let own = own.iter().map(Route::to_described);
        Arc::new(Self {
            routes: routes.chain(own).collect(),
            openapi: OnceLock::new(),
            asyncapi: OnceLock::new(),
        })
    }
}

pub(super) fn routes() -> Vec<Route<Arc<Documents>>> {
    let (get, access, takes) = (Method::GET, Access::Public, Takes::Nothing);
    let openapi = Route::new(get.clone(), OPENAPI, access, takes, get_openapi);
    let asyncapi = Route::new(get, ASYNCAPI, access, takes, get_asyncapi);
    // The first request for a document makes it.
    vec![
        openapi.heavy().described(describe_openapi),
        asyncapi.heavy().described(describe_asyncapi),
    ]
}

fn describe_openapi() -> Operation {
    Operation::new("getOpenApi", Tag::Operations, "Get this document")
        .says("The OpenAPI 3.1 document of all operations that this host serves.")
        .answers(200, "The document", object)
        .with_entity_tag()
}

fn describe_asyncapi() -> Operation {
    let summary = "Get the document of the messages that the service sends";
    Operation::new("getAsyncApi", Tag::Operations, summary)
        .says(
            "The AsyncAPI 3.0 document of the topic of rates, the changes \
                of the catalog, and deliveries to webhooks.",
        )
        .answers(200, "The document", object)
        .with_entity_tag()
}

fn object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}

async fn get_openapi(documents: Arc<Documents>, request: Request) -> Result<Reply> {
    let make = || Document::of(openapi(&documents.routes, INFO));
    Ok(documents.openapi.get_or_init(make).answer(&request))
}

async fn get_asyncapi(documents: Arc<Documents>, request: Request) -> Result<Reply> {
    let make = || Document::of(asyncapi(INFO));
    Ok(documents.asyncapi.get_or_init(make).answer(&request))
}

impl Document {
    fn of(mut document: Value) -> Self {
        plain_enumerations(&mut document);
        without_defaults(&mut document);
        let text = Bytes::from(document.to_string());
        Self {
            etag: etag::of_text(&text),
            text: text.into(),
        }
    }

    /// Answers with the document. Caches may keep it, but must revalidate it.
    fn answer(&self, request: &Request) -> Reply {
        let reply = request.answer(self.etag.clone(), || Reply::encoded(self.text.clone()));
        reply.with(CACHE_CONTROL, HeaderValue::from_static("no-cache"))
    }
}
