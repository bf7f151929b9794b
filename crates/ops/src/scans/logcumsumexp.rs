//! `logcumsumexp`: running logarithms of sums of exponentials.

use super::LinearScan;
use super::family::{scanned, shifted};
use crate::prelude::*;
use crate::reduce::logsumexp::finite_level;
use crate::unary::exp;

/// `log(cumsum(exp(x)))` along an axis, without overflow. As long as all elements are -inf, so is the
/// result, with a gradient of zero. Integers become `f32`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1000.0, 1000.0], &[2])?;
/// assert_eq!(logcumsumexp(&x, 0)?.to_vec::<f64>()?, [1000.0, 1000.0 + 2f64.ln()]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn logcumsumexp(x: &Var, axis: i64) -> Result<Var> {
    bind1(Logcumsumexp { axis, reverse: false }, &[x])
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "logcumsumexp", text: include_str!("logcumsumexp.c"), needs: &[] };

attributes! {
    /// The op behind [`logcumsumexp`].
    pub struct Logcumsumexp = "logcumsumexp" {
        /// The axis.
        pub axis: i64,
        /// Whether the sums run from the end.
        pub reverse: bool,
    }
}

impl Op for Logcumsumexp {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Analytic
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        scanned(self.axis, inputs[0])?;
        match inputs[0].dtype().is_inexact() {
            true => Ok(smallvec![*inputs[0]]),
            false => Ok(smallvec![inputs[0].with_dtype(DType::F32)]),
        }
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let axis = axis(self.axis, x.rank())?;
        let kind = kernels::Scan::LogSumExp;
        Ok(smallvec![kernels::scan(kind, x, axis, self.reverse, outs[0].dtype())?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(Logcumsumexp { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::ALL, |p| {
            let &Logcumsumexp { axis, reverse } = p.op()?;
            let (x, y) = (p.x(0), p.y(0));
            let level = finite_level(&y)?;
            // An element's share of its own sum, and how much of that sum is left in the later ones.
            // The last one has none after it, and is divided by infinity.
            let share = exp(&(x - &level))?;
            let left = exp(&(y - shifted(&level, axis, !reverse, f64::INFINITY)?))?;
            let total = bind1(LinearScan { axis, reverse: !reverse }, &[&left, &p.dy()])?;
            grads![p => share * total]
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let sizes = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?.map(Arg::Size);
        let args = [Arg::As(0, outs[0].dtype()), Arg::Out(0)].into_iter().chain(sizes);
        let args = args.chain([Arg::Int(self.reverse.into())]);
        Native::new(&SOURCE, [outs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Logcumsumexp::NAME, Logcumsumexp::build, || {
    let of = |axis, reverse| Logcumsumexp { axis, reverse };
    let x = ramp(&[2, 3]);
    let rows = x.to_f64s();
    let log = |part: &[f64]| part.iter().map(|x| x.exp()).sum::<f64>().ln();
    let forward: Vec<f64> = rows
        .chunks(3)
        .flat_map(|row| (0..3).map(|i| log(&row[..=i])).collect::<Vec<_>>())
        .collect();
    let back: Vec<f64> =
        rows.chunks(3).flat_map(|row| (0..3).map(|i| log(&row[i..])).collect::<Vec<_>>()).collect();
    vec![
        Sample::new(of(1, false), [x.clone()]).gives([f64s(&forward, &[2, 3])]),
        Sample::new(of(-1, true), [x.clone()]).gives([f64s(&back, &[2, 3])]),
        Sample::new(of(0, false), [f64s(&[12.0, 12.0, -12.0], &[3])])
            .gives([f64s(&[12.0, 12.0 + 2f64.ln(), 12.0 + (2.0 + (-24f64).exp()).ln()], &[3])]),
        Sample::new(of(0, false), [f64s(&[], &[0])]).gives([f64s(&[], &[0])]),
        Sample::new(of(2, false), [x]).refused("out of range"),
    ]
});
