//! The members of a document, by name, as JSON.

/// The members of an object, in the order in which they were set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Members(Vec<(String, Vec<u8>)>);

impl Members {
    /// Returns the JSON of a member.
    pub(super) fn get(&self, name: &str) -> Option<&[u8]> {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map(|(_, json)| json.as_slice())
    }

    /// Returns the text of a member.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_slice(self.get(name)?).ok()
    }

    /// Sets a member, and adds a new one at the end.
    pub(super) fn set(&mut self, name: &str, json: Vec<u8>) {
        match self.0.iter_mut().find(|(other, _)| other == name) {
            Some((_, before)) => *before = json,
            None => self.0.push((name.to_owned(), json)),
        }
    }

    /// Returns the object as compact JSON.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut json = Vec::new();
        self.write(&mut json);
        json
    }

    /// Appends the object.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (index, (name, json)) in self.0.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_text(name, out);
            out.push(b':');
            out.extend_from_slice(json);
        }
        out.push(b'}');
    }
}

/// Appends elements as a list.
pub(super) fn write_list(elements: &[Vec<u8>], out: &mut Vec<u8>) {
    out.push(b'[');
    out.extend(elements.join(&b','));
    out.push(b']');
}

/// Appends a string as JSON.
pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing a string cannot fail.
    out.extend(serde_json::to_vec(text).unwrap_or_default());
}
