//! TLS on the host: which clients are served, what a certificate must be, and that certificates are replaced while
//! requests continue.

mod unread_files;

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::tls::{TlsInfo, Version};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tempfile::TempDir;
use tillgate_store::clock::{Clock, SystemClock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::authority::{Authority, Files, Issued};
use crate::support::exposition::Scrape;
use crate::support::host::{Program, read, token};
use crate::support::wait::{DEADLINE, answered, output, until, within};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A host with a certificate, which logs to a file.
pub(crate) struct Secured {
    authority: Authority,
    files: Files,
    program: Program,
    folder: TempDir,
}

/// Returns the command `tillgate serve` over TLS, in a folder.
fn serve(folder: &Path, files: &Files) -> Command {
    let mut command = Program::command();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store"])
        .arg(format!("embedded:{}", folder.join("store").display()))
        .arg("--tls-cert")
        .arg(&files.chain)
        .arg("--tls-key")
        .arg(&files.key);
    command
}

impl Secured {
    pub(crate) fn start(configure: impl FnOnce(&mut Command)) -> Self {
        Self::start_with(Authority::issue, configure)
    }

    fn start_with(
        issue: impl FnOnce(&Authority) -> Issued,
        configure: impl FnOnce(&mut Command),
    ) -> Self {
        let (authority, folder) = (Authority::new(), TempDir::new().unwrap());
        let files = Files::new(folder.path());
        files.write(&issue(&authority));
        std::fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
        let mut command = serve(folder.path(), &files);
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        command.env("TILLGATE_LOG__FORMAT", "json").stderr(log);
        configure(&mut command);
        Self {
            program: Program::spawn(&mut command, ""),
            authority,
            files,
            folder,
        }
    }

    /// Returns a client that makes a connection for each request.
    fn client(&self) -> Client {
        let client = self.authority.client().read_timeout(DEADLINE);
        client.pool_max_idle_per_host(0).build().unwrap()
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        let request = self.client().get(format!("{}{path}", self.program.url));
        request.send().await.unwrap()
    }

    async fn ready(&self) -> Value {
        let (status, report) = read(self.get("/readyz").await).await;
        assert_eq!(status, 200, "{report}");
        report
    }

    /// Returns the log messages about a certificate, with the reason of each.
    fn logged(&self) -> Vec<(String, String)> {
        let log = std::fs::read_to_string(self.path("log")).unwrap();
        let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
        let fields = lines.map(|line: Value| line["fields"].clone());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let told = fields.map(|fields| (text(&fields["message"]), text(&fields["why"])));
        told.filter(|(message, _)| message.contains("certificate"))
            .collect()
    }

    /// Waits until new connections get this certificate.
    async fn served(&self, issued: &Issued) {
        until("new connections get the certificate", async || {
            certificate(&self.get("/healthz").await) == issued.der
        })
        .await;
    }
}

/// Returns the certificate of an answer.
fn certificate(answer: &Response) -> Vec<u8> {
    let info: &TlsInfo = answer.extensions().get().unwrap();
    info.peer_certificate().unwrap().to_vec()
}

#[tokio::test]
async fn requests_are_answered_over_tls_1_2_and_1_3_and_nothing_older_or_plain() {
    let host = Secured::start(|_| ());
    assert!(host.program.url.starts_with("https://127.0.0.1:"));
    let url = format!("{}/healthz", host.program.url);
    for version in [Version::TLS_1_2, Version::TLS_1_3] {
        let only = host
            .authority
            .client()
            .tls_version_min(version)
            .tls_version_max(version);
        let answer = only.build().unwrap().get(&url).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{version:?}");
        assert_eq!(answer.version(), reqwest::Version::HTTP_11);
        assert_eq!(answer.text().await.unwrap(), r#"{"status":"up"}"#);
    }
    let plain = url.replace("https://", "http://");
    assert!(Client::new().get(plain).send().await.is_err());
    let stranger = Authority::new().client().build().unwrap();
    assert!(stranger.get(&url).send().await.is_err());
}

#[tokio::test]
async fn a_host_with_tls_says_that_it_is_reached_by_https() {
    let host = Secured::start(|_| ());
    let url = &host.program.url;
    let operator = std::fs::read(host.path("store/operator.json")).unwrap();
    let operator: Value = serde_json::from_slice(&operator).unwrap();
    assert_eq!(operator["tokenUrl"], format!("{url}/oauth2/token"));
    let metadata = host.get("/.well-known/oauth-authorization-server").await;
    let (_, metadata) = read(metadata).await;
    assert_eq!(metadata["issuer"], format!("{url}/"));
    assert_eq!(metadata["token_endpoint"], operator["tokenUrl"]);
}

/// Asks for decisions until `stop` is set; returns how many it got.
async fn ask(client: Client, url: String, token: String, stop: &AtomicBool) -> usize {
    let question = json!({ "items": [{ "id": "1" }], "context": {} });
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let request = client.post(format!("{url}/api/v1/evaluations"));
        let request = request.bearer_auth(&token).json(&question);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.bytes().await.unwrap();
        count += 1;
    }
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_certificates_are_replaced() {
    let host = Secured::start(|_| ());
    let operator = std::fs::read(host.path("store/operator.json")).unwrap();
    let operator: Value = serde_json::from_slice(&operator).unwrap();
    let text = |member: &str| operator[member].as_str().unwrap();
    let url = &host.program.url;
    let token = token(&host.client(), url, text("clientId"), text("clientSecret")).await;
    let stop: &'static AtomicBool = Box::leak(Box::default());
    // Some make a connection for each request, others keep theirs.
    let keeping = host.authority.client().build().unwrap();
    let clients = [host.client(), host.client(), host.client(), keeping];
    let asking = clients.map(|client| tokio::spawn(ask(client, url.clone(), token.clone(), stop)));
    for _ in 0..3 {
        let issued = host.authority.issue();
        host.files.write(&issued);
        host.served(&issued).await;
        assert_eq!(host.ready().await["status"], "ready");
    }
    stop.store(true, Ordering::Relaxed);
    for asking in asking {
        assert!(asking.await.unwrap() > 0);
    }
    let replaced = (
        "new connections get a new certificate".to_owned(),
        String::new(),
    );
    assert_eq!(host.logged(), vec![replaced; 3]);
}

/// The content of a certificate's files, and why it cannot be used.
type Bad<'b> = (&'b str, Option<&'b str>, Option<&'b str>, &'b str);

#[tokio::test]
async fn a_bad_new_certificate_changes_nothing_and_is_said_once() {
    let host = Secured::start(|_| ());
    let before = certificate(&host.get("/healthz").await);
    let (good, now) = (host.authority.issue(), SystemClock.now());
    let expired = host
        .authority
        .issue_valid(now.minus(2 * DAY), now.minus(DAY));
    let early = host.authority.issue_valid(now.plus(DAY), now.plus(2 * DAY));
    let key = &*good.key;
    let rows: &[Bad<'_>] = &[
        (
            "another's key",
            None,
            Some(key),
            "the key does not fit the certificate",
        ),
        (
            "no file",
            None,
            None,
            "cannot be read: No such file or directory",
        ),
        (
            "expired",
            Some(&expired.chain),
            Some(&expired.key),
            "it has expired at ",
        ),
        (
            "early",
            Some(&early.chain),
            Some(&early.key),
            "it is only valid from ",
        ),
        (
            "nothing",
            Some(""),
            Some(key),
            "there is no certificate in its file",
        ),
    ];
    let first = std::fs::read_to_string(&host.files.chain).unwrap();
    for (name, chain, key, why) in rows {
        match (chain, key) {
            (None, None) => std::fs::remove_file(&host.files.key).unwrap(),
            (chain, key) => {
                std::fs::write(&host.files.chain, chain.unwrap_or(&first)).unwrap();
                std::fs::write(&host.files.key, key.unwrap()).unwrap();
            }
        }
        let logged = rows.iter().position(|(other, ..)| other == name).unwrap() + 1;
        until(name, async || host.logged().len() >= logged).await;
        let report = host.ready().await;
        let found = &report["checks"]["certificate"];
        assert_eq!(
            (&report["status"], &found["status"]),
            (&json!("degraded"), &json!("read-only"))
        );
        let told = found["why"].as_str().unwrap();
        let kept = "the new certificate cannot be used, and the previous one stays: ";
        let why_told = told.strip_prefix(kept).expect(told);
        assert!(why_told.contains(why), "{name}: {told}");
        assert_eq!(certificate(&host.get("/healthz").await), before, "{name}");
    }
    host.files.write(&good);
    host.served(&good).await;
    let report = host.ready().await;
    assert_eq!(
        (
            &report["status"],
            &report["checks"]["certificate"]["status"]
        ),
        (&json!("ready"), &json!("up"))
    );
    let mut logged = host.logged();
    assert_eq!(
        logged.pop().unwrap().0,
        "new connections get a new certificate"
    );
    assert_eq!(logged.len(), rows.len(), "{logged:?}");
    for ((_, _, _, expected), (message, why)) in rows.iter().zip(&logged) {
        assert_eq!(
            message,
            "the new certificate cannot be used: the previous one stays"
        );
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn a_host_does_not_start_with_a_pair_that_cannot_be_used() {
    let (authority, folder) = (Authority::new(), TempDir::new().unwrap());
    let files = Files::new(folder.path());
    let (one, other) = (authority.issue(), authority.issue());
    let half = &one.chain[..one.chain.len() / 3];
    let no_key = "there is no private key in its file, which must be PEM and not encrypted";
    let rows: &[(&str, &str, &str)] = &[
        (
            &one.chain,
            &other.key,
            "the key does not fit the certificate",
        ),
        (
            &one.key,
            &one.key,
            "there is no certificate in its file, which must be PEM",
        ),
        (half, &one.key, "the certificate is not PEM"),
        (&one.chain, &one.chain, no_key),
        (&one.chain, "", no_key),
        (&one.chain, &one.key[..60], "the key is not PEM"),
        (
            &one.chain,
            "-----BEGIN PRIVATE KEY-----\nMAAA\n-----END PRIVATE KEY-----\n",
            "the key cannot be used: ",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n",
            &one.key,
            "the certificate cannot be read: ",
        ),
    ];
    for (chain, key, why) in rows {
        std::fs::write(&files.chain, chain).unwrap();
        std::fs::write(&files.key, key).unwrap();
        let refused = output(&mut serve(folder.path(), &files));
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{why}: {told}");
        let (chain, key) = (files.chain.display(), files.key.display());
        let expected = format!(
            "tillgate: the certificate in {chain} with the key in {key} cannot be used: {why}"
        );
        assert!(told.starts_with(&expected), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    std::fs::remove_file(&files.chain).unwrap();
    let refused = output(&mut serve(folder.path(), &files));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(
        told.contains("the file of the certificate cannot be read: No such file"),
        "{told}"
    );
}

#[tokio::test]
async fn expiring_certificates_cause_a_warning_and_expired_ones_are_served() {
    let now = SystemClock.now();
    let end = now.plus(10 * DAY);
    let host = Secured::start_with(|it| it.issue_valid(now.minus(80 * DAY), end), |_| ());
    let report = host.ready().await;
    assert_eq!(report["status"], "ready");
    let warning = json!({ "count": 1, "why": "the certificate expires soon" });
    assert_eq!(report["warnings"]["certificate"], warning);
    let metrics = host.get("/metrics").await.text().await.unwrap();
    let expiry = Scrape::read(&metrics).sum("tillgate_certificate_expiry_timestamp_seconds", &[]);
    assert_eq!(expiry as u64, end.seconds());

    // A certificate of six days with three left is as good as new.
    let short = host
        .authority
        .issue_valid(now.minus(3 * DAY), now.plus(3 * DAY));
    host.files.write(&short);
    host.served(&short).await;
    assert_eq!(host.ready().await.get("warnings"), None);

    let expired = |it: &Authority| it.issue_valid(now.minus(2 * DAY), now.minus(DAY));
    let host = Secured::start_with(expired, |_| ());
    let careless = Client::builder().tls_danger_accept_invalid_certs(true);
    let url = format!("{}/readyz", host.program.url);
    let answer = careless.build().unwrap().get(url).send().await.unwrap();
    let (status, report) = read(answer).await;
    assert_eq!((status, &report["status"]), (200, &json!("degraded")));
    let why = &report["checks"]["certificate"]["why"];
    assert_eq!(why, "clients refuse the certificate: it is not valid now");
    assert_eq!(report.get("warnings"), None);
    assert_eq!(host.logged()[0].0, "clients will refuse the certificate");
}

/// Opens a connection from an address of the loopback network.
async fn connect(url: &str, from: [u8; 4]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::from(from), 0).into()).unwrap();
    let address = url.strip_prefix("https://").unwrap().parse().unwrap();
    socket.connect(address).await.unwrap()
}

/// Waits until the other end closes a connection.
async fn closed(connection: &mut TcpStream) {
    let mut rest = Vec::new();
    let _reset = within(
        "the end of the connection",
        connection.read_to_end(&mut rest),
    )
    .await;
}

#[tokio::test]
async fn handshakes_that_do_not_end_are_counted_keep_nobody_out_and_are_dropped() {
    let host = Secured::start(|command| {
        command.env("TILLGATE_LIMITS__CONNECTIONS_PER_ADDRESS", "3");
    });
    let url = &host.program.url;
    let mut silent = Vec::new();
    for _ in 0..3 {
        let mut connection = connect(url, [127, 0, 0, 2]).await;
        // The beginning of a record.
        connection.write_all(&[22, 3, 1]).await.unwrap();
        silent.push(connection);
    }
    // One more connection from there is closed at once, others are served.
    closed(&mut connect(url, [127, 0, 0, 2]).await).await;
    for _ in 0..10 {
        assert_eq!(host.get("/healthz").await.status(), 200);
    }
    for mut connection in silent {
        closed(&mut connection).await;
    }
    let from = host
        .authority
        .client()
        .local_address(std::net::IpAddr::from([127, 0, 0, 2]));
    let from = from.build().unwrap();
    until("their places are free", async || {
        from.get(format!("{url}/healthz")).send().await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn a_host_that_is_told_to_end_waits_for_no_handshake() {
    let mut host = Secured::start(|_| ());
    let mut silent = connect(&host.program.url, [127, 0, 0, 2]).await;
    assert_eq!(host.get("/healthz").await.status(), 200);
    assert_eq!(host.program.terminate(), Some(0));
    closed(&mut silent).await;
    let log = std::fs::read_to_string(host.path("log")).unwrap();
    assert!(!log.contains("did not finish in time"), "{log}");
}

#[tokio::test]
async fn a_client_that_goes_away_over_tls_lets_go_of_what_waits_for_it() {
    let host = Secured::start(|_| ());
    let operator = std::fs::read(host.path("store/operator.json")).unwrap();
    let operator: Value = serde_json::from_slice(&operator).unwrap();
    let text = |member: &str| operator[member].as_str().unwrap();
    let (client, url) = (host.client(), host.program.url.clone());
    let token = token(&client, &url, text("clientId"), text("clientSecret")).await;
    let path = format!("{url}/api/v1/events?consumer=erp&wait=60s");
    let ask = || client.get(&path).bearer_auth(&token).send();
    assert_eq!(ask().await.unwrap().status(), 200, "it makes the consumer");
    let waiting = async |count: f64| {
        answered("as many wait", async || {
            let text = host.get("/metrics").await.text().await.unwrap();
            let kind = [("kind", "event_waiters")];
            if Scrape::read(&text).sum("tillgate_memory_objects", &kind) == count {
                Ok(())
            } else {
                Err(text)
            }
        })
        .await;
    };
    let asked = tokio::spawn(ask());
    waiting(1.0).await;
    asked.abort();
    waiting(0.0).await;
}

fn tillgate(arguments: &[&str]) -> Output {
    let mut command = Program::command();
    let command = command.args(arguments);
    output(command.env_remove("TILLGATE_CREDENTIALS"))
}

#[tokio::test]
async fn commands_trust_a_private_authority_that_they_are_told_of() {
    let host = Secured::start(|_| ());
    let (url, authority) = (&*host.program.url, host.path("ca.pem"));
    let credentials = host.path("store/operator.json");
    let list = ["keys", "list", "--credentials", &credentials];
    let health = ["health", "--url", url];
    let trusting = ["--ca-cert", &*authority];
    for command in [&list[..], &health[..]] {
        let refused = tillgate(command);
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{told}");
        let expected = format!(
            "tillgate: the certificate of {url} is not accepted (invalid peer certificate: "
        );
        assert!(told.starts_with(&expected), "{told}");
        assert!(
            told.ends_with(": name the file of its authority with --ca-cert\n"),
            "{told}"
        );
        let done = tillgate(&[command, &trusting].concat());
        assert_eq!(done.status.code(), Some(0), "{:?}", done.stderr);
        let mut with = Program::command();
        let done = output(with.args(command).env("TILLGATE_CA_CERT", &authority));
        assert_eq!(done.status.code(), Some(0), "{:?}", done.stderr);
    }
    let not_one = tillgate(&[&health[..], &["--ca-cert", &host.path("privkey.pem")]].concat());
    let told = String::from_utf8(not_one.stderr).unwrap();
    assert!(
        told.contains("there is no certificate of an authority in "),
        "{told}"
    );

    // The host's own settings say how to reach it.
    let mut own = Program::command();
    own.args(["health", "--ready"])
        .env("TILLGATE_LISTEN", url.strip_prefix("https://").unwrap())
        .env("TILLGATE_TLS__CERT", &host.files.chain)
        .env("TILLGATE_TLS__KEY", &host.files.key);
    let done = output(&mut own);
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "ready\n");
}

/// Makes a certificate with `openssl req -x509` and more options.
fn made_by_openssl(more: &[&str]) -> Issued {
    let folder = TempDir::new().unwrap();
    let files = Files::new(folder.path());
    let mut openssl = Command::new("openssl");
    openssl
        .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90".split(' '))
        .args(["-subj", "/CN=Tillgate test", "-keyout"])
        .arg(&files.key)
        .arg("-out")
        .arg(&files.chain)
        .args(more);
    let made = output(&mut openssl);
    assert!(made.status.success(), "{made:?}");
    Issued {
        chain: std::fs::read_to_string(&files.chain).unwrap(),
        key: std::fs::read_to_string(&files.key).unwrap(),
        der: Vec::new(),
    }
}

#[test]
fn a_self_signed_certificate_must_not_be_a_ca_and_must_name_the_host() {
    const HOSTS: [&str; 4] = [
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-addext",
        "subjectAltName=DNS:localhost,IP:127.0.0.1",
    ];
    let rows = [
        (
            &HOSTS[..0],
            "it is the certificate of an authority, CA:TRUE, and that of a host must have CA:FALSE",
        ),
        (
            &HOSTS[..2],
            "certificate not valid for name \"127.0.0.1\"; certificate is not valid for any names \
             (according to its subjectAltName extension)",
        ),
    ];
    for (more, why) in rows {
        let host = Secured::start_with(|_| made_by_openssl(more), |_| ());
        let (url, own) = (&*host.program.url, host.path("fullchain.pem"));
        let credentials = host.path("store/operator.json");
        let list = ["keys", "list", "--credentials", &credentials];
        for command in [&["health", "--url", url][..], &list[..]] {
            let refused = tillgate(&[command, &["--ca-cert", &own]].concat());
            let told = String::from_utf8(refused.stderr).unwrap();
            let expected = format!("tillgate: the certificate of {url} is not accepted ({why})\n");
            assert_eq!((refused.status.code(), told), (Some(1), expected));
        }
    }
    let host = Secured::start_with(|_| made_by_openssl(&HOSTS), |_| ());
    let own = host.path("fullchain.pem");
    let done = tillgate(&["health", "--url", &host.program.url, "--ca-cert", &own]);
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "up\n");
}
