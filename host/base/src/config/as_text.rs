//! Settings that are written as text: durations, times of day and rate types. Each is printed in a form that can be
//! read back, because `--print-config` prints the settings as TOML.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de};

/// A duration as text, such as `24h` or `1h 30m`.
pub(super) mod duration {
    use super::*;

    const DAY: u64 = 24 * 60 * 60;

    pub(in crate::config) fn serialize<S: Serializer>(
        span: &Duration,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&written(*span))
    }

    /// Writes days as days: humantime would count in months of 30.44 days each.
    fn written(span: Duration) -> String {
        let days = span.as_secs() / DAY;
        let rest = span - Duration::from_secs(days * DAY);
        let unit = if days == 1 { "day" } else { "days" };
        match (days, rest.is_zero()) {
            (0, _) => humantime::format_duration(rest).to_string(),
            (_, true) => format!("{days}{unit}"),
            (_, false) => format!("{days}{unit} {}", humantime::format_duration(rest)),
        }
    }

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Duration, D::Error> {
        let text = String::deserialize(from)?;
        humantime::parse_duration(&text)
            .map_err(|cause| de::Error::custom(format!("{cause}: use a duration such as \"24h\"")))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_duration_is_written_in_days_and_can_be_read_again() {
            let rows = [
                ("400d", "400days"),
                ("1d", "1day"),
                ("36h", "1day 12h"),
                ("1h 30m", "1h 30m"),
                ("0s", "0s"),
            ];
            for (text, expected) in rows {
                let read = |text| humantime::parse_duration(text).ok();
                assert_eq!(read(text).map(written).as_deref(), Some(expected));
                assert_eq!(read(expected), read(text));
            }
        }
    }
}

/// A list of durations as text, such as `["1m", "2m"]`.
pub(super) mod durations {
    use super::*;

    #[derive(Deserialize, serde::Serialize)]
    #[serde(transparent)]
    struct Span(#[serde(with = "duration")] Duration);

    pub(in crate::config) fn serialize<S: Serializer>(
        spans: &[Duration],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(spans.iter().map(|span| Span(*span)))
    }

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Duration>, D::Error> {
        let spans = Vec::<Span>::deserialize(from)?;
        Ok(spans.into_iter().map(|Span(span)| span).collect())
    }
}

/// A time of day in UTC, such as `15:30`.
pub(super) mod time_of_day {
    use jiff::civil::Time;

    use super::*;

    const FORMAT: &str = "%H:%M";

    pub(in crate::config) fn serialize<S: Serializer>(
        time: &Time,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_str(&time.strftime(FORMAT))
    }

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Time, D::Error> {
        let text = String::deserialize(from)?;
        let time = Time::strptime(FORMAT, &text)
            .ok()
            .filter(|_| text.len() == 5);
        time.ok_or_else(|| de::Error::custom("must be a time of the day in UTC such as \"15:30\""))
    }
}

/// Rate types, such as `["SALES", "PURCHASE"]`.
pub(super) mod rate_types {
    use tillgate_engine::rate::RateType;

    use super::*;

    pub(in crate::config) fn serialize<S: Serializer>(
        types: &[RateType],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(types.iter().map(|it| it.as_str()))
    }

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<RateType>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let types = texts.iter().map(|text| RateType::parse(text));
        types.collect::<Result<_, _>>().map_err(de::Error::custom)
    }
}
