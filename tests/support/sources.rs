//! What the files of a crate name, read from their text: `use` trees and paths within expressions, without comments,
//! literals and unit tests. A name that is re-exported belongs to the file that defines it.
//!
//! It is no compiler: names of other crates, of methods and of what a macro makes are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A file, the files that it imports, and the names it takes from each.
pub type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// A path in a file, as it is written.
#[derive(Debug)]
pub struct Reference {
    pub file: String,
    pub line: usize,
    /// The module of the file, and the one within it that names the path.
    of_file: Vec<String>,
    pub module: Vec<String>,
    pub path: Vec<String>,
}

#[derive(Default)]
pub struct Module {
    pub file: String,
    /// The names that are defined in it.
    items: BTreeSet<String>,
    /// What `use` brings in: its name here and its path. The name of a glob is `*`.
    uses: Vec<(String, Vec<String>)>,
}

/// The modules of a crate by their paths, and every path that is named in them.
#[derive(Default)]
pub struct Sources {
    pub modules: BTreeMap<Vec<String>, Module>,
    pub references: Vec<Reference>,
}

impl Sources {
    pub fn read(folder: &Path) -> Self {
        let mut sources = Self::default();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let file = path.strip_prefix(folder).unwrap().to_str().unwrap();
                    sources.add(file, &std::fs::read_to_string(&path).unwrap());
                }
            }
        }
        assert!(sources.references.len() > 1_000, "the sources name things");
        sources
    }

    pub fn add(&mut self, file: &str, text: &str) {
        let mut module = vec!["crate".to_owned()];
        let name = file.trim_end_matches(".rs").trim_end_matches("/mod");
        if !matches!(name, "lib" | "mod") {
            module.extend(name.split('/').map(str::to_owned));
        }
        let tokens = tokens(&without_comments_and_literals(text));
        let of_file = module.clone();
        let mut reader = Reader {
            sources: self,
            file,
            of_file,
            tokens: &tokens,
            at: 0,
        };
        reader.module(module);
    }

    /// A path from the crate's root, or from another crate's.
    pub fn absolute(&self, reference: &Reference) -> Vec<String> {
        self.absolute_in(&reference.module, &reference.path, 0)
    }

    fn absolute_in(&self, module: &[String], path: &[String], depth: usize) -> Vec<String> {
        let Some((first, rest)) = path.split_first() else {
            return module.to_vec();
        };
        let below = |base: &[String]| [base, rest].concat();
        match first.as_str() {
            // The program names the library by the name of its crate.
            "crate" | "tillgate" => below(&["crate".to_owned()]),
            "self" => self.absolute_of_supers(module, rest),
            "super" => self.absolute_of_supers(module, path),
            name if self.is_child(module, name) => [module, path].concat(),
            name => match self.bound(module, name) {
                Some(bound) if depth < 16 && bound != path => {
                    below(&self.absolute_in(module, bound, depth + 1))
                }
                _ => path.to_vec(),
            },
        }
    }

    fn absolute_of_supers(&self, module: &[String], path: &[String]) -> Vec<String> {
        let supers = path.iter().take_while(|name| *name == "super").count();
        [&module[..module.len() - supers], &path[supers..]].concat()
    }

    fn is_child(&self, module: &[String], name: &str) -> bool {
        self.modules
            .contains_key(&[module, &[name.to_owned()]].concat())
    }

    /// The path that `use` gave a name of a module.
    fn bound(&self, module: &[String], name: &str) -> Option<&[String]> {
        let mut uses = self.modules.get(module)?.uses.iter();
        uses.find(|(bound, _)| bound == name)
            .map(|(_, path)| path.as_slice())
    }

    /// The module that defines what an absolute path names, whoever re-exports it; none of another crate.
    pub fn definer(&self, absolute: &[String]) -> Option<Vec<String>> {
        self.definer_at(absolute, 0)
    }

    fn definer_at(&self, absolute: &[String], depth: usize) -> Option<Vec<String>> {
        let (root, names) = absolute.split_first()?;
        if root != "crate" || depth > 16 {
            return None;
        }
        let mut module = vec![root.clone()];
        for (at, name) in names.iter().enumerate() {
            let rest = &names[at + 1..];
            if self.is_child(&module, name) {
                module.push(name.clone());
            } else if let Some(bound) = self.bound(&module, name) {
                let absolute = self.absolute_in(&module, bound, 0);
                return self.definer_at(&[&absolute, rest].concat(), depth + 1);
            } else {
                let of_glob = self.glob_with(&module, name, depth);
                return Some(of_glob.unwrap_or(module));
            }
        }
        Some(module)
    }

    /// The module whose names a module brings in with `*`, and which defines a name.
    fn glob_with(&self, module: &[String], name: &str, depth: usize) -> Option<Vec<String>> {
        let of_module = self.modules.get(module)?;
        let mut globs = of_module.uses.iter().filter(|(bound, _)| bound == "*");
        globs.find_map(|(_, path)| {
            let from = self.definer_at(&self.absolute_in(module, path, 0), depth + 1)?;
            self.modules
                .get(&from)?
                .items
                .contains(name)
                .then_some(from)
        })
    }

    pub fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for reference in &self.references {
            let absolute = self.absolute(reference);
            let Some(definer) = self.definer(&absolute) else {
                continue;
            };
            // A module holds its parts: that it names them is no import, as `mod` is none.
            let is_part = definer.starts_with(&reference.of_file);
            let to = self.modules.get(&definer).map(|module| &module.file);
            if let Some(to) = to.filter(|_| !is_part) {
                let names = imports.entry(reference.file.clone()).or_default();
                let names = names.entry(to.clone()).or_default();
                names.extend(absolute.last().cloned());
            }
        }
        imports
    }
}

#[derive(Debug)]
struct Token {
    text: String,
    line: usize,
}

impl Token {
    fn is_name(&self) -> bool {
        self.text
            .starts_with(|first: char| first.is_alphabetic() || first == '_')
    }
}

/// Reads the tokens of a file.
struct Reader<'r> {
    sources: &'r mut Sources,
    file: &'r str,
    of_file: Vec<String>,
    tokens: &'r [Token],
    at: usize,
}

impl Reader<'_> {
    fn text(&self, ahead: usize) -> &str {
        self.tokens
            .get(self.at + ahead)
            .map_or("", |token| &token.text)
    }

    /// Whether these tokens come next.
    fn comes(&self, texts: &[&str]) -> bool {
        texts
            .iter()
            .enumerate()
            .all(|(ahead, text)| self.text(ahead) == *text)
    }

    /// A module, to its closing brace or the end of the file.
    fn module(&mut self, module: Vec<String>) {
        let entry = self.sources.modules.entry(module.clone()).or_default();
        entry.file = self.file.to_owned();
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "{" => depth += 1,
                "}" if depth == 0 => return,
                "}" => depth -= 1,
                "#" if self.comes(&["#", "[", "cfg", "(", "test", ")", "]"]) => self.skip_item(),
                "pub" if self.text(1) == "(" => self.skip_to(")"),
                "mod" if self.text(2) == "{" => {
                    let inner = [module.as_slice(), &[self.text(1).to_owned()]].concat();
                    self.at += 3;
                    self.module(inner);
                }
                "use" => self.import(&module),
                "struct" | "enum" | "trait" | "fn" | "const" | "static" | "type" | "union" => {
                    let name = self.text(1).to_owned();
                    self.sources
                        .modules
                        .entry(module.clone())
                        .or_default()
                        .items
                        .insert(name);
                }
                _ => self.path(&module),
            }
            self.at += 1;
        }
    }

    fn skip_to(&mut self, end: &str) {
        while self.at < self.tokens.len() && self.text(0) != end {
            self.at += 1;
        }
    }

    /// To the end of an item: a semicolon, or the brace that closes it.
    fn skip_item(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.text(0) {
                ";" if depth == 0 => return,
                "{" => depth += 1,
                "}" if depth == 1 => return,
                "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn import(&mut self, module: &[String]) {
        self.at += 1;
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        let mut uses = Vec::new();
        self.tree(&[], &mut uses);
        for (_, path) in &uses {
            self.refer(module, path.clone(), line);
        }
        self.sources
            .modules
            .entry(module.to_vec())
            .or_default()
            .uses
            .extend(uses);
    }

    /// A tree of `use`, up to what follows it.
    fn tree(&mut self, prefix: &[String], uses: &mut Vec<(String, Vec<String>)>) {
        let mut path = prefix.to_vec();
        while self.at < self.tokens.len() {
            let text = self.text(0).to_owned();
            self.at += 1;
            match text.as_str() {
                "{" => {
                    while !matches!(self.text(0), "}" | "") {
                        self.tree(&path, uses);
                        self.at += usize::from(self.text(0) == ",");
                    }
                    self.at += 1;
                    return;
                }
                "*" => return uses.push((text, path)),
                "::" => {}
                _ => {
                    // `self` within braces names what stands before them.
                    if text != "self" || path.is_empty() {
                        path.push(text);
                    }
                    if self.text(0) != "::" {
                        let name = if self.text(0) == "as" {
                            self.at += 2;
                            self.tokens[self.at - 1].text.clone()
                        } else {
                            path.last().cloned().unwrap_or_default()
                        };
                        return uses.push((name, path));
                    }
                }
            }
        }
    }

    /// A path of two names or more, if one begins here.
    fn path(&mut self, module: &[String]) {
        let token = &self.tokens[self.at];
        let before = self
            .at
            .checked_sub(1)
            .map(|before| self.tokens[before].text.as_str());
        if !token.is_name() || self.text(1) != "::" || matches!(before, Some("::" | ".")) {
            return;
        }
        let mut path = vec![token.text.clone()];
        while self.text(1) == "::" && self.tokens.get(self.at + 2).is_some_and(Token::is_name) {
            self.at += 2;
            path.push(self.text(0).to_owned());
        }
        self.refer(module, path, token.line);
    }

    fn refer(&mut self, module: &[String], path: Vec<String>, line: usize) {
        self.sources.references.push(Reference {
            file: self.file.to_owned(),
            line,
            of_file: self.of_file.clone(),
            module: module.to_vec(),
            path,
        });
    }
}

/// Names, `::`, and each other character.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
            let length = if is_of_name(first) {
                rest.find(|c| !is_of_name(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (token, after) = rest.split_at(length);
            tokens.push(Token {
                text: token.to_owned(),
                line,
            });
            rest = after.trim_start();
        }
    }
    tokens
}

/// The text with its comments and literals blanked, line by line as it was.
fn without_comments_and_literals(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_name_before = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = skipped(rest, is_name_before);
        let (skipped, after) = rest.split_at(length.max(first.len_utf8()));
        if length == 0 {
            out.push(first);
        } else {
            out.push(' ');
            out.extend(skipped.matches('\n'));
        }
        rest = after;
    }
    out
}

/// How many bytes of a comment or a literal the text begins with.
fn skipped(text: &str, is_name_before: bool) -> usize {
    let to = |end: &str, from: usize| {
        text[from..]
            .find(end)
            .map_or(text.len(), |at| from + at + end.len())
    };
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        let (mut at, mut depth) = (2, 1);
        while depth > 0 && at < text.len() {
            let (open, close) = (text[at..].starts_with("/*"), text[at..].starts_with("*/"));
            depth = depth + usize::from(open) - usize::from(close);
            at += if open || close {
                2
            } else {
                text[at..].chars().next().map_or(1, char::len_utf8)
            };
        }
        return at;
    }
    let raw = ["r", "br", "cr"].into_iter().filter(|_| !is_name_before);
    for raw in raw.filter_map(|start| text.strip_prefix(start)) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let start = text.len() - raw.len() + hashes + 1;
            return to(&format!("\"{}", "#".repeat(hashes)), start);
        }
    }
    let mut chars = text.char_indices().skip(1);
    match text.chars().next() {
        Some('"') => {
            while let Some((at, c)) = chars.next() {
                match c {
                    '\\' => drop(chars.next()),
                    '"' => return at + 1,
                    _ => {}
                }
            }
            text.len()
        }
        // A character, and not a lifetime.
        Some('\'') => match (chars.next(), chars.next()) {
            (Some((_, '\\')), Some((at, escaped))) => to("'", at + escaped.len_utf8()),
            (Some(_), Some((at, '\''))) => at + 1,
            _ => 0,
        },
        _ => 0,
    }
}
