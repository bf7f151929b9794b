//! What a run will need, before it runs.

use std::collections::BTreeMap;
use std::fmt;

use fluvial_core::{Block, Call, Error, Loc, Result, Type, ValueId};

use crate::plan::{Peak, Plan};

/// The memory and the work of a run, as [`Executor::report`](crate::Executor::report) tells them.
#[derive(Clone, Debug)]
pub struct Report {
    /// The most bytes that a run holds at once beside its inputs and the states, as the allocator counts them.
    pub peak_bytes: usize,
    /// Whether it may be more, since lists grow or sizes are known to the run only.
    pub is_open: bool,
    /// The bytes that the calls of the source need at once if none is fused and nothing is planned: about
    /// what line by line would need.
    pub unplanned_bytes: usize,
    /// The steps in order, without those of nested blocks.
    pub steps: Vec<ReportStep>,
    /// The values that the steps hold, as they are made.
    pub values: Vec<ReportValue>,
    /// The bytes of the arena in which values lie that end with the run.
    pub arena_bytes: usize,
}

/// What is planned for a block of a step.
#[derive(Clone, Debug)]
pub struct ReportBlock {
    /// Its steps in order.
    pub steps: Vec<ReportStep>,
    /// The values that they hold, as they are made.
    pub values: Vec<ReportValue>,
    /// The bytes of its arena.
    pub arena_bytes: usize,
}

/// Memory that a run holds for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportValue {
    /// The number of the value in the block that was planned.
    pub id: ValueId,
    /// The step that makes it.
    pub step: usize,
    /// The last step that needs it, also by a view or by a value that is written over it; the number of steps, if it
    /// outlives the run.
    pub until: usize,
    /// Its bytes.
    pub bytes: usize,
    /// Where it begins in the arena, if it lies there.
    pub at: Option<usize>,
}

/// A step of a [`Report`].
#[derive(Clone, Debug)]
pub struct ReportStep {
    /// The name of the op.
    pub op: &'static str,
    /// The user's line.
    pub loc: Loc,
    /// The bytes of its outputs.
    pub bytes: usize,
    /// Whether an output is written over an input or a state.
    pub in_place: bool,
    /// How many instructions a fused op has.
    pub n_instructions: usize,
    /// The bytes that it needs for itself while it runs.
    pub scratch_bytes: usize,
    /// For an op that runs blocks: what is planned for them, for each set of sizes that is known.
    pub blocks: Vec<ReportBlock>,
}

impl Report {
    pub(crate) fn new(plan: &Plan, source: &Block) -> Report {
        let Peak { bytes: peak_bytes, is_open } = plan.peak();
        let ReportBlock { steps, values, arena_bytes } = plan.report();
        let unplanned_bytes = unplanned(source);
        Report { peak_bytes, is_open, unplanned_bytes, steps, values, arena_bytes }
    }

    /// The bytes that the steps of each line make, the most first. Those inside of loops count once: a trip frees what
    /// it has made.
    pub fn by_line(&self) -> Vec<(String, usize)> {
        let mut lines: Vec<(String, usize)> = lines_of(&self.steps).into_iter().collect();
        lines.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        lines
    }
}

/// The bytes that steps make, and those of their blocks, by line.
fn lines_of(steps: &[ReportStep]) -> BTreeMap<String, usize> {
    let mut sums: BTreeMap<String, usize> = BTreeMap::new();
    for step in steps {
        *sums.entry(step.loc.to_string()).or_default() += step.bytes;
        // Of two branches, and of plans for several sizes of one block, one is run at a time.
        let mut most: BTreeMap<String, usize> = BTreeMap::new();
        for (line, bytes) in step.blocks.iter().flat_map(|block| lines_of(&block.steps)) {
            let known = most.entry(line).or_default();
            *known = bytes.max(*known);
        }
        for (line, bytes) in most {
            *sums.entry(line).or_default() += bytes;
        }
    }
    sums
}

/// No machine has so many bytes, and sums of them would not fit a number.
const TOO_MANY: usize = 1 << 50;

/// Refuses values that are larger than any memory.
pub(crate) fn check_sizes(block: &Block) -> Result<()> {
    for ty in block.types.iter().filter(|ty| !ty.is_list()) {
        let Some(sizes) = ty.sizes() else { continue };
        let bytes = sizes.iter().try_fold(ty.dtype().size(), |all, &n| all.checked_mul(n));
        if sizes.iter().all(|&n| n > 0) && bytes.is_none_or(|bytes| bytes > TOO_MANY) {
            return Err(Error::memory(format!("a value of type {ty} is larger than any memory"))
                .remedy("plan for smaller sizes"));
        }
    }
    let nested = |call: &Call| call.op.blocks().iter().try_for_each(|block| check_sizes(block));
    block.calls.iter().try_for_each(nested)
}

/// The bytes of a tensor of known sizes.
pub(crate) fn bytes_of(ty: &Type) -> usize {
    match ty.numel().filter(|_| !ty.is_list()) {
        Some(numel) => numel * ty.dtype().size(),
        None => 0,
    }
}

/// The most bytes that live at once if each call has memory of its own until its last use, in its blocks, too. A view
/// has the memory of what it shows.
fn unplanned(block: &Block) -> usize {
    let mut until = vec![0; block.types.len()];
    block.results.iter().for_each(|&id| until[id as usize] = block.calls.len());
    let shows = |call: &Call| call.op.properties().view || call.inputs.is_empty();
    for (step, call) in block.calls.iter().enumerate().rev() {
        let seen = call.outputs().map(|id| until[id as usize]).max().filter(|_| shows(call));
        for &id in &call.inputs {
            until[id as usize] = until[id as usize].max(step).max(seen.unwrap_or(0));
        }
    }
    let mut ending: Vec<usize> = vec![0; block.calls.len() + 1];
    let (mut live, mut peak) = (0usize, 0);
    for (step, call) in block.calls.iter().enumerate() {
        for id in call.outputs().filter(|_| !shows(call)) {
            let bytes = bytes_of(&block.types[id as usize]);
            live += bytes;
            ending[until[id as usize].max(step)] += bytes;
        }
        let blocks = call.op.blocks();
        let within = blocks.iter().map(|block| unplanned(block)).max().unwrap_or(0);
        peak = peak.max(live + within);
        live -= ending[step];
    }
    peak
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kb = |bytes: usize| bytes as f64 / 1024.0;
        writeln!(
            f,
            "peak {}{:.1} KB, unplanned {:.1} KB",
            if self.is_open { "at least " } else { "" },
            kb(self.peak_bytes),
            kb(self.unplanned_bytes)
        )?;
        for step in &self.steps {
            let place = if step.in_place { ", in place" } else { "" };
            let fused = match step.n_instructions {
                0 => String::new(),
                n => format!(" of {n} instructions"),
            };
            writeln!(f, "{:10.1} KB  {}{fused}{place}  {}", kb(step.bytes), step.op, step.loc)?;
        }
        writeln!(f, "by line:")?;
        for (line, bytes) in self.by_line() {
            writeln!(f, "{:10.1} KB  {line}", kb(bytes))?;
        }
        Ok(())
    }
}
