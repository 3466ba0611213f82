//! placeholder
use std::sync::Arc;
use crate::app::App;
use crate::error::Result;
pub(super) async fn start(_app: &Arc<App>) -> Result<()> { Ok(()) }
