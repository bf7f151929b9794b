//! `assert_`: a condition that must hold when the program passes it.

use std::fmt;
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
    bind(Assert { message: message.into(), raises: None, args: vec![] }, &inputs).map(drop)
}

/// An exception of the host's language that a program raises: the source of the error.
#[derive(Clone, Debug, Default)]
pub struct Raised {
    /// What to tell people.
    pub message: Arc<str>,
    /// The host's name of the class.
    pub class: Arc<str>,
    /// What the exception is made with, in the host's words.
    pub args: Vec<Arc<str>>,
    /// Tensors that belong to these words.
    pub values: Vec<Value>,
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.message)
    }
}

impl std::error::Error for Raised {}

static SOURCE: Source = Source { name: "assert", text: include_str!("assert.c"), needs: &[] };

attributes! {
    /// The op behind [`assert_`].
    pub struct Assert = "assert" {
        /// What should hold.
        pub message: Arc<str>,
        /// If a statement of the host's language raises an exception here: the host's name of its class.
        pub raises: Option<Arc<str>>,
        /// What that exception is made with, in the host's words.
        pub args: Vec<Arc<str>>,
    }
}

impl Assert {
    /// Fails when the op runs, unless `condition` holds, as a statement of the host's language would that raises an
    /// exception: the error's source is [`Raised`], from which the host makes the exception again.
    #[track_caller]
    pub fn raise_unless(condition: &Var, raised: Raised, values: &[&Var]) -> Result<()> {
        let inputs: Vec<&Var> = [condition].into_iter().chain(values.iter().copied()).collect();
        let Raised { message, class, args, .. } = raised;
        bind(Assert { message, raises: Some(class), args }, &inputs).map(drop)
    }

    fn raised(&self, class: &Arc<str>, values: &[&Value]) -> Error {
        let raised = Raised {
            message: self.message.clone(),
            class: class.clone(),
            args: self.args.clone(),
            values: values.iter().map(|&value| value.clone()).collect(),
        };
        Error::new(ErrorKind::Assertion, raised.to_string()).source_error(Box::new(raised))
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
        let mut fault = match &self.raises {
            Some(class) => self.raised(class, &inputs[1..]),
            None => Error::new(ErrorKind::Assertion, format!("assertion failed: {}", self.message)),
        };
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

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Assertion))
    }

    fn grad(&self) -> Grad {
        Grad::Stop
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let what = match &self.raises {
            Some(class) => format!("{class}: {}", self.message),
            None => format!("assertion failed: {}", self.message),
        };
        let count = Arg::Size(kernel::count(inputs[0].dims())?);
        let args = [Arg::In(0), count, Arg::Text(what.into())];
        Native::new(&SOURCE, [inputs[0].dtype()], args).failing().alone()
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
        Value::Channel(channel) => return Ok(format!("{channel:?}")),
        Value::Tensor(_) | Value::Device(_) => value.tensor()?,
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
    let of = || Assert { message: "all is well".into(), raises: None, args: vec![] };
    let raising =
        Assert { raises: Some("builtins:ValueError".into()), args: vec!["x".into()], ..of() };
    vec![
        Sample::new(raising, [bools(&[false], &[])]).refused("builtins:ValueError: all is well"),
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
