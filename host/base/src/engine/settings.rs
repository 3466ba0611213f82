//! The settings for compiling the module. The build, which compiles it, and the host, which loads the machine code,
//! must agree on them.

use wasmtime::Config;

/// Returns settings with which a call can be interrupted at its deadline.
pub(super) fn settings() -> Config {
    let mut settings = Config::new();
    settings.epoch_interruption(true);
    settings
}
