//! A host on the embedded store while its disk is full, read-only or failing: decisions continue, writes get 503, and
//! the host recovers by itself. `store/faults.rs` tests the store itself.

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use crate::support::failing_disk::{EIO, ENOSPC, EROFS, FailingDisk};
use crate::support::host::{Program, client, read, token};
use crate::support::wait::until;

struct OnFailingDisk {
    folder: tempfile::TempDir,
    disk: FailingDisk,
    program: Program,
    http: Client,
    token: String,
}

impl OnFailingDisk {
    async fn start() -> Self {
        let (folder, disk) = (tempfile::tempdir().unwrap(), FailingDisk::new());
        let mut command = Program::command();
        let store = format!("embedded:{}", folder.path().display());
        command.args(["serve", "--listen", "127.0.0.1:0", "--store", &store]);
        disk.apply(&mut command);
        let program = Program::spawn(&mut command, "");
        let (http, token) = (client(), operator(&folder, &program).await);
        Self {
            folder,
            disk,
            program,
            http,
            token,
        }
    }

    fn request(&self, method: Method, path: &str, body: &Value) -> RequestBuilder {
        let request = self
            .http
            .request(method, format!("{}{path}", self.program.url));
        request.bearer_auth(&self.token).json(body)
    }

    /// Puts a condition with this age; returns the status, and the `Retry-After` of a failure.
    async fn put(&self, minimum_age: u32) -> (u16, Option<String>) {
        let body = json!({
            "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": minimum_age },
        });
        let path = "/api/v1/entity-conditions/beer";
        let answer = self.request(Method::PUT, path, &body).send().await.unwrap();
        let retry = answer.headers().get("retry-after");
        let retry = retry.map(|after| after.to_str().unwrap().to_owned());
        (answer.status().as_u16(), retry)
    }

    /// Returns the decision about a 17-year-old customer.
    async fn decision(&self) -> Value {
        let body = json!({
            "item": { "id": "sku" }, "context": { "customer": { "customer_age": 17 } },
        });
        let path = "/api/v1/conditions/beer/evaluate";
        let answer = self
            .request(Method::POST, path, &body)
            .send()
            .await
            .unwrap();
        let (status, answer) = read(answer).await;
        assert_eq!(status, 200, "{answer}");
        answer["results"][0]["decision"].clone()
    }
}

async fn operator(folder: &tempfile::TempDir, program: &Program) -> String {
    let file = std::fs::read(folder.path().join("operator.json")).unwrap();
    let credentials: Value = serde_json::from_slice(&file).unwrap();
    let text = |member: &str| credentials[member].as_str().unwrap().to_owned();
    let (id, secret) = (text("clientId"), text("clientSecret"));
    token(&client(), &program.url, &id, &secret).await
}

#[tokio::test]
async fn while_the_disk_cannot_be_written_decisions_go_on_and_writes_are_503() {
    for error in [ENOSPC, EROFS, EIO] {
        let mut host = OnFailingDisk::start().await;
        assert_eq!(host.put(18).await, (201, None));
        assert_eq!(host.decision().await, "HARD_DENY");

        host.disk.fail("write", error);
        for _ in 0..3 {
            let (status, retry) = host.put(16).await;
            assert_eq!(status, 503);
            assert!(retry.is_some(), "a client must know when to try again");
            assert_eq!(host.decision().await, "HARD_DENY");
        }
        let ready = host.request(Method::GET, "/readyz", &Value::Null);
        let (status, ready) = read(ready.send().await.unwrap()).await;
        assert_eq!((status, &ready["status"]), (200, &json!("degraded")));

        host.disk.work_again("write");
        until("writes go on", async || {
            let (status, _) = host.put(16).await;
            assert!(status == 200 || status == 503, "{status}");
            status == 200
        })
        .await;
        assert_eq!(host.decision().await, "ALLOW");
        host.program.kill();
        let program = Program::serve(host.folder.path());
        host.token = operator(&host.folder, &program).await;
        host.program = program;
        assert_eq!(host.decision().await, "ALLOW");
    }
}
