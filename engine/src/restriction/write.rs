//! Writes projects and their restrictions as JSON.

use serde::ser::{Serialize, SerializeStruct, Serializer};
use uuid::Uuid;

use super::{Demand, Project, ProjectId, Restriction, Value};

impl Serialize for Project<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Project", 3)?;
        if let Some(id) = &self.id {
            out.serialize_field("projectId", id)?;
        }
        if let Some(name) = &self.name {
            out.serialize_field("name", name)?;
        }
        out.serialize_field("restrictions", &self.restrictions)?;
        out.end()
    }
}

impl Serialize for Restriction<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Restriction", 4)?;
        out.serialize_field("type", self.demand.type_name())?;
        match &self.demand {
            Demand::Whitelist(name, values) => {
                out.serialize_field("propertyName", name)?;
                out.serialize_field("allowedValues", values)?;
            }
            Demand::Blacklist(name, values) => {
                out.serialize_field("propertyName", name)?;
                out.serialize_field("deniedValues", values)?;
            }
            Demand::Boolean(name, value) => {
                out.serialize_field("propertyName", name)?;
                out.serialize_field("value", value)?;
            }
            Demand::WhitelistedItems(items) | Demand::BlacklistedItems(items) => {
                out.serialize_field("itemIds", items)?;
            }
        }
        out.serialize_field("exclusive", &self.exclusive)?;
        out.end()
    }
}

impl Demand<'_> {
    const fn type_name(&self) -> &'static str {
        match self {
            Self::Whitelist(..) => "WHITELIST",
            Self::Blacklist(..) => "BLACKLIST",
            Self::Boolean(..) => "BOOLEAN",
            Self::WhitelistedItems(_) => "WHITELISTEDITEMS",
            Self::BlacklistedItems(_) => "BLACKLISTEDITEMS",
        }
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number => serializer.serialize_unit(),
        }
    }
}

impl Serialize for ProjectId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }
}
