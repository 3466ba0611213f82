//! Finds the numbers of a JSON text, exactly as they are written. Pure.

/// The numbers of a valid JSON text, in order, each exactly as it is written.
pub(super) struct Numbers<'a> {
    pub(super) rest: &'a str,
}

impl<'a> Iterator for Numbers<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (mut in_string, mut is_escaped) = (false, false);
        let start = self.rest.bytes().position(|byte| {
            let after_backslash = std::mem::take(&mut is_escaped);
            match byte {
                b'"' => in_string ^= !after_backslash,
                b'\\' => is_escaped = !after_backslash,
                b'-' | b'0'..=b'9' => return !in_string,
                _ => {}
            }
            false
        });
        let (_, rest) = self.rest.split_at_checked(start?)?;
        let length = rest
            .bytes()
            .position(|byte| !matches!(byte, b'-' | b'+' | b'.' | b'0'..=b'9' | b'e' | b'E'));
        let (number, rest) = rest.split_at_checked(length.unwrap_or(rest.len()))?;
        self.rest = rest;
        Some(number)
    }
}
