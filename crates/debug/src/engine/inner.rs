//! What changes while a run goes on, on the program's side.

use std::time::Instant;

use fluvial_core::{Error, Result, State, Value};
use fluvial_runtime::{PARTS, Step};

use super::halt::Why;
use super::loss::Losses;
use super::mode::{LeftFor, Mode, Passed, Seek};
use super::pos::Pos;
use super::recall::Collected;
use super::stack::Stack;
use crate::target::Reason;

/// What changes while a run goes on.
#[derive(Default)]
pub struct Inner {
    pub stack: Stack,
    pub mode: Mode,
    /// The session in which the run is debugged; 0 if nobody debugs it.
    pub session: u64,
    /// Where to go instead, after the run was left.
    pub rewind: Option<Seek>,
    /// The furthest that the run has been.
    pub frontier: Pos,
    /// The snapshot from which was searched last.
    pub searched: Option<usize>,
    /// Whether a part of the run is run again.
    pub is_replay: bool,
    /// Whether there is something to go back to.
    pub can_go_back: bool,
    /// Where the run was left, on the way out of which its blocks are forgotten.
    pub marked: Option<((Vec<u64>, u64), Pos)>,
    /// Why the run was left before a trip.
    pub left_for: Option<LeftFor>,
    /// The line of the step before.
    pub last: Option<Passed>,
    /// Where NaN was told of that is still there.
    pub nan_told: Option<Pos>,
    /// Whether a failure has been told of already.
    pub knows_failure: bool,
    /// Whether the calls that the step was made of are about to be run.
    pub is_opening: bool,
    /// Whether values inside of an op that is run call by call were set.
    pub is_edited: bool,
    /// Whether values were set.
    pub has_edits: bool,
    /// Whether what comes after is another future than the one that was kept.
    pub cuts: bool,
    /// Positions at which ops gave other bits than their calls, and what was said of it.
    pub differences: Vec<(Pos, String)>,
    pub losses: Losses,
    /// The states of the program.
    pub state: Option<State>,
    /// What is to be found when values that are gone are computed again.
    pub collected: Collected,
    pub progress: Option<Instant>,
}

impl Inner {
    /// Notes where the run is left, before the next trip of the innermost loop.
    pub fn mark(&mut self) {
        let trips = (self.stack.trips(), self.stack.steps_before());
        self.marked = Some((trips, self.stack.next_trip()));
    }

    /// Where the run was left: the trips of its loops and steps so far, and the next trip.
    pub fn left_at(&mut self) -> ((Vec<u64>, u64), Pos) {
        if self.marked.is_none() {
            self.mark();
        }
        self.marked.take().unwrap_or_default()
    }

    /// Whether NaN was told of before this point, and is still there.
    pub fn knows_nan(&self, pos: &Pos) -> bool {
        self.nan_told.as_ref().is_some_and(|told| told <= pos)
    }

    /// Notes how far the run has come. A step that it was stopped at before has not run yet.
    pub fn pass(&mut self, pos: &Pos, is_step: bool) {
        if *pos > self.frontier || is_step && *pos == self.frontier {
            self.is_replay = false;
            self.frontier = pos.clone();
            fluvial_ops::mute_prints(false);
        }
    }

    pub fn passed(&self, step: &Step<'_>) -> Passed {
        let levels = &self.stack.levels;
        let nested = levels.len().saturating_sub(1);
        let visits = levels[..nested].iter().filter(|level| level.entered != PARTS);
        Passed {
            loc: step.loc,
            depth: self.stack.depth(),
            visits: visits.map(|level| level.visit).collect(),
        }
    }

    /// Whether the way of going on stops at a step.
    pub fn arrives(&mut self, step: &Step<'_>, pos: &Pos, now: &Passed) -> Option<Why> {
        let is_new_line = self.last.as_ref().is_none_or(|last| !last.is_same_line(now));
        let step_done = |text: &str| Some(Why::new(Reason::Step, text, None));
        match &self.mode {
            Mode::Entry => Some(Why::new(Reason::Entry, "at the first op", None)),
            Mode::NextOp => step_done("at the next op"),
            Mode::NextLine { depth }
                if is_new_line && now.depth <= *depth && step.loc.is_known() =>
            {
                step_done("at the next line")
            }
            // The next line of one that begins a loop or a branch is the first one in it.
            Mode::NextLine { depth } if now.depth == *depth && !step.op.blocks().is_empty() => {
                self.mode = Mode::NextLine { depth: depth + 1 };
                None
            }
            Mode::OutOfLayer { layer, phase } => {
                let here = step.loc.layer();
                let is_inside = match (layer, &here) {
                    (Some(layer), Some(here)) => {
                        here == layer
                            || here.strip_prefix(&**layer).is_some_and(|rest| rest.starts_with('.'))
                    }
                    (None, _) => true,
                    (Some(_), None) => false,
                };
                let is_out = !is_inside || step.loc.phase() != *phase;
                if is_out { step_done("out of the layer") } else { None }
            }
            Mode::NextIteration { depth, visit, run } => {
                let level = self.stack.levels.get(*depth);
                let is_same = self.stack.run == *run
                    && self.stack.levels.len() > depth + 1
                    && level.is_some_and(|level| level.visit == *visit);
                if is_same { None } else { step_done("at the next iteration") }
            }
            Mode::ToStep(wanted) if self.stack.is_in_step(*wanted) => {
                Some(Why::new(Reason::Goto, format!("at step {wanted}"), None))
            }
            Mode::SeekTo { pos: wanted, why } if pos >= wanted => Some(why.clone()),
            _ => None,
        }
    }

    /// Notes that values inside of an op that is run call by call are others now.
    pub fn note_edit(&mut self) {
        let nested = self.stack.levels.len().saturating_sub(1);
        self.is_edited |= self.stack.levels[..nested].iter().any(|level| level.entered == PARTS);
    }

    /// Gives a state of the program another value.
    pub fn set_state(&self, name: &str, value: Value) -> Result<()> {
        match &self.state {
            Some(state) => state.assign(name, value),
            None => Err(Error::state("the program has no states")),
        }
    }
}
