//! Leaves as objects that change: their values off the tape, and their gradients.

use fluvial::core::{Error, Result, Var, is_recording};
use pyo3::prelude::*;

use super::{Step, Tensor};
use crate::args::Arg;
use crate::{call, errors};

/// The error for a leaf that is changed where ops are recorded. The lines have it, too.
#[cold]
pub fn refused(py: Python<'_>, what: &str, remedy: &'static str) -> PyErr {
    let error = errors::raise(py, Error::gradient(what.to_string()).remedy(remedy));
    // Who cannot be told so takes it for a refusal of the program.
    let _ = error.value(py).setattr("_fl_of_lines", true);
    error
}

/// Whether a tensor that is to be changed is a leaf; an error if it cannot be changed here.
pub fn checked(py: Python<'_>, tensor: &Tensor, var: &Var) -> PyResult<bool> {
    let is_leaf = var.is_leaf() || tensor.own(py).is_some_and(|own| own.is_leaf());
    match is_leaf && is_recording() {
        false => Ok(is_leaf),
        true => Err(refused(
            py,
            "a leaf, whose gradient accumulates, cannot be changed",
            "change it inside `fl.no_grad()`; or `y = x.setitem(key, value)` makes a new tensor, and keeps the leaf",
        )),
    }
}

/// The value of a tensor off the tape. What is assigned to it, or to its elements, is assigned to the tensor.
#[pyfunction]
fn data_of(tensor: &Bound<'_, Tensor>) -> PyResult<Tensor> {
    Tensor::off_tape(tensor).with_part(tensor, Step::Data)
}

/// Gives a tensor another value of its type. A leaf stays one, with its gradient; a computed value has no history
/// afterwards.
#[pyfunction]
pub fn put_data(py: Python<'_>, tensor: &Tensor, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let dtype = tensor.var(py).dtype();
    let value = Arg::expect(value)?.into_var(py, Some(dtype))?;
    put_off_tape(py, tensor, &value)
}

/// [`put_data`] of a value that is one already.
pub fn put_off_tape(py: Python<'_>, tensor: &Tensor, value: &Var) -> PyResult<()> {
    let before = tensor.var(py);
    let after = || -> Result<Var> {
        if before.ty() != value.ty() {
            let (ours, other) = (before.ty(), value.ty());
            let error = Error::shape(format!("the data of {ours} cannot become {other}"));
            return Err(error.remedy("give a value of the same type and shape"));
        }
        let value = value.detach().check()?;
        if !before.is_leaf() {
            return Ok(value);
        }
        value.track_as(&before)
    };
    let after = call::run_attached(py, after)?;
    tensor.put(py, after)
}

/// A value of the program being built as another version of a leaf.
#[pyfunction]
fn leaf_again(py: Python<'_>, leaf: &Tensor, value: &Tensor) -> PyResult<Tensor> {
    let (leaf, value) = (leaf.var(py), value.var(py));
    call::run_attached(py, || value.track_as(&leaf)).map(Tensor::new)
}

/// Makes a tensor a leaf in whose `grad` gradients accumulate, or no longer one: the object itself.
#[pyfunction]
fn set_leaf(py: Python<'_>, tensor: &Tensor, flag: bool) -> PyResult<()> {
    let before = tensor.var(py);
    if before.is_tracked() == flag {
        return Ok(());
    }
    if !flag && !before.is_leaf() {
        let error = Error::gradient("a computed tensor cannot be taken off the tape");
        return Err(errors::raise(py, error.remedy("`x.detach()` is its value without gradients")));
    }
    let after = || if flag { before.track() } else { before.detach().check() };
    let after = call::run_attached(py, after)?;
    tensor.put_own(py, after)
}

/// Replaces the gradient that `backward` has accumulated in a leaf; None forgets it.
#[pyfunction]
#[pyo3(signature = (tensor, grad))]
fn set_grad(py: Python<'_>, tensor: &Tensor, grad: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let leaf = tensor.var(py);
    let like = Some(leaf.dtype());
    let grad = grad.map(|grad| Arg::expect(grad)?.into_var(py, like)).transpose()?;
    let set = || -> Result<()> {
        if !leaf.is_leaf() && grad.is_some() {
            let error = Error::gradient("a tensor that is not a leaf keeps no gradient");
            return Err(error.remedy("make it one with `x.requires_grad_()`"));
        }
        if let Some(found) = grad.as_ref().map(Var::ty).filter(|found| *found != leaf.ty()) {
            return Err(Error::shape(format!("the gradient of {} is {found}", leaf.ty())));
        }
        leaf.set_grad(grad);
        Ok(())
    };
    call::run_attached(py, set)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(data_of, module)?)?;
    module.add_function(wrap_pyfunction!(put_data, module)?)?;
    module.add_function(wrap_pyfunction!(leaf_again, module)?)?;
    module.add_function(wrap_pyfunction!(set_leaf, module)?)?;
    module.add_function(wrap_pyfunction!(set_grad, module)?)
}
