//! The module under wasmtime when it misbehaves: a test module traps, spins or grows, depending on its input.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use serde_json::json;
use tillgate_base::engine::{Call, CompiledModule, Document, EngineError, EnginePool};
use tillgate_base::error::Error;
use tillgate_engine::Code;
use tillgate_http::Reply;
use uuid::Uuid;

use crate::support::sizes::size;
use crate::support::wait::DEADLINE;

/// The compiled `misbehaving.wat`, in the target folder, next to that of the program.
const MISBEHAVING: &str = "module/misbehaving.cwasm";

#[expect(unsafe_code, reason = "wasmtime cannot check machine code")]
fn pool() -> EnginePool {
    let target = Path::new(env!("CARGO_BIN_EXE_tillgate")).ancestors().nth(2);
    let module = std::fs::read(target.unwrap().join(MISBEHAVING)).unwrap();
    // SAFETY: wasmtime's compiler made these bytes in the build of these tests.
    let module = unsafe { CompiledModule::load(&module) }.unwrap();
    EnginePool::new(module, 2).unwrap()
}

fn project() -> Document {
    Document::project(Bytes::from_static(b"{}"))
}

#[test]
fn an_instance_that_ends_is_replaced_and_harms_nobody() {
    let pool = pool();
    let project = project();
    for (ended, input) in [(1, "t"), (2, "s"), (3, "g")] {
        let answer = pool.evaluate(Call::Project(&project), input.as_bytes());
        assert!(
            matches!(answer, Err(EngineError::Failed(_))),
            "{input}: {answer:?}"
        );
        assert_eq!(pool.instances().1, ended);
        assert_eq!(pool.evaluate(Call::Project(&project), b"ok").unwrap(), "{}");
    }
    assert_eq!(
        pool.instances(),
        (4, 3),
        "one at the start, and one for each that ended"
    );
}

#[test]
fn while_one_spins_others_are_answered() {
    const ANSWERS: usize = 100;
    const ROUNDS: usize = 100;
    let pool = Arc::new(pool());
    let answered = || {
        let answer = pool.evaluate(Call::Project(&project()), b"ok");
        assert_eq!(answer.unwrap(), "{}");
    };
    let mut while_spinning = 0;
    // One round is enough unless this thread is not scheduled for as long as the other may spin.
    for _ in 0..ROUNDS {
        // One instance is idle from here on. The spinning call takes it, so answering another call needs another
        // instance.
        answered();
        let (made, ended) = pool.instances();
        let spinning = {
            let pool = Arc::clone(&pool);
            std::thread::spawn(move || pool.evaluate(Call::Project(&project()), b"s"))
        };
        let begin = Instant::now();
        while !spinning.is_finished() {
            assert!(
                begin.elapsed() < DEADLINE,
                "the call that spins is never ended"
            );
            answered();
            // Another instance was made and none has ended: the spinning call still has its instance.
            let now = pool.instances();
            while_spinning += usize::from(now.0 > made && now.1 == ended);
        }
        let spun = spinning.join().unwrap();
        assert!(matches!(spun, Err(EngineError::Failed(_))), "{spun:?}");
        if while_spinning >= ANSWERS {
            return;
        }
    }
    panic!("{while_spinning} calls were answered while another was spinning");
}

#[test]
fn what_instances_hold_is_known_and_forgotten_with_them() {
    let pool = pool();
    let fresh = pool.status();
    assert_eq!((fresh.made, fresh.failed), (1, 0));
    assert_eq!((fresh.idle, fresh.in_use, fresh.prepared), (1, 0, 0));
    assert!(fresh.memory > 0 && pool.can_decide());
    pool.evaluate(Call::Project(&project()), b"ok").unwrap();
    let used = pool.status();
    assert_eq!((used.idle, used.in_use), (1, 0));
    assert_eq!((used.prepared, used.prepared_bytes), (1, 2));
    // Its memory has grown by the time it ends.
    assert!(pool.evaluate(Call::Project(&project()), b"g").is_err());
    let ended = pool.status();
    assert_eq!((ended.made, ended.failed), (1, 1));
    assert_eq!((ended.idle, ended.in_use, ended.memory), (0, 0, 0));
    assert_eq!((ended.prepared, ended.prepared_bytes), (0, 0));
    assert!(pool.can_decide(), "another one is made");
    let again = pool.status();
    assert_eq!((again.made, again.idle, again.memory), (2, 1, fresh.memory));
}

#[tokio::test]
async fn a_caller_learns_nothing_of_the_inside() {
    let error = Error::from(EngineError::Failed("wasm trap: unreachable".to_owned()));
    let correlation = Uuid::new_v4();
    let response = Reply::error(&error, correlation).into_response(correlation, false);
    assert_eq!(response.status(), 500);
    assert_eq!(
        response.headers()["correlation-id"],
        correlation.to_string()
    );
    let body = http_body_util::BodyExt::collect(response.into_body())
        .await
        .unwrap()
        .to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(
        !body.contains("trap") && body.contains(&correlation.to_string()),
        "{body}"
    );
}

#[test]
fn more_documents_than_an_instance_keeps_are_prepared_again_when_needed() {
    let pool = EnginePool::new(CompiledModule::of_this_program().unwrap(), 1).unwrap();
    let large = |name: usize| {
        let ids: Vec<_> = (0..60_000)
            .map(|id| format!("\"{name}-{id:0200}\""))
            .collect();
        let ids = ids.join(",");
        let restriction = format!(r#"{{"type":"WHITELISTEDITEMS","itemIds":[{ids}]}}"#);
        Document::project(format!(r#"{{"restrictions":[{restriction}]}}"#).into())
    };
    let projects: Vec<_> = (0..6).map(large).collect();
    for _ in 0..2 {
        for (name, project) in projects.iter().enumerate() {
            let request = format!(
                r#"{{"projectId":"0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90","item":{{"id":"{name}-{:0200}"}}}}"#,
                7
            );
            let answer = pool
                .evaluate(Call::Project(project), request.as_bytes())
                .unwrap();
            assert!(answer.starts_with(format!(r#"{{"id":"{name}-"#).as_bytes()));
            assert!(String::from_utf8_lossy(&answer).contains("\"allow\":true,\"results\""));
        }
    }
    assert_eq!(pool.instances(), (1, 0));
}

#[test]
fn many_decisions_take_no_more_memory_than_a_thousand() {
    let pool = EnginePool::new(CompiledModule::of_this_program().unwrap(), 1).unwrap();
    let catalog = r#"{"global":[],"tenant":[{"id":"a","rule":"AGE_RESTRICTION","condition_value":{"minimum_age":18}}]}"#;
    let catalog = Document::catalog(catalog.into());
    let ask = |times: usize| {
        for age in 0..times {
            let request = format!(
                r#"{{"item":{{"id":"sku-{age}"}},"context":{{"customer":{{"customer_age":{}}}}}}}"#,
                age % 150
            );
            pool.evaluate(Call::Condition(&catalog, "a"), request.as_bytes())
                .unwrap();
        }
        pool.memory()
    };
    let before = ask(1_000);
    assert!(before > 0);
    assert_eq!(ask(size(50_000, 1_000_000)), before);
}

#[test]
fn rate_math_is_answered_and_a_fault_refuses_the_whole_request() {
    let pool = EnginePool::new(CompiledModule::of_this_program().unwrap(), 1).unwrap();
    let request = br#"{"calls":[
        {"op":"opposite","rate":"11.05"},
        {"op":"difference","before":[],"at":"2026-11-20T17:40:00.000Z","levels":[{"businessUnitId":"se-001","markupPercentage":"2.5",
            "rates":[{"exchangeRateType":"SALES","currencyIdFrom":"SEK","currencyIdTo":"EUR","rateValue":"11.05"}]}]}]}"#;
    let answer: serde_json::Value = serde_json::from_slice(&pool.rates(request).unwrap()).unwrap();
    assert_eq!(answer["answers"][0]["rate"], "0.090498");
    let created = &answer["answers"][1]["createdRates"];
    assert_eq!(created[0]["currencyIdFrom"], "EUR");
    assert_eq!(created[0]["rateValueWithMarkup"], "0.088235");
    assert_eq!(created[1]["rateValueWithMarkup"], "10.77375");

    let request =
        br#"{"calls":[{"op":"opposite","rate":"11.05"},{"op":"opposite","rate":"0"},{"op":"x"}]}"#;
    let Err(EngineError::Refused(Code::Invalid, faults)) = pool.rates(request) else {
        panic!("a request with faults is refused");
    };
    let paths: Vec<_> = faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(paths, ["$.calls[1].rate", "$.calls[2].op"]);
    assert_eq!(pool.instances(), (1, 0));
}

#[test]
fn a_hostile_request_for_rate_math_ends_no_instance() {
    let pool = EnginePool::new(CompiledModule::of_this_program().unwrap(), 1).unwrap();
    let call = r#"{"op":"difference","before":[],"levels":[],"at":""}"#;
    let rates = |list: &str, rate: &str, count: usize| {
        let list = format!(r#""{list}":[{}]"#, vec![rate; count].join(","));
        format!(r#"{{"calls":[{{"op":"check",{list}}}]}}"#)
    };
    let same = r#"{"exchangeRateType":"SALES","currencyIdFrom":"SEK","currencyIdTo":"EUR","rateValue":"1e-6"}"#;
    let rows = [
        String::new(),
        "\0".repeat(1 << 20),
        "[".repeat(1 << 20),
        format!(r#"{{"calls":[{}]}}"#, vec![call; 20_000].join(",")),
        format!(r#"{{"calls":[{}]}}"#, vec![call; 10_000].join(",")),
        format!(r#"{{"calls":[{}]}}"#, "{},".repeat(300_000)),
        rates("rates", same, 10_000),
        rates("rates", "null", 500_000),
        format!(
            r#"{{"calls":[{{"op":"opposite","rate":"{}"}}]}}"#,
            "9".repeat(4 << 20)
        ),
    ];
    for request in rows {
        let answer = pool.rates(request.as_bytes());
        assert!(
            matches!(answer, Err(EngineError::Refused(Code::Invalid, _))),
            "{answer:?}"
        );
    }
    assert!(pool.rates(b"\xff\xfe").is_err());
    assert_eq!(pool.instances(), (1, 0));
}

#[test]
fn a_basket_whose_answer_would_be_too_large_is_refused() {
    let pool = EnginePool::new(CompiledModule::of_this_program().unwrap(), 1).unwrap();
    // Each character takes six bytes in the answer.
    let name = "\u{1}".repeat(90);
    let restrictions: Vec<_> = (0..100)
        .map(|n| json!({ "type": "BOOLEAN", "propertyName": format!("{name}{n}"), "value": true, "exclusive": true }))
        .collect();
    let project = json!({ "restrictions": restrictions }).to_string();
    let project = Document::project(Bytes::from(project));
    let catalog = Document::catalog(Bytes::from_static(b"{\"global\":[],\"tenant\":[]}"));
    let ask = |items: usize| {
        let items: Vec<_> = (0..items).map(|n| json!({ "id": n.to_string() })).collect();
        let request = json!({
            "items": items, "projectId": "00000000-0000-4000-8000-000000000001", "context": {},
        });
        let request = request.to_string();
        pool.evaluate(Call::Basket(&catalog, Some(&project)), request.as_bytes())
    };
    assert!(ask(100).unwrap().len() > 4 << 20);
    for _ in 0..3 {
        let refused = ask(800);
        let Err(EngineError::Refused(Code::Invalid, faults)) = refused else {
            panic!("{:?}", refused.map(|answer| answer.len()));
        };
        assert_eq!(
            faults[0].to_string(),
            "$.items must lead to an answer of at most 16 MiB"
        );
    }
    assert_eq!(pool.instances(), (1, 0), "no instance has ended");
}
