//! Functions against golden files of PyTorch, NumPy and SciPy: see `fluvial_testkit::golden`.

mod accuracy;
mod conv;
mod core;
mod create;
mod elementwise;
mod extremes;
mod image;
mod index;
mod layers;
mod layers_made;
mod linalg;
mod loss;
mod nets;
mod optim;
mod pool;
mod reduce;
mod shape;

use fluvial_core::PerAxis;
use fluvial_testkit::golden::Given;

/// An attribute with a number per axis, or else this default.
fn per_axis(c: &Given<'_>, name: &str, default: impl Into<PerAxis>) -> PerAxis {
    match c.has(name) {
        true => c.sizes(name).into(),
        false => default.into(),
    }
}
