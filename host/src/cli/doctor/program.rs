//! The program itself and its settings: checks that it has the module it was built with, that the module runs on this
//! machine, and that the settings are understood.

use std::path::Path;

use sha2::{Digest, Sha256};
use tillgate_base::config::Fault;
use tillgate_base::engine::{CompiledModule, EnginePool, MODULE, MODULE_SHA256};

use super::report::{Finding, fail, ok};

/// Checks that the settings are understood.
pub(super) fn configuration(file: Option<&Path>, faults: Vec<Fault>) -> Vec<Finding> {
    const CHECK: &str = "configuration";
    if faults.is_empty() {
        let from = file.map_or_else(
            || "the defaults and what the environment sets".to_owned(),
            |file| format!("{} and what the environment sets", file.display()),
        );
        return vec![ok(CHECK, format!("{from} are understood"))];
    }
    let faults = faults.into_iter();
    faults
        .map(|Fault { what, remedy }| fail(CHECK, what, remedy.as_deref().unwrap_or("correct it")))
        .collect()
}

/// Checks that the module is intact and runs.
pub(super) fn module() -> Finding {
    const CHECK: &str = "module";
    let digest = hex::encode(Sha256::digest(MODULE));
    if digest != MODULE_SHA256 {
        let what =
            format!("the program was built with the module {MODULE_SHA256}, and has {digest}");
        return fail(CHECK, what, "its file is damaged, so install it again");
    }
    match CompiledModule::of_this_program().and_then(|module| EnginePool::new(module, 1)) {
        Ok(_) => ok(CHECK, format!("{digest} runs on this machine")),
        Err(cause) => fail(
            CHECK,
            format!("{digest} does not run on this machine: {cause}"),
            "use a program that was built for this processor, and give it memory",
        ),
    }
}
