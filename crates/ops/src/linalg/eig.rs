//! `eig`: eigenvalues and eigenvectors of any square matrices.

use super::eigh::{gaps, of_held};
use super::inverse::inverse_or_nan;
use super::matmul;
use super::matrices::{adjoint, as_rows, square, with_matrix};
use crate::prelude::*;
use crate::{diag_embed, diagonal};

/// The eigenvalues of the square matrices in the last two axes, in no order, and their eigenvectors, of length one: the
/// columns of the second result. Both are complex, also those of real matrices.
///
/// The first of the large components of a vector is real and positive. The gradient of the vectors exists only where the
/// eigenvalues differ; that of the values, where there are as many independent vectors as rows; else it is infinite or
/// NaN. Of symmetric matrices, and Hermitian ones, [`eigh`](crate::eigh) is faster and more exact.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (values, _) = eig(&Var::of(&[0.0, -1.0, 1.0, 0.0], &[2, 2])?)?;
/// // The squares of both values are -1.
/// let off = max(&abs(&(&square(&values)? + 1.0))?, &[], false)?;
/// assert!(off.item::<f64>()? < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn eig(x: &Var) -> Result<(Var, Var)> {
    let precision = autocast::full();
    let x = &precision.of(x)?;
    let mut outputs = bind(Eig {}, &[x])?;
    match (outputs.pop(), outputs.pop()) {
        (Some(vectors), Some(values)) => Ok((values, vectors)),
        _ => Err(Error::internal("`eig` has two outputs")),
    }
}

attributes! {
    /// The op behind [`eig`].
    pub struct Eig = "eig" {}
}

impl Op for Eig {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let n = square(inputs[0])?;
        let vectors = inputs[0].with_dtype(inputs[0].dtype().complex());
        Ok(smallvec![with_matrix(&vectors, &[n])?, vectors])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (values, vectors) = kernels::eig(inputs[0].tensor()?)?;
        Ok(smallvec![values.into(), vectors.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OUTPUTS, |p| {
            let (values, vectors) = (p.y(0), p.y(1));
            let turned = adjoint(&vectors)?;
            let of_values = |dw: &Var| diag_embed(dw, 0, -2, -1);
            let of_vectors = |dv: &Var| {
                let along = matmul(&turned, &of_held(&vectors, dv)?)?;
                // A vector stays as long as it is.
                let longer = real(&diagonal(&along, 0, -2, -1)?)?;
                let kept = sub(&along, &mul(&matmul(&turned, &vectors)?, &as_rows(&longer)?)?)?;
                div(&super::eigh::off_diagonal(&kept)?, &conj(&gaps(&values)?)?)
            };
            let inner = match (&p.dys()[0], &p.dys()[1]) {
                (Some(dw), Some(dv)) => add(&of_values(dw)?, &of_vectors(dv)?)?,
                (Some(dw), None) => of_values(dw)?,
                (None, Some(dv)) => of_vectors(dv)?,
                (None, None) => return Err(Error::internal("a rule is asked with a cotangent")),
            };
            grads![p => matmul(&matmul(&inverse_or_nan(&turned)?, &inner)?, &turned)]
        })
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Eig::NAME, Eig::build, || {
    let of = |x: Tensor| Sample::new(Eig {}, [x]);
    let complex = |parts: &[f64], dims: &[usize]| {
        let numbers = parts.iter().map(|&x| Complex::new(x, 0.0)).collect();
        Tensor::from_vec(numbers, dims).expect("a sample's sizes fit its elements")
    };
    vec![
        of(f64s(&[-4.0], &[1, 1])).gives([complex(&[-4.0], &[1]), complex(&[1.0], &[1, 1])]),
        of(f64s(&[2.0, 0.5, -1.0, 0.25, 1.0, 0.75, -0.5, 1.0, -1.5], &[3, 3])),
        of(f64s(&[1.0, -2.0, 0.5, 1.0, -1.0, 0.25, 0.75, 1.0], &[2, 2, 2])),
        of(f64s(&[], &[0, 0])).gives([complex(&[], &[0]), complex(&[], &[0, 0])]),
        of(f64s(&[f64::NAN], &[1, 1])).refused("not a number"),
        of(ramp(&[2, 3])).refused("square"),
        of(ramp(&[2])).refused("expected matrices"),
        of(i64s(&[1], &[1, 1])).refused("expected floats"),
    ]
});
