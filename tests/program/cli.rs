//! The commands that talk to a running host, as an operator types them.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::identity::TenantId;
use tillgate_store::EmbeddedStore;
use tillgate_store::clock::SystemClock;
use tillgate_tokens::Registration;
use tillgate_tokens::client_id::{Claim, Claims, Software};

use crate::support::ecb::{daily_xml, day};
use crate::support::host::{Host, Program, client, read};
use crate::support::wait::output;

/// A host with a tenant whose software may register.
struct Shop {
    folder: tempfile::TempDir,
    program: Program,
}

fn tillgate(arguments: &[&str]) -> Command {
    let mut command = Program::command();
    command.args(arguments).env_remove("TILLGATE_CREDENTIALS");
    command
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Returns the output of a command that succeeds.
fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// Returns the one-line error of a command that fails.
fn failed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert_eq!(text(&output.stdout), "");
    let told = text(&output.stderr);
    assert_eq!(told.lines().count(), 1, "{told}");
    told.trim_end().to_owned()
}

impl Shop {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = Program::serve(folder.path());
        let shop = Self { folder, program };
        let template = json!({
            "softwareId": "till", "softwareVersion": "1", "name": "A till", "claimsSchema": {}, "roles": [],
        });
        let made = shop.post("/v1/tenants/acme/templates", &template).await;
        assert_eq!(made.0, 201, "{}", made.1);
        shop
    }

    fn credentials(&self) -> Value {
        let file = std::fs::read(self.folder.path().join("operator.json")).unwrap();
        serde_json::from_slice(&file).unwrap()
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let credentials = self.credentials();
        let text = |member: &str| credentials[member].as_str().unwrap();
        let (http, url) = (client(), &self.program.url);
        let token = crate::support::host::token(&http, url, text("clientId"), text("clientSecret"));
        let request = http.post(format!("{url}{path}")).bearer_auth(token.await);
        read(request.json(body).send().await.unwrap()).await
    }

    async fn till(&self, number: u64) -> String {
        let body = json!({
            "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false, "tenantId": "acme",
            "claims": { "number": number },
        });
        let (status, registered) = self.post("/v1/registration", &body).await;
        assert_eq!(status, 201, "{registered}");
        registered["clientId"].as_str().unwrap().to_owned()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = tillgate(arguments);
        command.args(["--url", &self.program.url, "--credentials"]);
        let output = output(command.arg(self.folder.path().join("operator.json")));
        let secret = self.credentials()["clientSecret"]
            .as_str()
            .unwrap()
            .to_owned();
        for printed in [&output.stdout, &output.stderr] {
            assert!(!text(printed).contains(&secret), "a secret was printed");
        }
        output
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--json"]].concat();
        serde_json::from_str(&done(&self.run(&arguments))).unwrap()
    }
}

#[tokio::test]
async fn keys_are_listed_and_renewed() {
    let shop = Shop::open().await;
    let first = shop.json(&["keys", "list"]);
    assert_eq!(first.as_array().unwrap().len(), 1);
    assert_eq!(first[0]["status"], "signing");
    let new = shop.json(&["keys", "rotate"]);
    assert_eq!(new["status"], "published");
    let told = failed(&shop.run(&["keys", "rotate"]));
    assert!(told.contains(new["kid"].as_str().unwrap()), "{told}");
    let listed = done(&shop.run(&["keys", "list"]));
    let lines: Vec<Vec<&str>> = listed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0], ["KEY", "STATUS", "SIGNS", "FROM", "UNTIL"]);
    assert_eq!(
        lines[1][..2],
        [first[0]["kid"].as_str().unwrap(), "signing"]
    );
    assert_eq!(lines[2][..2], [new["kid"].as_str().unwrap(), "published"]);
    assert_eq!(lines[2][3], "-");
}

#[tokio::test]
async fn the_keys_of_webhooks_are_listed_and_renewed_apart() {
    let shop = Shop::open().await;
    let first = shop.json(&["keys", "list", "--of", "webhooks"]);
    assert_eq!(first.as_array().unwrap().len(), 1);
    let tokens = shop.json(&["keys", "list", "--of", "tokens"]);
    assert_ne!(first[0]["kid"], tokens[0]["kid"]);
    let new = shop.json(&["keys", "rotate", "--of", "webhooks"]);
    assert_eq!(new["status"], "published");
    let both = shop.json(&["keys", "list", "--of", "webhooks"]);
    assert_eq!(both[1]["kid"], new["kid"]);
    assert_eq!(shop.json(&["keys", "list"]), tokens);
}

#[tokio::test]
async fn clients_are_listed_authorized_and_revoked() {
    let shop = Shop::open().await;
    assert_eq!(
        done(&shop.run(&["clients", "list", "--tenant", "acme"])),
        "no clients\n"
    );
    let (first, second) = (shop.till(1).await, shop.till(2).await);
    let printed = done(&shop.run(&["clients", "authorize", &first, "--tenant", "acme"]));
    assert_eq!(
        printed,
        format!("the client {first} of the tenant acme is Authorized\n")
    );
    let client = shop.json(&["clients", "revoke", &second]);
    assert_eq!(
        (&client["status"], &client["tenantId"]),
        (&json!("Revoked"), &json!("acme"))
    );
    let ids = |arguments: &[&str]| -> Vec<Value> {
        let clients = shop.json(arguments);
        let clients = clients.as_array().unwrap().iter();
        clients.map(|client| client["clientId"].clone()).collect()
    };
    assert_eq!(ids(&["clients", "list", "--tenant", "acme"]).len(), 2);
    assert_eq!(ids(&["clients", "list"]).len(), 3, "and the operator");
    assert_eq!(
        ids(&["clients", "list", "--status", "revoked"]),
        [json!(second)]
    );
    let listed = done(&shop.run(&["clients", "list", "--tenant", "acme"]));
    let titles: Vec<&str> = listed.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        titles,
        ["STATUS", "TENANT", "SOFTWARE", "REGISTERED", "CLIENT"]
    );
    let columns: Vec<_> = listed.lines().map(|line| line.rfind("  ")).collect();
    assert!(
        columns.windows(2).all(|pair| pair[0] <= pair[1]),
        "{listed}"
    );
    assert!(listed.contains(&first) && listed.contains(&second));
    let told = failed(&shop.run(&["clients", "authorize", &second, "--tenant", "acme"]));
    assert!(
        told.contains("409") && told.contains("a revoked client"),
        "{told}"
    );
    let told = failed(&shop.run(&["clients", "authorize", "nobody"]));
    assert!(told.contains("tillgate clients list"), "{told}");
}

#[tokio::test]
async fn a_client_is_created_in_one_step_and_gets_tokens() {
    let shop = Shop::open().await;
    let file = shop.folder.path().join("office.json");
    let name = file.to_str().unwrap();
    let create = [
        "clients",
        "create",
        "--tenant",
        "north",
        "--software",
        "office",
        "--role",
        "ecs.editor,exr.viewer",
        "--client-file",
        name,
    ];
    let printed = done(&shop.run(&create));
    let written = std::fs::read_to_string(&file).unwrap();
    let credentials: Value = serde_json::from_str(&written).unwrap();
    let id = credentials["clientId"].as_str().unwrap();
    assert_eq!(
        printed,
        format!("created the client {id} of the tenant north; its credentials are in {name}\n")
    );
    assert_eq!(
        credentials["tokenUrl"],
        format!("{}/oauth2/token", shop.program.url)
    );
    assert_eq!(credentials["audience"], shop.credentials()["audience"]);
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let listed = &shop.json(&["clients", "list", "--tenant", "north"])[0];
    assert_eq!(
        (&listed["clientId"], &listed["status"], &listed["roles"]),
        (
            &json!(id),
            &json!("Authorized"),
            &json!([{ "roleId": "ecs.editor" }, { "roleId": "exr.viewer" }])
        )
    );
    let token = done(&output(&mut tillgate(&["token", "--credentials", name])));
    let caller = client().get(format!("{}/api/v1/caller", shop.program.url));
    let (status, caller) = read(caller.bearer_auth(token.trim()).send().await.unwrap()).await;
    assert_eq!((status, &caller["tenantId"]), (200, &json!("north")));
    let issued = shop.json(&["token"]);
    assert_eq!(issued["token_type"], "bearer");

    let told = failed(&shop.run(&create));
    assert!(
        told.ends_with("office.json already exists: name another file"),
        "{told}"
    );
    std::fs::remove_file(&file).unwrap();
    let told = failed(&shop.run(&create));
    assert!(
        told.ends_with("already exists: use --software NAME for another client"),
        "{told}"
    );
    assert!(!file.exists());
}

#[tokio::test]
async fn the_roles_of_a_client_are_set_and_what_fails_leaves_no_client() {
    let shop = Shop::open().await;
    let create = |role: &str, more: &[&str]| {
        let arguments = ["clients", "create", "--tenant", "acme", "--role", role];
        shop.run(&[&arguments[..], more].concat())
    };
    let printed = done(&create("exr.viewer", &[]));
    let credentials: Value = serde_json::from_str(&printed).unwrap();
    let id = credentials["clientId"].as_str().unwrap();
    let set = ["clients", "roles", id, "--role", "exr.editor,exe.viewer"];
    let printed = done(&shop.run(&set));
    assert_eq!(
        printed,
        format!("the client {id} of the tenant acme has the roles exr.editor, exe.viewer\n")
    );
    let clients = || shop.json(&["clients", "list", "--tenant", "acme"]);
    let roles = json!([{ "roleId": "exr.editor" }, { "roleId": "exe.viewer" }]);
    assert_eq!(clients()[0]["roles"], roles);

    let told = failed(&create("no.such.role", &["--software", "till"]));
    assert!(
        told.contains("is not the id of a role: no.such.role"),
        "{told}"
    );
    let nowhere = shop.folder.path().join("none/till.json");
    let nowhere = nowhere.to_str().unwrap();
    let told = failed(&create(
        "ecs.viewer",
        &["--software", "till", "--client-file", nowhere],
    ));
    assert!(told.contains("none/till.json cannot be written"), "{told}");
    assert_eq!(clients().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_operator_is_told_in_which_tenant_something_was_not_found() {
    let shop = Shop::open().await;
    let document = shop.folder.path().join("eurofxref-daily.xml");
    std::fs::write(&document, daily_xml(&day("2026-11-20 USD 1.149"))).unwrap();
    let document = document.to_str().unwrap();
    let import = ["import-rates", document, "--unit", "eu", "--type", "SALES"];
    let told = failed(&shop.run(&import));
    assert!(
        told.ends_with("there is no business unit \"eu\" (in platform, the tenant of the caller)"),
        "{told}"
    );
    let told = failed(&shop.run(&["clients", "revoke", "nobody", "--tenant", "acme"]));
    assert!(told.ends_with("there is no client \"nobody\""), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_followed_to_the_end() {
    let host = Host::start().await;
    let operator = host.client("platform", &["platform.operator"]).await;
    let admin = host.token("acme", &["iam.admin"]).await;
    let template = json!({ "softwareId": "till", "softwareVersion": "1", "name": "A till", "claimsSchema": {} });
    let path = "/v1/tenants/acme/templates";
    let made = host.send(Method::POST, path, &admin, &template).await;
    assert_eq!(made.0, 201, "{}", made.1);
    let exact = "123456789012345678901";
    let numbers = (0..1_000).map(|number| number.to_string());
    for number in numbers.chain([exact.to_owned()]) {
        // One address may have at most 1,000 pending registrations.
        let address = std::net::Ipv4Addr::from_bits(u32::try_from(number.len()).unwrap());
        let number = Claim::Number(number);
        let registration = Registration {
            software: Software::new("till", "1").unwrap(),
            using_global_template: false,
            tenant: TenantId::new("acme").unwrap(),
            claims: Claims::from([("number".to_owned(), number)]),
            statement: None,
        };
        host.features
            .tokens
            .register(registration, address.into())
            .await
            .unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("operator.json");
    let credentials = json!({
        "clientId": operator.client_id, "clientSecret": operator.client_secret,
        "tokenUrl": format!("{}/oauth2/token", host.url), "audience": host.app.config.audience,
    });
    std::fs::write(&file, credentials.to_string()).unwrap();
    let list = [
        "clients", "list", "--json", "--status", "pending", "--tenant", "acme",
    ];
    let mut list = tillgate(&list);
    list.arg("--credentials").arg(&file);
    let listed = tokio::task::spawn_blocking(move || output(&mut list));
    let printed = done(&listed.await.unwrap());
    assert!(printed.contains(exact), "numbers are printed as they are");
    let clients: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(clients.as_array().unwrap().len(), 1_001);
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let shop = Shop::open().await;
    let file = shop.folder.path().join("operator.json");
    let with = |credentials: &Path, url: &str| {
        let mut command = tillgate(&["keys", "list", "--url", url, "--credentials"]);
        failed(&output(command.arg(credentials)))
    };
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", socket.local_addr().unwrap());
    drop(socket);
    let told = with(&file, &nobody);
    assert_eq!(
        told,
        format!("tillgate: no host answers at {nobody}: is it running?")
    );
    let told = with(&shop.folder.path().join("none.json"), &shop.program.url);
    assert!(
        told.contains("none.json") && told.contains("--credentials FILE"),
        "{told}"
    );
    let mut credentials = shop.credentials();
    let slash = shop.folder.path().join("slash.json");
    credentials["tokenUrl"] = json!(format!("{}/oauth2/token/", shop.program.url));
    std::fs::write(&slash, credentials.to_string()).unwrap();
    let mut list = tillgate(&["keys", "list", "--credentials"]);
    done(&output(list.arg(&slash)));
    let told = with(&file, "127.0.0.1:8080");
    assert!(told.contains("--url http://127.0.0.1:8080"), "{told}");
    let wrong = shop.folder.path().join("wrong.json");
    std::fs::write(&wrong, "{}").unwrap();
    let told = with(&wrong, &shop.program.url);
    assert!(
        told.contains("clientId, clientSecret, tokenUrl and audience"),
        "{told}"
    );
    let mut credentials = shop.credentials();
    credentials["clientSecret"] = json!("not-the-secret");
    std::fs::write(&wrong, credentials.to_string()).unwrap();
    let told = with(&wrong, &shop.program.url);
    assert!(told.contains("refused the credentials"), "{told}");
    assert!(!told.contains("not-the-secret"), "{told}");
}

#[tokio::test]
async fn an_administrator_lists_its_own_tenant_alone() {
    let shop = Shop::open().await;
    let till = shop.till(1).await;
    let secret = shop
        .post(
            &format!("/v1/tenants/acme/clients/{till}/secret"),
            &json!({}),
        )
        .await
        .1;
    done(&shop.run(&["clients", "authorize", &till]));
    let mut credentials = shop.credentials();
    credentials["clientId"] = secret["clientId"].clone();
    credentials["clientSecret"] = secret["clientSecret"].clone();
    let file = shop.folder.path().join("till.json");
    std::fs::write(&file, credentials.to_string()).unwrap();
    let mut list = tillgate(&["clients", "list", "--url", &shop.program.url]);
    let told = failed(&output(list.env("TILLGATE_CREDENTIALS", &file)));
    assert!(
        told.contains("may not do this") && told.contains("--tenant"),
        "{told}"
    );
    let mut serve = tillgate(&["serve", "--print-config"]);
    done(&output(serve.env("TILLGATE_CREDENTIALS", &file)));
}

#[tokio::test]
async fn an_operator_who_lost_the_credentials_gets_others_from_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("store").display());
    let file = folder.path().join("further.json");
    let further = |store: &str| {
        let mut command = tillgate(&["operator", "--store", store, "--operator-file"]);
        output(command.arg(&file).env("TILLGATE_LOG__LEVEL", "off"))
    };
    let told = failed(&further(&store));
    assert!(told.contains("there is no store in"), "{told}");
    let mut program = Program::serve(&folder.path().join("store"));
    let told = failed(&further(&store));
    assert!(told.contains("another process"), "{told}");
    assert!(!file.exists());
    program.terminate();
    let printed = done(&further(&store));
    let credentials: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(
        printed.contains(credentials["clientId"].as_str().unwrap()),
        "{printed}"
    );
    assert!(!printed.contains(credentials["clientSecret"].as_str().unwrap()));
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let told = failed(&further(&store));
    assert!(told.contains("already exists"), "{told}");
    let program = Program::serve(&folder.path().join("store"));
    let mut list = tillgate(&["keys", "list", "--url", &program.url, "--credentials"]);
    done(&output(list.arg(&file)));
    let other = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", other.path().display());
    std::fs::remove_file(&file).unwrap();
    let told = failed(&further(&store));
    assert!(told.contains("there is no store in"), "{told}");
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0);
    drop(EmbeddedStore::open(other.path(), Arc::new(SystemClock)).unwrap());
    let told = failed(&further(&store));
    assert!(told.contains("tillgate serve"), "{told}");
}

#[tokio::test]
async fn a_backup_of_a_running_host_is_restored_and_served() {
    let shop = Shop::open().await;
    let till = shop.till(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db").display().to_string();
    let store = |folder: &Path| format!("embedded:{}", folder.display());
    let from = store(shop.folder.path());
    let run = |arguments: &[&str]| output(&mut tillgate(arguments));
    let wrote = done(&run(&["backup", &file, "--store", &from]));
    assert!(
        wrote.starts_with(&format!("wrote {file}, a backup of ")),
        "{wrote}"
    );
    assert!(wrote.contains(" partitions, "), "{wrote}");
    let told = failed(&run(&["backup", &file, "--store", &from]));
    assert!(told.contains("backup.db exists already"), "{told}");
    // This client is not in the backup.
    let later = shop.till(2).await;

    let other = tempfile::tempdir().unwrap();
    let into = store(other.path());
    let restored = done(&run(&["restore", &file, "--store", &into]));
    assert!(restored.starts_with("restored "), "{restored}");
    let told = failed(&run(&["restore", &file, "--store", &into]));
    assert!(told.contains("is not empty"), "{told}");
    let credentials = "operator.json";
    std::fs::copy(
        shop.folder.path().join(credentials),
        other.path().join(credentials),
    )
    .unwrap();
    let program = Program::serve(other.path());
    let restored = Shop {
        folder: other,
        program,
    };
    let listed = done(&restored.run(&["clients", "list", "--tenant", "acme"]));
    assert!(
        listed.contains(&till) && !listed.contains(&later),
        "{listed}"
    );
}

#[test]
fn what_cannot_be_backed_up_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db").display().to_string();
    let none = format!("embedded:{}", folder.path().join("none").display());
    for (arguments, told) in [
        (["backup", &file, "--store", &none], "there is no store in"),
        (
            ["backup", &file, "--store", "redis://127.0.0.1"],
            "is not an embedded store: use tillgate copy",
        ),
        (
            ["backup", &file, "--store", "memory:"],
            "is not an embedded store",
        ),
        (["restore", &file, "--store", &none], "cannot read"),
        (
            ["restore", &file, "--store", "redis://127.0.0.1"],
            "is not an embedded store",
        ),
    ] {
        let said = failed(&output(&mut tillgate(&arguments)));
        assert!(said.contains(told), "{said}");
    }
    assert!(!folder.path().join("none").exists());
    assert!(!Path::new(&file).exists());
}

#[tokio::test]
async fn a_copy_of_a_store_that_is_not_there_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let store = |name: &str| format!("embedded:{}", path(name).display());
    let to = store("to");
    let copy = |from: &str| {
        failed(&output(&mut tillgate(&[
            "copy", "--from", from, "--to", &to,
        ])))
    };
    let told = copy(&store("none"));
    let expected = format!("tillgate: there is no store in {}", path("none").display());
    assert_eq!(told, expected);
    std::fs::create_dir(path("folder")).unwrap();
    let told = copy(&store("folder"));
    assert!(told.contains("there is no store in"), "{told}");
    assert_eq!(std::fs::read_dir(path("folder")).unwrap().count(), 0);
    let told = copy("memory:");
    assert!(told.contains("a store in memory"), "{told}");
    drop(EmbeddedStore::open(&path("new"), Arc::new(SystemClock)).unwrap());
    let told = copy(&store("new"));
    assert!(
        told.contains("is empty: there is nothing to copy"),
        "{told}"
    );
    assert!(!path("none").exists() && !path("to").exists());
}

#[test]
fn invalid_arguments_exit_with_2_and_help_has_examples() {
    let rows: &[&[&str]] = &[
        &["keys"],
        &["keys", "forge"],
        &["clients", "authorize"],
        &["clients", "create", "--tenant", "acme"],
        &["clients", "create", "--role", "exr.viewer"],
        &["clients", "roles", "an-id"],
        &["clients", "list", "--status", "asleep"],
        &["keys", "list", "--colour"],
        &["keys", "list", "--of", "clients"],
        &["jobs"],
        &["jobs", "retry"],
        &["jobs", "retry", "an-id", "--all"],
        &["jobs", "drop"],
        &["tail"],
        &["tail", "nope"],
        &["lint"],
        &["lint", "catalog.json", "--format", "xml"],
        &["evaluate", "catalog.json"],
        &["doctor", "--log", "tillgate.log"],
        &["health", "--ready=maybe"],
        &["man"],
        &["import-rates", "--unit", "eu", "--type", "SALES"],
        &["import-rates", "eurofxref.csv", "--unit", "eu"],
        &["import-rates", "eurofxref.csv", "--type", "SALES"],
        &[
            "import-rates",
            "eurofxref.csv",
            "--unit",
            "eu",
            "--type",
            "SALES,RENTAL",
        ],
    ];
    for row in rows {
        let refused = output(&mut tillgate(row));
        assert_eq!(refused.status.code(), Some(2), "{row:?}");
    }
    let rows: &[&[&str]] = &[
        &["keys", "list"],
        &["keys", "rotate"],
        &["token"],
        &["clients", "create"],
        &["clients", "roles"],
        &["clients", "list"],
        &["clients", "authorize"],
        &["clients", "revoke"],
        &["doctor"],
        &["jobs"],
        &["jobs", "list"],
        &["jobs", "retry"],
        &["jobs", "drop"],
        &["operator"],
        &["import-rates"],
        &["tail"],
        &["export"],
        &["diff"],
        &["apply"],
        &["lint"],
        &["test"],
        &["evaluate"],
        &["health"],
        &["man"],
        &["completions"],
        &["keys"],
        &["clients"],
    ];
    for row in rows {
        let help = done(&output(tillgate(row).arg("--help")));
        assert!(
            help.contains(&format!("tillgate {}", row.join(" "))),
            "{help}"
        );
        assert!(help.contains("Example"), "{help}");
    }
}

/// Returns the commands that `--help` lists.
fn commands() -> Vec<String> {
    let help = done(&output(&mut tillgate(&["--help"])));
    let listed = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().next().map(str::to_owned));
    let names: Vec<String> = names.filter(|name| name != "help").collect();
    assert!(names.len() > 10, "{help}");
    names
}

#[test]
fn completions_and_manual_pages_have_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    done(&output(&mut tillgate(&["man", path])));
    for command in commands() {
        let page = folder.path().join(format!("tillgate-{command}.1"));
        let page = std::fs::read_to_string(&page).unwrap();
        assert!(page.contains(".SH NAME"), "{page}");
        for shell in ["bash", "zsh", "fish"] {
            let script = done(&output(&mut tillgate(&["completions", shell])));
            assert!(script.contains(&command), "{shell}: {command}");
        }
    }
    let told = failed(&output(&mut tillgate(&["man", "no/such/folder"])));
    assert!(told.contains("no/such/folder"), "{told}");
}

#[tokio::test]
async fn health_says_whether_a_host_lives_and_can_decide() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::serve(folder.path());
    let url = program.url.clone();
    let health = |more: &[&str]| output(tillgate(&["health"]).args(more));
    assert_eq!(done(&health(&["--url", &url])), "up\n");
    assert_eq!(done(&health(&["--url", &url, "--ready"])), "ready\n");
    let mut by_default = tillgate(&["health"]);
    let listen = url.strip_prefix("http://").unwrap();
    let port = listen.rsplit(':').next().unwrap();
    by_default.env("TILLGATE_LISTEN", format!("0.0.0.0:{port}"));
    assert_eq!(done(&output(&mut by_default)), "up\n");
    let told = failed(&health(&["--url", &format!("{url}/nowhere")]));
    assert!(told.contains("404"), "{told}");
    program.kill();
    let told = failed(&health(&["--url", &url]));
    assert!(told.contains("no host answers at"), "{told}");
    let told = failed(&health(&["--url", "ftp:nothing"]));
    assert!(told.contains("ftp:nothing"), "{told}");
}
