//! Checks what a host needs when it starts, besides its store: a usable certificate, folders for its files, its own
//! addresses, the keys of trusted issuers, and this machine's certificate authorities. Reports only what is missing,
//! and when the certificate expires.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tillgate_base::config::{Config, Source};
use tillgate_base::egress::{Client, Destinations, Limits};
use tillgate_store::clock::SystemClock;
use tillgate_store::regular_file;
use tillgate_tokens::issuers_without_keys;
use tracing_subscriber::EnvFilter;

use super::report::{Finding, fail, ok, warn};
use crate::server::CertificateFiles;

/// The limits of a client that sends nothing.
const LIMITS: Limits = Limits {
    deadline: Duration::from_secs(1),
    max_answer: 0,
    destinations: Destinations::Any,
};

/// Checks for what would keep a host from starting.
pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let one = [
        certificate(config),
        log(config),
        metrics(config),
        authorities(),
    ];
    let record = if config.decisions.to_stdout() {
        ""
    } else {
        &config.decisions.log
    };
    let files = [
        ("decisions.log", record),
        ("operator_file", &config.operator_file),
    ];
    let folders = files.map(|(setting, file)| folder(setting, file));
    let keys = issuers(config).await;
    let all = one.into_iter().chain(folders).flatten();
    all.chain(keys).chain(reference_rates(config)).collect()
}

fn certificate(config: &Config) -> Option<Finding> {
    const CERTIFICATE: &str = "certificate";
    let files = match CertificateFiles::read(config, Arc::new(SystemClock)) {
        Ok(files) => files?,
        Err(why) => {
            let remedy = "set tls.cert and tls.key to a certificate chain and its key, in PEM";
            return Some(fail(CERTIFICATE, why, remedy));
        }
    };
    let renew = "renew it, and write it to the files in tls.cert and tls.key";
    Some(match files.expiry() {
        Err(why) => {
            let remedy = "put a valid one into the files in tls.cert and tls.key, and check the clock of this machine";
            fail(CERTIFICATE, format!("clients refuse it: {why}"), remedy)
        }
        Ok(end) => {
            let what = format!("it is valid until {}", end.to_millis_text());
            if files.expires_soon() {
                warn(CERTIFICATE, what, renew)
            } else {
                ok(CERTIFICATE, what)
            }
        }
    })
}

fn log(config: &Config) -> Option<Finding> {
    let cause = EnvFilter::try_new(&config.log.level).err()?;
    Some(fail(
        "log",
        format!("log.level is not a filter: {cause}"),
        "use a level, such as info",
    ))
}

fn metrics(config: &Config) -> Option<Finding> {
    let is_same = matches!(config.metrics.address(), Ok(Some(metrics)) if metrics == config.listen);
    is_same.then(|| {
        fail(
            "port",
            format!("listen and metrics.listen are both {}", config.listen),
            "give each its own address",
        )
    })
}

/// Checks the trusted issuers whose keys are in files; a running host fetches the keys of the others.
async fn issuers(config: &Config) -> Vec<Finding> {
    let without = issuers_without_keys(&config.trusted_issuers).await;
    let findings = without.into_iter().map(|why| {
        fail(
            "issuers",
            format!("trusted issuer {why}"),
            "set jwks of trusted_issuers to a file with a JWK set",
        )
    });
    findings.collect()
}

/// Reports the files of reference rates that a host could not import now.
fn reference_rates(config: &Config) -> impl Iterator<Item = Finding> {
    let tables = config.reference_rates.iter().enumerate();
    tables.filter_map(|(index, table)| {
        let Source::File(file) = table.source() else {
            return None;
        };
        let cause = regular_file::open(file).err()?;
        let what = format!("{} cannot be read: {cause}", file.display());
        Some(warn(
            "files",
            format!("reference_rates[{index}].file: {what}"),
            "put the document there; a relative path starts in the folder in which the host is started",
        ))
    })
}

/// Checks the certificate authorities of this machine, without which it can call no other host.
fn authorities() -> Option<Finding> {
    let cause = Client::new(LIMITS).err()?;
    Some(fail(
        "authorities",
        cause.to_string(),
        "install the certificates of authorities (Debian: ca-certificates)",
    ))
}

/// Checks the folder of a file that the host creates.
fn folder(setting: &str, file: &str) -> Option<Finding> {
    if file.is_empty() {
        return None;
    }
    let path = Path::new(file);
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let what = match parent {
        _ if path.is_dir() => format!("{setting}: {file} is a folder"),
        Some(parent) if !parent.is_dir() => {
            format!("{setting}: there is no folder {}", parent.display())
        }
        _ => return None,
    };
    Some(fail("files", what, "name a file in a folder that exists"))
}
