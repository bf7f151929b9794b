//! The scalar-expression machine: an elementwise function stated once, as data.
//!
//! A [`Body`] is a short list of [`Inst`]ructions over scalars. It is written with the handles [`S`]
//! (`|x| 1.0 / (1.0 + (-x).exp())`), composed with [`Body::fuse`], printed as a formula, and run in
//! three ways that share one table of scalar functions, so that their results agree by bits:
//!
//! - [`Body::run`] over whole tensors, tile by tile, so that intermediates stay in the L1 cache;
//! - [`Body::run_one`] on one-element tensors, without tiles and without allocation;
//! - [`Body::eval_f64`] on plain numbers.
//!
//! (Where the result is NaN, its sign and payload are unspecified, as in Rust itself.)
//!
//! Reading order: [`inst`] the vocabulary, [`build`] the handles, [`body`] the finished list, [`fuse`]
//! composition, [`compute`] with [`float`], [`fast`], [`int`], [`complex`], [`special`], [`gamma`] and [`activation`] the
//! functions, [`run`] and [`one`] the two ways to run them, [`reduce`] the first with a reduction behind it.

pub(crate) mod inst;

pub(crate) mod build;

pub(crate) mod body;

pub(crate) mod fuse;

mod display;

pub(crate) mod compute;

pub(crate) mod float;

mod fast;

pub(crate) mod int;

pub(crate) mod complex;

pub(crate) mod special;

pub(crate) mod gamma;

pub(crate) mod activation;

pub(crate) mod one;

mod tile;

pub(crate) mod run;

mod reduce;

pub use body::Body;
pub use build::{Operand, S};
pub use inst::{Binary, Inst, Unary};
pub use reduce::Reduction;
pub use run::Given;
