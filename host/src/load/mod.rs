//! Load: who waits for whom, and how much one caller may take, so that the others do not notice.

pub mod background;
pub(crate) mod budget;
pub mod memory;
pub mod workers;
