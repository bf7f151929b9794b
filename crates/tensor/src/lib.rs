//! Strided host tensors, element types, symbolic sizes and the error type of Fluvial.
//!
//! The lowest crate of the workspace: it knows neither operations nor kernels. In reading order:
//!
//! - [`Error`], [`ErrorKind`], [`Result`]: the one error type, with [`Loc`] for the user's line.
//! - [`DType`] names an element type at run time, [`Element`] is its Rust type, and [`dispatch!`]
//!   goes from the first to the second.
//! - [`Dim`] is the size of one axis, a number or a symbolic expression; [`Type`] is a dtype with
//!   sizes; [`broadcast()`] is the rule by which two shapes meet.
//! - [`Tensor`] is a strided view of shared, copy-on-write memory, which comes from the caching
//!   allocator in [`memory`].
//!
//! ```
//! use fluvial_tensor::{DType, Tensor};
//! let x = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
//! let columns = x.transpose(0, 1)?;
//! assert_eq!(columns.dims(), [3, 2]);
//! assert_eq!(columns.to_vec::<f32>()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
//! assert_eq!(columns.cast(DType::I64)?.ty().to_string(), "i64[3, 2]");
//! # Ok::<(), fluvial_tensor::Error>(())
//! ```

mod error;
mod loc;

mod dtype;
mod element;

mod broadcast;
mod dim;
mod ty;

pub mod interrupt;
mod layout;
pub mod memory;
mod number;
mod storage;
mod tensor;

#[cfg(test)]
mod testing;

pub use broadcast::broadcast;
pub use dim::{Dim, Whole};
pub use dtype::{DType, Kind};
pub use element::{Element, f8e4m3, f8e5m2, not_for_complex};
pub use error::{Error, ErrorKind, Result};
pub use half::{bf16, f16};
pub use loc::{Loc, Marks, Phase};
pub use num_complex::Complex;
pub use number::Number;
pub use tensor::Tensor;
pub use ty::{MAX_RANK, Type};
