//! What shops use: computed by the module (`math.rs`), as it was last published (`published.rs`), as it is asked for
//! (`used.rs`), and as it was at any time (`history.rs`).

pub(super) mod history;
pub(super) mod math;
pub(super) mod published;
pub(super) mod used;
