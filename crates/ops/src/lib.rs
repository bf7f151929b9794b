//! Every op of Fluvial, one file each, by family, and functions derived from them.
//!
//! A file holds all there is to know of its op: what it does, with an example that runs; its
//! attributes; `infer`, `eval` and `grad`; and samples for the tests. The modules of the families,
//! the list of ops and the methods on values are generated from these files
//! (`cargo xtask codegen`). `docs/ADD_AN_OP.md` shows how to add one.

pub mod batch;
mod batch_control;
mod batch_rules;
mod batch_spread;
mod batch_walk;
pub mod binary;
pub mod complex;
pub mod control;
pub mod conv;
pub mod create;
mod forms;
pub mod fourier;
mod generated;
pub mod host;
pub mod image;
pub mod index;
pub mod int8;
pub mod linalg;
pub mod lists;
pub mod loss;
pub mod net;
pub mod norm;
pub mod pool;
mod prelude;
pub mod quant;
pub mod random;
pub mod ranks;
mod reading;
pub mod reduce;
pub mod scans;
pub mod sequence;
pub mod shape;
pub mod sort;
pub mod tasks;
pub mod unary;
pub mod update;

pub use fluvial_core::structural::{
    add, cast, conj, div, expand, imag, mul, neg, real, stop_gradient, sub, zeros_like,
};
pub use forms::FORMS;
pub use generated::*;
pub use index::{End, Index};

use fluvial_core::Registry;

/// The registry of the structural ops and all ops of this crate.
pub fn registry() -> Registry {
    Registry::structural().with(OPS).expect("the names of ops differ, as a test checks")
}
