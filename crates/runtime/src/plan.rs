//! A block for known sizes, ready to run.

mod body;
mod lives;
mod notes;
mod over;
mod pause;
mod peak;
pub(crate) mod readers;
mod run;
mod size;
mod workspace;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock};

use fluvial_compile::recompute;
use fluvial_core::structural::{Assign, Read};
use fluvial_core::{Block, Call, DType, Loc, OpRef, Result, Sizes, Type, Value, ValueId};
use fluvial_tensor::memory::Arena;
use smallvec::SmallVec;

use body::Body;
use notes::Notes;
pub(crate) use pause::{Level, Pause, Point};
pub use pause::{Suspension, Trip, left_behind};
pub use peak::Peak;
pub(crate) use run::Run;
use size::{Over, Places};

/// The steps of a block, and where its values lie.
///
/// What is known of the sizes when the plan is made is worked into its ops. Sizes that only a run knows are
/// learnt by the run.
pub struct Plan {
    steps: Vec<PlanStep>,
    /// What it was made of, with the sizes worked in.
    block: Arc<Block>,
    types: Vec<Type>,
    n_params: usize,
    results: Vec<ValueId>,
    /// The ranges of the arena.
    ranges: Vec<std::ops::Range<usize>>,
    /// Memory of runs that are over, for the next ones.
    frames: Mutex<Vec<Frame>>,
    /// Whether some sizes are known only to a run.
    is_open: bool,
    /// The sizes that it was made for.
    known: Sizes,
    /// The first step that writes a state; the number of steps, if none does.
    first_write: usize,
    /// Which values states have in a nested block, for runs that fail.
    notes: Notes,
}

/// What a plan may do with memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory<'a> {
    /// The most bytes that a run may hold beyond its inputs and the states.
    pub limit: Option<usize>,
    /// By parameter: whether it may be written over, if nobody else holds it. None of those that are not
    /// listed.
    pub donated: &'a [bool],
}

struct PlanStep {
    op: OpRef,
    kind: Kind,
    inputs: SmallVec<[ValueId; 4]>,
    first_output: ValueId,
    types: SmallVec<[Type; 1]>,
    /// The ranges of the outputs.
    places: SmallVec<[Option<u32>; 1]>,
    /// The values that nothing reads any more.
    frees: SmallVec<[ValueId; 2]>,
    loc: Loc,
    /// The plans of the calls that it was made of, once asked for.
    parts: OnceLock<Body>,
}

impl PlanStep {
    fn writes_state(&self) -> bool {
        match &self.kind {
            Kind::Assign(_) => true,
            Kind::Over(in_place) => {
                in_place.over.iter().flatten().any(|over| matches!(over, Over::State(..)))
            }
            _ => false,
        }
    }
}

enum Kind {
    /// An op of known sizes.
    Known,
    /// An op, some of whose outputs are written over inputs.
    Over(InPlace),
    /// An op of sizes that only the run knows, and whether its attributes have such.
    Open { attributes: bool },
    /// An op that runs blocks.
    Blocks(Vec<Body>),
    /// An op that may wait for other tasks, and has to know its line.
    Waits,
    /// A read of a state.
    Read(Arc<str>),
    /// An assignment of a state.
    Assign(Arc<str>),
}

/// How an op is run over its inputs.
struct InPlace {
    how: How,
    /// By output: what it is written over.
    over: SmallVec<[Option<Over>; 1]>,
}

enum How {
    /// An elementwise op: by its expression, in this type, with these numbers.
    Body(DType, SmallVec<[f64; 4]>),
    /// By the op itself, whose outputs stand for so many first inputs.
    Op(usize),
}

/// The memory of one run.
struct Frame {
    values: Vec<Option<Value>>,
    /// By value: whether the state that it will be assigned to has it already.
    in_state: Vec<bool>,
    arena: Arena,
}

/// Runs that are over keep their memory for the next, up to so many at once.
const MAX_FRAMES: usize = 8;

impl Plan {
    /// The plan of a block whose symbols stand for these sizes, as far as they are known.
    pub(crate) fn new(block: &Block, sizes: &Sizes, memory: Memory<'_>) -> Result<Plan> {
        let known = match block.is_symbolic() {
            true => Cow::Owned(block.substitute(&|symbol| sizes.get(symbol))?),
            false => Cow::Borrowed(block),
        };
        let donated = memory.donated;
        let known = match memory.limit {
            Some(limit) => {
                let free = Memory { limit: None, donated };
                let peak = |block: &Block| {
                    Plan::new(block, sizes, free).map_or(usize::MAX, |plan| plan.peak().bytes)
                };
                Cow::Owned(recompute(&known, limit, &peak)?)
            }
            None => known,
        };
        let (known, notes) = Notes::taken_from(known);
        let block = &*known;
        let Places { of_value, ranges, over } = size::places(block, donated, &notes);
        let last_uses = notes.last_uses(block);
        let step = |((call, frees), over): ((&Call, SmallVec<[ValueId; 2]>), _)| {
            let outputs = call.first_output as usize..call.first_output as usize + call.n_outputs;
            let types = &block.types[outputs.clone()];
            Ok(PlanStep {
                op: call.op.clone(),
                kind: kind(block, call, types, over)?,
                inputs: call.inputs.clone(),
                first_output: call.first_output,
                types: types.into(),
                places: of_value[outputs].into(),
                frees,
                loc: call.loc,
                parts: OnceLock::new(),
            })
        };
        let steps: Vec<PlanStep> =
            block.calls.iter().zip(last_uses).zip(over).map(step).collect::<Result<_>>()?;
        Ok(Plan {
            first_write: steps.iter().position(PlanStep::writes_state).unwrap_or(steps.len()),
            steps,
            types: block.types.clone(),
            n_params: block.n_params,
            results: block.results.clone(),
            ranges,
            frames: Mutex::default(),
            is_open: block.is_symbolic(),
            known: sizes.clone(),
            notes,
            block: Arc::new(known.into_owned()),
        })
    }

    /// The bytes of the arena of one run, without those of nested blocks.
    pub fn arena_bytes(&self) -> usize {
        self.ranges.iter().map(|range| range.end).max().unwrap_or(0)
    }

    /// The number of steps, without those of nested blocks.
    pub fn n_steps(&self) -> usize {
        self.steps.len()
    }
}

fn kind(
    block: &Block,
    call: &Call,
    types: &[Type],
    over: SmallVec<[Option<Over>; 1]>,
) -> Result<Kind> {
    if over.iter().any(Option::is_some) {
        let inputs: SmallVec<[&Type; 4]> =
            call.inputs.iter().map(|&id| &block.types[id as usize]).collect();
        let n_over = call.op.n_over(inputs.len());
        if n_over > 0 {
            return Ok(Kind::Over(InPlace { how: How::Op(n_over), over }));
        }
        if let Some(compute) = call.op.body_dtype(&inputs) {
            let how = How::Body(compute, call.op.body_params());
            return Ok(Kind::Over(InPlace { how, over }));
        }
    }
    if let Some(read) = call.op.downcast::<Read>() {
        return Ok(Kind::Read(read.state.clone()));
    }
    if let Some(assign) = call.op.downcast::<Assign>() {
        return Ok(Kind::Assign(assign.state.clone()));
    }
    let blocks = call.op.blocks();
    if !blocks.is_empty() {
        let bodies = blocks.iter().map(|block| Body::new(block, call));
        return Ok(Kind::Blocks(bodies.collect::<Result<_>>()?));
    }
    if call.op.is_of_tasks() {
        return Ok(Kind::Waits);
    }
    let attributes = block.is_symbolic() && call.op.attrs().is_symbolic();
    let is_open = attributes || types.iter().any(Type::is_symbolic);
    Ok(if is_open { Kind::Open { attributes } } else { Kind::Known })
}
