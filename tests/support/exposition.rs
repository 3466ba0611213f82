//! A strict reader of the text of `/metrics`, OpenMetrics 1.0. Anything that Prometheus would refuse fails the test.

use std::collections::BTreeMap;

/// The labels of a sample, by name.
pub type Labels = BTreeMap<String, String>;

#[derive(Clone, Debug, Default)]
pub struct Family {
    pub kind: String,
    pub unit: Option<String>,
    /// The name without the family's name, such as `_total`, the labels and the value.
    pub samples: Vec<(String, Labels, f64)>,
}

/// The result of a scrape.
#[derive(Clone, Debug)]
pub struct Scrape {
    pub families: BTreeMap<String, Family>,
    pub text: String,
}

impl Scrape {
    pub fn read(text: &str) -> Self {
        let body = text.strip_suffix("# EOF\n").expect("it ends with EOF");
        let mut families: BTreeMap<String, Family> = BTreeMap::new();
        let mut current = String::new();
        for line in body.split_terminator('\n') {
            let Some(comment) = line.strip_prefix("# ") else {
                let family = families.get_mut(&current).expect("a family before samples");
                family.add(&current, line);
                continue;
            };
            let mut parts = comment.splitn(3, ' ');
            let mut next = || parts.next().unwrap_or_else(|| panic!("{line}"));
            match (next(), next(), next()) {
                ("HELP", name, help) => {
                    assert!(
                        is_name(name) && help.ends_with('.') && !help.ends_with(".."),
                        "{line}"
                    );
                    let before = families.insert(name.to_owned(), Family::default());
                    assert!(before.is_none(), "{name} is there twice");
                    current = name.to_owned();
                }
                ("TYPE", name, kind) => {
                    let family = families.get_mut(name).expect("a type follows its help");
                    assert!(name == current && family.kind.is_empty(), "{line}");
                    assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                    family.kind = kind.to_owned();
                }
                ("UNIT", name, unit) => {
                    assert!(
                        name == current && name.ends_with(&format!("_{unit}")),
                        "{line}"
                    );
                    families.get_mut(name).unwrap().unit = Some(unit.to_owned());
                }
                _ => panic!("{line}"),
            }
        }
        for (name, family) in &families {
            family.check(name);
        }
        Self {
            families,
            text: text.to_owned(),
        }
    }

    /// Returns the number of series.
    pub fn series(&self) -> usize {
        self.families
            .values()
            .map(|family| family.samples.len())
            .sum()
    }

    /// Returns the sum of the samples of a metric that have these labels, among others.
    pub fn sum(&self, metric: &str, labels: &[(&str, &str)]) -> f64 {
        let is_meant = |sample: &Labels| {
            let has =
                |(name, value): &(&str, &str)| sample.get(*name).is_some_and(|it| it == value);
            labels.iter().all(has)
        };
        let all = self.families.iter().flat_map(|(name, family)| {
            let samples = family.samples.iter();
            samples.filter(move |(suffix, ..)| format!("{name}{suffix}") == metric)
        });
        all.filter(|(_, labels, _)| is_meant(labels))
            .map(|(.., value)| value)
            .sum()
    }

    /// Returns the values of a label in all series.
    pub fn values(&self, label: &str) -> Vec<&str> {
        let samples = self.families.values().flat_map(|family| &family.samples);
        let mut values: Vec<&str> = samples
            .filter_map(|(_, labels, _)| labels.get(label).map(String::as_str))
            .collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

impl Family {
    /// Returns the names of the family's labels.
    pub fn labels(&self) -> Vec<&str> {
        let names = self.samples.iter().flat_map(|(_, labels, _)| labels.keys());
        let mut names: Vec<&str> = names.map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn add(&mut self, name: &str, line: &str) {
        let (head, value) = line.rsplit_once(' ').expect(line);
        let value: f64 = value.parse().expect(line);
        assert!(value.is_finite() && value >= 0.0, "{line}");
        let (metric, labels) = match head.split_once('{') {
            Some((metric, labels)) => (metric, labels.strip_suffix('}').expect(line)),
            None => (head, ""),
        };
        let suffix = metric.strip_prefix(name).expect(line);
        let allowed: &[&str] = match self.kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            _ => &["_bucket", "_sum", "_count"],
        };
        assert!(allowed.contains(&suffix), "{line}");
        let labels = read_labels(labels);
        let is_new =
            |(other, others, _): &(String, Labels, f64)| other != suffix || *others != labels;
        assert!(self.samples.iter().all(is_new), "twice: {line}");
        self.samples.push((suffix.to_owned(), labels, value));
    }

    fn check(&self, name: &str) {
        assert!(!self.kind.is_empty(), "{name} has no type");
        if self.kind != "histogram" {
            return;
        }
        assert_eq!(self.unit.as_deref(), Some("seconds"), "{name}");
        let of = |suffix: &'static str| self.samples.iter().filter(move |it| it.0 == suffix);
        for (_, labels, count) in of("_count") {
            let mut before = 0.0;
            let mut bounds = Vec::new();
            for (_, of_bucket, value) in of("_bucket") {
                let mut rest = of_bucket.clone();
                let bound = rest.remove("le").expect("a bucket has a bound");
                if rest == *labels {
                    assert!(
                        *value >= before,
                        "{name} {labels:?}: buckets are cumulative"
                    );
                    before = *value;
                    bounds.push(bound.replace("+Inf", "inf").parse::<f64>().unwrap());
                }
            }
            assert!(
                bounds.is_sorted() && bounds.last() == Some(&f64::INFINITY),
                "{bounds:?}"
            );
            assert_eq!(
                before, *count,
                "{name} {labels:?}: the last bucket has them all"
            );
            assert_eq!(of("_sum").filter(|it| it.1 == *labels).count(), 1, "{name}");
        }
    }
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(fits)
}

/// Reads labels: `name="value"`, with `\\`, `\"` and `\n` in values, and commas between them.
fn read_labels(text: &str) -> Labels {
    let mut labels = Labels::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").expect(text);
        assert!(is_name(name), "{text}");
        let mut value = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next().expect(text) {
                (at, '"') => break at + 1,
                (_, '\\') => match chars.next().expect(text).1 {
                    'n' => value.push('\n'),
                    c @ ('\\' | '"') => value.push(c),
                    _ => panic!("{text}"),
                },
                (_, c) => value.push(c),
            }
        };
        assert!(labels.insert(name.to_owned(), value).is_none(), "{text}");
        rest = &after[end..];
        if !rest.is_empty() {
            rest = rest.strip_prefix(',').expect(text);
            assert!(!rest.is_empty(), "{text}");
        }
    }
    labels
}
