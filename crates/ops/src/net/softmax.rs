//! `softmax`: numbers as shares of one.

use crate::prelude::*;
use crate::sum;

/// `exp(x) / sum(exp(x))` along an axis: positive numbers that add up to one. Nothing overflows. As in
/// PyTorch, NaN, positive infinity, or nothing but negative infinity along the axis gives NaN there.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1000.0, 1000.0], &[2])?;
/// assert_eq!(softmax(&x, -1)?.to_vec::<f64>()?, [0.5, 0.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn softmax(x: &Var, axis: i64) -> Result<Var> {
    bind1(SoftmaxOp { axis }, &[x])
}

attributes! {
    /// The op behind [`softmax`].
    pub struct SoftmaxOp = "softmax" {
        /// The axis.
        pub axis: i64,
    }
}

/// Refuses what cannot be normalised along the axis.
pub(super) fn is_normalisable(named: i64, x: &Type) -> Result<()> {
    if !x.is_float() || x.is_list() {
        return Err(Error::dtype("only floats are normalised").remedy("cast to a float type first"));
    }
    axis(named, x.rank()).map(drop)
}

impl Op for SoftmaxOp {
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
        Ok(smallvec![kernels::softmax(kernels::Softmax::Plain, x, axis)?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OUTPUTS, |p| {
            let (y, dy) = (p.y(0), p.dy());
            let total = sum(&(&y * &dy), &[p.op::<SoftmaxOp>()?.axis], true)?;
            grads![p => y * (dy - total)]
        })
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(SoftmaxOp::NAME, SoftmaxOp::build, || {
    let x = f64s(&[0.0, 2f64.ln(), 5f64.ln(), 1.0, 1.0, 1.0], &[2, 3]);
    let third = 1.0 / 3.0;
    let rows = f64s(&[0.125, 0.25, 0.625, third, third, third], &[2, 3]);
    let columns = x.transpose(0, 1).and_then(|x| x.contiguous()).expect("a matrix");
    vec![
        Sample::new(SoftmaxOp { axis: 1 }, [x.clone()]).gives([rows.clone()]),
        Sample::new(SoftmaxOp { axis: -2 }, [columns])
            .gives([rows.transpose(0, 1).expect("a matrix")]),
        Sample::new(SoftmaxOp { axis: 1 }, [ramp(&[2, 3, 2])]),
        Sample::new(SoftmaxOp { axis: 0 }, [f64s(&[1e3, 1e3], &[2])])
            .gives([f64s(&[0.5; 2], &[2])]),
        Sample::new(SoftmaxOp { axis: 0 }, [f64s(&[], &[0])]).gives([f64s(&[], &[0])]),
        Sample::new(SoftmaxOp { axis: 2 }, [x]).refused("out of range"),
        Sample::new(SoftmaxOp { axis: 0 }, [f64s(&[1.0], &[])]).refused("out of range"),
        Sample::new(SoftmaxOp { axis: 0 }, [i64s(&[1], &[1])]).refused("only floats"),
    ]
});
