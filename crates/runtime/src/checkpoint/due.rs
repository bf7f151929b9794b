//! When the next checkpoint is due.

use std::cell::Cell;
use std::time::{Duration, Instant};

use fluvial_core::{Block, Error, Ranks};

use super::Checkpoints;
use crate::executor::Executor;
use crate::plan::Trip;

/// After one that could not be written, the next one is tried so much later at the earliest.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Due<'a> {
    checkpoints: &'a Checkpoints,
    has_readers: bool,
    /// The number of steps made.
    pub(super) step: Cell<u64>,
    /// Whether a step is under way.
    is_begun: Cell<bool>,
    /// The steps and the time of the last checkpoint.
    last: Cell<(u64, Instant)>,
    /// Whether the last one failed.
    has_failed: Cell<bool>,
    /// Whether all ranks stop here.
    pub(super) stops: Cell<bool>,
    /// The step of the last checkpoint that was written.
    saved: Cell<Option<u64>>,
    /// The step of the latest one that all ranks have.
    pub(super) common: Cell<Option<u64>>,
    /// Why they could not agree on it.
    pub(super) fault: Cell<Option<Error>>,
}

impl<'a> Due<'a> {
    /// For a run from the start, or for one that is taken up within a step after `resumed`.
    pub(super) fn new(
        checkpoints: &'a Checkpoints,
        executor: &Executor,
        resumed: Option<u64>,
    ) -> Due<'a> {
        let has_readers = reads(&executor.compiled().program.main);
        let step = resumed.unwrap_or(0);
        Due {
            checkpoints,
            has_readers,
            step: Cell::new(step),
            is_begun: Cell::new(resumed.is_some()),
            last: Cell::new((step, Instant::now())),
            has_failed: Cell::new(false),
            stops: Cell::new(false),
            saved: Cell::new(resumed),
            common: Cell::new(None),
            fault: Cell::new(None),
        }
    }

    /// Whether to write one before this trip. The step that began with the trip before is over.
    pub(super) fn at(&self, trip: &Trip<'_>) -> bool {
        let is_step = match self.has_readers {
            true => trip.step.op.reader().is_some() && trip.readers == 1,
            false => trip.step.depth == 0,
        };
        if !is_step {
            return false;
        }
        if self.is_begun.replace(true) {
            self.step.set(self.step.get() + 1);
        }
        if let Some(together) = &self.checkpoints.together
            && trip.step.op.blocks().iter().any(|block| exchanges(block))
        {
            match together(self.saved.get()) {
                Ok(agreed) => {
                    self.stops.set(agreed.stops);
                    self.common.set(agreed.saved.or(self.common.get()));
                }
                Err(fault) => {
                    self.fault.set(Some(fault));
                    return true;
                }
            }
            if self.stops.get() {
                return true;
            }
        }
        let (step, time) = self.last.get();
        let now = self.step.get();
        let is_rank = self.checkpoints.together.is_some() || !self.checkpoints.at_stop;
        let by_steps = self.checkpoints.steps.is_some_and(|n| match is_rank {
            // One that could not be written shall not put a rank out of step with the others.
            true => now.is_multiple_of(n),
            false => now >= step + n,
        });
        let by_time = self.checkpoints.time.is_some_and(|most| time.elapsed() >= most);
        let waits = self.has_failed.get() && time.elapsed() < PATIENCE;
        (by_steps || by_time) && now > step && !waits
    }

    pub(super) fn written(&self) {
        // The trip that was suspended begins again without asking.
        self.last.set((self.step.get(), Instant::now()));
        self.has_failed.set(false);
        self.saved.set(Some(self.step.get()));
    }

    pub(super) fn failed(&self) {
        self.last.set((self.step.get(), Instant::now()));
        self.has_failed.set(true);
    }
}

/// Whether ranks wait for one another in the block: then all of them run it alike.
fn exchanges(block: &Block) -> bool {
    block.calls.iter().any(|call| {
        matches!(call.op.ranks(), Some(Ranks::Agree | Ranks::Exchange))
            || call.op.blocks().iter().any(|block| exchanges(block))
    })
}

/// Whether a loop over a reader stands in the block.
fn reads(block: &Block) -> bool {
    block
        .calls
        .iter()
        .any(|call| call.op.reader().is_some() || call.op.blocks().iter().any(|block| reads(block)))
}
