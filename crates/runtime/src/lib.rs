//! Runs Fluvial programs.
//!
//! [`Interpreter`] is the reference: it runs a program call by call, block by block, with the same
//! `bind` as imperative code. Faster executors are judged by it.

mod interpreter;

pub use interpreter::Interpreter;
