//! The place where a filter looks in an event: its type, its id, or a member of its data. This is not JSONPath: there
//! are no wildcards, and no elements of arrays.

/// The most bytes of a path, and the most names after `$.data`.
const MAX_BYTES: usize = 512;
const MAX_NAMES: usize = 16;

pub(super) const PATH_RULE: &str = "must be $.type, $.id or a member of the data such as $.data.businessUnitId or \
                                    $.data['a.b'], of at most 512 bytes and 16 names";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Path {
    Type,
    Id,
    /// The names of nested members.
    Data(Vec<String>),
}

impl Path {
    /// Parses a path: names follow `$.data` as `.name`, or as `['any name']`, in which a backslash precedes `'` and
    /// `\`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "$.type" => return Some(Self::Type),
            "$.id" => return Some(Self::Id),
            _ => {}
        }
        let mut rest = text.strip_prefix("$.data")?;
        let mut names = Vec::new();
        while !rest.is_empty() {
            let (name, after) = match rest.strip_prefix("['") {
                Some(quoted) => quoted_name(quoted)?,
                None => plain_name(rest.strip_prefix('.')?)?,
            };
            names.push(name);
            rest = after;
        }
        let fits = text.len() <= MAX_BYTES && (1..=MAX_NAMES).contains(&names.len());
        fits.then_some(Self::Data(names))
    }
}

/// Returns the name that a text begins with, and what follows it.
fn plain_name(text: &str) -> Option<(String, &str)> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end)?;
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && !"*]'\"\\?@()".contains(c);
    let is_name = !name.is_empty() && name.chars().all(is_plain);
    is_name.then(|| (name.to_owned(), rest))
}

/// Returns the quoted name that follows an opening quotation mark, and what follows it.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = text.chars();
    loop {
        match chars.next()? {
            '\'' => break,
            '\\' => name.push(chars.next().filter(|c| matches!(c, '\'' | '\\'))?),
            c => name.push(c),
        }
    }
    Some((name, chars.as_str().strip_prefix(']')?))
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn a_path_names_members_of_the_data() {
        for (text, names) in [
            ("$.data.shop", &["shop"][..]),
            (
                "$.data.shop.business-unit_id",
                &["shop", "business-unit_id"],
            ),
            ("$.data['a.b'].é", &["a.b", "é"]),
            (r"$.data['it\'s']['\\'][''].x", &["it's", r"\", "", "x"]),
            ("$.data.0", &["0"]),
        ] {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(Path::parse(text), Some(Path::Data(names)), "{text}");
        }
        let deep = |count: usize| format!("$.data{}", ".a".repeat(count));
        assert!(Path::parse(&deep(16)).is_some());
        assert!(Path::parse(&format!("$.data.{}", "x".repeat(505))).is_some());
        let (deep, long) = (deep(17), format!("$.data.{}", "x".repeat(506)));
        for text in [
            "",
            "$",
            "$.",
            "$.data",
            "$.data.",
            "$.data..a",
            "$.data.a.",
            "$.datax",
            "$.data[0]",
            "$.data.a[0]",
            "$.data.*",
            "$.data['a'",
            "$.data['a]",
            "$.data['a\\n']",
            "$.data[\"a\"]",
            "$.data.a b",
            "$..data",
            "data.a",
            "$.meta.a",
            "$.source",
            "$.type.a",
            "$.time",
            &deep,
            &long,
        ] {
            assert_eq!(Path::parse(text), None, "{text}");
        }
    }
}
