//! Reads the bodies of PUTs: a condition or project, and the tests beside it.

use super::{Beside, Tests};
use crate::condition::{ConditionId, EntityCondition, Scope};
use crate::error::{Code, Error};
use crate::json::{Document, Faults};
use crate::restriction::{Project, ProjectId};

/// Reads the body of a condition's PUT. `faults` determines whether unknown members are ignored.
///
/// # Errors
/// [`Code::Invalid`] with a fault for every invalid member.
pub fn condition_from_put<'a>(
    id: ConditionId,
    scope: Scope,
    document: &Document<'a>,
    mut faults: Faults,
) -> Result<(EntityCondition, Tests<'a>), Error> {
    let condition = EntityCondition::from_put(id, scope, document.root(), &mut faults);
    let tests = Tests::read(document.root(), Beside::Condition, &mut faults);
    faults.none_or_error()?;
    let condition = condition.ok_or_else(|| Error::new(Code::Invalid, "$", "must be an object"))?;
    Ok((condition, tests))
}

/// Reads the body of a project's PUT. `faults` determines whether unknown members are ignored.
///
/// # Errors
/// [`Code::Invalid`] with a fault for every invalid member.
pub fn project_from_put<'a>(
    id: ProjectId,
    document: &Document<'a>,
    mut faults: Faults,
) -> Result<(Project<'a>, Tests<'a>), Error> {
    let project = Project::from_put(id, document.root(), &mut faults);
    let tests = Tests::read(document.root(), Beside::Project(Some(id)), &mut faults);
    faults.none_or_error()?;
    Ok((project, tests))
}
