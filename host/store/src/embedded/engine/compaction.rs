//! A compaction: several runs of a level are merged into one run of the next level, a step at a time.

use std::sync::Arc;

use bytes::Bytes;

use super::disk_snapshot::DiskSnapshot;
use super::run::{Blocks, Run, RunWriter};
use super::tables::Key;

/// Runs that are being merged into one.
pub(in super::super) struct Compaction {
    /// Newest first.
    inputs: Vec<Arc<Run>>,
    output: RunWriter,
    /// The first key that is not merged yet.
    next_key: Key,
    /// Whether no run is older than the inputs, so that tombstones have nothing left to hide.
    drops_tombstones: bool,
}

impl Compaction {
    /// Begins to merge `inputs`, newest first.
    pub(in super::super) fn new(
        inputs: Vec<Arc<Run>>,
        output: RunWriter,
        drops_tombstones: bool,
    ) -> Self {
        Self {
            inputs,
            output,
            next_key: Key::new(),
            drops_tombstones,
        }
    }

    /// Merges at least so many bytes, or what is left; whether nothing is left.
    pub(in super::super) fn step(
        &mut self,
        disk: &DiskSnapshot,
        blocks: &mut Blocks<'_>,
        bytes: usize,
    ) -> Result<bool, redb::Error> {
        let mut merged = 0;
        for entry in disk.merged(&self.inputs, self.next_key.clone())? {
            let (key, value) = entry?;
            if merged >= bytes {
                self.next_key = key.into();
                return Ok(false);
            }
            merged += key.len() + value.as_ref().map_or(0, Bytes::len);
            if value.is_some() || !self.drops_tombstones {
                self.output.push(blocks, &key, value.as_deref())?;
            }
        }
        Ok(true)
    }

    /// Writes the end of the output; returns the inputs and the output.
    pub(in super::super) fn finish(
        self,
        blocks: &mut Blocks<'_>,
    ) -> Result<(Vec<Arc<Run>>, Run), redb::Error> {
        let output = self.output.finish(blocks)?;
        Ok((self.inputs, output))
    }
}
