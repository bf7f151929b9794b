//! What runs the blocks of an op.

use std::sync::Arc;

use fluvial_tensor::{Error, Result};
use smallvec::SmallVec;

use super::Values;
use crate::block::Block;
use crate::interrupt;
use crate::notes;
use crate::tasks::{self, Done, trips};
use crate::value::Value;

/// What runs the blocks of an op.
pub trait Blocks {
    /// Runs a block, given by its number, on arguments.
    fn run(&mut self, block: usize, args: &[&Value]) -> Result<Vec<Value>>;

    /// One trip of a loop through its first block, on arguments that are given away.
    ///
    /// A run may be suspended before or within a trip, and taken up again later, perhaps in another
    /// process. `state` says what the loop needs then besides the arguments of the trip.
    fn trip(&mut self, args: Values, state: &dyn Fn() -> Values) -> Result<Vec<Value>> {
        let _ = state;
        interrupt::before_trip()?;
        self.run(0, &args.iter().collect::<SmallVec<[&Value; 16]>>())
    }

    /// If the run is taken up within the loop: what the loop has said of its state. The arguments of
    /// the next trip are then those that it was suspended with, whatever the loop passes.
    fn resumed(&mut self) -> Option<Values> {
        None
    }

    /// Runs a block that may fail; if it does, also gives what its notes say where it has failed.
    fn attempt(&mut self, block: usize, args: &[&Value]) -> (Result<Vec<Value>>, Told<Value>) {
        let (done, told) = notes::taken(|| self.run(block, args));
        let values =
            told.into_iter().filter_map(|(name, var)| Some((name, var.take_value().ok()?)));
        (done, values.collect())
    }

    /// Has to be called once the error of an `attempt` is not handed on.
    fn caught(&mut self) {}

    /// Does `work` for each number below `n`, perhaps at the same time. `work` is given what runs the first block, once
    /// or more often.
    fn each(&mut self, n: usize, work: Work<'_>) -> Result<()> {
        (0..n).try_for_each(|i| {
            interrupt::before_trip()?;
            work(i, &mut |args| self.run(0, args))
        })
    }

    /// Starts a task that runs the first block.
    fn spawn(&mut self, args: Values, done: Done) -> Result<()>;
}

/// What is done with the block of an op that does the same for many numbers.
pub type Work<'a> = &'a (dyn Fn(usize, RunBlock<'_>) -> Result<()> + Sync);

/// What runs the block.
pub type RunBlock<'a> = &'a mut dyn FnMut(&[&Value]) -> Result<Vec<Value>>;

/// What notes say: names and values.
pub type Told<T> = Vec<(Arc<str>, T)>;

/// Blocks that are run call by call.
pub struct CallByCall<'a>(pub SmallVec<[&'a Arc<Block>; 2]>);

impl Blocks for CallByCall<'_> {
    fn run(&mut self, block: usize, args: &[&Value]) -> Result<Vec<Value>> {
        match self.0.get(block) {
            Some(block) => block.run(args),
            None => Err(no_block()),
        }
    }

    fn each(&mut self, n: usize, work: Work<'_>) -> Result<()> {
        let Some(block) = self.0.first() else { return Err(no_block()) };
        trips::run(n, &|i| work(i, &mut |args| block.run(args)))
    }

    fn spawn(&mut self, args: Values, done: Done) -> Result<()> {
        let Some(block) = self.0.first().map(|&block| block.clone()) else {
            return Err(no_block());
        };
        tasks::spawn(done, move || block.run(&args.iter().collect::<Vec<_>>()))
    }
}

#[cold]
fn no_block() -> Error {
    Error::internal("an op ran a block that it does not have")
}
