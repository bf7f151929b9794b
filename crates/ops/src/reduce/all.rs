//! `all`: whether all elements hold.

use super::family::{Reduction, over_axes};
use crate::prelude::*;

/// Whether all elements over some axes are true, or not zero; over all axes, if none are named. For no
/// elements it is `true`. NaN counts as true.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[true, true, false, true], &[2, 2])?;
/// assert_eq!(all(&x, &[1], false)?.to_vec::<bool>()?, [true, false]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn all(x: &Var, axes: &[i64], keepdims: bool) -> Result<Var> {
    bind1(All { axes: axes.to_vec(), keepdims }, &[x])
}

attributes! {
    /// The op behind [`all`].
    pub struct All = "all" {
        /// The axes; none means all.
        pub axes: Vec<i64>,
        /// Whether the axes stay, with size one.
        pub keepdims: bool,
    }
}

impl Op for All {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Reduction::new(&self.axes, self.keepdims, inputs[0])?.infer(DType::Bool)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        Reduction::new(&self.axes, self.keepdims, &x.ty())?.eval(kernels::Reduce::All, x, &outs[0])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        over_axes(batch, &self.axes, self.keepdims, |axes, keepdims| All { axes, keepdims }.into())
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }

    fn properties(&self) -> Properties {
        Properties::REDUCTION
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let axes = Reduction::new(&self.axes, self.keepdims, inputs[0])?.axes;
        Ok(Some(Kernel::Reduce { of: None, kind: kernels::Reduce::All, axes }))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(All::NAME, All::build, || {
    let by = |axes: &[i64], keepdims| All { axes: axes.to_vec(), keepdims };
    let x = f64s(&[0.0, 0.5, f64::NAN, 0.0, -1.0, 0.0], &[2, 3]);
    vec![
        Sample::new(by(&[0], false), [x.clone()]).gives([bools(&[false, true, false], &[3])]),
        Sample::new(by(&[-1], true), [x.clone()]).gives([bools(&[false, false], &[2, 1])]),
        Sample::new(by(&[], false), [x.clone()]).gives([bools(&[false], &[])]),
        Sample::new(by(&[], false), [bools(&[true], &[])]).gives([bools(&[true], &[])]),
        Sample::new(by(&[1], false), [i64s(&[0, 3, 0, 0], &[2, 2])])
            .gives([bools(&[false, false], &[2])]),
        Sample::new(by(&[0], false), [ramp(&[0, 2])]).gives([bools(&[true; 2], &[2])]),
        Sample::new(by(&[2], false), [x]).refused("out of range"),
    ]
});
