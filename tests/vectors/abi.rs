//! Runs every vector through the module's C ABI under wasmtime, as the host embeds it, and tests the other promises of
//! the ABI.

use tillgate_base::engine::MACHINE_CODE;
use wasmtime::{Config, Engine, Instance, Linker, Module, Store};

use super::vector::{self, Call};

/// The module, with the imports of its JavaScript face bound to traps: the C ABI calls none of them.
struct Embedded {
    store: Store<()>,
    instance: Instance,
}

impl Embedded {
    #[expect(unsafe_code, reason = "wasmtime cannot check machine code")]
    fn new() -> Self {
        let engine = Engine::new(Config::new().epoch_interruption(true)).unwrap();
        // SAFETY: wasmtime's compiler made these bytes in the build of these tests.
        let module = unsafe { Module::deserialize(&engine, MACHINE_CODE) }.unwrap();
        let mut store = Store::new(&engine, ());
        store.set_epoch_deadline(u64::MAX / 2);
        let mut linker = Linker::new(&engine);
        linker.define_unknown_imports_as_traps(&module).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        Self { store, instance }
    }

    fn pages(&mut self) -> u64 {
        let memory = self.instance.get_memory(&mut self.store, "memory").unwrap();
        memory.size(&self.store)
    }

    fn input(&mut self, len: u32) -> u32 {
        let input = self
            .instance
            .get_typed_func(&mut self.store, "tillgate_input");
        input.unwrap().call(&mut self.store, len).unwrap()
    }

    /// Writes the input, calls, and reads the answer at once: it is valid only until the next call.
    fn call(&mut self, name: &str, handle: Option<u32>, input: &[u8]) -> Vec<u8> {
        let len = u32::try_from(input.len()).unwrap();
        let at = self.input(len);
        let memory = self.instance.get_memory(&mut self.store, "memory").unwrap();
        memory
            .write(&mut self.store, at.try_into().unwrap(), input)
            .unwrap();
        let name = format!("tillgate_{name}");
        let (instance, store) = (self.instance, &mut self.store);
        let answer: u64 = match handle {
            Some(handle) => {
                let function = instance.get_typed_func(&mut *store, &name).unwrap();
                function.call(store, (handle, len)).unwrap()
            }
            None => {
                let function = instance.get_typed_func(&mut *store, &name).unwrap();
                function.call(store, len).unwrap()
            }
        };
        self.answer(answer)
    }

    /// Reads the bytes that an answer points to.
    fn answer(&mut self, answer: u64) -> Vec<u8> {
        let (at, len) = (answer >> 32, answer & u64::from(u32::MAX));
        let mut out = vec![0; len.try_into().unwrap()];
        let memory = self.instance.get_memory(&mut self.store, "memory").unwrap();
        memory
            .read(&self.store, at.try_into().unwrap(), &mut out)
            .unwrap();
        out
    }

    fn prepare(&mut self, line: &str, document: &[u8]) -> Result<u32, Vec<u8>> {
        let answer = self.call(
            "prepare",
            None,
            &[line.as_bytes(), b"\n", document].concat(),
        );
        match answer.split_first() {
            Some((b'0', handle)) => Ok(std::str::from_utf8(handle).unwrap().parse().unwrap()),
            _ => Err(answer),
        }
    }

    fn evaluate(&mut self, handle: u32, line: &str, request: &[u8]) -> Vec<u8> {
        let input = [line.as_bytes(), b"\n", request].concat();
        self.call("evaluate", Some(handle), &input)
    }

    fn release(&mut self, handle: u32) {
        let release = self
            .instance
            .get_typed_func(&mut self.store, "tillgate_release");
        release.unwrap().call(&mut self.store, handle).unwrap()
    }
}

const CATALOG: &[u8] = br#"{"global":[],"tenant":[{"id":"a","rule":"AGE_RESTRICTION","condition_value":{"minimum_age":18}}]}"#;
const PROJECT: &[u8] = br#"{"restrictions":[{"type":"BLACKLISTEDITEMS","itemIds":["x"]}]}"#;
const BASKET: &[u8] =
    br#"{"items":[{"id":"x"}],"projectId":"3f1c2a60-5b1e-4c4e-9f52-0a6f4c1de001","context":{}}"#;
const REQUEST: &[u8] = br#"{"item":{"id":"x"},"context":{"customer":{"customer_age":18}}}"#;
const ALLOWED: &[u8] = br#"0{"id":"x","allow":true,"results":[{"id":"a","allow":true,"decision":"ALLOW","reason":null,"rule":"AGE_RESTRICTION"}]}"#;

fn has_code(answer: &[u8], code: &str) -> bool {
    answer.starts_with(format!(r#"1{{"code":"{code}","#).as_bytes())
}

#[test]
fn the_module_answers_every_vector_over_its_c_abi() {
    let mut module = Embedded::new();
    vector::check(|call| match call {
        Call::Prepare {
            line,
            document,
            evaluate,
        } => {
            let handle = match module.prepare(line, document) {
                Ok(handle) => handle,
                Err(answer) => return answer,
            };
            let answer = match evaluate {
                Some((line, request)) => module.evaluate(handle, line, request),
                None => b"0null".to_vec(),
            };
            module.release(handle);
            answer
        }
        Call::Many {
            line,
            document,
            many: (call, request),
        } => {
            let handle = match module.prepare(line, document) {
                Ok(handle) => handle,
                Err(answer) => return answer,
            };
            let input = [call.as_bytes(), b"\n", request].concat();
            let answer = module.call("evaluate_many", Some(handle), &input);
            module.release(handle);
            answer
        }
        Call::Rates(request) => module.call("rates", None, request),
        Call::Signature(request) => module.call("signature", None, request),
        Call::Findings(request) => module.call("findings", None, request),
        Call::Compare(request) => module.call("compare", None, request),
        Call::Tests(request) => module.call("tests", None, request),
    });
}

#[test]
fn a_released_handle_is_invalid() {
    let mut module = Embedded::new();
    let released = module.prepare("catalog", CATALOG).unwrap();
    module.release(released);
    let kept = module.prepare("catalog", CATALOG).unwrap();
    assert_ne!(released, kept);
    for stale in [released, 0, kept + 1, u32::MAX] {
        let answer = module.evaluate(stale, "condition a", REQUEST);
        assert!(has_code(&answer, "unknown_handle"), "{stale}");
        let answer = module.call("evaluate_many", Some(stale), b"condition a\n{\"rows\":[]}");
        assert!(has_code(&answer, "unknown_handle"), "{stale}");
        module.release(stale);
    }
    assert_eq!(module.evaluate(kept, "condition a", REQUEST), ALLOWED);
}

#[test]
fn a_basket_is_checked_against_a_project_that_was_prepared_alone() {
    let mut module = Embedded::new();
    let catalog = module.prepare("catalog", CATALOG).unwrap();
    let project = module.prepare("project", PROJECT).unwrap();
    let answer = module.evaluate(catalog, &format!("basket {project}"), BASKET);
    assert_eq!(
        String::from_utf8(answer).unwrap(),
        r#"0{"allow":false,"decision":"HARD_DENY","items":[{"id":"x","allow":false,"results":[{"allow":false,"decision":"HARD_DENY","reason":"project_restriction.blacklisted_item","rule":"PROJECT_RESTRICTION","source":"PROJECT_RESTRICTION","restriction":"itemId"}]}]}"#
    );
    let answer = module.evaluate(catalog, &format!("explain basket {project}"), BASKET);
    assert_eq!(
        String::from_utf8(answer).unwrap(),
        r#"0{"allow":false,"decision":"HARD_DENY","items":[{"id":"x","allow":false,"results":[{"allow":false,"decision":"HARD_DENY","reason":"project_restriction.blacklisted_item","rule":"PROJECT_RESTRICTION","source":"PROJECT_RESTRICTION","restriction":"itemId","explanation":{"restrictionIndex":0,"propertyName":"itemId","value":"x","wants":["x"],"wantsCount":1}}]}]}"#
    );
    for wrong in [
        catalog.to_string(),
        "0".into(),
        "9".into(),
        "".into(),
        "x".into(),
        "-1".into(),
    ] {
        for form in ["basket", "explain basket"] {
            let answer = module.evaluate(catalog, &format!("{form} {wrong}"), BASKET);
            assert!(has_code(&answer, "unknown_handle"), "{form} {wrong}");
        }
    }
}

#[test]
fn a_call_without_a_line_or_longer_than_its_input_is_an_error() {
    let mut module = Embedded::new();
    for input in [&b""[..], b"catalog", b"\xff\n{}", b"\n{}"] {
        assert!(has_code(&module.call("prepare", None, input), "invalid"));
    }
    let prepare = module
        .instance
        .get_typed_func::<u32, u64>(&mut module.store, "tillgate_prepare")
        .unwrap();
    for len in [1 << 20, u32::MAX] {
        let answer = prepare.call(&mut module.store, len).unwrap();
        assert!(has_code(&module.answer(answer), "invalid"), "{len}");
    }
}

#[test]
fn an_input_that_does_not_fit_into_memory_is_nowhere_and_harms_nothing() {
    let mut module = Embedded::new();
    let handle = module.prepare("catalog", CATALOG).unwrap();
    assert_eq!(module.input(u32::MAX), u32::MAX);
    assert_eq!(module.input(1 << 31), u32::MAX);
    assert_eq!(module.evaluate(handle, "condition a", REQUEST), ALLOWED);
}

#[test]
fn memory_does_not_grow_with_the_number_of_decisions() {
    let mut module = Embedded::new();
    let mut decide = |times| {
        for _ in 0..times {
            let handle = module.prepare("catalog", CATALOG).unwrap();
            assert_eq!(module.evaluate(handle, "condition a", REQUEST), ALLOWED);
            assert!(has_code(
                &module.evaluate(handle, "condition a", b"{"),
                "invalid"
            ));
            module.release(handle);
        }
        module.pages()
    };
    assert_eq!(decide(100), decide(5_000));
}
