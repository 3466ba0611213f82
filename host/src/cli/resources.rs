//! The resources that `export`, `diff` and `apply` keep as files, as the features read and describe them.

use schemars::{Schema, SchemaGenerator};
use tillgate_api::rules;
use tillgate_base::error::Error;
use tillgate_client::files::{Kind, Resources};
use tillgate_engine::Fault;
use tillgate_engine::condition::{ConditionId, Scope};
use tillgate_engine::json::{self, Faults};
use tillgate_engine::restriction::ProjectId;
use tillgate_engine::tests;
use tillgate_rates as rates;
use tillgate_tokens as tokens;
use tillgate_webhooks as webhooks;

/// The readers and schemas of the features of this program.
pub(super) struct Features;

impl Resources for Features {
    fn check(&self, kind: Kind, id: &str, json: &[u8]) -> Result<(), Vec<Fault>> {
        let of_rule = |scope| {
            let document = json::Document::parse(json)?;
            let id =
                ConditionId::new(id).ok_or_else(|| Error::invalid("$.id", ConditionId::RULE))?;
            tests::condition_from_put(id, scope, &document, Faults::default())?;
            Ok(())
        };
        let checked = match kind {
            Kind::Roles => tokens::check_role(id, json),
            Kind::GlobalTemplates | Kind::Templates => tokens::check_template(json),
            Kind::GlobalConditions => of_rule(Scope::Global),
            Kind::Conditions => of_rule(Scope::Tenant),
            Kind::Projects => check_project(id, json),
            Kind::BusinessUnits => rates::check_unit(json),
            // `unit_rates.rs` has read them.
            Kind::Rates => Ok(()),
            Kind::Webhooks => webhooks::check_settings(json),
        };
        checked.map_err(|error| match error {
            Error::Invalid(faults) => faults,
            other => vec![Fault {
                path: "$".to_owned(),
                message: other.to_string().into(),
            }],
        })
    }

    fn generator(&self) -> SchemaGenerator {
        tillgate_http::document::generator()
    }

    fn schemas(&self, kind: Kind, generator: &mut SchemaGenerator) -> (Schema, Schema) {
        match kind {
            Kind::Roles => tokens::role_schemas(generator),
            Kind::GlobalTemplates | Kind::Templates => tokens::template_schemas(generator),
            Kind::GlobalConditions | Kind::Conditions => {
                (rules::condition_put(generator), rules::condition(generator))
            }
            Kind::Projects => (rules::project_put(generator), rules::project(generator)),
            Kind::BusinessUnits => rates::unit_schemas(generator),
            Kind::Rates => (Schema::default(), Schema::default()),
            Kind::Webhooks => webhooks::settings_schemas(generator),
        }
    }
}

fn check_project(id: &str, json: &[u8]) -> Result<(), Error> {
    let document = json::Document::parse(json)?;
    let id = ProjectId::new(id);
    let id = id.ok_or_else(|| Error::invalid("$.projectId", ProjectId::RULE))?;
    tests::project_from_put(id, &document, Faults::default())?;
    Ok(())
}
