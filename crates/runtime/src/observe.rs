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

use fluvial_core::{Loc, OpRef, Result, Type, Value, ValueId};

/// A step of a plan, as observers see it.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// The op, with its sizes known as far as the plan knows them.
    pub op: &'a OpRef,
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
}

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
    fn tell(self, f: impl FnOnce(&dyn Observer) -> Result<()>) -> Result<()>;
}

/// Nobody to tell.
#[derive(Clone, Copy)]
pub(crate) struct Nobody;

impl Tell for Nobody {
    #[inline(always)]
    fn tell(self, _: impl FnOnce(&dyn Observer) -> Result<()>) -> Result<()> {
        Ok(())
    }
}

impl Tell for &dyn Observer {
    fn tell(self, f: impl FnOnce(&dyn Observer) -> Result<()>) -> Result<()> {
        f(self)
    }
}
