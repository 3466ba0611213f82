//! Reads tests strictly: a misspelled member would silently weaken a test, so an unknown one is a fault.

use super::{Beside, MAX_BYTES, MAX_LEVELS, MAX_NAME, MAX_TESTS, Request, Test, Tests, Verdict};
use super::{stored, write_verdict};
use crate::condition::ConditionRequest;
use crate::json::{Faults, NO_CONTROLS, Node, push, write_text};
use crate::outcome::{Decision, Reason};
use crate::restriction::{ITEM, Item, read_project_id};

impl<'a> Tests<'a> {
    /// Reads the member `tests` of a condition or project, and collects faults; without the member there are no tests.
    /// The document must have been parsed with the text of its numbers, because requests are kept as they are.
    pub fn read(document: Node<'_, 'a>, beside: Beside, faults: &mut Faults) -> Self {
        let mut tests = Self::default();
        let list = document.member(stored::NAME);
        let Some(list) = list.and_then(|list| faults.array(list)) else {
            return tests;
        };
        let mut names = Vec::new();
        push("[", &mut tests.json);
        for (position, node) in list.children().enumerate() {
            if position == MAX_TESTS {
                faults.add(list, "must have at most 200 tests");
                break;
            }
            if position > 0 {
                push(",", &mut tests.json);
            }
            let test = Test::read(node, beside, &mut tests.json, faults);
            tests.all.extend(test);
            if let Some(member) = node.member("name")
                && let Some(name) = member.text()
            {
                if names.contains(&name) {
                    faults.add(member, "is the name of an earlier test");
                }
                names.push(name);
            }
        }
        push("]", &mut tests.json);
        if tests.json.len() > MAX_BYTES {
            faults.add(list, "must be at most 64 KiB of JSON in all");
        }
        tests
    }
}

impl<'a> Test<'a> {
    /// Reads a test, and appends it as it is written; `None` if it cannot be read.
    fn read(
        node: Node<'_, 'a>,
        beside: Beside,
        json: &mut Vec<u8>,
        faults: &mut Faults,
    ) -> Option<Self> {
        let node = faults.object(node)?;
        faults.always_refuse_unknown(node, &["name", "request", "expect"]);
        let name = faults.required(node, "name").and_then(|member| {
            let name = faults.name(member, MAX_NAME)?;
            if name.contains(char::is_control) {
                faults.add(member, NO_CONTROLS);
            }
            Some(name)
        });
        let given = faults.required(node, "request");
        let request =
            given.and_then(|given| faults.strictly(|faults| Request::read(given, beside, faults)));
        let expected = faults.required(node, "expect");
        let expected = expected.and_then(|expected| read_expected(expected, faults));
        let (name, given, expected) = (name?, given?, expected?);
        push("{\"name\":", json);
        write_text(&name, json);
        push(",\"request\":", json);
        given.write(json);
        push(",\"expect\":", json);
        let reasons = expected.reasons.as_deref();
        write_verdict(expected.decision.as_str(), reasons, json);
        push("}", json);
        Some(Self {
            name,
            request: request?,
            expected,
        })
    }
}

impl<'a> Request<'a> {
    /// Reads the body of the evaluate call, as strictly as that call does by default.
    fn read(node: Node<'_, 'a>, beside: Beside, faults: &mut Faults) -> Option<Self> {
        if node.is_deeper_than(MAX_LEVELS) {
            faults.add(node, "must not be nested deeper than 16 levels");
        }
        let Beside::Project(project_id) = beside else {
            return ConditionRequest::from_node(node, faults).map(Self::Condition);
        };
        let node = faults.object_with(node, &["projectId", "item"])?;
        if let Some(member) = node.member("projectId")
            && let Some(id) = read_project_id(member, faults)
            && project_id.is_some_and(|project_id| project_id != id)
        {
            faults.add(member, "must be the id of the project");
        }
        let item = faults.required(node, "item");
        let item = item.and_then(|item| Item::read(item, &ITEM, faults));
        item.map(Self::Project)
    }
}

fn read_expected(node: Node<'_, '_>, faults: &mut Faults) -> Option<Verdict<Option<Vec<Reason>>>> {
    let node = faults.object(node)?;
    faults.always_refuse_unknown(node, &["decision", "reasons"]);
    let decision = faults.required(node, "decision").and_then(|member| {
        let text = member.text().map(|text| text.as_ref());
        let decision = Decision::ALL
            .into_iter()
            .find(|decision| text == Some(decision.as_str()));
        if decision.is_none() {
            faults.add(member, "must be ALLOW, SOFT_DENY or HARD_DENY");
        }
        decision
    });
    let reasons = node.member("reasons").map(|list| {
        let mut reasons = Vec::new();
        for element in faults.array(list)?.children() {
            match element.text().and_then(|code| Reason::from_code(code)) {
                Some(reason) => reasons.push(reason),
                None => faults.add(element, "must be the code of a reason"),
            }
        }
        Some(reasons)
    });
    let reasons = match reasons {
        None => None,
        Some(read) => Some(read?),
    };
    Some(Verdict {
        decision: decision?,
        reasons,
    })
}
