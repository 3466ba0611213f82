//! The schemas of conditions, projects, decisions and the catalog, for the documents of the API. They are by hand, as the
//! module's reader and writer of them are; `tests/openapi.rs` and the generated requests of the tests hold them to what is
//! answered.

use schemars::{Schema, SchemaGenerator, json_schema};

use tillgate_engine::decision::Reason;

use crate::http::schema::{component, managed_by};

/// The ids of conditions. In a path, `.` and `..` are none.
const CONDITION_ID: &str = "^[A-Za-z0-9_.:-]{1,64}$";

/// The id of a condition.
pub(super) fn condition_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": CONDITION_ID, "not": { "enum": [".", ".."] },
        "examples": ["alcohol"],
    })
}

/// The id of a condition in a body, where `.` and `..` are ids as well.
pub(super) fn body_condition_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": CONDITION_ID })
}

/// The id of a project.
pub(super) fn project_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "format": "uuid",
        "pattern": "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$",
        "examples": ["0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90"],
    })
}

fn decision(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Decision", |_| {
        json_schema!({
            "type": "string", "enum": ["ALLOW", "SOFT_DENY", "HARD_DENY"],
            "description": "SOFT_DENY: something was not asked yet, and asking may turn the decision. HARD_DENY: what is known denies it.",
        })
    })
}

fn item_id() -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": 256 })
}

fn properties() -> Schema {
    json_schema!({
        "type": "object",
        "description": "The item's attributes. A number matches nothing.",
        "additionalProperties": { "type": ["string", "boolean", "number"] },
    })
}

fn context(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Context", |_| {
        json_schema!({
            "type": "object",
            "description": "What is known of the customer; `{}` when nothing is.",
            "properties": {
                "customer": {
                    "type": ["object", "null"],
                    "properties": {
                        "customer_age": { "type": ["integer", "null"], "minimum": 0, "maximum": 150 },
                        "licenses": {
                            "type": ["array", "null"],
                            "items": {
                                "oneOf": [
                                    { "type": "string" },
                                    { "type": "object", "required": ["id"], "properties": { "id": { "type": "string" } } },
                                ],
                            },
                        },
                    },
                },
            },
        })
    })
}

/// A request to decide by a condition.
pub(super) fn condition_request(generator: &mut SchemaGenerator) -> Schema {
    let context = context(generator);
    component(generator, "ConditionRequest", |_| {
        json_schema!({
            "type": "object",
            "required": ["item", "context"],
            "properties": {
                "item": { "type": "object", "required": ["id"], "properties": { "id": item_id() } },
                "context": context,
            },
        })
    })
}

/// A request to decide by the restrictions of a project.
pub(super) fn project_request(generator: &mut SchemaGenerator) -> Schema {
    let project_id = project_id(generator);
    component(generator, "ProjectRequest", |_| {
        json_schema!({
            "type": "object",
            "required": ["projectId", "item"],
            "properties": {
                "projectId": project_id,
                "item": {
                    "type": "object", "required": ["id"],
                    "properties": { "id": item_id(), "additionalProperties": properties() },
                },
            },
        })
    })
}

/// A request to decide about a basket.
pub(super) fn basket_request(generator: &mut SchemaGenerator) -> Schema {
    let (context, condition_id) = (context(generator), body_condition_id(generator));
    let project_id = project_id(generator);
    component(generator, "BasketRequest", |_| {
        json_schema!({
            "type": "object",
            "required": ["items", "context"],
            "properties": {
                "items": {
                    "type": "array", "minItems": 1, "maxItems": 1000,
                    "items": {
                        "type": "object", "required": ["id"],
                        "properties": {
                            "id": item_id(),
                            "conditionIds": { "type": "array", "maxItems": 64, "items": condition_id },
                            "additionalProperties": properties(),
                        },
                    },
                },
                "projectId": project_id,
                "context": context,
            },
        })
    })
}

fn explanation(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Explanation", |_| {
        json_schema!({
            "description": "What was compared, for `explain=true`; null for a project that the tenant does not have.",
            "type": ["object", "null"],
            "properties": {
                "minimumAge": { "type": "integer" },
                "customerAge": { "type": ["integer", "null"] },
                "licenseId": { "type": "string" },
                "licenses": { "type": ["array", "null"], "items": { "type": "string" }, "maxItems": 10 },
                "licensesCount": { "type": ["integer", "null"] },
                "restrictionIndex": { "type": "integer", "minimum": 0, "description": "The position of the restriction in the project." },
                "propertyName": { "type": "string" },
                "value": { "type": ["string", "boolean", "number", "null"] },
                "wants": { "type": "array", "items": { "type": ["string", "boolean"] }, "maxItems": 10, "description": "The first ten of the values that are listed." },
                "wantsCount": { "type": "integer" },
            },
        })
    })
}

fn result(generator: &mut SchemaGenerator) -> Schema {
    let (decision, explanation) = (decision(generator), explanation(generator));
    component(generator, "Result", |_| {
        json_schema!({
            "type": "object",
            "description": "What one check decided.",
            "required": ["allow", "decision", "reason", "rule"],
            "properties": {
                "id": { "type": "string", "description": "The id of the condition, when the result is of one." },
                "allow": { "type": "boolean" },
                "decision": decision,
                "reason": {
                    "type": ["string", "null"],
                    "description": "Why it is not allowed; null for ALLOW. More reasons may be added.",
                    "examples": ["age_restriction.underage"],
                },
                "rule": { "type": "string", "enum": ["AGE_RESTRICTION", "LICENSE_REQUIREMENT", "PROJECT_RESTRICTION"] },
                "source": { "type": "string", "const": "PROJECT_RESTRICTION", "description": "Only of a project's restrictions." },
                "restriction": { "type": ["string", "null"], "description": "The property that was checked, or `itemId`; only of a project's restrictions." },
                "explanation": explanation,
            },
        })
    })
}

/// What was decided about an item.
pub(super) fn item_decision(generator: &mut SchemaGenerator) -> Schema {
    let result = result(generator);
    component(generator, "ItemDecision", |_| {
        json_schema!({
            "type": "object",
            "required": ["id", "allow", "results"],
            "properties": {
                "id": { "type": "string", "description": "The id of the item." },
                "allow": { "type": "boolean", "description": "Whether every result allows it." },
                "results": { "type": "array", "items": result },
            },
        })
    })
}

/// What was decided about a basket.
pub(super) fn basket_decision(generator: &mut SchemaGenerator) -> Schema {
    let (decision, result) = (decision(generator), result(generator));
    component(generator, "BasketDecision", |_| {
        json_schema!({
            "type": "object",
            "required": ["allow", "decision", "items"],
            "properties": {
                "allow": { "type": "boolean" },
                "decision": decision,
                "items": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["id", "allow", "results"],
                        "properties": {
                            "id": { "type": "string" },
                            "allow": { "type": "boolean" },
                            "results": { "type": "array", "items": result },
                            "errors": {
                                "type": "array",
                                "description": "Conditions that are not in force.",
                                "items": {
                                    "type": "object", "required": ["conditionId", "status"],
                                    "properties": { "conditionId": { "type": "string" }, "status": { "type": "integer", "const": 404 } },
                                },
                            },
                        },
                    },
                },
            },
        })
    })
}

/// Tests beside a rule.
fn tests(generator: &mut SchemaGenerator, request: Schema, name: &'static str) -> Schema {
    let reasons = Reason::ALL.map(Reason::as_str);
    component(generator, name, |_| {
        json_schema!({
            "type": "array", "maxItems": 200,
            "description": "Requests, and how they must be decided: at most 64 KiB of JSON, names that differ. They decide nothing.",
            "items": {
                "type": "object", "required": ["name", "request", "expect"], "additionalProperties": false,
                "properties": {
                    "name": { "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]*$" },
                    "request": request,
                    "expect": {
                        "type": "object", "required": ["decision"], "additionalProperties": false,
                        "properties": {
                            "decision": { "type": "string", "enum": ["ALLOW", "SOFT_DENY", "HARD_DENY", "NOT_FOUND"] },
                            "reasons": { "type": "array", "items": { "type": "string", "enum": reasons } },
                        },
                    },
                },
            },
        })
    })
}

/// The two kinds of conditions. Each is whole, so that generated types tell them apart by their rule; `members` are those that
/// both have, of which `required` names those that are always there.
fn rules(required: &[&str], members: &Schema) -> Schema {
    let kind = |rule: &str, value: Schema| {
        let mut required = required.to_vec();
        required.extend(["rule", "condition_value"]);
        let mut properties = members.as_object().cloned().unwrap_or_default();
        let rule = json_schema!({ "type": "string", "const": rule });
        properties.insert("rule".to_owned(), rule.to_value());
        properties.insert("condition_value".to_owned(), value.to_value());
        json_schema!({ "type": "object", "required": required, "properties": properties })
    };
    let age = json_schema!({
        "type": "object", "required": ["minimum_age"], "additionalProperties": false,
        "properties": { "minimum_age": { "type": "integer", "minimum": 0, "maximum": 150 } },
    });
    let license = json_schema!({ "type": "object", "additionalProperties": false });
    let kinds = [
        kind("AGE_RESTRICTION", age),
        kind("LICENSE_REQUIREMENT", license),
    ];
    json_schema!({ "oneOf": kinds })
}

/// The body of a PUT of a condition.
pub(super) fn condition_put(generator: &mut SchemaGenerator) -> Schema {
    let request = condition_request(generator);
    let tests = tests(generator, request, "ConditionTests");
    component(generator, "ConditionPut", |_| {
        let members = json_schema!({
            "enabled": { "type": "boolean", "default": true, "description": "Whether it is in force." },
            "tests": tests,
            "managedBy": managed_by(),
        });
        rules(&[], &members)
    })
}

/// A condition.
pub(super) fn condition(generator: &mut SchemaGenerator) -> Schema {
    let (id, request) = (condition_id(generator), condition_request(generator));
    let tests = tests(generator, request, "ConditionTests");
    component(generator, "EntityCondition", |_| {
        let members = json_schema!({
            "id": id,
            "scope": { "type": "string", "enum": ["GLOBAL", "TENANT"], "description": "GLOBAL: the platform's, for every tenant." },
            "enabled": { "type": "boolean" },
            "tests": tests,
            "managedBy": managed_by(),
        });
        rules(&["id", "scope", "enabled"], &members)
    })
}

/// Conditions.
pub(super) fn conditions(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": condition(generator) })
}

/// A restriction of a project.
fn restriction(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Restriction", |_| {
        let name = || json_schema!({ "type": "string", "minLength": 1, "description": "At most 256 bytes." });
        let exclusive = || json_schema!({ "type": "boolean", "default": false, "description": "Whether it is a check of its own, and not joined with others of its type and property." });
        let value = || json_schema!({ "type": ["string", "boolean"], "description": "At most 256 bytes; `true` is not `\"true\"`." });
        json_schema!({
            "type": "object",
            "oneOf": [
                {
                    "required": ["type", "propertyName", "allowedValues"],
                    "properties": {
                        "type": { "const": "WHITELIST" }, "propertyName": name(),
                        "allowedValues": { "type": "array", "items": value() }, "exclusive": exclusive(),
                    },
                },
                {
                    "required": ["type", "propertyName", "deniedValues"],
                    "properties": {
                        "type": { "const": "BLACKLIST" }, "propertyName": name(),
                        "deniedValues": { "type": "array", "items": value() }, "exclusive": exclusive(),
                    },
                },
                {
                    "required": ["type", "propertyName", "value"],
                    "properties": {
                        "type": { "const": "BOOLEAN" }, "propertyName": name(),
                        "value": { "type": "boolean" }, "exclusive": exclusive(),
                    },
                },
                {
                    "required": ["type", "itemIds"],
                    "properties": {
                        "type": { "enum": ["WHITELISTEDITEMS", "BLACKLISTEDITEMS"] },
                        "itemIds": { "type": "array", "items": { "type": "string", "minLength": 1, "description": "At most 256 bytes." } },
                        "exclusive": exclusive(),
                    },
                },
            ],
        })
    })
}

fn restrictions_list(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "maxItems": 1000, "items": restriction(generator),
        "description": "At most 100,000 values over all of them.",
    })
}

/// The body of a PUT of a project.
pub(super) fn project_put(generator: &mut SchemaGenerator) -> Schema {
    let (restrictions, request) = (
        restrictions_list(generator),
        project_test_request(generator),
    );
    let tests = tests(generator, request, "ProjectTests");
    component(generator, "ProjectPut", |_| {
        json_schema!({
            "type": "object",
            "required": ["restrictions"],
            "properties": {
                "name": { "type": ["string", "null"], "minLength": 1, "maxLength": 256, "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]*$" },
                "restrictions": restrictions,
                "tests": tests,
                "managedBy": managed_by(),
            },
        })
    })
}

/// The request of a project's test, in which the project may be left out.
fn project_test_request(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "ProjectTestRequest", |_| {
        json_schema!({
            "type": "object",
            "required": ["item"],
            "description": "`projectId`, where it is there, must be the project's.",
            "properties": {
                "item": {
                    "type": "object", "required": ["id"],
                    "properties": { "id": item_id(), "additionalProperties": properties() },
                },
            },
        })
    })
}

/// A project.
pub(super) fn project(generator: &mut SchemaGenerator) -> Schema {
    let (id, restrictions) = (project_id(generator), restrictions_list(generator));
    let request = project_test_request(generator);
    let tests = tests(generator, request, "ProjectTests");
    component(generator, "Project", |_| {
        json_schema!({
            "type": "object",
            "required": ["projectId", "restrictions"],
            "properties": {
                "projectId": id, "name": { "type": "string" }, "restrictions": restrictions, "tests": tests,
                "managedBy": managed_by(),
            },
        })
    })
}

/// Projects.
pub(super) fn projects(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": project(generator) })
}

/// The restrictions of a project.
pub(super) fn restrictions(generator: &mut SchemaGenerator) -> Schema {
    let restrictions = restrictions_list(generator);
    json_schema!({ "type": "object", "required": ["restrictions"], "properties": { "restrictions": restrictions } })
}

/// What is wrong with a rule.
pub(super) fn findings(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Findings", |_| {
        json_schema!({
            "type": "object",
            "required": ["findings"],
            "properties": {
                "findings": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["kind", "message", "places"],
                        "properties": {
                            "kind": { "type": "string", "enum": ["UNSATISFIABLE", "PARTLY_DEAD", "INEFFECTIVE", "SUSPICIOUS", "SHADOWED"] },
                            "message": { "type": "string", "description": "A sentence for the owner of the rule." },
                            "places": { "type": "array", "items": { "type": "string" }, "description": "The JSON paths of the lines that are part of it." },
                            "witness": { "type": "object", "description": "The body of an evaluate call that shows it." },
                        },
                    },
                },
            },
        })
    })
}

/// The history of a rule, whose versions are of this schema.
fn history(generator: &mut SchemaGenerator, of: &Schema, name: &'static str) -> Schema {
    component(generator, name, |_| {
        let version = |description: &str| json_schema!({ "description": description, "oneOf": [of, { "type": "null" }] });
        json_schema!({
            "type": "object",
            "required": ["items"],
            "properties": {
                "items": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["at", "by", "action", "before", "after"],
                        "properties": {
                            "at": { "type": "string", "format": "date-time" },
                            "by": {
                                "type": "object",
                                "description": "Who made the change: a client, or a person of a trusted issuer.",
                                "properties": {
                                    "clientId": { "type": "string" }, "issuer": { "type": "string" },
                                    "subject": { "type": "string" }, "name": { "type": "string" },
                                },
                            },
                            "action": { "type": "string", "enum": ["CREATED", "REPLACED", "DELETED"] },
                            "before": version("What it was before; null when there was none, or when it is not kept."),
                            "after": version("What it was afterwards."),
                            "failingTests": { "type": "integer", "description": "How many of its tests failed when the change was made all the same." },
                            "documentsKept": { "type": "boolean", "const": false, "description": "A version that there was is not kept." },
                        },
                    },
                },
                "next": { "type": "string", "description": "The `cursor` of the following page." },
            },
        })
    })
}

/// The history of a condition.
pub(super) fn condition_history(generator: &mut SchemaGenerator) -> Schema {
    let of = condition(generator);
    history(generator, &of, "ConditionHistory")
}

/// The history of a project.
pub(super) fn project_history(generator: &mut SchemaGenerator) -> Schema {
    let of = project(generator);
    history(generator, &of, "ProjectHistory")
}

/// The catalog.
pub(super) fn catalog(generator: &mut SchemaGenerator) -> Schema {
    let (conditions, projects) = (conditions(generator), projects(generator));
    component(generator, "Catalog", |_| {
        json_schema!({
            "type": "object",
            "description": "Everything that the module needs to decide for a tenant.",
            "required": ["tenantId", "digest", "engine", "global", "tenant", "projects"],
            "properties": {
                "tenantId": { "type": "string" },
                "digest": { "type": "string", "description": "Names what is decided with; the entity tag." },
                "engine": {
                    "type": "object", "required": ["version", "sha256"],
                    "properties": { "version": { "type": "string" }, "sha256": { "type": "string", "pattern": "^[0-9a-f]{64}$" } },
                },
                "global": conditions.clone(), "tenant": conditions, "projects": projects,
            },
        })
    })
}

/// An event of the catalog's changes.
pub(crate) fn catalog_event(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "CatalogEvent", |_| {
        json_schema!({
            "type": "object", "required": ["digest"],
            "properties": { "digest": { "type": "string", "description": "The entity tag of the catalog." } },
        })
    })
}

/// Where a page begins.
pub(super) fn cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[0-9]{1,19}$" })
}

/// What is to happen when tests fail.
pub(super) fn failing_tests(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": "accept" })
}
