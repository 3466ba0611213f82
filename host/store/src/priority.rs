//! Priorities of threads whose work can wait, unlike requests.

/// The nice value of work that follows requests, such as deliveries: requests go first, and the work still gets a share of
/// a busy machine.
pub const BACKGROUND: i32 = 5;

/// The nice value of maintenance, such as checkpoints and backups, which is not urgent.
pub const UPKEEP: i32 = 10;

/// Lowers the priority of the calling thread.
pub fn lower_own(nice: i32) {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(Some(rustix::thread::gettid()), nice) {
        tracing::debug!(%error, "background work runs at normal priority");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = nice;
}
