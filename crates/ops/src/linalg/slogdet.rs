//! `slogdet`: sign and logarithm of the determinant.

use super::inverse::inverse_or_nan;
use super::matrices::{adjoint, one_by_one, square, with_ones};
use super::solve::LU;
use crate::prelude::*;

/// The signs of the determinants of the matrices in the last two axes, and the logarithms of their
/// absolute values: `0` and `-inf` for a singular matrix, whose gradient is NaN. The sign of a complex
/// number is that of size one in its direction.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (sign, log) = slogdet(&Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?)?;
/// assert_eq!(sign.item::<f64>()?, -1.0);
/// assert!((log.item::<f64>()? - 2.0f64.ln()).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn slogdet(x: &Var) -> Result<(Var, Var)> {
    let precision = autocast::full();
    let x = &precision.of(x)?;
    let mut outputs = bind(Slogdet {}, &[x])?;
    match (outputs.pop(), outputs.pop()) {
        (Some(log), Some(sign)) => Ok((sign, log)),
        _ => Err(Error::internal("`slogdet` has two outputs")),
    }
}

static SOURCE: Source = Source { name: "slogdet", text: include_str!("slogdet.c"), needs: &[&LU] };

attributes! {
    /// The op behind [`slogdet`].
    pub struct Slogdet = "slogdet" {}
}

impl Op for Slogdet {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        square(inputs[0])?;
        let one = inputs[0].with_dims(&inputs[0].dims()[..inputs[0].rank() - 2])?;
        Ok(smallvec![one, one.with_dtype(one.dtype().real())])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (sign, log) = kernels::slogdet(inputs[0].tensor()?)?;
        Ok(smallvec![sign.into(), log.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b1).and_outputs(0b1), |p| {
            let (x, sign) = (p.x(0), p.y(0));
            // The sign of real numbers is constant wherever there is a gradient; that of complex ones turns.
            let turn = |ds: &Var| mul(&imag(&mul(&conj(&sign)?, ds)?)?, &sign.imaginary_unit());
            let of_sign = p.dys()[0].as_ref().filter(|_| x.dtype().is_complex()).map(turn);
            let of_sign = of_sign.transpose()?;
            let slope = match (&p.dys()[1], of_sign) {
                (Some(dlog), Some(of_sign)) => dlog + of_sign,
                (Some(dlog), None) => dlog.clone(),
                (None, Some(of_sign)) => of_sign,
                (None, None) => return grads![p => zeros_like(&x)],
            };
            grads![p => with_ones(&slope, 2)? * adjoint(&inverse_or_nan(&x)?)?]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (n, mut args) = (square(inputs[0])?, one_by_one(inputs[0], 2)?);
        args.extend([Arg::Size(n), kernel::eights(&[n.mul(n)?, n])?]);
        Native::new(&SOURCE, [inputs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Slogdet::NAME, Slogdet::build, || {
    let of = |x: Tensor| Sample::new(Slogdet {}, [x]);
    let log = |x: f64| x.ln();
    vec![
        of(f64s(&[1.0, 2.0, 3.0, 4.0], &[2, 2]))
            .gives([f64s(&[-1.0], &[]), f64s(&[log(2.0)], &[])]),
        of(f64s(&[0.0, 2.0, 4.0, 0.0, 1.0, 0.5, 0.0, 1.0], &[2, 2, 2]))
            .gives([f64s(&[-1.0, 1.0], &[2]), f64s(&[log(8.0), 0.0], &[2])]),
        of(f64s(&[-4.0], &[1, 1])).gives([f64s(&[-1.0], &[]), f64s(&[log(4.0)], &[])]),
        of(ramp(&[2, 3])).refused("square"),
        of(ramp(&[2])).refused("expected matrices"),
    ]
});
