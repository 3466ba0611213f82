//! Binds a plan to what it was made from: each resource that is to be changed or deleted is read once more by itself, with
//! its version, and planned again if it has changed since the lists were read. A write then names that version.

use futures_util::{StreamExt, TryStreamExt, stream};

use super::host::{AT_ONCE, Host};
use super::kind::Kind;
use super::plan::{Action, Options, Plan, Step};

/// The plan with versions.
///
/// # Errors
/// When the host cannot be read; what else contradicts the plan: a line each.
pub(super) async fn bind<'f>(
    host: &Host,
    plan: Plan<'f>,
    options: Options<'_>,
) -> Result<Result<Plan<'f>, Vec<String>>, String> {
    let Plan {
        steps,
        left,
        prunable,
    } = plan;
    let mut bound = Plan {
        steps: Vec::new(),
        left,
        prunable,
    };
    let mut problems = Vec::new();
    let read = steps.into_iter().map(|step| async move {
        let present = match &step.present {
            // Rates were read with their version.
            before @ Some(_) if step.kind != Kind::Rates => {
                host.again(step.kind, &step.id, before.as_ref()).await?
            }
            present => present.clone(),
        };
        let others = match (step.kind, step.action) {
            (Kind::BusinessUnits, Action::Delete) => others_rates(host, &step, options.me).await?,
            _ => None,
        };
        Ok::<_, String>((step, present, others))
    });
    let read: Vec<_> = stream::iter(read).buffered(AT_ONCE).try_collect().await?;
    for (step, present, others) in read {
        problems.extend(others);
        if step.kind == Kind::Rates {
            bound.steps.push(step);
            continue;
        }
        let id = (step.kind, step.id.as_str());
        problems.extend(bound.add(id, step.file, present.as_ref(), options).err());
    }
    Ok(match problems.is_empty() {
        true => Ok(bound),
        false => Err(problems),
    })
}

/// That rates of others are set at a unit which is to be deleted: they would go with it.
async fn others_rates(host: &Host, unit: &Step<'_>, me: &str) -> Result<Option<String>, String> {
    let rates = host.rates_of(&unit.id).await?;
    let has_others = rates.is_some_and(|present| present.rates.has_others(me));
    Ok(has_others.then(|| {
        format!(
            "business-units/{} cannot be deleted: rates are set at it that {me} has not made",
            unit.id
        )
    }))
}
