//! How much a test of crashes, growth or load does: as little as can still fail, and with `tests/run --long` as much as a
//! large installation would.

/// The size of such a test.
#[expect(
    clippy::disallowed_methods,
    reason = "what runs the tests tells by the environment"
)]
pub fn size<T>(usual: T, long: T) -> T {
    if std::env::var_os("TESTS_LONG").is_some() {
        long
    } else {
        usual
    }
}
