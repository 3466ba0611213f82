//! What a server says of itself in reply to `INFO` and `CLUSTER INFO`: lines of a name and a value.

/// The lines of `name:value`.
pub(super) fn fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once(':'))
}
