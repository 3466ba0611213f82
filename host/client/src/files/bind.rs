//! Binds a plan to what it was made from: reads each resource to change or delete once more by itself, with its
//! version, and plans it again if it has changed since the lists were read. A write then names that version.

use futures_util::{StreamExt, TryStreamExt, stream};
use tillgate_base::identity::Permission;

use super::existing::Present;
use super::host::{AT_ONCE, Host};
use super::kind::Kind;
use super::plan::{Action, Options, Plan};

/// Returns the plan with versions.
///
/// # Errors
/// If the host cannot be read. The inner error has a line for each further contradiction of the plan.
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
        let mut present = match &step.present {
            // Rates were read with their version.
            before @ Some(_) if step.kind != Kind::Rates => {
                host.again(step.kind, &step.id, before.as_ref()).await?
            }
            present => present.clone(),
        };
        let mut others = None;
        if let (Kind::BusinessUnits, Action::Delete, Some(unit)) =
            (step.kind, step.action, &mut present)
        {
            others = bind_rates(host, unit, options.me).await?;
        }
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
    Ok(if problems.is_empty() {
        Ok(bound)
    } else {
        Err(problems)
    })
}

/// Binds a unit to delete to its own rates, which are deleted with it. Reports a problem if others have set some of
/// them.
async fn bind_rates(host: &Host, unit: &mut Present, me: &str) -> Result<Option<String>, String> {
    // A plan that is only shown needs no more permissions than reading the lists does.
    if !host.permissions.contains(Permission::RateRead) {
        return Ok(None);
    }
    let id = &unit.document.id;
    let rates = host.rates_of(id).await?;
    let has_others = rates
        .as_ref()
        .is_some_and(|present| present.rates.has_others(me));
    let problem = has_others.then(|| {
        format!("business-units/{id} cannot be deleted: rates are set at it that {me} has not made")
    });
    unit.rates_etag = rates.and_then(|present| present.etag);
    Ok(problem)
}
