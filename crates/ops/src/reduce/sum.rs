//! `sum`: the sum over axes.

use super::family::{Reduction, over_axes, samples, summed};
use crate::prelude::*;

/// The sum over some axes; over all, if none are named. Bools are counted as `i64`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(sum(&x, &[0], false)?.to_vec::<f64>()?, [4.0, 6.0]);
/// assert_eq!(sum(&x, &[], false)?.item::<f64>()?, 10.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sum(x: &Var, axes: &[i64], keepdims: bool) -> Result<Var> {
    bind1(Sum { axes: axes.to_vec(), keepdims }, &[x])
}

attributes! {
    /// The op behind [`sum`].
    pub struct Sum = "sum" {
        /// The axes; none means all.
        pub axes: Vec<i64>,
        /// Whether the axes stay, with size one.
        pub keepdims: bool,
    }
}

impl Op for Sum {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let dtype = summed(inputs[0].dtype());
        Reduction::new(&self.axes, self.keepdims, inputs[0])?.infer(dtype)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        Reduction::new(&self.axes, self.keepdims, &x.ty())?.eval(kernels::Reduce::Sum, x, &outs[0])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        over_axes(batch, &self.axes, self.keepdims, |axes, keepdims| Sum { axes, keepdims }.into())
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let op = p.op::<Sum>()?;
            let ty = p.in_type(0)?;
            let reduction = Reduction::new(&op.axes, op.keepdims, &ty)?;
            grads![p => expand(&reduction.with_axes_kept(&p.dy())?, ty.dims())]
        })
    }

    fn reduces(&self, input: &Type) -> Option<(kernels::Reduce, SmallVec<[usize; 8]>)> {
        let reduction = Reduction::new(&self.axes, self.keepdims, input).ok()?;
        Some((kernels::Reduce::Sum, reduction.axes))
    }

    fn properties(&self) -> Properties {
        Properties::REDUCTION
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Sum::NAME, Sum::build, || {
    let mut all = samples(|axes, keepdims| Sum { axes, keepdims }.into(), |row| row.iter().sum());
    let by = |axes: &[i64]| Sum { axes: axes.to_vec(), keepdims: false };
    all.push(Sample::new(by(&[0]), [ramp(&[0, 2])]).gives([f64s(&[0.0, 0.0], &[2])]));
    all.push(Sample::new(by(&[]), [bools(&[true, false, true], &[3])]).gives([i64s(&[2], &[])]));
    all
});
