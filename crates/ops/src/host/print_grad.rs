//! `print_grad`: shows the gradient of a value when it passes.

use std::sync::Arc;

use super::print::{Print, PrintOptions};
use crate::prelude::*;

/// Passes the value on, and writes its gradient with a message, as [`print`](super::print()) does, whenever
/// that passes here.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::scalar(3.0f64).track()?;
/// let y = print_grad(&x, "dx", PrintOptions::default())? * 2.0;
/// y.backward()?; // Prints `dx: f64[] 2.0`.
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn print_grad(x: &Var, message: &str, options: PrintOptions) -> Result<Var> {
    let Print { message, first_n, summarize, plain, site } = Print::new(message, &options);
    bind1(PrintGrad { message, first_n, summarize, plain, site }, &[x])
}

attributes! {
    /// The op behind [`print_grad`].
    pub struct PrintGrad = "print_grad" {
        /// What stands before the gradient.
        pub message: Arc<str>,
        /// How often it prints at most.
        pub first_n: Option<usize>,
        /// How many elements it shows at most.
        pub summarize: Option<usize>,
        /// Whether it leaves the type out.
        pub plain: Option<bool>,
        /// The line whose prints are counted.
        pub site: Option<Arc<str>>,
    }
}

impl Op for PrintGrad {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        match inputs[0].is_float() {
            true => Ok(smallvec![*inputs[0]]),
            false => Err(Error::dtype("only floats have gradients")),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![inputs[0].clone()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let PrintGrad { message, first_n, summarize, plain, site } =
                p.op::<PrintGrad>()?.clone();
            grads![p => bind1(Print { message, first_n, summarize, plain, site }, &[&p.dy()])]
        })
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        Ok(Some(Kernel::Same(0)))
    }

    fn properties(&self) -> Properties {
        Properties::VIEW
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(PrintGrad::NAME, PrintGrad::build, || {
    let x = ramp(&[2, 3]);
    let of = || PrintGrad {
        message: "dx".into(),
        first_n: None,
        summarize: Some(2),
        plain: None,
        site: None,
    };
    vec![
        Sample::new(of(), [x.clone()]).gives([x]),
        Sample::new(of(), [i64s(&[1], &[1])]).refused("only floats"),
    ]
});
