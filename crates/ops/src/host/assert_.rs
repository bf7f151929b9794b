//! `assert_`: a condition that must hold when the program passes it.

use std::sync::Arc;

use super::print::first;
use crate::prelude::*;

/// How many elements of a value an error shows.
const SHOWN: usize = 8;

/// Fails when the op runs if any element of `condition`, a tensor of bools, is false. The error has the
/// message, the user's line and the first elements of `values`. An effect: it stays in a program, though
/// nothing depends on it.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, -2.0], &[2])?;
/// let fault = assert_(&gt(&x, &Var::scalar(0.0))?, "x is positive", &[&x]).unwrap_err();
/// assert!(fault.to_string().contains("x is positive"));
/// assert!(fault.to_string().contains("-2.0"));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn assert_(condition: &Var, message: &str, values: &[&Var]) -> Result<()> {
    let inputs: Vec<&Var> = [condition].into_iter().chain(values.iter().copied()).collect();
    bind(Assert { message: message.into() }, &inputs).map(drop)
}

attributes! {
    /// The op behind [`assert_`].
    pub struct Assert = "assert" {
        /// What should hold.
        pub message: Arc<str>,
    }
}

impl Op for Assert {
    fn arity(&self) -> Arity {
        Arity::AtLeast(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        match inputs[0].dtype().is_bool() && !inputs[0].is_list() {
            true => Ok(smallvec![]),
            false => Err(Error::dtype(format!("a condition is of bools, found {}", inputs[0]))
                .remedy("compare first")),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let condition = inputs[0].tensor()?;
        let holds = condition.to_vec::<bool>()?;
        let failing: Vec<usize> = (0..holds.len()).filter(|&i| !holds[i]).collect();
        if failing.is_empty() {
            return Ok(smallvec![]);
        }
        let mut fault =
            Error::new(ErrorKind::Assertion, format!("assertion failed: {}", self.message));
        if condition.rank() > 0 {
            let place = place(failing[0], condition.dims());
            let (failed, all) = (failing.len(), holds.len());
            fault = fault.note(format!("false at {failed} of {all} places, first at {place:?}"));
        }
        for (i, value) in inputs[1..].iter().enumerate() {
            fault = fault.note(format!("value {i}: {}", shown(value, condition.dims(), &failing)?));
        }
        Err(fault)
    }

    fn grad(&self) -> Grad {
        Grad::Stop
    }

    fn properties(&self) -> Properties {
        Properties::EFFECT
    }
}

/// The position along each axis of element `number`.
fn place(mut number: usize, dims: &[usize]) -> Vec<usize> {
    let mut place = vec![0; dims.len()];
    for (at, &dim) in place.iter_mut().zip(dims).rev() {
        *at = number % dim;
        number /= dim;
    }
    place
}

/// The first elements of a value, and, if it has the sizes of the condition, those that failed.
fn shown(value: &Value, dims: &[usize], failing: &[usize]) -> Result<String> {
    let tensor = match value {
        Value::List(list) => return Ok(format!("{list:?}")),
        Value::Tensor(tensor) => tensor,
    };
    let head = first(tensor, SHOWN);
    if tensor.dims() != dims || dims.is_empty() {
        return Ok(head);
    }
    let rows = tensor.reshape(&[tensor.numel()])?;
    let failing = &failing[..failing.len().min(SHOWN)];
    Ok(format!("{head}, where false: {}", first(&kernels::take_rows(&rows, failing)?, SHOWN)))
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Assert::NAME, Assert::build, || {
    let of = || Assert { message: "all is well".into() };
    vec![
        Sample::new(of(), [bools(&[true, true], &[2]), ramp(&[2])]).gives([]),
        Sample::new(of(), [bools(&[], &[0])]).gives([]),
        Sample::new(of(), [bools(&[false], &[]), ramp(&[2])]).refused("all is well"),
        Sample::new(of(), [bools(&[true, false], &[1, 2]), i64s(&[1, 7], &[1, 2])])
            .refused("first at [0, 1]"),
        Sample::new(of(), [bools(&[true, false], &[2]), i64s(&[1, 7], &[2])])
            .refused("where false: i64[1] [7]"),
        Sample::new(of(), [ramp(&[2])]).refused("a condition is of bools"),
    ]
});
