//! `log_softmax`: the logarithm of softmax.

use super::softmax::is_normalisable;
use crate::prelude::*;
use crate::{exp, sum};

/// `x - log(sum(exp(x)))` along an axis: the logarithm of [`softmax`](super::softmax()), exact also where
/// that is so small that it rounds to zero. NaN where softmax is NaN.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[0.0, 1000.0], &[2])?;
/// assert_eq!(log_softmax(&x, -1)?.to_vec::<f64>()?, [-1000.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn log_softmax(x: &Var, axis: i64) -> Result<Var> {
    bind1(LogSoftmax { axis }, &[x])
}

attributes! {
    /// The op behind [`log_softmax`].
    pub struct LogSoftmax = "log_softmax" {
        /// The axis.
        pub axis: i64,
    }
}

impl Op for LogSoftmax {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_normalisable(self.axis, inputs[0])?;
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let axis = axis(self.axis, x.rank())?;
        Ok(smallvec![kernels::softmax(kernels::Softmax::Log, x, axis)?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OUTPUTS, |p| {
            let dy = p.dy();
            let total = sum(&dy, &[p.op::<LogSoftmax>()?.axis], true)?;
            grads![p => dy - exp(&p.y(0))? * total]
        })
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(LogSoftmax::NAME, LogSoftmax::build, || {
    let x = f64s(&[0.0, 2f64.ln(), 5f64.ln(), 1.0, 1.0, 1.0], &[2, 3]);
    let logs: Vec<f64> =
        [8.0, 4.0, 1.6, 3.0, 3.0, 3.0].iter().map(|share: &f64| -share.ln()).collect();
    vec![
        Sample::new(LogSoftmax { axis: -1 }, [x.clone()]).gives([f64s(&logs, &[2, 3])]),
        Sample::new(LogSoftmax { axis: 1 }, [ramp(&[2, 3, 2])]),
        Sample::new(LogSoftmax { axis: 0 }, [f64s(&[0.0, 1e3], &[2])])
            .gives([f64s(&[-1e3, 0.0], &[2])]),
        Sample::new(LogSoftmax { axis: 0 }, [f64s(&[], &[0])]).gives([f64s(&[], &[0])]),
        Sample::new(LogSoftmax { axis: -3 }, [x]).refused("out of range"),
        Sample::new(LogSoftmax { axis: 0 }, [bools(&[true], &[1])]).refused("only floats"),
    ]
});
