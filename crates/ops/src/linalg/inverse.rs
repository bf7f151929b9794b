//! `inverse`: the inverse of a matrix.

use super::matmul;
use super::matrices::{one_by_one, square, transposed};
use super::solve::LU;
use crate::prelude::*;

/// The inverses of the matrices in the last two axes. A singular one is an error that names it and
/// its pivot. To solve equations, [`solve`](crate::solve) is faster and more exact.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[0.0, 2.0, 4.0, 0.0], &[2, 2])?;
/// assert_eq!(inverse(&x)?.to_vec::<f64>()?, [0.0, 0.25, 0.5, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn inverse(x: &Var) -> Result<Var> {
    let precision = autocast::full();
    let x = &precision.of(x)?;
    bind1(Inverse { singular: false }, &[x])
}

/// The same for gradient rules: a singular matrix has NaN for an inverse.
#[track_caller]
pub(super) fn inverse_or_nan(x: &Var) -> Result<Var> {
    bind1(Inverse { singular: true }, &[x])
}

static SOURCE: Source = Source { name: "inverse", text: include_str!("inverse.c"), needs: &[&LU] };

attributes! {
    /// The op behind [`inverse`].
    pub struct Inverse = "inverse" {
        /// Whether singular matrices are not an error, but give NaN.
        pub singular: bool,
    }
}

impl Op for Inverse {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Analytic
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        square(inputs[0])?;
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![kernels::inverse(inputs[0].tensor()?, self.singular)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OUTPUTS, |p| {
            let turned = transposed(&p.y(0))?;
            grads![p => neg(&matmul(&matmul(&turned, &p.dy())?, &turned)?)]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (n, mut args) = (square(inputs[0])?, one_by_one(inputs[0], 1)?);
        args.extend([
            Arg::Size(n),
            Arg::Int(self.singular.into()),
            kernel::eights(&[n.mul(n)?, n, n])?,
        ]);
        Native::new(&SOURCE, [inputs[0].dtype()], args).failing().alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Inverse::NAME, Inverse::build, || {
    let of = |x: Tensor| Sample::new(Inverse { singular: false }, [x]);
    vec![
        of(f64s(&[2.0, 1.0, 1.0, 1.0], &[2, 2])).gives([f64s(&[1.0, -1.0, -1.0, 2.0], &[2, 2])]),
        of(f64s(&[0.0, 2.0, 4.0, 0.0, 1.0, 0.5, 0.0, 1.0], &[2, 2, 2]))
            .gives([f64s(&[0.0, 0.25, 0.5, 0.0, 1.0, -0.5, 0.0, 1.0], &[2, 2, 2])]),
        of(f64s(&[-4.0], &[1, 1])).gives([f64s(&[-0.25], &[1, 1])]),
        of(f64s(&[], &[0, 0])).gives([f64s(&[], &[0, 0])]),
        Sample::new(Inverse { singular: true }, [f64s(&[2.0, 0.0, 1.0, 4.0], &[2, 2])])
            .gives([f64s(&[0.5, 0.0, -0.125, 0.25], &[2, 2])]),
        of(f64s(&[0.0], &[1, 1])).refused("singular: pivot 0 is zero"),
        of(ramp(&[2, 3])).refused("square"),
        of(ramp(&[2])).refused("expected matrices"),
    ]
});
