//! The operators of [`Tensor`].

use fluvial::core::{Attributes, Elementwise, Loc, OpRef, Result, Var, bind_at, structural};
use fluvial::ops::{binary, matmul};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::args::{Arg, Meets};
use crate::tensor::{Stands, Tensor};
use crate::{call, number};

/// Which operand the tensor is whose slot was called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// An elementwise operator; `NotImplemented` if `other` is not a value.
#[inline]
pub fn elementwise<'py>(
    tensor: &Bound<'py, Tensor>,
    other: &Bound<'py, PyAny>,
    op: &'static Elementwise,
    side: Side,
) -> PyResult<Bound<'py, PyAny>> {
    apply(tensor, other, side, Meets::Computes, op.name(), move |a, b| one(op, &[a, b]))
}

/// The operator `@`.
pub fn product<'py>(
    tensor: &Bound<'py, Tensor>,
    other: &Bound<'py, PyAny>,
    side: Side,
) -> PyResult<Bound<'py, PyAny>> {
    apply(tensor, other, side, Meets::Computes, "matmul", matmul)
}

/// A comparison.
pub fn compare<'py>(
    tensor: &Bound<'py, Tensor>,
    other: &Bound<'py, PyAny>,
    operator: CompareOp,
) -> PyResult<Bound<'py, PyAny>> {
    let op = match operator {
        CompareOp::Lt => &binary::LT,
        CompareOp::Le => &binary::LE,
        CompareOp::Eq => &binary::EQ,
        CompareOp::Ne => &binary::NE,
        CompareOp::Gt => &binary::GT,
        CompareOp::Ge => &binary::GE,
    };
    apply(tensor, other, Side::Left, Meets::Compares, op.name(), move |a, b| one(op, &[a, b]))
}

/// The operator `-x`.
pub fn negative(py: Python<'_>, x: &Tensor) -> PyResult<Tensor> {
    number::unary(py, x, |x| one(&structural::NEG, &[x]))
}

/// An op on operands in this order, without looking for the user's line.
#[inline]
fn one(op: &'static Elementwise, inputs: &[&Var]) -> Result<Var> {
    let mut outputs = bind_at(OpRef::Static(op), inputs, Loc::Unknown)?;
    Ok(outputs.remove(0))
}

#[inline]
fn apply<'py>(
    tensor: &Bound<'py, Tensor>,
    other: &Bound<'py, PyAny>,
    side: Side,
    meets: Meets,
    name: &str,
    f: impl Fn(&Var, &Var) -> Result<Var> + Sync,
) -> PyResult<Bound<'py, PyAny>> {
    let py = other.py();
    let run = |own: &Var, other: &Var| {
        let (a, b) = if side == Side::Left { (own, other) } else { (other, own) };
        let result = call::run(py, &[a, b], || f(a, b))?;
        Ok(Bound::new(py, Tensor::new(result))?.into_any())
    };
    let object = tensor.as_any();
    let tensor = tensor.get();
    let (own, own_is_number) = (tensor.var(py), tensor.is_number(py));
    if let Ok(tensor) = other.cast::<Tensor>()
        && !tensor.get().is_number(py)
        && !own_is_number
    {
        return run(&own, &tensor.get().var(py));
    }
    match Arg::of(other)? {
        Some(Arg::Number(_) | Arg::Weak(..)) if own_is_number => {
            let (a, b) = if side == Side::Left { (object, other) } else { (other, object) };
            number::binary(name, a, b)
        }
        Some(Arg::Value(other)) if own_is_number => {
            run(&number::beside(py, own, tensor.stands(py), Some(other.dtype()))?, &other)
        }
        Some(size @ Arg::Size(_)) if own_is_number => {
            let size = Tensor::standing(Stands::Number, size.into_var(py, None)?);
            let size = Bound::new(py, size)?.into_any();
            let (a, b) = if side == Side::Left { (object, &size) } else { (&size, object) };
            number::binary(name, a, b)
        }
        Some(arg) => run(&own, &arg.met(py, own.dtype(), meets)?),
        None => Ok(py.NotImplemented().into_bound(py)),
    }
}

/// Refuses the third argument of `pow`.
pub fn no_modulo(modulo: &Bound<'_, PyAny>) -> PyResult<()> {
    match modulo.is_none() {
        true => Ok(()),
        false => Err(PyTypeError::new_err("a power of a tensor has no modulus")),
    }
}
