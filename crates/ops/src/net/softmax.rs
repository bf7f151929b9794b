//! `softmax`: numbers as shares of one.

use super::LogSoftmax;
use crate::prelude::*;
use crate::reading::{self, Reduced, inputs_of, inverse, kept, one_call};
use crate::sum;
use crate::unary::exp::EXP;

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

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "softmax", text: include_str!("softmax.c"), needs: &[] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("softmax.wgsl"),
    args: &["x", "y", "outer", "size", "inner"],
    count: |n| n[2].int().saturating_mul(n[4].int()),
};

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

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(SoftmaxOp { axis })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OUTPUTS, |p| {
            let (y, dy) = (p.y(0), p.dy());
            let total = sum(&(&y * &dy), &[p.op::<SoftmaxOp>()?.axis], true)?;
            grads![p => y * (dy - total)]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let sizes = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?.map(Arg::Size);
        let args = [Arg::In(0), Arg::Out(0)].into_iter().chain(sizes);
        Native::new(&SOURCE, [inputs[0].dtype()], args).with_shader(&SHADER).alone()
    }
}

/// `exp(x) / sum(exp(x))`, with the largest element subtracted before or not; or `exp(log_softmax(x))`.
pub(crate) const FORM: Form =
    Form { name: SoftmaxOp::NAME, ends: &["div", "mul", "exp"], find: spelled };

fn spelled(look: &mut Look<'_>, call: &Call) -> Option<Found> {
    if let Some(&[logs]) = inputs_of(call, EXP.name()) {
        let (op, inputs) = look.op::<LogSoftmax>(logs)?;
        return one_call(SoftmaxOp { axis: op.axis }, &inputs);
    }
    let (powers, axes): Reduced = match inputs_of(call, DIV.name()) {
        Some(&[powers, total]) => {
            kept(look, total, reading::sum).filter(|(source, _)| *source == powers)?
        }
        _ => look.either(inputs_of(call, MUL.name())?, |look, powers, factor| {
            let found = kept(look, factor, |look, factor| {
                let total = inverse(look, factor)?;
                reading::sum(look, total)
            });
            found.filter(|(source, _)| *source == powers)
        })?,
    };
    let exponent = look.input(powers, EXP.name())?;
    let &[axis] = &axes[..] else { return None };
    let x = below_largest(look, exponent, axis).unwrap_or(exponent);
    one_call(SoftmaxOp { axis: axis as i64 }, &[x])
}

/// `x` of `x` less its largest element along the axis.
pub(super) fn below_largest(look: &mut Look<'_>, value: ValueId, axis: usize) -> Option<ValueId> {
    look.attempt(|look| {
        let inputs = look.inputs(value, SUB.name())?;
        let (source, axes) = kept(look, inputs[1], reading::max)?;
        (source == inputs[0] && axes[..] == [axis]).then_some(source)
    })
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
