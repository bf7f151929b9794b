//! Programs of others. [`onnx`] reads and writes ONNX models: what is read is a program like any
//! other.

pub mod onnx;
