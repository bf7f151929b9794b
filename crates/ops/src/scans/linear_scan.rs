//! `linear_scan`: a linear recurrence along an axis.

use super::family::{scanned, shifted};
use crate::prelude::*;

/// The recurrence `h[t] = a[t] * h[t - 1] + b[t]` along an axis, with zero before the first element:
/// what linear state-space models compute. `a` and `b` are floats of one type.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (a, b) = (Var::of(&[9.0, 2.0, 3.0], &[3])?, Var::of(&[1.0, 1.0, 1.0], &[3])?);
/// assert_eq!(linear_scan(&a, &b, 0)?.to_vec::<f64>()?, [1.0, 3.0, 10.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn linear_scan(a: &Var, b: &Var, axis: i64) -> Result<Var> {
    bind1(LinearScan { axis, reverse: false }, &[a, b])
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "linear_scan", text: include_str!("linear_scan.c"), needs: &[] };

attributes! {
    /// The op behind [`linear_scan`].
    pub struct LinearScan = "linear_scan" {
        /// The axis.
        pub axis: i64,
        /// Whether the recurrence runs from the end.
        pub reverse: bool,
    }
}

impl Op for LinearScan {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn takes(&self) -> Takes {
        Takes::Analytic
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        scanned(self.axis, inputs[0])?;
        if inputs[0] != inputs[1] {
            return Err(Error::shape(format!(
                "factors of type {} and terms of type {}",
                inputs[0], inputs[1]
            ))
            .remedy("expand and cast them to one type"));
        }
        match inputs[0].is_inexact() {
            true => Ok(smallvec![*inputs[0]]),
            false => Err(Error::dtype(format!("expected floats, found {}", inputs[0]))),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (a, b) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let axis = axis(self.axis, a.rank())?;
        Ok(smallvec![kernels::linear_scan(a, b, axis, self.reverse)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(LinearScan { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b1).and_outputs(0b1), |p| {
            let &LinearScan { axis, reverse } = p.op()?;
            // The cotangents of `h` run the other way, each through the factor of its successor.
            let back = LinearScan { axis, reverse: !reverse };
            let total = bind1(back, &[&shifted(&p.x(0), axis, !reverse, 0.0)?, &p.dy()])?;
            grads![p => &total * shifted(&p.y(0), axis, reverse, 0.0)?, total]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let sizes = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?.map(Arg::Size);
        let args = [Arg::In(0), Arg::In(1), Arg::Out(0)].into_iter().chain(sizes);
        let args = args.chain([Arg::Int(self.reverse.into())]);
        Native::new(&SOURCE, [inputs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(LinearScan::NAME, LinearScan::build, || {
    let of = |axis, reverse| LinearScan { axis, reverse };
    let a = f64s(&[0.5, 2.0, 0.0, -1.0, 3.0, 0.25], &[2, 3]);
    let b = f64s(&[1.0, -1.0, 0.5, 2.0, 1.5, -0.5], &[2, 3]);
    vec![
        Sample::new(of(1, false), [a.clone(), b.clone()])
            .gives([f64s(&[1.0, 1.0, 0.5, 2.0, 7.5, 1.375], &[2, 3])]),
        Sample::new(of(-1, true), [a.clone(), b.clone()])
            .gives([f64s(&[1.0, 0.0, 0.5, 2.0, 0.0, -0.5], &[2, 3])]),
        Sample::new(of(0, false), [a.clone(), b.clone()])
            .gives([f64s(&[1.0, -1.0, 0.5, 1.0, -1.5, -0.375], &[2, 3])]),
        Sample::new(of(0, false), [f64s(&[], &[0]), f64s(&[], &[0])]).gives([f64s(&[], &[0])]),
        Sample::new(of(0, false), [a.clone(), ramp(&[3, 2])]).refused("factors of type"),
        Sample::new(of(0, false), [i64s(&[1], &[1]), i64s(&[1], &[1])]).refused("expected floats"),
        Sample::new(of(2, false), [a, b]).refused("out of range"),
    ]
});
