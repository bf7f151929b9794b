//! `eigh`: eigenvalues and eigenvectors of symmetric matrices.

use super::matmul;
use super::matrices::{
    adjoint, as_rows, held, one_by_one, square, symmetric_part, turn, with_matrix, with_ones,
};
use crate::prelude::*;
use crate::{eye, tril, triu};

/// The eigenvalues of the symmetric matrices in the last two axes, from the least to the greatest,
/// and their eigenvectors, the columns of the second result.
///
/// Of a matrix that is not symmetric the symmetric part `(x + x^T) / 2` is taken, of a complex one the Hermitian part,
/// with the conjugate. Eigenvectors are unique only up to their signs, complex ones up to their directions: here the
/// first of the large components is real and positive. The gradient of the vectors exists only where the eigenvalues
/// differ; else it is infinite or NaN.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (values, vectors) = eigh(&Var::of(&[3.0, 0.0, 0.0, 1.0], &[2, 2])?)?;
/// assert_eq!(values.to_vec::<f64>()?, [1.0, 3.0]);
/// assert_eq!(vectors.to_vec::<f64>()?, [0.0, 1.0, 1.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn eigh(x: &Var) -> Result<(Var, Var)> {
    let precision = autocast::full();
    let x = &precision.of(x)?;
    let mut outputs = bind(Eigh {}, &[x])?;
    match (outputs.pop(), outputs.pop()) {
        (Some(vectors), Some(values)) => Ok((values, vectors)),
        _ => Err(Error::internal("`eigh` has two outputs")),
    }
}

static SOURCE: Source = Source { name: "eigh", text: include_str!("eigh.c"), needs: &[&SCALE] };

/// The scale of a matrix, and signs of vectors.
pub(super) static SCALE: Source =
    Source { name: "scale", text: include_str!("scale.c"), needs: &[] };

attributes! {
    /// The op behind [`eigh`].
    pub struct Eigh = "eigh" {}
}

impl Op for Eigh {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let n = square(inputs[0])?;
        let values = with_matrix(inputs[0], &[n])?;
        Ok(smallvec![values.with_dtype(values.dtype().real()), *inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (values, vectors) = kernels::eigh(inputs[0].tensor()?)?;
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
            let of_values = |dw: &Var| mul(&vectors, &as_rows(dw)?);
            let of_vectors = |dv: &Var| {
                let dv = &of_held(&vectors, dv)?;
                let turned = off_diagonal(&matmul(&adjoint(&vectors)?, dv)?)?;
                matmul(&vectors, &div(&turned, &gaps(&values)?)?)
            };
            let left = match (&p.dys()[0], &p.dys()[1]) {
                (Some(dw), Some(dv)) => add(&of_values(dw)?, &of_vectors(dv)?)?,
                (Some(dw), None) => of_values(dw)?,
                (None, Some(dv)) => of_vectors(dv)?,
                (None, None) => return Err(Error::internal("a rule is asked with a cotangent")),
            };
            grads![p => symmetric_part(&matmul(&left, &adjoint(&vectors)?)?)]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (n, mut args) = (square(inputs[0])?, one_by_one(inputs[0], 2)?);
        args.extend([Arg::Size(n), kernel::eights(&[n.mul(n)?, n.mul(n)?])?]);
        Native::new(&SOURCE, [inputs[0].dtype()], args).failing().alone()
    }
}

/// The cotangents of vectors as if no component were held; real ones have none that is.
#[track_caller]
pub(super) fn of_held(vectors: &Var, cotangents: &Var) -> Result<Var> {
    match is_held(vectors) {
        true => add(cotangents, &held(vectors, &turn(vectors, cotangents)?)?),
        false => Ok(cotangents.clone()),
    }
}

/// Whether a component of each vector is held: of complex ones, if there are any.
pub(super) fn is_held(vectors: &Var) -> bool {
    let rows = vectors.rank().checked_sub(2).and_then(|axis| vectors.ty().dim(axis).value());
    vectors.dtype().is_complex() && rows != Some(0)
}

/// The matrix without its diagonal.
#[track_caller]
pub(super) fn off_diagonal(x: &Var) -> Result<Var> {
    add(&tril(x, -1)?, &triu(x, 1)?)
}

/// `values[j] - values[i]`, with ones on the diagonal.
#[track_caller]
pub(super) fn gaps(values: &Var) -> Result<Var> {
    let gaps = sub(&as_rows(values)?, &with_ones(values, 1)?)?;
    let n = values.ty().dim(values.rank() - 1);
    add(&gaps, &eye(n, n, 0, values.dtype())?)
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Eigh::NAME, Eigh::build, || {
    let of = |x: Tensor| Sample::new(Eigh {}, [x]);
    let half = 0.5f64.sqrt();
    vec![
        of(f64s(&[3.0, 1.0, 1.0, 3.0], &[2, 2]))
            .gives([f64s(&[2.0, 4.0], &[2]), f64s(&[half, half, -half, half], &[2, 2])]),
        of(f64s(&[3.0, 0.0, 0.0, 1.0], &[2, 2]))
            .gives([f64s(&[1.0, 3.0], &[2]), f64s(&[0.0, 1.0, 1.0, 0.0], &[2, 2])]),
        of(f64s(&[2.0, 0.5, -1.0, 0.25, 1.0, 0.75, -0.5, 1.0, -1.5], &[3, 3])),
        of(f64s(&[2.0, 0.5, 0.5, 1.0, -1.0, 0.25, 0.75, 1.0], &[2, 2, 2])),
        of(f64s(&[-4.0], &[1, 1])).gives([f64s(&[-4.0], &[1]), f64s(&[1.0], &[1, 1])]),
        of(f64s(&[], &[0, 0])).gives([f64s(&[], &[0]), f64s(&[], &[0, 0])]),
        of(f64s(&[f64::NAN], &[1, 1])).refused("not a number"),
        of(ramp(&[2, 3])).refused("square"),
        of(ramp(&[2])).refused("expected matrices"),
    ]
});
