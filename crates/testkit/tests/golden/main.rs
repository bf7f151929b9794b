//! Functions against golden files of PyTorch, NumPy and SciPy: see `fluvial_testkit::golden`.

mod conv;
mod core;
mod create;
mod layers;
mod layers_made;
mod optim;
mod reduce;
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
mod index;
mod shape;
mod accuracy;
mod elementwise;
mod extremes;
mod nets;
