//! `cumsum`: running sums.

use super::family::scanned;
use crate::prelude::*;
use crate::reduce::family::summed;

/// The sums of the elements along an axis, up to each one. Bools are counted as `i64`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// assert_eq!(cumsum(&x, 0)?.to_vec::<f64>()?, [1.0, 3.0, 6.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn cumsum(x: &Var, axis: i64) -> Result<Var> {
    bind1(Cumsum { axis, reverse: false }, &[x])
}

attributes! {
    /// The op behind [`cumsum`].
    pub struct Cumsum = "cumsum" {
        /// The axis.
        pub axis: i64,
        /// Whether the sums run from the end.
        pub reverse: bool,
    }
}

impl Op for Cumsum {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        scanned(self.axis, inputs[0])?;
        Ok(smallvec![inputs[0].with_dtype(summed(inputs[0].dtype()))])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let axis = axis(self.axis, x.rank())?;
        let sums = kernels::scan(kernels::Scan::Sum, x, axis, self.reverse, outs[0].dtype())?;
        Ok(smallvec![sums.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(Cumsum { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let op = p.op::<Cumsum>()?;
            grads![p => bind1(Cumsum { axis: op.axis, reverse: !op.reverse }, &[&p.dy()])]
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let sizes = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?.map(Arg::Size);
        let settings = [Arg::Int(0), Arg::Int(self.reverse.into())];
        let args =
            [Arg::As(0, outs[0].dtype()), Arg::Out(0)].into_iter().chain(sizes).chain(settings);
        Native::new(&super::family::SCAN, [outs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Cumsum::NAME, Cumsum::build, || {
    let of = |axis, reverse| Cumsum { axis, reverse };
    let x = f64s(&[1.0, -2.0, 3.5, 0.25, 5.0, 6.0], &[2, 3]);
    vec![
        Sample::new(of(1, false), [x.clone()])
            .gives([f64s(&[1.0, -1.0, 2.5, 0.25, 5.25, 11.25], &[2, 3])]),
        Sample::new(of(-1, true), [x.clone()])
            .gives([f64s(&[2.5, 1.5, 3.5, 11.25, 11.0, 6.0], &[2, 3])]),
        Sample::new(of(0, false), [x.clone()])
            .gives([f64s(&[1.0, -2.0, 3.5, 1.25, 3.0, 9.5], &[2, 3])]),
        Sample::new(of(0, false), [bools(&[true, false, true], &[3])])
            .gives([i64s(&[1, 1, 2], &[3])]),
        Sample::new(of(0, false), [f64s(&[], &[0])]).gives([f64s(&[], &[0])]),
        Sample::new(of(2, false), [x]).refused("out of range"),
        Sample::new(of(0, false), [ramp(&[])]).refused("out of range"),
    ]
});
