//! The text format of Prometheus, version 0.0.4, for scrapers that do not read OpenMetrics. Pure.
//!
//! The contents are the same, but a family of counters has the name of its samples, with `_total`, and there are no
//! units and no end mark.

/// Converts an exposition in OpenMetrics to text 0.0.4.
pub(super) fn from_open_metrics(exposition: &str) -> String {
    let mut text = String::with_capacity(exposition.len());
    let mut add = |parts: &[&str]| {
        text.extend(parts.iter().copied());
        text.push('\n');
    };
    let mut help = "";
    for line in exposition.lines() {
        if let Some(said) = line.strip_prefix("# HELP ") {
            help = said.split_once(' ').map_or("", |(_, help)| help);
        } else if let Some((name, kind)) = typed(line) {
            let suffix = if kind == "counter" { "_total" } else { "" };
            add(&["# HELP ", name, suffix, " ", help]);
            add(&["# TYPE ", name, suffix, " ", kind]);
        } else if !line.starts_with('#') {
            add(&[line]);
        }
    }
    text
}

/// Returns the name and the type of the family that a line declares.
fn typed(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("# TYPE ")?.split_once(' ')
}
