//! `tillgate doctor --bundle FILE`: writes what support needs to know to one file, with a list of its contents.
//! Anything that is unavailable, such as the metrics of a dead host, is listed with the reason.
//!
//! The file contains no secrets: settings are printed as `--print-config` prints them, the store is listed without its
//! content, and only the lines that this program wrote are taken from a log (`own_lines.rs`).

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use http::StatusCode;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use tillgate_base::config::{Config, Loaded};
use tillgate_base::engine::MODULE_SHA256;
use tillgate_store::StoreUrl;
use tillgate_store::clock::{Clock, SystemClock};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::machine::Machine;
use super::own_lines::own_lines;
use super::report::Report;
use super::{host, store};
use tillgate_client::output::{on_line, shown_path};

/// The list of a bundle's contents.
const MANIFEST: &str = "manifest.json";

/// The most bytes taken from the end of a log.
const MAX_LOG: u64 = 1 << 20;

/// A written bundle.
#[derive(Debug, Serialize)]
pub(super) struct Bundle {
    pub(super) file: PathBuf,
    pub(super) files: Vec<Named>,
    pub(super) missing: Vec<Missing>,
}

/// A file in a bundle.
#[derive(Debug, Serialize)]
pub(super) struct Named {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    bytes: usize,
    sha256: String,
}

/// A file that is missing from a bundle.
#[derive(Debug, Serialize)]
pub(super) struct Missing {
    pub(super) name: &'static str,
    pub(super) why: String,
}

impl Bundle {
    /// Describes the written file and its contents.
    pub(super) fn lines(&self) -> String {
        let mut lines = format!("\nwrote {}, with\n", shown_path(&self.file));
        let mut line = |name: &str, what: &str| {
            let _ = writeln!(lines, "  {name:<18}  {}", on_line(what));
        };
        line(MANIFEST, "this list");
        for file in &self.files {
            line(file.name, file.what);
        }
        for missing in &self.missing {
            line(missing.name, &format!("is missing: {}", missing.why));
        }
        lines + "Look through it before you give it to others.\n"
    }
}

/// The parts of a bundle that is being put together.
#[derive(Default)]
struct Parts {
    texts: Vec<(Named, String)>,
    missing: Vec<Missing>,
}

impl Parts {
    /// Adds a text, or the reason why it is missing.
    fn add(&mut self, name: &'static str, what: &'static str, text: Result<String, String>) {
        match text {
            Ok(text) => self.texts.push((
                Named {
                    name,
                    what,
                    bytes: text.len(),
                    sha256: hex::encode(Sha256::digest(&text)),
                },
                text,
            )),
            Err(why) => self.missing.push(Missing { name, why }),
        }
    }
}

/// Refuses a file that exists, before the checks, which may take long.
pub(super) fn refuse_existing(file: &Path) -> Result<(), String> {
    if file.exists() {
        Err(format!(
            "{} exists already: name another file",
            shown_path(file)
        ))
    } else {
        Ok(())
    }
}

/// Writes a bundle.
///
/// # Errors
/// If the file cannot be written.
pub(super) async fn write(
    file: &Path,
    report: &Report,
    loaded: Option<&Loaded>,
    log: Option<&Path>,
) -> Result<Bundle, String> {
    let config = loaded.map(|loaded| &loaded.config);
    let mut parts = Parts::default();
    parts.add(
        "doctor.txt",
        "what tillgate doctor found",
        Ok(report.lines()),
    );
    let report = serde_json::to_string_pretty(report).map_err(|cause| cause.to_string());
    parts.add("doctor.json", "the same as JSON", report);
    let described = loaded.map(Loaded::describe);
    let described = described.ok_or_else(|| "the settings are not understood".to_owned());
    let what = "the settings in force, and where each comes from";
    parts.add("configuration.toml", what, described);
    let url = config.and_then(|config| config.store.parse::<StoreUrl>().ok());
    let what = "the amounts of data in the store, without content";
    parts.add("store.json", what, listing(url.as_ref()).await);
    let what = "the answer of the running host to GET /readyz";
    parts.add("readyz.json", what, answer(config, "/readyz").await);
    let what = "its answer to GET /metrics";
    parts.add("metrics.txt", what, answer(config, "/metrics").await);
    let folder = match &url {
        Some(StoreUrl::Embedded { folder, .. }) => Some(folder.as_path()),
        _ => None,
    };
    let machine = serde_json::to_string_pretty(&Machine::this(folder));
    let machine = machine.map_err(|cause| cause.to_string());
    parts.add("machine.json", "the machine: cores, memory, disk", machine);
    let end = match log {
        Some(log) => end_of(log).map(|text| own(&text)),
        None => Err("no log was named with --log".to_owned()),
    };
    let what = "the end of the log: the lines of this program";
    parts.add("log.txt", what, end);
    parts.write(file)
}

impl Parts {
    /// Writes the file: a list of its contents, and the contents.
    fn write(self, file: &Path) -> Result<Bundle, String> {
        let cannot =
            |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", shown_path(file));
        let (files, texts): (Vec<Named>, Vec<String>) = self.texts.into_iter().unzip();
        let manifest = json!({
            "madeAt": SystemClock.now().to_millis_text(),
            "version": env!("CARGO_PKG_VERSION"),
            "module": MODULE_SHA256,
            "files": files,
            "missing": self.missing,
        });
        let manifest = format!("{manifest:#}\n");
        let folder = file.parent().filter(|folder| *folder != Path::new(""));
        // The temporary file is removed unless it gets its final name. Only this user can read it.
        let unfinished = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
        let unfinished = unfinished.map_err(|error| cannot(&error))?;
        let mut zip = ZipWriter::new(unfinished.as_file());
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .unix_permissions(0o600);
        let names = files.iter().map(|file| file.name);
        let all = names.zip(&texts);
        for (name, text) in std::iter::once((MANIFEST, &manifest)).chain(all) {
            zip.start_file(name, options)
                .map_err(|error| cannot(&error))?;
            zip.write_all(text.as_bytes())
                .map_err(|error| cannot(&error))?;
        }
        zip.finish().map_err(|error| cannot(&error))?;
        unfinished
            .persist_noclobber(file)
            .map_err(|error| cannot(&error.error))?;
        Ok(Bundle {
            file: file.to_owned(),
            files,
            missing: self.missing,
        })
    }
}

/// Returns a listing of the store as JSON.
async fn listing(url: Option<&StoreUrl>) -> Result<String, String> {
    let url = url.ok_or("the store's URL is not known")?;
    let listing = store::list(url).await?;
    let kinds = listing.kinds.iter().map(|kind| {
        json!({
            "of": kind.of.plural(),
            "name": kind.name,
            "partitions": kind.partitions,
            "count": kind.count,
            "bytes": kind.bytes,
        })
    });
    let json = json!({
        "store": url.to_string(),
        "bytes": listing.bytes,
        "partitions": listing.partitions,
        "more": listing.more,
        "kinds": kinds.collect::<Vec<_>>(),
    });
    Ok(format!("{json:#}\n"))
}

/// Returns the answer of the running host.
async fn answer(config: Option<&Config>, path: &str) -> Result<String, String> {
    let config = config.ok_or("the address of the host is not known")?;
    let (scheme, address) = match config.metrics.address()? {
        Some(metrics) => ("http", metrics),
        None => (config.scheme(), config.listen),
    };
    let answer = host::get(scheme, address, path).await;
    let answer = answer.map_err(|cause| format!("no host answers at {address}: {cause}"))?;
    let is_answer = answer.status.is_success() || answer.status == StatusCode::SERVICE_UNAVAILABLE;
    if is_answer {
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    } else {
        Err(format!("{address} answered {}", answer.status))
    }
}

/// Returns the lines of this program, and a last line that counts the others.
fn own(log: &str) -> String {
    let (mut own, others) = own_lines(log);
    if others > 0 {
        let _ = writeln!(own, "({others} lines of other programs were left out)");
    }
    own
}

/// Returns the last lines of a log.
fn end_of(log: &Path) -> Result<String, String> {
    let cannot = |cause: std::io::Error| format!("{} cannot be read: {cause}", shown_path(log));
    let metadata = log.metadata().map_err(cannot)?;
    if !metadata.is_file() {
        return Err(format!("{} is not a file", shown_path(log)));
    }
    let mut file = File::open(log).map_err(cannot)?;
    let skipped = metadata.len().saturating_sub(MAX_LOG);
    file.seek(SeekFrom::Start(skipped)).map_err(cannot)?;
    let mut bytes = Vec::new();
    file.take(MAX_LOG).read_to_end(&mut bytes).map_err(cannot)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // The first line may have lost its beginning.
    Ok(match text.split_once('\n') {
        Some((_, rest)) if skipped > 0 => rest.to_owned(),
        None if skipped > 0 => String::new(),
        _ => text,
    })
}
