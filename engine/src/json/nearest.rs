//! Finds the name that a misspelled one probably means.

/// The longest name that is compared, in bytes: no known name is longer.
const MAX_NAME: usize = 64;

/// Returns the name of `names` that is most similar to `name`, if one is similar at all: at most a third of the longer
/// one's letters differ. Case, `_` and `-` make no difference.
#[cold]
#[inline(never)]
pub fn nearest<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    let name = letters(name)?;
    let mut nearest = None;
    for other in names {
        let letters = letters(other)?;
        let most = name.len().max(letters.len()).div_ceil(3);
        let distance = distance(&name, &letters);
        if distance <= most && nearest.is_none_or(|(least, _)| distance < least) {
            nearest = Some((distance, *other));
        }
    }
    nearest.map(|(_, other)| other)
}

fn letters(name: &str) -> Option<Vec<u8>> {
    let letters = name.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
    (name.len() <= MAX_NAME).then(|| letters.map(|byte| byte.to_ascii_lowercase()).collect())
}

/// Returns the Levenshtein distance: the number of letters to add, remove or replace.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (done, letter) in one.iter().enumerate() {
        let (mut left, mut diagonal) = (done + 1, done);
        for (cell, other) in row.iter_mut().skip(1).zip(other) {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = *cell;
            left = replaced.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = done + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn a_distance_counts_letters() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
            ("same", "same", 0),
        ] {
            let (one, other) = (one.as_bytes(), other.as_bytes());
            assert_eq!(distance(one, other), expected);
        }
    }

    #[test]
    fn the_name_that_is_meant_is_similar() {
        let names = [
            "conditionIds",
            "customer_age",
            "markupPercentage",
            "filter",
            "id",
        ];
        for (name, meant) in [
            ("conditionId", "conditionIds"),
            ("condition_ids", "conditionIds"),
            ("customerAge", "customer_age"),
            ("markupPercent", "markupPercentage"),
            ("filters", "filter"),
            ("fitler", "filter"),
            ("ID", "id"),
        ] {
            assert_eq!(nearest(name, &names), Some(meant), "{name}");
        }
        for name in ["", "price", "x", &"filter".repeat(20)] {
            assert_eq!(nearest(name, &names), None, "{name}");
        }
    }
}
