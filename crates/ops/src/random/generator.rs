//! Where random numbers come from: a state that counts draws, and streams named after parameters.
//!
//! A stream is two integers, the seed and a counter. An op that draws takes it as an operand, so
//! both modes, every replay and any number of threads see the same numbers.

use std::cell::{Cell, RefCell};

use super::{rng_next, rng_stream};
use crate::prelude::*;

/// The state that holds the seed and the number of draws so far.
pub const RNG: &str = "rng";

/// Words from a stream and a position, in C.
pub(super) static PHILOX: Source =
    Source { name: "philox", text: include_str!("philox.c"), needs: &[] };

/// The stream behind another one, in C: so many draws on, or at a first number.
pub(super) static NEXT: Source = Source { name: "rng", text: include_str!("rng.c"), needs: &[] };

thread_local! {
    /// The stream that draws come from instead, inside [`with_stream`].
    static LOCAL: RefCell<Option<Var>> = const { RefCell::new(None) };
    /// Whether each rank draws numbers of its own.
    static IS_BY_RANK: Cell<bool> = const { Cell::new(false) };
}

/// A scope in which each [rank](fluvial_dist::current) draws numbers of its own from the stream that all ranks have in
/// common, as data parallel training needs it. Initial values stay the same on all ranks.
#[must_use]
pub struct DrawingByRank {
    former: bool,
}

impl DrawingByRank {
    /// Begins such a scope.
    pub fn begin() -> DrawingByRank {
        DrawingByRank { former: IS_BY_RANK.replace(true) }
    }
}

impl Drop for DrawingByRank {
    fn drop(&mut self) {
        IS_BY_RANK.set(self.former);
    }
}

/// Starts the random numbers of this thread's state scope anew, also those of initial values of layers that
/// are made from here on. In a program, from this point on.
#[track_caller]
pub fn seed(seed: i64) -> Result<()> {
    // In a program that starts from nothing, initial values depend on it, too.
    let first = || Var::of(&[seed, 0], &[2]);
    let _ = declare_state(RNG, stream_type()?, Role::Random, first)?;
    fluvial_core::state::current().forget_streams();
    assign_state(RNG, &Var::of(&[seed, 0], &[2])?)
}

/// The type of a stream.
pub(super) fn stream_type() -> Result<Type> {
    Type::of(DType::I64, &[2])
}

/// The stream for the next draw, which it consumes.
#[track_caller]
pub(crate) fn draw() -> Result<Var> {
    if let Some(stream) = LOCAL.take() {
        LOCAL.set(Some(rng_next(&stream)?));
        return Ok(stream);
    }
    let stream = rng_state()?;
    assign_state(RNG, &rng_next(&stream)?)?;
    match IS_BY_RANK.get() {
        true => crate::ranks::rank_stream(&stream),
        false => Ok(stream),
    }
}

/// The state that draws come from, which is there from now on.
#[track_caller]
pub(crate) fn rng_state() -> Result<Var> {
    declare_state(RNG, stream_type()?, Role::Random, || Var::of(&[0i64, 0], &[2]))
}

/// Runs `f` with draws from a stream of its own, which depends on the seed and the name only: an
/// initialiser gives the same numbers whatever ran before it.
#[track_caller]
pub fn with_stream<R>(name: &str, f: impl FnOnce() -> Result<R>) -> Result<R> {
    let stream = rng_stream(&rng_state()?, name)?;
    let former = LOCAL.replace(Some(stream));
    let result = f();
    LOCAL.set(former);
    result
}

/// A scope in which draws of this thread come from a stream that begins at a seed of its own. In a program
/// each run draws the same numbers. The scope's own stream does not advance; it counts again once this is
/// dropped.
#[must_use]
pub struct Drawing {
    former: Option<Var>,
}

impl Drawing {
    /// Begins such a scope.
    pub fn from_seed(seed: i64) -> Result<Drawing> {
        Ok(Drawing::from_stream(Var::of(&[seed, 0], &[2])?))
    }

    /// Begins a scope whose draws come from this stream.
    pub fn from_stream(stream: Var) -> Drawing {
        Drawing { former: LOCAL.replace(Some(stream)) }
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        LOCAL.set(self.former.take());
    }
}

/// A trained parameter: a state that `init` computes once, drawing from the stream of its name.
#[track_caller]
pub fn parameter(name: &str, ty: Type, init: impl FnOnce() -> Result<Var>) -> Result<Var> {
    declare_state(name, ty, Role::Parameter, || with_stream(name, init))
}
