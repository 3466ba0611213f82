//! How the module is compiled. The build, which compiles it, and the host, which loads the machine code, must agree.

use wasmtime::Config;

/// The settings: a call can be interrupted at its deadline.
pub(super) fn settings() -> Config {
    let mut settings = Config::new();
    settings.epoch_interruption(true);
    settings
}
