//! The size of tests of crashes, growth or load: as small as can still fail, or with `tests/run --long` as much as in
//! a large installation.

/// Returns the size of such a test.
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
