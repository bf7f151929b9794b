//! Functions against golden files of PyTorch, NumPy and SciPy: see `fluvial_testkit::golden`.

mod core;
mod create;
mod layers;
mod layers_made;
mod optim;
mod reduce;
