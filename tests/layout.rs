//! The layout of the sources: no files or folders import each other in a circle, and some names appear only in certain
//! places.
//!
//! `syn` reads the files. The contents of macros are not followed; unit tests are not read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, UseTree, Visibility};

/// A module or an item, from the root of its crate: `["http", "reply", "Reply"]`. A name from another crate begins
/// with `::`.
type Name = Vec<String>;

/// A crate's modules, with the names that each of them uses.
#[derive(Default)]
struct Sources {
    names: BTreeMap<Name, BTreeSet<Name>>,
    /// The items that a module re-exports under another name.
    exports: BTreeMap<Name, Name>,
}

/// The crates of the host by their folders, read once for all tests.
static CRATES: LazyLock<BTreeMap<&str, Sources>> = LazyLock::new(|| {
    let folders = [
        "api", "base", "client", "http", "rates", "rules", "store", "tokens", "webhooks", "",
    ];
    let read = |folder| (folder, Sources::read(&Path::new(folder).join("src")));
    folders.map(read).into()
});

struct Reader<'s> {
    sources: &'s mut Sources,
    module: Name,
    /// The names that `use` has imported.
    known: BTreeMap<String, Name>,
}

impl Sources {
    fn read(folder: &Path) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut sources = Self::default();
        sources.read_folder(&root, &[]);
        assert!(sources.names.len() > 8, "{} has modules", folder.display());
        sources
    }

    fn read_folder(&mut self, folder: &Path, module: &[String]) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let is_root = matches!(name.as_str(), "mod" | "lib");
            let own = if is_root {
                module.to_vec()
            } else {
                [module, &[name]].concat()
            };
            if path.is_dir() {
                self.read_folder(&path, &own);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = syn::parse_file(&std::fs::read_to_string(&path).unwrap()).unwrap();
                self.names.entry(own.clone()).or_default();
                let mut reader = Reader {
                    sources: self,
                    module: own,
                    known: BTreeMap::new(),
                };
                let uses = file.items.iter().filter_map(|item| match item {
                    syn::Item::Use(item) => Some(item),
                    _ => None,
                });
                uses.for_each(|item| reader.bring_in(item));
                reader.visit_file(&file);
            }
        }
    }

    /// Returns the module that defines a name.
    fn definer(&self, name: &[String]) -> Option<&Name> {
        let mut name = name.to_vec();
        for _ in 0..8 {
            let (length, (module, _)) = (0..=name.len()).rev().find_map(|length| {
                self.names
                    .get_key_value(&name[..length])
                    .map(|found| (length, found))
            })?;
            let export = name.get(..=length).and_then(|item| self.exports.get(item));
            let Some(export) = export else {
                return Some(module);
            };
            name = [export, &name[length + 1..]].concat();
        }
        None
    }

    /// Returns which neighbors in a folder import which.
    fn imports(&self, folder: &[String]) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut imports = BTreeMap::<_, BTreeSet<_>>::new();
        let within = |module: &'_ Name| module.starts_with(folder) && module.len() > folder.len();
        for (from, names) in self.names.iter().filter(|(from, _)| within(from)) {
            let to = names
                .iter()
                .filter_map(|name| self.definer(name))
                .filter(|to| within(to));
            for to in to.filter(|to| to[folder.len()] != from[folder.len()]) {
                imports
                    .entry(&*from[folder.len()])
                    .or_default()
                    .insert(&*to[folder.len()]);
            }
        }
        imports
    }
}

impl Reader<'_> {
    fn bring_in(&mut self, item: &ItemUse) {
        let root = if item.leading_colon.is_some() {
            vec!["::".to_owned()]
        } else {
            Vec::new()
        };
        let mut leaves = Vec::new();
        flatten(&item.tree, &root, &mut leaves);
        for (path, alias) in leaves {
            let name = self.absolute(path);
            if !matches!(item.vis, Visibility::Inherited) {
                self.sources.exports.insert(
                    [&*self.module, std::slice::from_ref(&alias)].concat(),
                    name.clone(),
                );
            }
            self.known.insert(alias, name.clone());
            self.name(name);
        }
    }

    /// Resolves a path of this module from the root of its crate.
    fn absolute(&self, path: Name) -> Name {
        let (first, rest) = path.split_first().unwrap();
        let up = path.iter().take_while(|part| *part == "super").count();
        match &**first {
            "crate" => rest.to_vec(),
            "self" => [&*self.module, rest].concat(),
            "super" => [&self.module[..self.module.len() - up], &path[up..]].concat(),
            "::" => path,
            _ if self.known.contains_key(first) => [&*self.known[first], rest].concat(),
            _ if self
                .sources
                .names
                .contains_key(&[&*self.module, std::slice::from_ref(first)].concat()) =>
            {
                [&*self.module, &path].concat()
            }
            _ => [&["::".to_owned()], &*path].concat(),
        }
    }

    fn name(&mut self, name: Name) {
        self.sources
            .names
            .entry(self.module.clone())
            .or_default()
            .insert(name);
    }
}

fn flatten(tree: &UseTree, before: &[String], leaves: &mut Vec<(Name, String)>) {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &with(&path.ident), leaves),
        UseTree::Group(group) => group
            .items
            .iter()
            .for_each(|tree| flatten(tree, before, leaves)),
        UseTree::Name(name) if name.ident == "self" => {
            leaves.push((before.to_vec(), before.last().unwrap().clone()));
        }
        UseTree::Name(name) => leaves.push((with(&name.ident), name.ident.to_string())),
        UseTree::Rename(name) => leaves.push((with(&name.ident), name.rename.to_string())),
        UseTree::Glob(_) => leaves.push((before.to_vec(), "*".to_owned())),
    }
}

fn is_test(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute
            .parse_args::<syn::Ident>()
            .is_ok_and(|of| of == "test")
}

impl Visit<'_> for Reader<'_> {
    fn visit_item_mod(&mut self, module: &ItemMod) {
        if !module.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let parts: Name = path
            .segments
            .iter()
            .map(|part| part.ident.to_string())
            .collect();
        let is_known = self.known.contains_key(&parts[0]);
        if parts.len() > 1 || is_known {
            let name = self.absolute(parts);
            self.name(name);
        }
        visit::visit_path(self, path);
    }
}

#[test]
fn no_files_or_folders_import_each_other_in_a_circle() {
    for (krate, sources) in &*CRATES {
        let folders: BTreeSet<&[String]> = sources
            .names
            .keys()
            .filter_map(|module| module.split_last().map(|(_, folder)| folder))
            .collect();
        for place in folders {
            let imports = sources.imports(place);
            let circle = imports
                .keys()
                .find_map(|from| way(&imports, from, from, &mut BTreeSet::new()));
            assert_eq!(circle, None, "a circle in {krate}/src/{}", place.join("/"));
        }
    }
}

/// Finds a path along which one item imports another.
fn way<'i>(
    imports: &BTreeMap<&'i str, BTreeSet<&'i str>>,
    from: &str,
    to: &str,
    seen: &mut BTreeSet<&'i str>,
) -> Option<Vec<&'i str>> {
    imports.get(from)?.iter().find_map(|next| {
        if *next == to {
            return Some(vec![*next]);
        }
        let rest = seen.insert(next).then(|| way(imports, next, to, seen))??;
        Some([vec![*next], rest].concat())
    })
}

/// The modules of the program; each may import only those before it.
const FLOORS: [&str; 5] = ["page", "routes", "server", "cli", "main"];

#[test]
fn each_room_of_the_program_imports_only_what_is_below_it() {
    let floor = |room: &str| FLOORS.iter().position(|name| *name == room);
    for (from, to) in CRATES[""].imports(&[]) {
        let of_from = floor(from).unwrap_or_else(|| panic!("{from} has a floor"));
        for to in to {
            let of_to = floor(to).unwrap_or_else(|| panic!("{to} has a floor"));
            assert!(of_to < of_from, "{from} imports {to}");
        }
    }
}

/// Crates, their dependency, and the places in them that may name it.
const KNOWN_TO: &[(&[&str], &str, &[&str])] = &[
    (FEATURES, "warp", &["http"]),
    (FEATURES, "tillgate_http", &["http"]),
    (&["base"], "prometheus_client", &["observe/metrics"]),
    (&["store"], "rusqlite", &["embedded"]),
    (&["store"], "redis", &["redis"]),
];

const FEATURES: &[&str] = &["rates", "rules", "tokens", "webhooks"];

#[test]
fn restricted_dependencies_are_named_only_where_allowed() {
    for (crates, known, places) in KNOWN_TO {
        let known = ["::", known].map(str::to_owned);
        let modules = crates.iter().flat_map(|krate| &CRATES[krate].names);
        for (module, names) in modules {
            let file = module.join("/");
            let may = places
                .iter()
                .any(|place| file == *place || file.starts_with(&format!("{place}/")));
            let named = names.iter().find(|name| name.starts_with(&known));
            assert!(may || named.is_none(), "{file} names {named:?}");
        }
    }
}
