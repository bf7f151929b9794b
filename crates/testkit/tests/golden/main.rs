//! Functions against golden files of PyTorch, NumPy and SciPy: see `fluvial_testkit::golden`.

mod accuracy;
mod core;
mod elementwise;
mod extremes;
mod create;
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
