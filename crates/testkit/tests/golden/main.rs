//! Functions against golden files of PyTorch, NumPy and SciPy: see `fluvial_testkit::golden`.

mod accuracy;
mod core;
mod elementwise;
mod extremes;
mod optim;
mod create;
mod optim;
mod reduce;
mod index;
mod shape;
mod nets;
mod create;
mod elementwise;
mod extremes;
mod linalg;
mod loss;
mod reduce;
mod conv;
mod core;
mod image;
mod pool;

use fluvial_core::PerAxis;
use fluvial_testkit::golden::Given;

/// An attribute with a number per axis, or else this default.
fn per_axis(c: &Given<'_>, name: &str, default: impl Into<PerAxis>) -> PerAxis {
    match c.has(name) {
        true => c.sizes(name).into(),
        false => default.into(),
    }
}
