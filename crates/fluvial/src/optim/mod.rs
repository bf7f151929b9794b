//! Optimizers, schedules of rates, clipping of gradients and averages of parameters.
//!
//! An optimizer holds its parameters and owns what it remembers of them. The same code trains
//! imperatively and, while a program is built, becomes part of the program, with the same numbers to
//! the bit. Here one has a name, so that the state scope keeps what it remembers and it can be made in
//! the step:
//!
//! ```
//! use fluvial::prelude::*;
//!
//! fn step(x: &Var, y: &Var) -> Result<Var> {
//!     let w = parameter("w", Type::of(DType::F32, &[2])?, || Var::of(&[0.0f32, 0.0], &[2]))?;
//!     let error = matmul(x, &w)? - y;
//!     let loss = mean(&(&error * &error), &[], false)?;
//!     Adam::new(["w"], 0.1).name("adam").minimize(&loss)?;
//!     Ok(loss)
//! }
//!
//! let x = Var::of(&[1.0f32, 2.0, -1.0, 0.5], &[2, 2])?;
//! let y = Var::of(&[3.0f32, -1.0], &[2])?;
//! let (by_line, by_program) = (State::new(), State::new());
//! {
//!     let _scope = by_line.enter();
//!     for _ in 0..3 {
//!         step(&x, &y)?;
//!     }
//! }
//! let program = Program::build(&[("x", x.ty()), ("y", y.ty())], |v| Ok(vec![step(&v[0], &v[1])?]))?;
//! let _scope = by_program.enter();
//! for _ in 0..3 {
//!     program.apply(&[&x, &y])?;
//! }
//! for name in ["w", "adam.m.w", "adam.v.w", "adam.step", "adam.lr"] {
//!     assert!(by_line.tensor(name)?.bitwise_eq(&by_program.tensor(name)?));
//! }
//! # Ok::<(), Error>(())
//! ```
//!
//! Labels of what is remembered are `optimizer.what.parameter` (`adam.m.fc.weight`), or `optimizer.what` for what
//! belongs to the optimizer as a whole (`adam.step`, `adam.lr`), with the number of the group behind
//! for groups after the first (`adam.lr.1`).
//!
//! A parameter that the loss does not depend on counts as having gradient zero, so that a branch
//! that was not taken means the same in both modes.

mod clip;
mod cyclic;
mod descent;
mod ema;
mod gradients;
mod kind;
mod memory;
mod one_cycle;
mod optimizer;
mod param;
mod plateau;
mod rows;
mod rule;
mod rules;
mod schedule;
mod update;

pub use clip::{Clip, clip_gradients, global_norm};
pub use cyclic::Cyclic;
pub use descent::{Descent, Group};
pub use ema::{Applied, Ema};
pub use kind::{AnyRule, Kind, Setting};
pub use one_cycle::OneCycle;
pub use optimizer::Optimizer;
pub use param::{Param, Penalty};
pub use plateau::Plateau;
pub use rows::{Rows, lookup};
pub use rule::{AtOnce, Decay, Rule, Step, Update};
pub use rules::*;
pub use schedule::Schedule;
