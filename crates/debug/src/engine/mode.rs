//! How a program goes on, and where it is sought.

use std::sync::Arc;

use fluvial_core::{Loc, Phase};
use smallvec::SmallVec;

use super::halt::Why;
use super::pos::Pos;

/// The step before, as far as it decides whether a line or a layer is entered.
#[derive(Clone, PartialEq)]
pub struct Passed {
    pub loc: Loc,
    pub depth: usize,
    pub visits: SmallVec<[u64; 4]>,
}

impl Passed {
    /// A line that calls one layer after the other is entered anew for each.
    pub fn is_same_line(&self, other: &Passed) -> bool {
        let is_same_layer = match (self.loc.layer(), other.loc.layer()) {
            (Some(before), Some(now)) => before == now,
            _ => true,
        };
        is_same_layer
            && self.loc.line() == other.loc.line()
            && self.loc.phase() == other.loc.phase()
            && self.loc.file() == other.loc.file()
            && self.depth == other.depth
            && self.visits == other.visits
    }
}

/// How the program goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Mode {
    /// To the next breakpoint.
    #[default]
    Run,
    /// To the first op.
    Entry,
    NextOp,
    NextLine {
        depth: usize,
    },
    OutOfLayer {
        layer: Option<Arc<str>>,
        phase: Phase,
    },
    NextIteration {
        /// The loop and its trip.
        depth: usize,
        visit: u64,
        run: u64,
    },
    ToStep(u64),
    /// Looks for the last point before another one.
    Search {
        what: What,
        before: Pos,
        found: Option<Pos>,
    },
    /// To this point, past all breakpoints.
    SeekTo {
        pos: Pos,
        why: Why,
    },
    /// To the first op that makes NaN, up to this point.
    Hunt {
        until: Pos,
        /// Whether one was found that its condition lets pass.
        is_excused: bool,
    },
    /// Nobody debugs any more, and a part of the run is run again: up to here its edits are made once more.
    Finish {
        until: Pos,
    },
    /// Nobody debugs any more.
    Free,
    /// Up to a point, to get values that are gone.
    Collect {
        until: Pos,
    },
}

/// Why a run was left before a trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftFor {
    /// A snapshot is due.
    Snapshot,
    /// The host wants it suspended.
    Host,
    /// Nobody debugs it any more, or somebody else does.
    HandBack,
    /// It is to be ended.
    Quit,
}

/// What is looked for on the way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Op,
    Line,
    Breakpoint,
}

/// Where to go, from a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub enum Seek {
    /// To the last point of a kind before another one.
    Last(What, Pos),
    /// What a search from this snapshot has found.
    Found { what: What, before: Pos, found: Option<Pos> },
    /// To a point.
    To(Pos, Why),
    /// To a step.
    Step(u64),
    /// To where NaN comes from that was seen at this point.
    Nan(Pos),
    /// A hunt has found nothing.
    NotFound(Pos),
}
