//! Control flow in both modes: values, gradients to second order, state and effects.

mod conds;
mod corners;
mod effects;
mod gradients;
mod nested;
mod rows;
mod scale;
mod scans;
mod whiles;

use fluvial_core::{DType, Dim, Result, Tensor, Type, Var};

/// An `f64` tensor.
fn f64s(elements: &[f64], dims: &[usize]) -> Tensor {
    Tensor::from_slice(elements, dims).unwrap()
}

/// An `f64` scalar.
fn scalar(x: f64) -> Tensor {
    Tensor::scalar(x)
}

/// An `f64` constant.
fn constant(x: f64) -> Var {
    Var::scalar(x)
}

/// The sum of all elements.
fn total(x: &Var) -> Result<Var> {
    fluvial_ops::sum(x, &[], false)
}

/// The type `f64[..]` with these sizes, a symbol where there is a name.
fn symbolic(dims: &[&str]) -> Type {
    let dims: Vec<Dim> = dims.iter().map(|text| Dim::parse(text).unwrap()).collect();
    Type::new(DType::F64, &dims).unwrap()
}
