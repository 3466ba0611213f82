//! Families whose samples are collected at each scrape: values that are known elsewhere need not be recorded twice.

use std::collections::BTreeMap;
use std::fmt;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

/// A family whose samples are collected at each scrape.
#[derive(Clone, Copy, Debug)]
pub struct MetricFamily {
    /// Its name, without the suffix of a counter (`_total`) or of a unit, such as `_seconds`.
    pub name: &'static str,
    /// Its help text, without a full stop.
    pub help: &'static str,
    kind: Kind,
    unit: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Counter,
    Gauge,
}

impl MetricFamily {
    /// Creates a family of numbers that only increase.
    #[must_use]
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            kind: Kind::Counter,
            unit: None,
        }
    }

    /// Creates a family of numbers that may decrease.
    #[must_use]
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self {
            kind: Kind::Gauge,
            ..Self::counter(name, help)
        }
    }

    /// Sets the unit to seconds.
    #[must_use]
    pub const fn seconds(self) -> Self {
        Self {
            unit: Some("seconds"),
            ..self
        }
    }

    /// Sets the unit to bytes.
    #[must_use]
    pub const fn bytes(self) -> Self {
        Self {
            unit: Some("bytes"),
            ..self
        }
    }

    fn metric_type(&self) -> MetricType {
        match self.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
        }
    }
}

/// A sample of a family.
#[derive(Clone, Debug)]
pub struct Sample {
    labels: Vec<(&'static str, &'static str)>,
    value: f64,
}

impl Sample {
    /// Creates a sample with the names and values of its labels.
    pub fn new<const N: usize>(labels: [(&'static str, &'static str); N], value: f64) -> Self {
        Self {
            labels: labels.into(),
            value,
        }
    }

    /// Creates a sample of a count.
    #[expect(
        clippy::cast_precision_loss,
        reason = "Prometheus has no other numbers"
    )]
    pub fn count<const N: usize>(
        labels: [(&'static str, &'static str); N],
        count: impl TryInto<u64>,
    ) -> Self {
        Self::new(labels, count.try_into().unwrap_or(u64::MAX) as f64)
    }
}

pub(super) type Source = Box<dyn Fn() -> Vec<Sample> + Send + Sync>;

#[derive(Default)]
pub(super) struct Collectors(Mutex<BTreeMap<&'static str, (MetricFamily, Vec<Source>)>>);

impl fmt::Debug for Collectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collectors").finish_non_exhaustive()
    }
}

impl Collectors {
    pub(super) fn add(&self, family: MetricFamily, source: Source) {
        let mut families = self.0.lock();
        let (_, sources) = families
            .entry(family.name)
            .or_insert_with(|| (family, Vec::new()));
        sources.push(source);
    }
}

impl Collector for Collectors {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let families = self.0.lock();
        for (family, sources) in families.values() {
            let samples: Vec<Sample> = sources.iter().flat_map(|source| source()).collect();
            encode(&mut encoder, family, &samples)?;
        }
        Ok(())
    }
}

/// Writes a family with its samples.
pub(super) fn encode(
    encoder: &mut DescriptorEncoder<'_>,
    family: &MetricFamily,
    samples: &[Sample],
) -> fmt::Result {
    let help = format!("{}.", family.help);
    let unit = family.unit.map(|unit| Unit::Other(unit.to_owned()));
    let metric_type = family.metric_type();
    let mut encoder = encoder.encode_descriptor(family.name, &help, unit.as_ref(), metric_type)?;
    for Sample { labels, value } in samples {
        if labels.is_empty() {
            encode_value(&mut encoder, family.kind, *value)?;
        } else {
            encode_value(&mut encoder.encode_family(labels)?, family.kind, *value)?;
        }
    }
    Ok(())
}

fn encode_value(encoder: &mut MetricEncoder<'_>, kind: Kind, value: f64) -> fmt::Result {
    match kind {
        Kind::Counter => encoder.encode_counter::<NoLabelSet, f64, f64>(&value, None),
        Kind::Gauge => encoder.encode_gauge(&value),
    }
}
