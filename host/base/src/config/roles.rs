//! `roles`: a host's share of the work that all hosts on one store do together.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A role of a host: a part of the work that hosts share.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[schemars(rename = "HostRole")]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Serves clients, keys and tokens.
    Token,
    /// Serves conditions, projects and decisions.
    Conditions,
    /// Serves exchange rates and their topic.
    Rates,
    /// Serves webhooks and events.
    Webhooks,
    /// Runs the background jobs of all roles.
    Workers,
    /// Serves the page.
    Page,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 6] = [
        Self::Token,
        Self::Conditions,
        Self::Rates,
        Self::Webhooks,
        Self::Workers,
        Self::Page,
    ];

    /// Returns the role's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Conditions => "conditions",
            Self::Rates => "rates",
            Self::Webhooks => "webhooks",
            Self::Workers => "workers",
            Self::Page => "page",
        }
    }
}

/// The roles of a host, at least one.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "Given")]
pub struct Roles(BTreeSet<Role>);

/// Roles as the operator writes them: a list, or one string with commas.
#[derive(Deserialize)]
#[serde(untagged, expecting = "roles must be a list, or one text with commas")]
enum Given {
    List(Vec<String>),
    Text(String),
}

impl Roles {
    /// Returns whether the host has a role.
    #[must_use]
    pub fn has(&self, role: Role) -> bool {
        self.0.contains(&role)
    }

    /// Returns the names of the host's roles, separated by commas.
    #[must_use]
    pub fn listed(&self) -> String {
        names(self.0.iter().copied())
    }

    /// Returns the names of the roles that the host does not have, separated by commas.
    #[must_use]
    pub fn missing(&self) -> String {
        let missing = Role::ALL.into_iter().filter(|role| !self.has(*role));
        names(missing)
    }
}

impl TryFrom<Given> for Roles {
    type Error = String;

    fn try_from(given: Given) -> Result<Self, String> {
        let given = match given {
            Given::List(given) => given,
            Given::Text(text) => text.split(',').map(str::to_owned).collect(),
        };
        let role = |name: &String| {
            let name = name.trim();
            let role = Role::ALL.into_iter().find(|role| role.as_str() == name);
            role.ok_or_else(|| format!("{name:?} is not a role: roles are {}", names(Role::ALL)))
        };
        let roles: BTreeSet<_> = given.iter().map(role).collect::<Result<_, _>>()?;
        if roles.is_empty() {
            Err(format!(
                "roles must name at least one of {}",
                names(Role::ALL)
            ))
        } else {
            Ok(Self(roles))
        }
    }
}

fn names(roles: impl IntoIterator<Item = Role>) -> String {
    let names: Vec<_> = roles.into_iter().map(Role::as_str).collect();
    names.join(", ")
}
