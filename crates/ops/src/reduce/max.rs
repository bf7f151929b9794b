//! `max`: the greatest element over axes.

use super::family::{Reduction, over_axes, samples};
use crate::prelude::*;

/// The greatest element over some axes; over all, if none are named. NaN if there is one. Equal
/// greatest elements share the gradient.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 4.0, 3.0, 2.0], &[2, 2])?;
/// assert_eq!(max(&x, &[1], false)?.to_vec::<f64>()?, [4.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn max(x: &Var, axes: &[i64], keepdims: bool) -> Result<Var> {
    bind1(Max { axes: axes.to_vec(), keepdims }, &[x])
}

attributes! {
    /// The op behind [`max`].
    pub struct Max = "max" {
        /// The axes; none means all.
        pub axes: Vec<i64>,
        /// Whether the axes stay, with size one.
        pub keepdims: bool,
    }
}

impl Op for Max {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let reduction = Reduction::new(&self.axes, self.keepdims, inputs[0])?;
        reduction.not_empty("greatest")?;
        reduction.infer(inputs[0].dtype())
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        Reduction::new(&self.axes, self.keepdims, &x.ty())?.eval(kernels::Reduce::Max, x, &outs[0])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        over_axes(batch, &self.axes, self.keepdims, |axes, keepdims| Max { axes, keepdims }.into())
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::ALL, |p| {
            let op = p.op::<Max>()?;
            let x = p.x(0);
            let reduction = Reduction::new(&op.axes, op.keepdims, &x.ty())?;
            grads![p => reduction.shared(&x, &p.y(0), &p.dy())]
        })
    }

    fn reduces(&self, input: &Type) -> Option<(kernels::Reduce, SmallVec<[usize; 8]>)> {
        let reduction = Reduction::new(&self.axes, self.keepdims, input).ok()?;
        Some((kernels::Reduce::Max, reduction.axes))
    }

    fn properties(&self) -> Properties {
        Properties::REDUCTION
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Max::NAME, Max::build, || {
    let greatest: fn(&[f64]) -> f64 = |row| row.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
    let mut all = samples(|axes, keepdims| Max { axes, keepdims }.into(), greatest);
    let by = Max { axes: vec![0], keepdims: false };
    all.push(Sample::new(by.clone(), [ramp(&[0, 2])]).refused("no elements"));
    all.push(Sample::new(by.clone(), [ramp(&[2, 0])]).gives([f64s(&[], &[0])]));
    all.push(Sample::new(by.clone(), [i64s(&[3, -4], &[2])]).gives([i64s(&[3], &[])]));
    all.push(Sample::new(by, [bools(&[true, false], &[2])]).gives([bools(&[true], &[])]));
    all
});
