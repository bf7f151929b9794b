//! Being told what a running program does.

mod log;
mod profile;
mod progress;
mod watch;

pub use log::Logger;
pub(crate) use log::summary;
pub use profile::{Profiler, Record};
pub use progress::Progress;
pub use watch::Watch;

use std::sync::Arc;

use fluvial_core::{Block, Error, Loc, OpRef, Result, Type, Value, ValueId, Values};

/// A step of a plan, as observers see it.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// The op, with its sizes known as far as the plan knows them.
    pub op: &'a OpRef,
    /// The block as it is planned, sizes being known as far as the plan knows them.
    pub block: &'a Arc<Block>,
    /// The position of the step in its block.
    pub index: usize,
    /// How many blocks this one stands in.
    pub depth: usize,
    /// The numbers of its outputs in the block.
    pub first_output: ValueId,
    /// The types of its outputs.
    pub types: &'a [Type],
    /// The user's line.
    pub loc: Loc,
    /// Whether the step was under way already when the run was suspended, and is taken up again.
    pub is_resumed: bool,
}

/// The values of a block under way.
pub struct Live<'a> {
    pub(crate) values: &'a mut [Option<Value>],
    pub(crate) in_state: &'a mut [bool],
}

impl Live<'_> {
    /// A value, if it is alive.
    pub fn get(&self, id: ValueId) -> Option<&Value> {
        self.values.get(id as usize)?.as_ref()
    }

    /// All values that are alive.
    pub fn iter(&self) -> impl Iterator<Item = (ValueId, &Value)> {
        (0..).zip(self.values.iter()).filter_map(|(id, value)| Some((id, value.as_ref()?)))
    }

    /// Gives a value that is alive another one of the same type.
    pub fn set(&mut self, id: ValueId, value: Value) -> Result<()> {
        let slot = self.values.get_mut(id as usize);
        let Some(Some(slot)) = slot else {
            return Err(Error::argument(format!("the value %{id} is not alive here")));
        };
        if slot.ty() != value.ty() {
            let (is, given) = (slot.ty(), value.ty());
            return Err(Error::dtype(format!("the value is {is}, and {given} does not fit")));
        }
        *slot = value;
        // A state that has the former value gets the new one when it is assigned.
        self.in_state[id as usize] = false;
        Ok(())
    }
}

/// The number by which observers are told of the calls that a step was made of.
pub const PARTS: usize = usize::MAX;

/// Told of every step of a run. An error stops the run.
pub trait Observer: Send + Sync {
    /// A step is about to run on these inputs.
    fn before(&self, step: &Step<'_>, inputs: &[&Value]) -> Result<()> {
        let _ = (step, inputs);
        Ok(())
    }

    /// A step has run.
    fn after(&self, step: &Step<'_>, outputs: &[Value]) -> Result<()> {
        let _ = (step, outputs);
        Ok(())
    }

    /// A step is reached. What it takes has not been looked at yet, and may be changed.
    fn reach(&self, step: &Step<'_>, live: &mut Live<'_>) -> Result<()> {
        let _ = (step, live);
        Ok(())
    }

    /// Whether the calls that a step was made of are to be run one by one, as a block of the number [`PARTS`].
    fn opens(&self, step: &Step<'_>) -> bool {
        let _ = step;
        false
    }

    /// What the step is to give instead of being run, if that is known: it was run before, and is not to be run again.
    fn answers(&self, step: &Step<'_>) -> Option<Values> {
        let _ = step;
        None
    }

    /// Whether what the step takes must still be there when it has run, which else may write over it.
    fn holds(&self, step: &Step<'_>) -> bool {
        let _ = step;
        false
    }

    /// A step was run call by call, and as one, with these outputs. Whether the run goes on with those of the
    /// single calls.
    fn compare(&self, step: &Step<'_>, parts: &[Value], whole: &[Value]) -> Result<bool> {
        let _ = (step, parts, whole);
        Ok(false)
    }

    /// A step has run; what it took is still there if the step holds it. Outputs may be changed.
    fn ran(&self, step: &Step<'_>, live: &mut Live<'_>, outputs: &mut [Value]) -> Result<()> {
        let _ = (step, live, outputs);
        Ok(())
    }

    /// A step has failed.
    fn failed(&self, step: &Step<'_>, live: &mut Live<'_>, error: &Error) -> Result<()> {
        let _ = (step, live, error);
        Ok(())
    }

    /// A block of a step, by its number, is entered.
    fn enter(&self, step: &Step<'_>, block: usize, args: &[&Value]) -> Result<()> {
        let _ = (step, block, args);
        Ok(())
    }

    /// A block of a step is left.
    fn leave(&self, step: &Step<'_>, block: usize, results: &[Value]) -> Result<()> {
        let _ = (step, block, results);
        Ok(())
    }

    /// A state is about to get a new value.
    fn assign(&self, state: &str, value: &Value, loc: Loc) -> Result<()> {
        let _ = (state, value, loc);
        Ok(())
    }
}

/// What a run tells its observers. Without any, nothing is left of it.
pub(crate) trait Tell: Copy {
    /// Whether there is no observer.
    const IS_NOBODY: bool;

    fn tell(self, f: impl FnOnce(&dyn Observer) -> Result<()>) -> Result<()>;

    /// What the observer says, or no.
    fn ask(self, f: impl FnOnce(&dyn Observer) -> bool) -> bool;
}

/// Nobody to tell.
#[derive(Clone, Copy)]
pub(crate) struct Nobody;

impl Tell for Nobody {
    const IS_NOBODY: bool = true;

    #[inline(always)]
    fn tell(self, _: impl FnOnce(&dyn Observer) -> Result<()>) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn ask(self, _: impl FnOnce(&dyn Observer) -> bool) -> bool {
        false
    }
}

impl Tell for &dyn Observer {
    const IS_NOBODY: bool = false;

    fn tell(self, f: impl FnOnce(&dyn Observer) -> Result<()>) -> Result<()> {
        f(self)
    }

    fn ask(self, f: impl FnOnce(&dyn Observer) -> bool) -> bool {
        f(self)
    }
}
