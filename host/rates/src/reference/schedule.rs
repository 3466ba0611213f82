//! The nightly import of reference rates, as `[[reference_rates]]` configures it. Each table has one job in its
//! tenant's partition, so that one host does it each day (`rates.md`, "Reference rates").
//!
//! The job's id is a digest of the table's content. When a table was changed or removed, its old job finds no table and
//! ends.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Method, Url};
use serde_json::json;
use sha2::{Digest, Sha256};
use tillgate_api::problem::REFERENCE_UNAVAILABLE;
use tillgate_base::app::App;
use tillgate_base::config::{ReferenceRates, Source};
use tillgate_base::data::records::Change;
use tillgate_base::egress::{Client, Destinations, Limits, shown};
use tillgate_base::error::{Error, Result};
use tillgate_base::jobs::{CLOCK_SKEW, Work};
use tillgate_base::observe::audit::{Line, Origin, Outcome};
use tillgate_store::clock::{DAY, Timestamp};
use tillgate_store::regular_file;
use uuid::Uuid;

use super::import::{self, Import};
use super::{Document, DocumentType};
use crate::change::audit::CHANGED;
use crate::change::author::Editor;
use crate::change::deviations;
use crate::change::passes::Passes;
use crate::change::unit_edit::{Edited, Edits};
use crate::units::unit::UnitId;

pub(crate) const QUEUE: &str = "reference-rates";

/// The prefix of the records that say that a table has its job.
const SCHEDULED: &str = "rates-schedule/";

/// The author of the rates that a nightly import sets.
const BY: &str = "European Central Bank";

/// The bounds of a document's fetch.
const DEADLINE: Duration = Duration::from_secs(20);
const MAX_DOCUMENT: usize = 16 << 20;

/// The delay before a failed import is tried again, unless the next day's comes first.
const RETRY: Duration = Duration::from_secs(15 * 60);

/// Schedules the configured imports for every day.
///
/// # Errors
/// [`Error::Unavailable`].
pub(crate) async fn start(app: &Arc<App>) -> Result<()> {
    for table in &app.config.reference_rates {
        schedule(app, table).await?;
    }
    Ok(())
}

/// Enqueues the job of a table, unless a host has done so.
async fn schedule(app: &App, table: &ReferenceRates) -> Result<()> {
    let records = app.records(table.tenant.partition());
    let id = id_of(table)?;
    let key = format!("{SCHEDULED}{id}");
    let plan = async || {
        let mut change = Change::default();
        if records.get_bytes(&key).await?.is_none() {
            let due = next_after(table, app.clock.now());
            change.expect::<()>(&key, None);
            change.put(&key, &json!({ "businessUnitId": table.business_unit }))?;
            change.enqueue(QUEUE, &id, due, Bytes::new());
        }
        Ok((change, ()))
    };
    records.change(plan).await
}

fn id_of(table: &ReferenceRates) -> Result<String> {
    let json = serde_json::to_vec(table).map_err(|cause| Error::Bug(cause.to_string()))?;
    let digest = hex::encode(Sha256::digest(json));
    Ok(digest.get(..32).unwrap_or_default().to_owned())
}

/// Returns when a table is due next.
fn next_after(table: &ReferenceRates, now: Timestamp) -> Timestamp {
    let seconds = i64::from(table.at.hour()) * 3600
        + i64::from(table.at.minute()) * 60
        + i64::from(table.at.second());
    let midnight = now.next_midnight().minus(DAY);
    let today = midnight.plus(Duration::from_secs(seconds.unsigned_abs()));
    if today > now { today } else { today.plus(DAY) }
}

/// Imports a table. A failed import is tried again until the next day's.
///
/// # Errors
/// [`Error::Unavailable`].
pub(crate) async fn run(app: Arc<App>, work: Work) -> Result<()> {
    let records = app.records(work.partition.clone());
    let mut tables = app.config.reference_rates.iter();
    let table = tables.find(|table| {
        table.tenant.partition() == work.partition && id_of(table).is_ok_and(|id| id == work.job.id)
    });
    let mut change = Change::default();
    let Some(table) = table else {
        // Another host may still have the table: it enqueues the job again at its next start.
        work.settle(&mut change);
        change.delete(&format!("{SCHEDULED}{}", work.job.id));
        return records.commit(change).await.map(drop);
    };
    let (tenant, unit) = (&table.tenant, &table.business_unit);
    tracing::info!(%tenant, unit, "the import of reference rates begins");
    let imported = import_table(&app, table).await;
    // Without this, a store whose clock is ahead would make the job due again at once for nothing.
    let now = app.clock.now().plus(CLOCK_SKEW);
    let next_day = next_after(table, now);
    let next = match imported {
        Ok(()) => next_day,
        Err(Error::Unavailable(cause)) => return Err(Error::Unavailable(cause)),
        Err(cause) => {
            tracing::error!(%tenant, unit, %cause, "reference rates could not be imported: the rates stay as they are");
            next_day.min(now.plus(RETRY))
        }
    };
    work.reschedule(&mut change, next);
    records.commit(change).await.map(drop)
}

async fn import_table(app: &Arc<App>, table: &ReferenceRates) -> Result<()> {
    let document = match table.source() {
        Source::Url(url) => fetch(url).await?,
        Source::File(file) => {
            let read = regular_file::read(file).await;
            read.map_err(|cause| failed(&format!("{}: {cause}", file.display())))?
        }
    };
    let document = app
        .run_blocking(move |_| Document::parse(DocumentType::detect(&document), &document))
        .await?
        .map_err(Error::Invalid)?;
    let unit = UnitId::new(&table.business_unit);
    let import = Import {
        unit: unit.ok_or_else(|| failed("the business unit has no valid id"))?,
        rate_types: table.exchange_rate_types.clone(),
        crosses: table.crosses,
        document,
    };
    let editor = Editor {
        tenant: &table.tenant,
        by: BY,
        name: None,
        note: None,
        correlation: Uuid::new_v4(),
        dry_run: false,
        accept_deviation: false,
    };
    let edits = Edits {
        app,
        records: app.records(table.tenant.partition()),
        passes: &Passes::new(),
        editor,
    };
    let imported = import::run(&edits, &import).await;
    audit(&edits.editor, &import.unit, &imported);
    if let Edited::Made(imported, _) = imported? {
        let (tenant, unit) = (&table.tenant, &table.business_unit);
        let import::Imported {
            correlation_id,
            date,
            created,
            updated,
            unchanged,
            stale,
            deviations,
            skipped,
            older,
            filled_days,
        } = imported;
        tracing::info!(%tenant, unit, date, created, updated, unchanged, ?stale, ?skipped, older, filled_days, correlation = %correlation_id, "reference rates were imported");
        if !deviations.is_empty() {
            let left_out = deviations::named(&deviations);
            tracing::warn!(%tenant, unit, left_out, "reference rates would move by more than the tolerance, and were left out");
        }
    }
    Ok(())
}

/// Writes a line to the audit log if the import has changed something, or may have.
fn audit(editor: &Editor<'_>, unit: &UnitId, imported: &Result<Edited<import::Imported>>) {
    let origin = Origin {
        by: editor.by,
        correlation: Some(editor.correlation),
        ..Origin::HOST
    };
    match imported {
        Ok(Edited::Made(_, Some(line))) => line.write(CHANGED, &origin, Outcome::Done),
        Err(cause) if cause.may_follow_its_effect() => {
            let line = Line {
                tenant: Some(editor.tenant.clone()),
                unit: Some(unit.as_str().to_owned()),
                ..Line::default()
            };
            line.write(CHANGED, &origin, Outcome::Unknown);
        }
        Ok(_) | Err(_) => {}
    }
}

async fn fetch(url: &str) -> Result<Vec<u8>> {
    let (parsed, name) = (Url::parse(url), shown(url));
    let parsed = parsed.map_err(|cause| failed(&format!("{name}: {cause}")))?;
    // Without TLS, a document is fetched only from this machine.
    let destinations = match parsed.scheme() {
        "https" => Destinations::Any,
        _ => Destinations::Loopback,
    };
    let limits = Limits {
        deadline: DEADLINE,
        max_answer: MAX_DOCUMENT,
        destinations,
    };
    let client = Client::new(limits).map_err(|cause| failed(&cause.to_string()))?;
    let answer = client.send(client.request(Method::GET, parsed)).await;
    let answer = answer.map_err(|cause| failed(&format!("{name}: {cause}")))?;
    if !answer.status.is_success() {
        return Err(failed(&format!("{name} answered {}", answer.status)));
    }
    Ok(answer.body.into())
}

/// Returns the error for an import that cannot be done now.
fn failed(why: &str) -> Error {
    Error::Conflict(REFERENCE_UNAVAILABLE, why.to_owned())
}
