//! `cholesky`: the triangular root of a positive definite matrix.

use super::matrices::{adjoint, one_by_one, square, symmetric_part};
use super::{matmul, triangular_solve};
use crate::prelude::*;
use crate::tril;

/// The lower triangular `L` with `L L^T = x`, or, if `upper`, the upper triangular `U` with
/// `U^T U = x`, for symmetric positive definite matrices in the last two axes. Transposes of complex
/// matrices have conjugates, here and below.
///
/// Of a matrix that is not symmetric the symmetric part `(x + x^T) / 2` is taken. One that is not
/// positive definite is an error that names it and its pivot.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[4.0, 2.0, 2.0, 5.0], &[2, 2])?;
/// assert_eq!(cholesky(&x, false)?.to_vec::<f64>()?, [2.0, 0.0, 1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn cholesky(x: &Var, upper: bool) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let x = &precision.of(x)?;
    let lower = bind1(Cholesky {}, &[x])?;
    if upper { adjoint(&lower) } else { Ok(lower) }
}

static SOURCE: Source = Source { name: "cholesky", text: include_str!("cholesky.c"), needs: &[] };

attributes! {
    /// The op behind [`cholesky`].
    pub struct Cholesky = "cholesky" {}
}

impl Op for Cholesky {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        square(inputs[0])?;
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![kernels::cholesky(inputs[0].tensor()?)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OUTPUTS, |p| {
            let lower = p.y(0);
            let inner = matmul(&adjoint(&lower)?, &p.dy())?;
            // The lower triangle with half of the diagonal.
            let half = (tril(&inner, 0)? + tril(&inner, -1)?) * 0.5;
            let lower = conj(&lower)?;
            let left = triangular_solve(&lower, &half, false, true, false)?;
            let both = triangular_solve(&lower, &adjoint(&left)?, false, true, false)?;
            grads![p => symmetric_part(&both)]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (n, mut args) = (square(inputs[0])?, one_by_one(inputs[0], 1)?);
        args.extend([Arg::Size(n), kernel::eights(&[n.mul(n)?])?]);
        Native::new(&SOURCE, [inputs[0].dtype()], args).failing().alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Cholesky::NAME, Cholesky::build, || {
    let of = |x: Tensor| Sample::new(Cholesky {}, [x]);
    let (lower, x) = (f64s(&[2.0, 0.0, 1.0, 2.0], &[2, 2]), f64s(&[4.0, 2.0, 2.0, 5.0], &[2, 2]));
    let three = f64s(&[4.0, 2.0, -2.0, 2.0, 10.0, 2.0, -2.0, 2.0, 6.0], &[3, 3]);
    let root = f64s(&[2.0, 0.0, 0.0, 1.0, 3.0, 0.0, -1.0, 1.0, 2.0], &[3, 3]);
    let batch = f64s(&[4.0, 2.0, 2.0, 5.0, 9.0, 3.0, 3.0, 2.0, 1.0, 0.0, 0.0, 1.0], &[3, 2, 2]);
    let roots = f64s(&[2.0, 0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0], &[3, 2, 2]);
    vec![
        of(x).gives([lower]),
        of(three).gives([root]),
        of(batch).gives([roots]),
        of(f64s(&[9.0], &[1, 1])).gives([f64s(&[3.0], &[1, 1])]),
        of(f64s(&[], &[0, 0])).gives([f64s(&[], &[0, 0])]),
        of(f64s(&[1.0, 2.0, 2.0, 1.0], &[2, 2])).refused("pivot 1 is not positive"),
        of(f64s(&[1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 1.0], &[2, 2, 2]))
            .refused("matrix [1] of the batch is not positive definite"),
        of(ramp(&[2, 3])).refused("square"),
        of(ramp(&[3])).refused("expected matrices"),
        of(i64s(&[1], &[1, 1])).refused("expected floats"),
    ]
});
