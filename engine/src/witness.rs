//! Customers as examples for statements about a condition, written as bodies of evaluate calls.

use std::borrow::Cow;

use crate::condition::{Customer, Licenses};
use crate::json::{push, push_text, write_number};

/// The facts about a customer that a condition looks at. `None` means unknown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) age: Option<u8>,
    /// At most one license: the id of a condition.
    pub(crate) licenses: Option<Option<&'a str>>,
}

impl<'a> Known<'a> {
    pub(crate) fn customer(self) -> Customer<'a> {
        let held = |license: Option<&'a str>| license.map(Cow::Borrowed).into_iter().collect();
        Customer {
            age: self.age,
            licenses: self.licenses.map(|license| Licenses::new(held(license))),
        }
    }

    /// Returns the body of an evaluate call, `{ "item", "context" }`.
    #[inline(never)]
    pub(crate) fn request(self) -> Vec<u8> {
        let mut request = Vec::new();
        push(
            r#"{"item":{"id":"item"},"context":{"customer":{"#,
            &mut request,
        );
        if let Some(age) = self.age {
            push("\"customer_age\":", &mut request);
            write_number(age.into(), &mut request);
        }
        if let Some(license) = self.licenses {
            if self.age.is_some() {
                request.push(b',');
            }
            push("\"licenses\":[", &mut request);
            if let Some(license) = license {
                push_text(license, &mut request);
            }
            request.push(b']');
        }
        push("}}}", &mut request);
        request
    }
}
