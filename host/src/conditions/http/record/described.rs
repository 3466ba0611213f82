//! What the API's documents say of the decision log.

use tillgate_api::describe;
use tillgate_api::problem::{QUOTA_EXCEEDED, TILL_NOT_FOUND};
use tillgate_api::schema::{limit, schema_of, tenant_id};

use crate::decision_log::{
    Chosen, Receipt, TillPage, read_choice, report, till_cursor, till_schema,
};
use crate::http::{Operation, Tag};

fn of_tenant(operation: Operation) -> Operation {
    operation
        .path("tenantId", "The id of the tenant.", tenant_id)
        .answers(200, "Which decisions go into the log", schema_of::<Chosen>)
}

pub(super) fn get_choice() -> Operation {
    let operation = Operation::new(
        "getDecisionLog",
        Tag::Decisions,
        "Get which decisions go into the log",
    );
    of_tenant(operation.says("For any client of the tenant, and for the platform's."))
        .with_entity_tag()
}

pub(super) fn put_choice() -> Operation {
    let operation = Operation::new(
        "putDecisionLog",
        Tag::Decisions,
        "Choose which decisions go into the log",
    );
    of_tenant(
        operation
            .says("They are written where the configuration of each host says (`decisions.log`)."),
    )
    .takes(|generator| describe(generator, read_choice))
    .with_preconditions()
}

pub(super) fn hand_in() -> Operation {
    Operation::new(
        "handInDecisions",
        Tag::Decisions,
        "Put decisions of a till into the log",
    )
    .says("They are on disk when this is answered. A till numbers its decisions; those that are not greater than its last one are repetitions, counted and not written again. When `sequence` of the answer is greater than the last number that was handed in, the till had used these numbers before: it goes on after that one, and hands in again. Each client has tills of its own: under the name of another client's, its numbers are its own. `leftOut` are those that the tenant has not chosen.")
    .takes(
        |generator| describe(generator, report))
    .answers(
        200,
        "What became of them",
        schema_of::<Receipt>)
    .refuses(&[QUOTA_EXCEEDED])
}

pub(super) fn list_tills() -> Operation {
    Operation::new(
        "listTills",
        Tag::Decisions,
        "List the tills that hand in decisions",
    )
    .query("limit", "How many tills the page has at most.", limit)
    .query("cursor", "`next` of the page before.", till_cursor)
    .answers(
        200,
        "The tills, by name, each with the number of its last decision",
        schema_of::<TillPage>,
    )
}

pub(super) fn delete_till() -> Operation {
    Operation::new("deleteTill", Tag::Decisions, "Forget the tills with a name")
        .path("till", "The name of the till.", till_schema)
        .empty(204, "They are forgotten, and their places are free")
        .refuses(&[TILL_NOT_FOUND])
}
