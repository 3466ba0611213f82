//! Reports the age of the reference rates of all tenants: a warning of `/readyz`, two metrics, and a line in the log
//! when the first become stale (`rates.md`, "Guard against slips").
//!
//! Neither the warning nor the metrics name a unit; the log names the first few. The days are read again periodically,
//! and whenever this host has written some of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::Date;
use parking_lot::Mutex;
use tillgate_base::app::App;
use tillgate_base::data::records::{Change, Records, Versioned, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::jobs::Work;
use tillgate_base::observe::metrics::{MetricFamily, Sample};
use tillgate_base::observe::readiness::Warning;
use tillgate_store::Partition;
use tillgate_store::clock::Timestamp;
use tokio::sync::Notify;

use crate::units::calendar::{business_days_since, stale_before};
use crate::units::reference_dates::{DATES, Dates, PARTITION, dates, key};
use crate::units::tree::Tree;
use crate::units::unit::UnitId;

/// The interval at which the days are read again, and the least time between two reads.
const INTERVAL: Duration = Duration::from_secs(10 * 60);
const PAUSE: Duration = Duration::from_secs(1);

/// The most units to read. If there are more, those whose tenant and id come last are left out.
const MAX_UNITS: usize = 100_000;

/// The most units that the log names.
const MAX_NAMED: usize = 5;

#[derive(Debug, Default)]
pub(crate) struct Ages {
    known: Mutex<Known>,
    changed: Notify,
}

/// The number of units by the day of their reference rates. A unit counts on the day of the type whose newest day is
/// the oldest.
#[derive(Debug, Default)]
struct Known {
    units: BTreeMap<Date, usize>,
    /// The units with the oldest days: day, tenant and id.
    oldest: Vec<(Date, String)>,
    was_stale: bool,
}

/// The value of a metric on a day.
type Gauge = fn(&Ages, Date) -> usize;

impl Ages {
    /// Begins to read the days and to report their age.
    pub(crate) fn start(app: &Arc<App>) -> Arc<Self> {
        let ages = Arc::new(Self::default());
        let warns = Arc::clone(&ages);
        app.readiness.warn("reference_rates", move |now| {
            let count = warns.stale(today(now)?);
            (count > 0).then_some(Warning {
                count,
                why: "business units have reference rates that are two business days old or older",
            })
        });
        let gauges: [(_, _, Gauge); 2] = [
            (
                "tillgate_reference_rates_business_day_age",
                "Age in business days of the oldest reference rates of a business unit; 0 if there are none",
                Self::age,
            ),
            (
                "tillgate_reference_rates_stale",
                "Business units whose reference rates are two business days old or older",
                Self::stale,
            ),
        ];
        for (name, help, value) in gauges {
            let (ages, clock) = (Arc::clone(&ages), Arc::clone(&app.clock));
            let sample = move || {
                let value = today(clock.now()).map(|today| value(&ages, today));
                vec![Sample::count([], value.unwrap_or_default())]
            };
            app.metrics.collect(MetricFamily::gauge(name, help), sample);
        }
        ages.watch(app);
        ages
    }

    /// Reads the days periodically, for as long as the application exists.
    fn watch(self: &Arc<Self>, app: &Arc<App>) {
        let (ages, weak) = (Arc::clone(self), Arc::downgrade(app));
        tokio::spawn(async move {
            while let Some(app) = weak.upgrade() {
                // While the store is unavailable, the known days stay.
                if let Ok(known) = read(&app).await {
                    ages.learn(known, app.clock.now());
                }
                drop(app);
                let _ = tokio::time::timeout(INTERVAL, ages.changed.notified()).await;
                tokio::time::sleep(PAUSE).await;
            }
        });
    }

    /// Takes what was read, and logs once when rates become stale and once when none is stale any longer.
    fn learn(&self, read: Known, now: Timestamp) {
        let Some(today) = today(now) else { return };
        let was_stale = self.known.lock().was_stale;
        let limit = stale_before(today);
        let stale: usize = read.units.range(..limit).map(|(_, count)| count).sum();
        match (was_stale, stale > 0) {
            (false, true) => {
                let first = read.oldest.iter().filter(|(day, _)| *day < limit);
                let first: Vec<String> = first.map(|(day, of)| format!("{of} of {day}")).collect();
                tracing::warn!(
                    business_units = stale,
                    first = first.join(", "),
                    "reference rates are two business days old or older"
                );
            }
            (true, false) => {
                tracing::info!("no reference rates are two business days old or older any longer")
            }
            _ => {}
        }
        *self.known.lock() = Known {
            was_stale: stale > 0,
            ..read
        };
    }

    /// Returns the number of units that have stale reference rates.
    fn stale(&self, today: Date) -> usize {
        let known = self.known.lock();
        let stale = known.units.range(..stale_before(today));
        stale.map(|(_, count)| count).sum()
    }

    /// Returns the age of the oldest rates in business days.
    fn age(&self, today: Date) -> usize {
        let oldest = self.known.lock().units.keys().next().copied();
        let age = oldest.map_or(0, |oldest| business_days_since(oldest, today));
        usize::try_from(age).unwrap_or(usize::MAX)
    }
}

impl Known {
    fn add(&mut self, of: &str, dates: &Dates) {
        let oldest = dates.values().filter_map(|day| day.parse().ok()).min();
        let Some(day) = oldest else { return };
        *self.units.entry(day).or_default() += 1;
        let place = self.oldest.partition_point(|(other, _)| *other <= day);
        if place < MAX_NAMED {
            self.oldest.insert(place, (day, of.to_owned()));
            self.oldest.truncate(MAX_NAMED);
        }
    }
}

/// Writes the days of the reference rates of a unit.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] for a job that names no unit.
pub(crate) async fn run(app: Arc<App>, ages: Arc<Ages>, work: Work) -> Result<()> {
    let tenant = TenantId::of_partition(&work.partition);
    let (Some(tenant), Some(unit)) = (tenant, UnitId::new(&work.job.id)) else {
        return Err(Error::Bug(format!("{} is not a unit", work.job.id)));
    };
    let records = app.records(work.partition.clone());
    let node = Tree::new(&records).node(&unit).await?;
    let dates = node
        .map(|node| dates(&node.rates.rates))
        .unwrap_or_default();
    let key = key(&tenant, &unit);
    let mut written = Change::default();
    if dates.is_empty() {
        written.delete(&key)
    } else {
        written.put(&key, &dates)?
    }
    of_all_tenants(&app).commit(written).await?;
    let mut change = Change::default();
    work.settle(&mut change);
    records.commit(change).await?;
    ages.changed.notify_one();
    Ok(())
}

/// Reads the days of all units.
async fn read(app: &App) -> Result<Known> {
    let records = of_all_tenants(app);
    let (mut known, mut left) = (Known::default(), MAX_UNITS);
    let mut pages = records.pages(DATES);
    while let Some(entries) = pages.next().await? {
        for (key, entry) in &entries {
            let dates: Versioned<Dates> = decode_entry(key, entry)?;
            known.add(key.strip_prefix(DATES).unwrap_or(key), &dates.record);
        }
        left = left.saturating_sub(entries.len());
        if left == 0 {
            break;
        }
    }
    Ok(known)
}

fn of_all_tenants(app: &App) -> Records {
    app.records(Partition::named(PARTITION))
}

/// Returns the day of a time, in UTC.
fn today(now: Timestamp) -> Option<Date> {
    now.to_millis_text().get(..10)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn a_unit_is_as_old_as_the_type_that_was_not_renewed() {
        let mut known = Known::default();
        let dates = |days: &[(&str, &str)]| -> Dates {
            let days = days
                .iter()
                .map(|(of, day)| ((*of).to_owned(), (*day).to_owned()));
            days.collect()
        };
        known.add(
            "a/1",
            &dates(&[("SALES", "2026-11-20"), ("PURCHASE", "2026-11-18")]),
        );
        known.add("a/2", &dates(&[("SALES", "2026-11-20")]));
        known.add("b/1", &dates(&[]));
        for unit in 3..9 {
            known.add(&format!("a/{unit}"), &dates(&[("SALES", "2026-11-19")]));
        }
        let ages = Ages {
            known: Mutex::new(known),
            ..Ages::default()
        };
        let counts = [(20, 1, 2), (23, 7, 3), (24, 8, 4)].map(|(day, ..)| {
            let today = date(2026, 11, day);
            (day, ages.stale(today), ages.age(today))
        });
        assert_eq!(counts, [(20, 1, 2), (23, 7, 3), (24, 8, 4)]);
        let named: Vec<String> = ages
            .known
            .lock()
            .oldest
            .iter()
            .map(|(_, of)| of.clone())
            .collect();
        assert_eq!(named, ["a/1", "a/3", "a/4", "a/5", "a/6"]);
    }
}
