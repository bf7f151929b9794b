//! Makes programs fast.
//!
//! [`compile`] takes a program and the outputs that are wanted, and gives a program that computes them
//! in fewer instructions: with the same bits, unless [`Options::fast`] allows that spellings of an op with small
//! ones become that op. It is a program like any other: it can be printed, saved, verified and
//! interpreted. [`pipeline()`] lists the passes in order; [`Compiled`] tells what each of them did.
//!
//! Passes ask for properties of ops, never for their names, and what is special to one op is its own
//! `simplify`, or the form in which it is recognised. They work block by block, the nested ones first.
//!
//! [`distribute()`] makes the program that each of several ranks runs.
//!
//! [`recompute()`] trades time for memory where there is a limit, once sizes are known.
//!
//! [`memory`] lays the values of a block out in one arena, given their lifetimes.

mod distribute;
mod driver;
mod fused;
mod fused_reduce;
pub mod memory;
mod passes;
mod pipeline;
mod recompute;

pub use distribute::{
    Distribution, Served, Sides, Strategy, distribute, distribute_to_servers, parts_of,
};
pub use driver::{Compiled, Options, Patch, compile};
pub use fused::{Fused, OPS, Scalar};
pub use fused_reduce::FusedReduce;
pub use pipeline::{Pass, pipeline};
pub use recompute::recompute;
