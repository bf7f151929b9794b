//! Control flow with Python callables. The ops' own functions decide what to do in which mode:
//! they call the callables now, or trace them.

use std::cell::Cell;

use fluvial::core::{DType, Error, Result, Var};
use fluvial::ops;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::args::{self, Arg};
use crate::tensor::Tensor;
use crate::{call, errors, sequence};

/// How Python groups values: one as it is, several as a tuple.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    One,
    Tuple,
}

/// Values with their grouping.
struct Group {
    form: Form,
    vars: Vec<Var>,
}

impl Group {
    /// What a callable takes or returns: a value, a tuple or list of values, or None for no value.
    /// Numbers take their element types from `like`.
    fn of(object: &Bound<'_, PyAny>, like: &[DType]) -> PyResult<Group> {
        if object.is_none() {
            return Ok(Group { form: Form::Tuple, vars: Vec::new() });
        }
        if !object.is_instance_of::<PyTuple>() && !object.is_instance_of::<PyList>() {
            let var = Arg::expect(object)?.into_var(object.py(), like.first().copied())?;
            return Ok(Group { form: Form::One, vars: vec![var] });
        }
        let vars = sequence::read(object, sequence::MANY, |i, element| {
            Arg::expect(&element)?.into_var(object.py(), like.get(i).copied())
        })?;
        Ok(Group { form: Form::Tuple, vars })
    }

    fn refs(&self) -> Vec<&Var> {
        self.vars.iter().collect()
    }

    fn dtypes(&self) -> Vec<DType> {
        self.vars.iter().map(Var::dtype).collect()
    }
}

impl Form {
    fn object<'py>(self, py: Python<'py>, vars: &[Var]) -> PyResult<Bound<'py, PyAny>> {
        match (self, vars) {
            (Form::One, [var]) => Ok(Bound::new(py, Tensor::new(var.clone()))?.into_any()),
            _ => Ok(tuple(py, vars)?.into_any()),
        }
    }
}

fn tuple<'py>(py: Python<'py>, vars: &[Var]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, vars.iter().map(|var| Tensor::new(var.clone())))
}

/// Calls a Python callable on values.
fn invoke(function: &Bound<'_, PyAny>, values: &[Var], like: &[DType]) -> Result<Group> {
    let returned = || Group::of(&function.call1(tuple(function.py(), values)?)?, like);
    returned().map_err(errors::callback)
}

/// Remembers how the first of several alternatives grouped its values; the others must agree.
fn agree(remembered: &Cell<Option<Form>>, group: Group) -> Result<Vec<Var>> {
    match remembered.replace(Some(group.form)) {
        Some(form) if form != group.form => {
            Err(Error::argument("one branch returns a tuple and the other a single value")
                .remedy("return values in the same form from both branches"))
        }
        _ => Ok(group.vars),
    }
}

/// Runs `then()` if `pred` holds, else `otherwise()`, and returns what it returns.
///
/// In imperative mode the function is simply called. In a program the choice is one op that owns
/// both branches.
///
/// Args:
///     pred: A bool, or a bool tensor of one element.
///     then: Returns a tensor or a tuple of tensors.
///     otherwise: Returns the same types.
///
/// Example:
///     >>> x = fl.tensor(-3.0)
///     >>> fl.cond(x < 0, lambda: -x, lambda: x).item()
///     3.0
#[pyfunction]
fn cond<'py>(
    pred: &Bound<'py, PyAny>,
    then: &Bound<'py, PyAny>,
    otherwise: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = pred.py();
    let pred = args::var(pred)?;
    let form = Cell::new(None);
    let branch = |function| agree(&form, invoke(function, &[], &[])?);
    let results =
        call::run_attached(py, || ops::cond(&pred, || branch(then), || branch(otherwise)))?;
    form.get().unwrap_or(Form::Tuple).object(py, &results)
}

/// Repeats `body` on the carried values as long as `cond` of them holds; returns the last ones.
///
/// Args:
///     cond: Takes the carried values, returns a bool tensor of one element.
///     body: Takes the carried values, returns the next ones, of the same types.
///     init: The initial values: a tensor or a tuple of tensors.
///
/// Example:
///     >>> fl.while_loop(lambda x: x < 100, lambda x: x * 2, fl.tensor(3.0)).item()
///     192.0
#[pyfunction]
fn while_loop<'py>(
    cond: &Bound<'py, PyAny>,
    body: &Bound<'py, PyAny>,
    init: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = init.py();
    let init = Group::of(init, &[])?;
    let like = init.dtypes();
    let holds = |values: &[Var]| match &invoke(cond, values, &[])?.vars[..] {
        [holds] => Ok(holds.clone()),
        others => Err(Error::argument(format!(
            "the condition of a loop returns one value, not {}",
            others.len()
        ))),
    };
    let step = |values: &[Var]| Ok(invoke(body, values, &like)?.vars);
    let results = call::run_attached(py, || ops::while_loop(&init.refs(), holds, step))?;
    init.form.object(py, &results)
}

/// Goes through the slices of `xs` along their first axis.
///
/// Args:
///     step: Takes the carried values and one slice of each of `xs`, grouped as `init` and `xs`
///         are; returns the next carried values, and values that are stacked along a new first
///         axis (or None).
///     init: The first carried values: a tensor or a tuple of tensors.
///     xs: A tensor or a tuple of tensors, with equal first sizes.
///
/// Returns:
///     The last carried values and the stacks.
///
/// Example:
///     >>> xs = fl.tensor([1.0, 2.0, 3.0])
///     >>> last, sums = fl.scan(lambda sum, x: (sum + x, sum + x), fl.tensor(0.0), xs)
///     >>> sums.tolist()
///     [1.0, 3.0, 6.0]
#[pyfunction]
fn scan<'py>(
    step: &Bound<'py, PyAny>,
    init: &Bound<'py, PyAny>,
    xs: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = init.py();
    let (init, xs) = (Group::of(init, &[])?, Group::of(xs, &[])?);
    let like = init.dtypes();
    let stacked = Cell::new(None);
    let one_step = |carried: &[Var], slices: &[Var]| -> PyResult<(Group, Group)> {
        let args = (init.form.object(py, carried)?, xs.form.object(py, slices)?);
        let (next, outs) = step.call1(args)?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        Ok((Group::of(&next, &like)?, Group::of(&outs, &[])?))
    };
    let one_step = |carried: &[Var], slices: &[Var]| {
        let (next, outs) = one_step(carried, slices).map_err(errors::callback)?;
        Ok((next.vars, agree(&stacked, outs)?))
    };
    let (last, stacks) = call::run_attached(py, || ops::scan(&init.refs(), &xs.refs(), one_step))?;
    let stacked = stacked.get().unwrap_or(Form::Tuple);
    Ok((init.form.object(py, &last)?, stacked.object(py, &stacks)?))
}

/// Sends each row of a batch through its own branch and puts the results back in order.
///
/// Args:
///     mask: A bool tensor with one element for each row.
///     inputs: A tensor or a tuple of tensors whose rows are split.
///     then: Takes the rows where the mask holds, returns a value with one row for each.
///     otherwise: Takes the other rows, returns the same types.
///
/// Example:
///     >>> x = fl.tensor([-1.0, 2.0])
///     >>> fl.if_else(x < 0, x, lambda rows: -rows, lambda rows: rows * 10).tolist()
///     [1.0, 20.0]
#[pyfunction]
fn if_else<'py>(
    mask: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    then: &Bound<'py, PyAny>,
    otherwise: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = mask.py();
    let mask = args::var(mask)?;
    let inputs = Group::of(inputs, &[])?;
    let form = Cell::new(None);
    let branch = |function, rows: &[Var]| agree(&form, invoke(function, rows, &[])?);
    let results = call::run_attached(py, || {
        let (yes, no) = (|rows: &[Var]| branch(then, rows), |rows: &[Var]| branch(otherwise, rows));
        ops::if_else(&mask, &inputs.refs(), yes, no)
    })?;
    form.get().unwrap_or(Form::Tuple).object(py, &results)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(cond, module)?)?;
    module.add_function(wrap_pyfunction!(while_loop, module)?)?;
    module.add_function(wrap_pyfunction!(scan, module)?)?;
    module.add_function(wrap_pyfunction!(if_else, module)?)
}
