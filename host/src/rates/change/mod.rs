//! Changes: an edit of one unit in one commit (`edit.rs`), or what it would do (`dry_run.rs`); what shops below it use
//! follows in the background (`fan_out.rs`), whose way is kept (`progress.rs`).

pub(super) mod dry_run;
pub(super) mod edit;
pub(super) mod fan_out;
pub(super) mod progress;
