//! The demo's exchange rates: a company with 40 shops in three countries, and a year of reference rates.
//!
//! The rates are invented, but look like those of the European Central Bank: from the same start, every day takes the
//! same small steps, so that all demos of a day show the same rates.

use std::fmt::Write;

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};
use tillgate_base::app::App;
use tillgate_base::data::etag::Preconditions;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_engine::rate::{Currency, Pair, Rate, RateKey, RateType};
use tillgate_rates::reference::{Document, DocumentType};
use tillgate_rates::{Editor, Import, NewRate, Rates, UnitId, UnitSettings, UnitType};
use uuid::Uuid;

const COMPANY: &str = "nordic-retail";

/// A country: id, name, general markup, regions, and number of shops.
type Country = (
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static [&'static str],
    usize,
);

const COUNTRIES: &[Country] = &[
    (
        "SE",
        "Sweden",
        None,
        &["Stockholm", "Gothenburg", "Malmö"],
        18,
    ),
    ("NO", "Norway", Some("1.5"), &["Oslo", "Bergen"], 12),
    ("FI", "Finland", None, &["Helsinki", "Tampere"], 10),
];

/// Currencies, and the value of 1 EUR a year ago in ten-thousandths of each.
const QUOTES: &[(&str, i64)] = &[
    ("USD", 10_880),
    ("JPY", 1_624_500),
    ("CZK", 251_150),
    ("DKK", 74_590),
    ("GBP", 8_570),
    ("HUF", 3_951_000),
    ("PLN", 43_150),
    ("SEK", 113_200),
    ("CHF", 9_520),
    ("ISK", 1_497_000),
    ("NOK", 116_450),
];

/// Rates that single units set themselves: unit, source, target, value.
const OWN: &[(&str, &str, &str, &str)] = &[
    ("SE-003", "SEK", "EUR", "11.05"),
    ("SE-011", "SEK", "NOK", "0.98"),
    ("NO", "NOK", "SEK", "1.04"),
    ("FI-007", "EUR", "USD", "0.915"),
];

/// Shops with a markup of their own.
const MARKUPS: &[(&str, &str)] = &[("SE-005", "2"), ("NO-002", "0.75"), ("FI-004", "2.5")];

/// Fills the demo's tenant.
pub(super) async fn fill(app: &App, rates: &Rates, tenant: &TenantId) -> Result<()> {
    let demo = Demo { rates, tenant };
    demo.unit(COMPANY, UnitType::Company, None, "Nordic Retail", None)
        .await?;
    for (country, name, markup, regions, shops) in COUNTRIES {
        demo.unit(country, UnitType::Group, Some(COMPANY), name, *markup)
            .await?;
        let region_id = |index: usize| format!("{country}-R{}", index + 1);
        for (index, region) in regions.iter().enumerate() {
            demo.unit(
                &region_id(index),
                UnitType::Group,
                Some(country),
                region,
                None,
            )
            .await?;
        }
        for shop in 1..=*shops {
            let id = format!("{country}-{shop:03}");
            let region = (shop - 1) % regions.len().max(1);
            let town = regions.get(region).copied().unwrap_or_default();
            let name = format!("{town} {}", (shop - 1) / regions.len().max(1) + 1);
            let markup = MARKUPS.iter().find(|(shop, _)| *shop == id);
            let markup = markup.map(|(_, markup)| *markup);
            demo.unit(
                &id,
                UnitType::Store,
                Some(&region_id(region)),
                &name,
                markup,
            )
            .await?;
        }
    }
    let today = app.clock.now().to_millis_text();
    let today = today.get(..10).and_then(|day| day.parse().ok());
    let document = year_until(today.ok_or_else(|| malformed("date"))?);
    let document =
        Document::parse(DocumentType::Csv, document.as_bytes()).map_err(Error::Invalid)?;
    let import = Import {
        unit: unit_id(COMPANY)?,
        rate_types: vec![RateType::Purchase, RateType::Sales],
        crosses: false,
        document,
    };
    rates.import(demo.editor(), &import).await?;
    for (unit, from, to, value) in OWN {
        demo.set(unit, from, to, value).await?;
    }
    Ok(())
}

struct Demo<'a> {
    rates: &'a Rates,
    tenant: &'a TenantId,
}

impl Demo<'_> {
    fn editor(&self) -> Editor<'_> {
        Editor {
            tenant: self.tenant,
            by: "tillgate-demo",
            name: None,
            note: None,
            correlation: Uuid::new_v4(),
            dry_run: false,
            accept_deviation: false,
        }
    }

    async fn unit(
        &self,
        id: &str,
        unit_type: UnitType,
        parent: Option<&str>,
        name: &str,
        markup: Option<&str>,
    ) -> Result<()> {
        let settings = UnitSettings {
            name: Some(name.to_owned()),
            markup_percentage: markup.map(str::to_owned),
            ..UnitSettings::new(unit_type, parent.map(unit_id).transpose()?)
        };
        let anything = Preconditions::default();
        let id = unit_id(id)?;
        let put = self
            .rates
            .put_unit(self.editor(), &id, &settings, &anything);
        put.await.map(drop)
    }

    async fn set(&self, unit: &str, from: &str, to: &str, value: &str) -> Result<()> {
        let currency = |code: &str| Currency::parse(code).map_err(|_| malformed(code));
        let pair = Pair::new(currency(from)?, currency(to)?).map_err(|_| malformed(to))?;
        let key = RateKey {
            rate_type: RateType::Sales,
            pair,
        };
        let rate = Rate::parse(value).map_err(|_| malformed(value))?;
        let (id, new) = (unit_id(unit)?, NewRate::new(key, rate));
        let anything = Preconditions::default();
        let put = self.rates.put_rate(self.editor(), &id, &new, &anything);
        put.await.map(drop)
    }
}

fn unit_id(text: &str) -> Result<UnitId> {
    UnitId::new(text).ok_or_else(|| malformed(text))
}

fn malformed(what: &str) -> Error {
    Error::Bug(format!("{what} of the demo is malformed"))
}

/// Returns a history like that of the European Central Bank: the working days of a year, newest first.
fn year_until(today: Date) -> String {
    let mut values: Vec<i64> = QUOTES.iter().map(|(_, value)| *value).collect();
    let mut rows: Vec<String> = Vec::new();
    let mut day = today.saturating_sub(Span::new().years(1));
    // A linear congruential generator: the steps need only look irregular.
    let mut state: u64 = 20_261;
    while day <= today {
        let is_working_day = !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday);
        let mut row = day.to_string();
        for value in &mut values {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // At most 0.4 % a day, up or down.
            let per_mille = i64::try_from((state >> 33) % 801).unwrap_or(400) - 400;
            *value += *value * per_mille / 100_000;
            // Writing to a `String` cannot fail.
            let _ = write!(row, ",{}.{:04}", *value / 10_000, *value % 10_000);
        }
        if is_working_day {
            rows.push(row + ",");
        }
        day = day.saturating_add(1.day());
    }
    let codes: Vec<&str> = QUOTES.iter().map(|(code, _)| *code).collect();
    rows.push(format!("Date,{},", codes.join(",")));
    rows.reverse();
    rows.join("\n") + "\n"
}
