//! Threads whose work can wait, unlike requests.

/// The nice value of work in the background: what serves goes first, and it never stands still.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lowers the priority of the thread that runs this.
pub(crate) fn lower_own() {
    #[cfg(target_os = "linux")]
    if let Err(error) =
        rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS)
    {
        tracing::debug!(%error, "background work runs at normal priority");
    }
}
