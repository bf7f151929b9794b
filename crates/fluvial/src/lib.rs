//! Fluvial: one piece of code, run line by line or as a program.
//!
//! ```
//! use fluvial::prelude::*;
//!
//! fn model(x: &Var) -> Result<Var> {
//!     let hidden = tanh(&(x * 2.0 + 1.0))?;
//!     mean(&(&hidden * &hidden), &[], false)
//! }
//!
//! // Imperatively: every value is at hand, and so is its gradient.
//! let x = Var::of(&[0.5, -1.0, 2.0], &[3])?.track()?;
//! let y = model(&x)?;
//! y.backward()?;
//! println!("{y}, gradient {}", x.grad().unwrap());
//!
//! // As a program: the same function, captured as data, for any size.
//! let ty = Type::new(DType::F64, &[Dim::symbol("n")?])?;
//! let program = Program::build(&[("x", ty)], |x| Ok(vec![model(&x[0])?]))?;
//! let again = program.apply(&[&x.detach()])?;
//! assert_eq!(again[0].item::<f64>()?, y.item::<f64>()?);
//! # Ok::<(), Error>(())
//! ```
//!
//! [`core`] is the place to start reading, [`ops`] has all operations, [`nn`] layers, [`optim`]
//! optimizers, [`runtime`] runs programs; a [`Feed`] brings them data, [`io`] saves and loads them, [`short`] reads those that people write by hand. [`lazy()`] is for those who write big elementwise operations:
//! expressions over tensors that become one loop at compile time.

mod feed;
pub mod init;
pub mod io;
mod narrow;
pub mod nn;
pub mod optim;
mod quantize;
mod ragged;
pub mod short;

pub use feed::Feed;
pub use fluvial_compile as compile;
pub use fluvial_core as core;
pub use fluvial_data as data;
#[cfg(feature = "debug")]
pub use fluvial_debug as debug;
pub use fluvial_dist as dist;
pub use fluvial_kernels as kernels;
pub use fluvial_kernels::{Expression, Lazy, lazy};
pub use fluvial_ops as ops;
pub use fluvial_runtime as runtime;
pub use fluvial_tensor as tensor;
pub use narrow::narrowed;
pub use quantize::{How, Quantized, QuantizedOp, Quantizer};
pub use ragged::Ragged;

/// What most users need: `use fluvial::prelude::*;`.
pub mod prelude {
    pub use fluvial_core::{
        Attributes, DType, Dim, Element, Error, ErrorKind, GradOptions, Guard, Loc, Mode, Program,
        Registry, Result, Role, State, Tensor, Type, Var, assign_state, at, declare_state,
        enable_grad, grad, grad_with, imperative, mode, no_grad, read_state, vjp,
    };
    pub use fluvial_ops::*;
    pub use fluvial_runtime::{Executor, Interpreter};

    pub use crate::feed::Feed;
    pub use crate::init::{Fan, Gain, Initializer};
    pub use crate::nn::*;
    pub use crate::optim::{
        Adadelta, Adafactor, Adagrad, Adam, AdamW, Adamax, Asgd, Clip, Ema, Ftrl, Lamb, Lars, Lion,
        Momentum, Muon, NAdam, OneCycle, Optimizer, Param, Plateau, RAdam, RmsProp, Rprop,
        Schedule, Sgd, SparseAdam,
    };
    pub use crate::ragged::Ragged;
}

/// The examples in the documents run as tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/ADD_AN_OP.md")]
    struct AddAnOp;
    #[doc = include_str!("../../../docs/layers_in_rust.md")]
    struct Layers;
    #[doc = include_str!("../../../docs/training.md")]
    struct Training;
    #[doc = include_str!("../../../docs/compiled_programs.md")]
    struct Programs;
    #[doc = include_str!("../../../docs/guide/rust.md")]
    struct GuideRust;
}
