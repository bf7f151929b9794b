//! Readers whose position is a state.

use std::sync::Arc;

use fluvial_core::scope::user_line;
use fluvial_core::{
    DType, Error, Result, Role, Tensor, Type, Var, assign_state, at, declare_state, state,
};
use fluvial_data::{Position, Reader};
use fluvial_ops::control::ForEach;

/// A reader under a name, whose position is the state `<name>.position`. So a training goes on with the batch
/// that comes next, whether it runs line by line or as a program, and whatever was read ahead: the position is saved
/// and restored with the parameters.
///
/// ```
/// use fluvial::data::Reader;
/// use fluvial::prelude::*;
///
/// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4, 1])?;
/// let y = Tensor::from_slice(&[3.0f32, 5.0, 7.0, 9.0], &[4, 1])?;
/// let train = Feed::new("train", Reader::of([("x", x), ("y", y)])?.shuffle(7).batch(2, false));
///
/// let state = State::new();
/// let _scope = state.enter();
/// let net = Linear::new("net", 1, 1);
/// let sgd = Sgd::new(net.parameters(), 0.01);
/// let fit = |passes| {
///     train.each(passes, &[&Var::scalar(0.0f32)], |batch, _| {
///         let loss = mean(&square(&(&net.forward(&batch[0])? - &batch[1]))?, &[], false)?;
///         sgd.minimize(&loss)?;
///         Ok(vec![loss])
///     })
/// };
/// // Line by line, then as a program of the same net, which goes on with the third pass.
/// let first = fit(2)?[0].item::<f32>()?;
/// let program = Program::build(&[], |_| fit(40))?;
/// let last = Executor::new(&program, state.clone())?.run(&[])?[0].item::<f32>()?;
/// assert!(last < first);
/// assert_eq!(train.position()?.epoch, 42);
/// # Ok::<(), Error>(())
/// ```
///
/// Several feeds may read the same data; those of one scope need different names. A reader of arrays in memory must live as long
/// as programs with its loop are run.
#[derive(Clone)]
pub struct Feed {
    name: Arc<str>,
    reader: Reader,
}

impl Feed {
    /// A reader under a name.
    pub fn new(name: &str, reader: Reader) -> Feed {
        Feed { name: name.into(), reader }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The reader.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The name of the state that has the position.
    pub fn state_name(&self) -> String {
        format!("{}.position", self.name)
    }

    /// Calls `body` with each batch, from the position on to the end of the pass, or of `passes` passes, counting
    /// the one that the position stands in. `body` takes the batch and the carried values, and returns the next carried values; the
    /// last ones are returned. See [`for_each`](fluvial_ops::for_each).
    ///
    /// Line by line, the position counts a batch as read while `body` is at work, so that states saved at the end
    /// of `body` are a checkpoint. In a program the position moves when the loop is over, or suspended.
    #[track_caller]
    pub fn each(
        &self,
        passes: usize,
        init: &[&Var],
        body: impl Fn(&[Var], &[Var]) -> Result<Vec<Var>>,
    ) -> Result<Vec<Var>> {
        self.each_while(passes, init, |batch, carried| Ok((None, body(batch, carried)?)))
    }

    /// [`Feed::each`] for a loop that may end earlier: `body` also returns whether to go on. A later loop then
    /// goes on with the next batch of the same pass.
    #[track_caller]
    pub fn each_while(
        &self,
        passes: usize,
        init: &[&Var],
        body: impl Fn(&[Var], &[Var]) -> Result<(Option<Var>, Vec<Var>)>,
    ) -> Result<Vec<Var>> {
        let loc = user_line();
        let state = self.state_name();
        let start = || Var::of(&[0i64, 0], &[2]);
        let position = declare_state(&state, Type::of(DType::I64, &[2])?, Role::Counter, start)?;
        let moved = |position: &Var| {
            let _line = at(loc);
            assign_state(&state, position)
        };
        let (position, carried) =
            ForEach::followed(&self.reader, passes, &position, init, body, moved)?;
        assign_state(&state, &position)?;
        Ok(carried)
    }

    /// One pass from its start, which leaves the position as it is: for evaluation.
    #[track_caller]
    pub fn pass(
        &self,
        init: &[&Var],
        body: impl Fn(&[Var], &[Var]) -> Result<Vec<Var>>,
    ) -> Result<Vec<Var>> {
        let start = Var::of(&[0i64, 0], &[2])?;
        let body = |batch: &[Var], carried: &[Var]| Ok((None, body(batch, carried)?));
        Ok(fluvial_ops::for_each(&self.reader, 1, &start, init, body)?.1)
    }

    /// Where it stands in the state scope of the thread: at the start if no loop has run there.
    pub fn position(&self) -> Result<Position> {
        let (scope, name) = (state::current(), self.state_name());
        if !scope.contains(&name) {
            return Ok(Position::default());
        }
        match scope.tensor(&name)?.to_vec::<i64>()?[..] {
            [epoch, index] if epoch >= 0 && index >= 0 => {
                Ok(Position { epoch: epoch as u64, index: index as u64 })
            }
            _ => Err(Error::state(format!("the state `{name}` is not a position"))
                .remedy("it is two numbers, none below zero: the pass, and results given in it")),
        }
    }

    /// Makes the next loop in the state scope of the thread start elsewhere.
    pub fn seek(&self, position: Position) -> Result<()> {
        let number = |value: u64| {
            i64::try_from(value)
                .map_err(|_| Error::argument(format!("{value} is too large for a position")))
        };
        let numbers = [number(position.epoch)?, number(position.index)?];
        let value = Tensor::from_slice(&numbers, &[2])?;
        state::current().insert(&self.state_name(), Role::Counter, value)
    }
}
