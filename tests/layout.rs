//! The layout of the host's sources: which file may name what, and that no files import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::support::sources::{Imports, Reference, Sources};

/// What the files of a place must not name. Places are paths below `host/src`: a folder ends in `/`, `*` stands for any
/// one name.
struct Rule {
    places: &'static [&'static str],
    except: &'static [&'static str],
    /// Modules and crates, each with all that is in it.
    forbidden: &'static [&'static str],
    /// What is allowed of those.
    allowed: &'static [&'static str],
    why: &'static str,
}

const FEATURES: [&str; 4] = [
    "crate::tokens",
    "crate::conditions",
    "crate::rates",
    "crate::webhooks",
];

const EVERYWHERE: &[&str] = &["*", "*/"];

const A_FEATURE_IS_ALONE: &str =
    "a feature does not import another: what one tells another goes through the store";

/// Cargo keeps the wall between the two crates: the store cannot see what is built on it.
const STORE: &[Rule] = &[
    Rule {
        places: EVERYWHERE,
        except: &["redis/", "redis.rs"],
        forbidden: &["redis"],
        allowed: &[],
        why: "nothing outside of redis/ knows Redis",
    },
    Rule {
        places: EVERYWHERE,
        except: &["embedded/"],
        forbidden: &["rusqlite"],
        allowed: &[],
        why: "nothing outside of embedded/ knows SQLite",
    },
];

const HOST: &[Rule] = &[
    Rule {
        places: &["tokens/", "tokens.rs"],
        except: &[],
        forbidden: &["crate::conditions", "crate::rates", "crate::webhooks"],
        allowed: &[],
        why: A_FEATURE_IS_ALONE,
    },
    Rule {
        places: &["conditions/", "conditions.rs"],
        except: &[],
        forbidden: &["crate::tokens", "crate::rates", "crate::webhooks"],
        allowed: &[],
        why: A_FEATURE_IS_ALONE,
    },
    Rule {
        places: &["rates/", "rates.rs"],
        except: &[],
        forbidden: &["crate::tokens", "crate::conditions", "crate::webhooks"],
        allowed: &[],
        why: A_FEATURE_IS_ALONE,
    },
    Rule {
        places: &["webhooks/", "webhooks.rs"],
        except: &[],
        forbidden: &["crate::tokens", "crate::conditions", "crate::rates"],
        allowed: &[],
        why: A_FEATURE_IS_ALONE,
    },
    Rule {
        places: EVERYWHERE,
        except: &["http/", "*/http.rs", "*/http/"],
        forbidden: &["warp"],
        allowed: &[],
        why: "a feature's domain never sees warp",
    },
    Rule {
        places: EVERYWHERE,
        except: &[
            "http/",
            "*/http.rs",
            "*/http/",
            "routes.rs",
            "page.rs",
            "operations.rs",
            "usage.rs",
            "cli.rs",
            "cli/",
            "main.rs",
        ],
        forbidden: &["crate::http"],
        allowed: &[],
        why: "HTTP stands above the features: only their routes know it, and the program that serves them",
    },
    Rule {
        places: EVERYWHERE,
        except: &["metrics.rs", "metrics/"],
        forbidden: &["prometheus_client"],
        allowed: &[],
        why: "nothing outside of metrics/ knows the library",
    },
    Rule {
        places: &["app.rs"],
        except: &[],
        forbidden: &[
            "crate::http",
            "crate::routes",
            "crate::page",
            "crate::operations",
            FEATURES[0],
            FEATURES[1],
            FEATURES[2],
            FEATURES[3],
        ],
        allowed: &[],
        why: "the application is what features are built on: it knows neither them nor HTTP",
    },
    Rule {
        places: &[
            "identity/",
            "identity.rs",
            "keys/",
            "keys.rs",
            "records.rs",
            "runner.rs",
            "feed.rs",
            "egress/",
            "egress.rs",
            "engine.rs",
            "metrics.rs",
            "metrics/",
            "readiness.rs",
            "error.rs",
            "etag.rs",
            "config.rs",
            "config/",
        ],
        except: &[],
        forbidden: &[
            "crate::app",
            "crate::routes",
            FEATURES[0],
            FEATURES[1],
            FEATURES[2],
            FEATURES[3],
        ],
        allowed: &[],
        why: "what features share knows none of them",
    },
];

#[test]
fn every_file_names_only_what_its_place_may() {
    let [host, store] = folders();
    check(&Sources::read(&host), HOST);
    check(&Sources::read(&store), STORE);
}

fn check(sources: &Sources, rules: &[Rule]) {
    for rule in rules {
        let mut files = sources.modules.values().map(|module| &module.file);
        assert!(
            files.any(|file| rule.holds_for(file)),
            "{:?} are of no file",
            rule.places
        );
    }
    // The first mention in a file stands for the others.
    let mut broken = BTreeMap::new();
    for reference in &sources.references {
        let absolute = sources.absolute(reference);
        // Where the name stands, and where it is defined.
        let defined = sources.definer(&absolute);
        let names = [Some(&absolute), defined.as_ref()].into_iter().flatten();
        let names: Vec<String> = names.map(|name| name.join("::")).collect();
        for rule in rules.iter().filter(|rule| rule.holds_for(&reference.file)) {
            for name in &names {
                if let Some(forbidden) = rule.forbidden(name) {
                    let Reference { file, line, .. } = reference;
                    let told = || format!("{file}:{line} names {name}: {}", rule.why);
                    broken
                        .entry((file, forbidden, rule.why))
                        .or_insert_with(told);
                }
            }
        }
    }
    let broken: Vec<String> = broken.into_values().collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    for folder in folders() {
        assert_no_circles(&Sources::read(&folder));
    }
}

fn assert_no_circles(sources: &Sources) {
    let imports = sources.imports();
    let reached: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|file| (file.as_str(), reached(&imports, file)))
        .collect();
    let mut circles = Vec::new();
    for ((from, names), to) in imports
        .iter()
        .flat_map(|(from, to)| to.iter().map(move |(to, names)| ((from, names), to)))
    {
        if reached
            .get(to.as_str())
            .is_some_and(|files| files.contains(from.as_str()))
        {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            circles.push(format!(
                "{from} imports {} from {to}, which comes back to it",
                names.join(", ")
            ));
        }
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

/// Every file that a file imports, and those that they import.
fn reached<'i>(imports: &'i Imports, file: &str) -> BTreeSet<&'i str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = vec![file];
    while let Some(file) = next.pop() {
        for to in imports.get(file).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(to.as_str()) {
                next.push(to);
            }
        }
    }
    reached
}

#[test]
fn every_way_to_name_something_is_found() {
    let rows = [
        ("use crate::{a, b::c};", vec!["crate::a", "crate::b::c"]),
        (
            "use crate::a::{self, B as C, d::*};",
            vec!["crate::a", "crate::a::B", "crate::a::d"],
        ),
        (
            "pub(in crate::a) use super::{e::F, G};",
            vec!["crate::e::F", "crate::G"],
        ),
        (
            "fn f() -> crate::a::B<super::c::D> { warp::any() }",
            vec!["crate::a::B", "crate::c::D", "warp::any"],
        ),
        (
            "use crate::a; fn f() { a::g::<u8>() }",
            vec!["crate::a", "crate::a::g"],
        ),
        (
            "use redis::Client as C; fn f() { C::open() }",
            vec!["redis::Client", "redis::Client::open"],
        ),
        ("mod inner { use super::super::a::B; }", vec!["crate::a::B"]),
        (
            "fn f() { self::g(); m!(crate::a::B); }",
            vec!["crate::x::g", "crate::a::B"],
        ),
        (
            "// crate::a\n/// [`crate::b`]\n/* crate::c /* crate::d */ */",
            vec![],
        ),
        (
            r##"const A: &str = "crate::a"; const B: &str = r#""crate::b"#; const C: char = '"';"##,
            vec![],
        ),
        ("fn f<'a>(x: &'a crate::a::B) {}", vec!["crate::a::B"]),
        (
            "#[cfg(test)] mod tests { use crate::a::B; } use crate::c::D;",
            vec!["crate::c::D"],
        ),
    ];
    for (text, expected) in rows {
        let mut sources = Sources::default();
        sources.add("x.rs", text);
        let absolute = |reference: &Reference| sources.absolute(reference).join("::");
        let found: Vec<String> = sources.references.iter().map(absolute).collect();
        assert_eq!(found, expected, "{text}");
    }
    let mut sources = Sources::default();
    sources.add("a/mod.rs", "mod b; pub use b::C; pub const D: u8 = 1;");
    sources.add("a/b.rs", "pub struct C;");
    sources.add("e.rs", "use crate::a::{C, D}; fn f() { C::new() }");
    let imports = sources.imports();
    let files = |from: &str| imports[from].keys().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(files("e.rs"), ["a/b.rs", "a/mod.rs"]);
    assert!(!imports.contains_key("a/mod.rs"), "its own part");
}

/// The sources of the host, and those of its store.
fn folders() -> [PathBuf; 2] {
    ["src", "store/src"].map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
}

impl Rule {
    fn holds_for(&self, file: &str) -> bool {
        let is_in = |places: &[&str]| places.iter().any(|place| is_in(place, file));
        is_in(self.places) && !is_in(self.except)
    }

    /// What forbids a name, if anything does.
    fn forbidden(&self, name: &str) -> Option<&'static str> {
        let is_of = |module: &&&'static str| {
            let rest = name.strip_prefix(**module);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let forbidden = self.forbidden.iter().find(is_of).copied();
        forbidden.filter(|_| !self.allowed.iter().any(|module| is_of(&module)))
    }
}

/// Whether a file is in a place.
fn is_in(place: &str, file: &str) -> bool {
    let is_folder = place.ends_with('/');
    let place: Vec<&str> = place.trim_end_matches('/').split('/').collect();
    let file: Vec<&str> = file.split('/').collect();
    let fits = if is_folder {
        file.len() > place.len()
    } else {
        file.len() == place.len()
    };
    fits && place
        .iter()
        .zip(&file)
        .all(|(place, name)| *place == "*" || place == name)
}
