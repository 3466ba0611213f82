//! Certificate files that cannot be read: the previous certificate stays, `/readyz` says why, and the host still stops
//! when told to.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::{Secured, certificate, serve};
use crate::support::authority::{Authority, Files};
use crate::support::failing_disk::{FailingDisk, HANG};
use crate::support::fifo::make_fifo;
use crate::support::wait::{answered, output};

/// Waits until `/readyz` says why a new certificate is refused.
async fn refused(host: &Secured, why: &str) {
    let expected = json!({
        "status": "read-only",
        "why": format!("the new certificate cannot be used, and the previous one stays: {why}"),
    });
    answered("the new certificate is refused", async || {
        let report = host.ready().await;
        let mut check = report["checks"]["certificate"].clone();
        check.as_object_mut().unwrap().remove("since");
        if check == expected && report["status"] == "degraded" {
            Ok(())
        } else {
            Err(report)
        }
    })
    .await;
}

#[tokio::test]
async fn a_fifo_instead_of_a_certificate_file_is_refused_and_keeps_no_host_from_ending() {
    let mut host = Secured::start(|_| ());
    let before = certificate(&host.get("/healthz").await);
    make_fifo(&host.files.key);
    let not_regular = "it is not a regular file";
    let of_key = format!("the file of the key cannot be read: {not_regular}");
    refused(&host, &of_key).await;
    assert_eq!(certificate(&host.get("/healthz").await), before);

    fs::remove_file(&host.files.key).unwrap();
    let issued = host.authority.issue();
    host.files.write(&issued);
    host.served(&issued).await;
    assert_eq!(host.ready().await["status"], "ready");

    make_fifo(&host.files.chain);
    let of_chain = format!("the file of the certificate cannot be read: {not_regular}");
    refused(&host, &of_chain).await;
    assert_eq!(host.program.terminate(), Some(0));
    let logged = host.logged();
    for why in [of_key, of_chain] {
        let said = logged.iter().filter(|(_, said)| *said == why);
        assert_eq!(said.count(), 1, "{logged:?}");
    }
}

#[tokio::test]
async fn a_disk_that_hangs_while_a_key_is_read_is_told_and_keeps_no_host_from_ending() {
    let disk = FailingDisk::new();
    let mut host = Secured::start(|command| disk.apply(command));
    disk.fail("key-read", HANG);
    refused(&host, "its files are not read within ten seconds").await;
    assert_eq!(host.get("/healthz").await.status(), 200);
    assert_eq!(host.program.terminate(), Some(0));
}

#[test]
fn a_host_does_not_start_with_a_fifo_for_a_key() {
    let (authority, folder) = (Authority::new(), TempDir::new().unwrap());
    let files = Files::new(folder.path());
    files.write(&authority.issue());
    fs::remove_file(&files.key).unwrap();
    make_fifo(&files.key);
    let refused = output(&mut serve(folder.path(), &files));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(
        told.ends_with("the file of the key cannot be read: it is not a regular file\n"),
        "{told}"
    );
}
