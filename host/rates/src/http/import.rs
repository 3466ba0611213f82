//! Imports reference rates. The document is a part of a form, or the body with the parameters in the query (`rates.md`,
//! "Reference rates").

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use ::http::header::CONTENT_TYPE;
use ::http::{Method, StatusCode};
use bytes::Bytes;
use futures_util::stream;
use multer::{Constraints, Multipart, SizeLimit};
use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::problem::BUSINESS_UNIT_NOT_FOUND;
use tillgate_api::schema::component;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::Permission as P;
use tillgate_engine::rate::{Invalid, RateType};
use tillgate_http::{
    Access, Audited, Faults, Operation, QueryParameter, Reply, Request, Route, Tag, Takes,
};

use super::query::unit_id;
use super::{changing, edited, editor, or_dry_run};
use crate::change::audit::CHANGED;
use crate::reference::import::ECB;
use crate::reference::{Document, DocumentType};
use crate::units::unit::unit_id_schema;
use crate::{Import, Imported, Rates, UnitId};

/// The largest body: 16 MiB (`platform.md`, "HTTP conventions").
const MAX_DOCUMENT: usize = 16 << 20;

/// The bytes to reserve before the document's size is known.
const SMALL: usize = 64 << 10;

/// The bytes of memory that parsing takes for each byte of a document.
const BYTES_OF_DOCUMENT: usize = 4;

/// The parameters of a query, and the parts of a form other than the document.
const UNIT: QueryParameter<UnitId> = QueryParameter {
    name: "businessUnitId",
    about: "The business unit at which the rates are set. Required unless the body is a form.",
    schema: importing_unit,
    read: unit_id,
};
const RATE_TYPES: QueryParameter<Vec<RateType>> = QueryParameter {
    name: "exchangeRateTypes",
    about: "The types of the rates that are set, separated by commas. Required unless the body is a form.",
    schema: rate_types,
    read: |text| {
        let types = text.split(',').map(str::trim).map(RateType::parse);
        types.collect::<Result<_, _>>().map_err(Invalid::as_str)
    },
};
const SOURCE: QueryParameter<()> = QueryParameter {
    name: "source",
    about: "The source of the document: `ECB`. Required unless the body is a form.",
    schema: source,
    read: |text| match text {
        ECB => Ok(()),
        _ => Err("must be ECB"),
    },
};
const CROSSES: QueryParameter<bool> = QueryParameter::flag(
    "crosses",
    "`true` to set the rates between all currencies of the document, not only those to the euro. In a form, this is a part.",
);
const FIELDS: [&str; 4] = [UNIT.name, RATE_TYPES.name, SOURCE.name, CROSSES.name];

/// The name of the form's part that has the document.
const DOCUMENT: &str = "document";

/// The most bytes of a part other than the document.
const MAX_FIELD: u64 = 4 << 10;

pub(super) fn routes() -> Vec<Route<Arc<Rates>>> {
    let import = Route::changing(
        Method::POST,
        "/api/v1/reference-rates/import",
        Access::With(P::ReferenceRateImport),
        Takes::Anything(MAX_DOCUMENT),
        CHANGED,
        import,
    )
    .described(describe_import);
    vec![import.heavy().reserving(SMALL)]
}

async fn import(rates: Arc<Rates>, request: Request) -> Result<Audited> {
    request
        .reserve(SMALL + BYTES_OF_DOCUMENT * request.body.len())
        .await?;
    let media = request.headers().get(CONTENT_TYPE);
    let media = media.and_then(|value| value.to_str().ok()).unwrap_or("");
    let (fields, document, document_type) = if let Ok(boundary) = multer::parse_boundary(media) {
        let (fields, document) = form(&request.body, boundary).await?;
        let document_type = DocumentType::detect(&document);
        (fields, document, document_type)
    } else {
        let document_type = type_of_media(media)?;
        let field = |name: &str| Some((name.to_owned(), request.query_param(name)?));
        let fields = FIELDS.iter().filter_map(|name| field(name));
        (fields.collect(), request.body.bytes.clone(), document_type)
    };
    let settings = settings(&fields)?;
    let read = move |_: &tillgate_base::app::App| Document::parse(document_type, &document);
    let document = rates.app.run_blocking(read).await?;
    let import = Import {
        unit: settings.unit,
        rate_types: settings.rate_types,
        crosses: settings.crosses,
        document: document.map_err(Error::Invalid)?,
    };
    let editor = editor(&request)?;
    let edit = rates.bytes_of_edit(&editor, &[&import.unit]).await?;
    let document = BYTES_OF_DOCUMENT * request.body.len();
    request.reserve(SMALL + document + edit).await?;
    let imported = rates.import(editor, &import).await?;
    edited(imported, |imported| Reply::of(StatusCode::OK, &imported))
}

/// Reads the parts of a form: its fields and the document.
async fn form(body: &Bytes, boundary: String) -> Result<(HashMap<String, String>, Bytes)> {
    let mut limit = SizeLimit::new().for_field(DOCUMENT, u64::try_from(MAX_DOCUMENT).unwrap_or(0));
    for name in FIELDS {
        limit = limit.for_field(name, MAX_FIELD);
    }
    let constraints = Constraints::new().size_limit(limit.per_field(MAX_FIELD));
    let body = stream::iter([Ok::<_, Infallible>(body.clone())]);
    let mut parts = Multipart::with_constraints(body, boundary, constraints);
    let malformed =
        |cause: multer::Error| Error::invalid("$", format!("is not a valid form: {cause}"));
    let (mut fields, mut document) = (HashMap::new(), None);
    while let Some(part) = parts.next_field().await.map_err(malformed)? {
        let name = part.name().unwrap_or_default().to_owned();
        if name != DOCUMENT && !FIELDS.contains(&name.as_str()) {
            return Err(Error::invalid(
                format!("$.{name}"),
                "is not a part of this form: dryRun, acceptDeviation and note are query parameters",
            ));
        }
        let is_repeated = if name == DOCUMENT {
            document
                .replace(part.bytes().await.map_err(malformed)?)
                .is_some()
        } else {
            let text = part.text().await.map_err(malformed)?;
            fields.insert(name.clone(), text).is_some()
        };
        if is_repeated {
            return Err(Error::invalid(format!("$.{name}"), "is a duplicate"));
        }
    }
    let document = document.ok_or_else(|| Error::invalid("$.document", "is required"))?;
    Ok((fields, document))
}

/// The parameters of an import.
struct Settings {
    unit: UnitId,
    rate_types: Vec<RateType>,
    crosses: bool,
}

/// Reads the fields; an error names every fault.
fn settings(fields: &HashMap<String, String>) -> Result<Settings> {
    let mut faults = Faults::default();
    let unit = field(fields, &UNIT, &mut faults);
    let types = field(fields, &RATE_TYPES, &mut faults);
    let source = field(fields, &SOURCE, &mut faults);
    let crosses = match fields.get(CROSSES.name) {
        None => Some(false),
        Some(_) => field(fields, &CROSSES, &mut faults),
    };
    let (Some(unit), Some(mut rate_types), Some(()), Some(crosses)) =
        (unit, types, source, crosses)
    else {
        return Err(faults.into_error());
    };
    rate_types.sort_unstable();
    rate_types.dedup();
    Ok(Settings {
        unit,
        rate_types,
        crosses,
    })
}

/// Reads a field; a missing one is read as an empty text.
fn field<T>(
    fields: &HashMap<String, String>,
    parameter: &QueryParameter<T>,
    faults: &mut Faults,
) -> Option<T> {
    let text = fields.get(parameter.name).map_or("", String::as_str);
    faults.check(parameter.name, (parameter.read)(text))
}

fn type_of_media(media: &str) -> Result<DocumentType> {
    let essence = media.split(';').next().unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "application/xml" | "text/xml" => Ok(DocumentType::Xml),
        "text/csv" => Ok(DocumentType::Csv),
        "application/zip" | "application/x-zip-compressed" => Ok(DocumentType::Zip),
        _ => Err(Error::invalid(
            "$.Content-Type",
            "must be application/xml, text/csv, application/zip or multipart/form-data",
        )),
    }
}

fn describe_import() -> Operation {
    let operation = Operation::new("importReferenceRates", Tag::Rates, "Import a document of reference rates")
        .says("Imports the daily or historical XML or CSV document of the European Central Bank (ECB), which may be zipped. It is either the body, with the other values in the query, or a part of a form, with the other values as parts. The rates of the newest day are set at the business unit; all days go into the history. Importing the same document again changes nothing.")
        .query(&UNIT)
        .query(&RATE_TYPES)
        .query(&SOURCE)
        .query(&CROSSES)
        .takes_as("text/csv", document)
        .takes_as("application/xml", document)
        .takes_as("application/zip", document)
        .takes_as(
            "multipart/form-data",
            import_form)
        .answers(
            200,
            "The result of the import or of the dry run",
            or_dry_run::<Imported>)
        .refuses(&[BUSINESS_UNIT_NOT_FOUND]);
    changing(operation)
}

fn importing_unit(generator: &mut SchemaGenerator) -> Schema {
    let mut unit = unit_id_schema(generator);
    unit.insert("examples".to_owned(), ["nordic-retail"].as_slice().into());
    unit
}

fn rate_types(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "description": "One or more types, separated by commas.", "examples": ["SALES"] })
}

fn import_form(generator: &mut SchemaGenerator) -> Schema {
    let (unit, types, source) = (
        importing_unit(generator),
        rate_types(generator),
        source(generator),
    );
    component(generator, "ReferenceRatesForm", |_| {
        json_schema!({
            "type": "object",
            "required": ["businessUnitId", "exchangeRateTypes", "source", "document"],
            "properties": {
                "businessUnitId": unit,
                "exchangeRateTypes": types,
                "source": source,
                "crosses": { "type": "string", "enum": ["true", "false"] },
                "document": { "type": "string", "contentMediaType": "application/octet-stream" },
            },
        })
    })
}

fn document(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

fn source(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": "ECB", "examples": ["ECB"] })
}
