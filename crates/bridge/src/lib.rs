//! Programs of others. [`onnx`] reads and writes ONNX models, [`fluid`] reads the programs of Fluid and
//! Paddle: what is read is a program like any other. [`weights`] reads tensors by name from files of others.

mod fit;
pub mod fluid;
pub mod onnx;
pub mod weights;
