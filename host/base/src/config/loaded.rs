//! The settings in force, and their printed form.

use figment::Figment;
use serde_json::Value;

use super::Config;
use super::sources::Origin;
use crate::egress::shown;

/// Tables that are printed as one value: one whose keys the operator chooses, and one inside another table.
const MAPS: [&str; 2] = ["webhooks.deprecations", "page.sign_in"];

/// The settings in force, and the source of each.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    pub(super) sources: Figment,
}

impl Loaded {
    /// Returns the settings as TOML, each with its source. Their URLs are shown without parts that may be secret.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = String::new();
        let mut json = serde_json::to_value(&self.config).unwrap_or_default();
        hide_secrets(&mut json);
        if let Some(store) = json.get_mut("store") {
            *store = self.config.store_name().into();
        }
        self.describe_table("", &json, &mut text);
        text
    }

    fn describe_table(&self, prefix: &str, table: &Value, text: &mut String) {
        let members = table.as_object().into_iter().flatten();
        let is_table = |key: &str| !MAPS.contains(&format!("{prefix}{key}").as_str());
        let (tables, settings): (Vec<_>, Vec<_>) =
            members.partition(|(key, value)| value.is_object() && is_table(key));
        for (key, value) in settings {
            let path: Vec<String> = prefix
                .split_terminator('.')
                .chain([&**key])
                .map(str::to_owned)
                .collect();
            let from = match Origin::of(&path, &self.sources) {
                Origin::Default => "default".to_owned(),
                Origin::File(file) => file.display().to_string(),
                origin @ (Origin::Environment | Origin::Flag) => origin.name(&path),
            };
            let value =
                toml::Value::try_from(value).map_or_else(|_| String::new(), |it| it.to_string());
            text.push_str(&format!("{key} = {value}  # {from}\n"));
        }
        for (key, value) in tables {
            text.push_str(&format!("\n[{prefix}{key}]\n"));
            self.describe_table(&format!("{prefix}{key}."), value, text);
        }
    }
}

/// Hides the parts of all URLs that may be secret.
fn hide_secrets(settings: &mut Value) {
    match settings {
        Value::String(text) => *text = shown(text),
        Value::Array(values) => values.iter_mut().for_each(hide_secrets),
        Value::Object(members) => members.values_mut().for_each(hide_secrets),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
