//! Parses the replies to `INFO` and `CLUSTER INFO`: lines of a name and a value.

/// Parses lines of `name:value`.
pub(super) fn fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once(':'))
}
