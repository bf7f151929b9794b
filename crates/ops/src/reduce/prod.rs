//! `prod`: the product over axes.

use super::family::{Reduction, over_axes, samples, summed};
use crate::prelude::*;
use crate::scans::cumprod::products_of_others;

/// The product over some axes; over all, if none are named. It is one for no elements. Bools become
/// `i64`. The gradient is exact also where elements are zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(prod(&x, &[0], false)?.to_vec::<f64>()?, [3.0, 8.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn prod(x: &Var, axes: &[i64], keepdims: bool) -> Result<Var> {
    let precision = autocast::full();
    let x = &precision.of(x)?;
    bind1(Prod { axes: axes.to_vec(), keepdims }, &[x])
}

attributes! {
    /// The op behind [`prod`].
    pub struct Prod = "prod" {
        /// The axes; none means all.
        pub axes: Vec<i64>,
        /// Whether the axes stay, with size one.
        pub keepdims: bool,
    }
}

impl Op for Prod {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Analytic
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let dtype = summed(inputs[0].dtype());
        Reduction::new(&self.axes, self.keepdims, inputs[0])?.infer(dtype)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        Reduction::new(&self.axes, self.keepdims, &x.ty())?.eval(kernels::Reduce::Prod, x, &outs[0])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        over_axes(batch, &self.axes, self.keepdims, |axes, keepdims| Prod { axes, keepdims }.into())
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::INPUTS, |p| {
            let op = p.op::<Prod>()?;
            let x = p.x(0);
            let reduction = Reduction::new(&op.axes, op.keepdims, &x.ty())?;
            let others = products_of_others(&reduction.merged(&x)?)?;
            let dy = reduction.with_axes_kept(&p.dy())?;
            grads![p => dy * reduction.unmerged(&others)?]
        })
    }

    fn reduces(&self, input: &Type) -> Option<(kernels::Reduce, SmallVec<[usize; 8]>)> {
        let reduction = Reduction::new(&self.axes, self.keepdims, input).ok()?;
        Some((kernels::Reduce::Prod, reduction.axes))
    }

    fn properties(&self) -> Properties {
        Properties::REDUCTION
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Prod::NAME, Prod::build, || {
    let mut all =
        samples(|axes, keepdims| Prod { axes, keepdims }.into(), |row| row.iter().product());
    let by = |axes: &[i64]| Prod { axes: axes.to_vec(), keepdims: false };
    let zeros = f64s(&[0.0, 2.0, -1.5, 3.0, 0.0, 0.0, 1.0, 0.5, 2.0], &[3, 3]);
    all.extend([
        Sample::new(by(&[0]), [ramp(&[0, 2])]).gives([f64s(&[1.0, 1.0], &[2])]),
        Sample::new(by(&[1]), [zeros.clone()]).gives([f64s(&[0.0, 0.0, 1.0], &[3])]),
        Sample::new(by(&[]), [zeros]).gives([f64s(&[0.0], &[])]),
        Sample::new(by(&[]), [i64s(&[2, -3], &[2])]).gives([i64s(&[-6], &[])]),
        Sample::new(by(&[]), [bools(&[true, false], &[2])]).gives([i64s(&[0], &[])]),
    ]);
    all
});
