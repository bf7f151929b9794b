//! `cumprod`: running products.

use super::LinearScan;
use super::family::{scanned, shifted};
use crate::prelude::*;
use crate::reduce::family::summed;

/// The products of the elements along an axis, up to each one. Bools become `i64`. The gradient is
/// exact also where elements are zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// assert_eq!(cumprod(&x, 0)?.to_vec::<f64>()?, [1.0, 2.0, 6.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn cumprod(x: &Var, axis: i64) -> Result<Var> {
    bind1(Cumprod { axis, reverse: false }, &[x])
}

attributes! {
    /// The op behind [`cumprod`].
    pub struct Cumprod = "cumprod" {
        /// The axis.
        pub axis: i64,
        /// Whether the products run from the end.
        pub reverse: bool,
    }
}

/// For each element, the product of the others along the last axis, without division.
#[track_caller]
pub(crate) fn products_of_others(x: &Var) -> Result<Var> {
    let before = bind1(Cumprod { axis: -1, reverse: false }, &[x])?;
    let after = bind1(Cumprod { axis: -1, reverse: true }, &[x])?;
    mul(&shifted(&before, -1, false, 1.0)?, &shifted(&after, -1, true, 1.0)?)
}

impl Op for Cumprod {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Analytic
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        scanned(self.axis, inputs[0])?;
        Ok(smallvec![inputs[0].with_dtype(summed(inputs[0].dtype()))])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let axis = axis(self.axis, x.rank())?;
        let products = kernels::scan(kernels::Scan::Prod, x, axis, self.reverse, outs[0].dtype())?;
        Ok(smallvec![products.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(Cumprod { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::ALL, |p| {
            let &Cumprod { axis, reverse } = p.op()?;
            // The product of the elements before one, times the sum over the later products of the
            // elements after it: a recurrence that runs the other way.
            let before = shifted(&p.y(0), axis, reverse, 1.0)?;
            let factors = shifted(&p.x(0), axis, !reverse, 0.0)?;
            let after = bind1(LinearScan { axis, reverse: !reverse }, &[&factors, &p.dy()])?;
            grads![p => before * after]
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let sizes = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?.map(Arg::Size);
        let settings = [Arg::Int(1), Arg::Int(self.reverse.into())];
        let args =
            [Arg::As(0, outs[0].dtype()), Arg::Out(0)].into_iter().chain(sizes).chain(settings);
        Native::new(&super::family::SCAN, [outs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Cumprod::NAME, Cumprod::build, || {
    let of = |axis, reverse| Cumprod { axis, reverse };
    let x = f64s(&[2.0, -1.5, 3.0, 0.0, 5.0, 0.0], &[2, 3]);
    vec![
        Sample::new(of(1, false), [x.clone()])
            .gives([f64s(&[2.0, -3.0, -9.0, 0.0, 0.0, 0.0], &[2, 3])]),
        Sample::new(of(-1, true), [x.clone()])
            .gives([f64s(&[-9.0, -4.5, 3.0, 0.0, 0.0, 0.0], &[2, 3])]),
        Sample::new(of(0, false), [x.clone()])
            .gives([f64s(&[2.0, -1.5, 3.0, 0.0, -7.5, 0.0], &[2, 3])]),
        Sample::new(of(0, false), [i64s(&[2, 3, 4], &[3])]).gives([i64s(&[2, 6, 24], &[3])]),
        Sample::new(of(0, false), [f64s(&[], &[0])]).gives([f64s(&[], &[0])]),
        Sample::new(of(2, false), [x]).refused("out of range"),
    ]
});
