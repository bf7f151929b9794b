//! Layers: functions with parameters, which they own.
//!
//! ```
//! use fluvial::prelude::*;
//!
//! let net = Sequential::new("net")
//!     .add(|at| Linear::new(at, 4, 16))
//!     .then(tanh)
//!     .add(|at| Dropout::new(at, 0.1))
//!     .add(|at| Linear::new(at, 16, 2));
//!
//! // Imperatively: parameters get their initial values at the first call.
//! let x = Var::of(&[0.25f32; 12], &[3, 4])?;
//! let loss = mean(&net.forward(&x)?, &[], false)?;
//! loss.backward()?;
//! for parameter in net.parameters() {
//!     let gradient = parameter.grad()?.expect("every parameter takes part");
//!     parameter.set(&(parameter.get()?.detach() - gradient * 0.1))?;
//!     parameter.zero_grad()?;
//! }
//!
//! // As a program: the same layers, the same parameters.
//! net.eval();
//! let ty = Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(4)])?;
//! let program = Program::build(&[("x", ty)], |x| Ok(vec![net.forward(&x[0])?]))?;
//! assert_eq!(program.apply(&[&x])?[0].to_vec::<f32>()?, net.forward(&x)?.to_vec::<f32>()?);
//! # Ok::<(), Error>(())
//! ```
//!
//! A layer of one's own is a struct with a [`Path`]; [`Layer`] and [`Path`] show how.

mod layer;
mod parameter;
mod path;
mod state_dict;

pub mod stated;
#[rustfmt::skip]
mod layers;

mod attr;
mod sequential;
mod stack;
mod step;

pub use attr::{ParamAttr, Regularizer};
pub use layer::Layer;
pub use layers::*;
pub use parameter::Parameter;
pub use path::Path;
pub use sequential::{LayerList, Sequential};
pub use stack::{TransformerDecoder, TransformerEncoder, TransformerStack};
pub use state_dict::{Loaded, StateDict};
pub use stated::{AnyStatement, Kind, MakeStatement, OptionKind, Stated};
pub use step::{begin_step, used_in_step};
