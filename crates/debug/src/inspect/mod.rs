//! What a person sees of a value.
//!
//! - [`Summary`]: a line about it.
//! - [`hash()`]: its type and bits as one number, to see whether it has changed.
//! - [`contains_nan`], [`contains_inf`]: fast enough for every result of a program.
//! - [`element_text`], [`rows`]: the elements, part by part.
//! - [`heat_map`], [`histogram`]: pictures in text.

mod blocks;
mod faults;
mod hash;
mod heat;
mod histogram;
mod number;
mod pages;
mod stats;
mod summary;

pub use faults::{contains_inf, contains_nan};
pub use hash::hash;
pub use heat::{Canvas, heat_map};
pub use histogram::histogram;
pub use number::{short, significant};
pub use pages::{element_text, length, rows};
pub use stats::Stats;
pub use summary::{Summary, line};
