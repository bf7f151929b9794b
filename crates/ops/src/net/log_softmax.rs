//! `log_softmax`: the logarithm of softmax.

use super::SoftmaxOp;
use super::softmax::{below_largest, is_normalisable};
use crate::prelude::*;
use crate::reading::{self, Reduced, inputs_of, kept, one_call};
use crate::reduce::{Logsumexp, Reduction};
use crate::unary::exp::EXP;
use crate::unary::log::LOG;
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

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "log_softmax", text: include_str!("log_softmax.c"), needs: &[] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("log_softmax.wgsl"),
    args: &["x", "y", "outer", "size", "inner"],
    count: |n| n[2].int().saturating_mul(n[4].int()),
};

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

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(LogSoftmax { axis })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OUTPUTS, |p| {
            let dy = p.dy();
            let total = sum(&dy, &[p.op::<LogSoftmax>()?.axis], true)?;
            grads![p => dy - exp(&p.y(0))? * total]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let sizes = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?.map(Arg::Size);
        let args = [Arg::In(0), Arg::Out(0)].into_iter().chain(sizes);
        Native::new(&SOURCE, [inputs[0].dtype()], args).with_shader(&SHADER).alone()
    }
}

/// `x - logsumexp(x)`, also with that as `log(sum(exp(x)))` and the largest element subtracted before; or
/// `log(softmax(x))`.
pub(crate) const FORM: Form = Form { name: LogSoftmax::NAME, ends: &["sub", "log"], find: spelled };

fn spelled(look: &mut Look<'_>, call: &Call) -> Option<Found> {
    if let Some(&[shares]) = inputs_of(call, LOG.name()) {
        let (op, inputs) = look.op::<SoftmaxOp>(shares)?;
        return one_call(LogSoftmax { axis: op.axis }, &inputs);
    }
    let &[x, level] = inputs_of(call, SUB.name())? else { return None };
    let found = kept(look, level, |look, level| {
        let (op, inputs) = look.op::<Logsumexp>(level)?;
        let axes = Reduction::new(&op.axes, op.keepdims, look.ty(inputs[0])).ok()?.axes;
        Some((inputs[0], axes))
    });
    let found = found.or_else(|| kept(look, level, log_of_sum));
    if let Some((source, axes)) = found.filter(|(source, _)| *source == x) {
        let &[axis] = &axes[..] else { return None };
        let x = below_largest(look, source, axis).unwrap_or(source);
        return one_call(LogSoftmax { axis: axis as i64 }, &[x]);
    }
    let parts = look.inputs(level, ADD.name())?;
    let axis = look.either(&parts, |look, largest, logs| {
        let (source, axes) = kept(look, largest, reading::max)?;
        let &[axis] = &axes[..] else { return None };
        let (distance, summed) = kept(look, logs, log_of_sum)?;
        let same = below_largest(look, distance, axis)? == x;
        (source == x && same && summed == axes).then_some(axis)
    })?;
    one_call(LogSoftmax { axis: axis as i64 }, &[x])
}

/// `x` of `log(sum(exp(x)))`, and the axes.
fn log_of_sum(look: &mut Look<'_>, value: ValueId) -> Option<Reduced> {
    let total = look.input(value, LOG.name())?;
    let total = reading::unshaped(look, total);
    let (powers, axes) = reading::sum(look, total)?;
    Some((look.input(powers, EXP.name())?, axes))
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
