//! `svd`: the singular value decomposition.

use super::eigh::{SCALE, gaps, is_held, off_diagonal};
use super::matmul;
use super::matrices::{
    adjoint, as_rows, float_matrices, held, lesser, one_by_one, turn, with_matrix, with_ones,
};
use crate::prelude::*;
use crate::{diag_embed, diagonal};

/// Matrices `u`, vectors `s` and matrices `vh` with `u diag(s) vh = x`, reduced: of `[.., m, n]`
/// they are `[.., m, k]`, `[.., k]` and `[.., k, n]` with `k = min(m, n)`. The columns of `u` and the
/// rows of `vh` are orthonormal, and `s` goes from the greatest singular value to the least.
///
/// Singular vectors are unique only up to the signs of pairs, complex ones up to their directions: here the first of
/// the large components of each column of `u` is real and positive. The gradient of the vectors exists only where the singular
/// values differ and, unless the matrix is square, are not zero; else it is infinite or NaN.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (u, s, vh) = svd(&Var::of(&[0.0, 2.0, -3.0, 0.0], &[2, 2])?)?;
/// assert_eq!(u.to_vec::<f64>()?, [0.0, 1.0, 1.0, 0.0]);
/// assert_eq!(s.to_vec::<f64>()?, [3.0, 2.0]);
/// assert_eq!(vh.to_vec::<f64>()?, [-1.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn svd(x: &Var) -> Result<(Var, Var, Var)> {
    let precision = autocast::full();
    let x = &precision.of(x)?;
    let mut outputs = bind(Svd {}, &[x])?;
    match (outputs.pop(), outputs.pop(), outputs.pop()) {
        (Some(vh), Some(s), Some(u)) => Ok((u, s, vh)),
        _ => Err(Error::internal("`svd` has three outputs")),
    }
}

static SOURCE: Source = Source { name: "svd", text: include_str!("svd.c"), needs: &[&SCALE] };

attributes! {
    /// The op behind [`svd`].
    pub struct Svd = "svd" {}
}

impl Op for Svd {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (m, n) = float_matrices(inputs[0])?;
        let k = lesser(m, n)?;
        let of = |last: &[Dim]| with_matrix(inputs[0], last);
        let values = of(&[k])?;
        Ok(smallvec![of(&[m, k])?, values.with_dtype(values.dtype().real()), of(&[k, n])?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (u, s, vh) = kernels::svd(inputs[0].tensor()?)?;
        Ok(smallvec![u.into(), s.into(), vh.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::OUTPUTS, |p| {
            let parts = [of_u(p)?, of_s(p)?, of_vh(p)?];
            let sum = parts.into_iter().flatten().reduce(|a, b| a + b);
            grads![p => sum]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (m, n) = float_matrices(inputs[0])?;
        let (k, mut args) = (lesser(m, n)?, one_by_one(inputs[0], 3)?);
        args.extend([Arg::Size(m), Arg::Size(n), kernel::eights(&[m.mul(n)?, k.mul(k)?, k])?]);
        Native::new(&SOURCE, [inputs[0].dtype()], args).failing().alone()
    }
}

/// `x - x^H`, divided by the differences of the squared singular values.
fn turns(inner: &Var, s: &Var) -> Result<Var> {
    let skew = off_diagonal(&sub(inner, &adjoint(inner)?)?)?;
    div(&skew, &gaps(&mul(s, s)?)?)
}

/// `x` without its part in the space of the columns of `basis`.
fn outside(x: &Var, basis: &Var) -> Result<Var> {
    sub(x, &matmul(basis, &matmul(&adjoint(basis)?, x)?)?)
}

fn of_u(p: &Pull<'_>) -> Result<Option<Var>> {
    let (u, s, vh) = (p.y(0), p.y(1), p.y(2));
    let Some(du) = &cotangent_of_u(p, &u)? else { return Ok(None) };
    let along = matmul(&adjoint(&u)?, du)?;
    let mut inner = turns(&along, &s)? * as_rows(&s)?;
    if u.dtype().is_complex() {
        // How far a pair of vectors turns against each other, which changes the left one here.
        let turned = imag(&diagonal(&along, 0, -2, -1)?)? / &s;
        inner = inner + diag_embed(&(turned * u.imaginary_unit()), 0, -2, -1)?;
    }
    let mut left = matmul(&u, &inner)?;
    let &[.., m, k] = u.ty().dims() else { return Err(Error::internal("`u` is a matrix")) };
    if m != k {
        left = left + div(&outside(du, &u)?, &as_rows(&s)?)?;
    }
    matmul(&left, &vh).map(Some)
}

/// The cotangent of `u` as if no component were held. Pairs turn together, so what `vh` gets counts, too.
fn cotangent_of_u(p: &Pull<'_>, u: &Var) -> Result<Option<Var>> {
    let du = p.dys()[0].clone();
    if !is_held(u) {
        return Ok(du);
    }
    let of_u = du.as_ref().map(|du| turn(u, du)).transpose()?;
    let of_v = match &p.dys()[2] {
        Some(dvh) => Some(turn(&adjoint(&p.y(2))?, &adjoint(dvh)?)?),
        None => None,
    };
    let Some(both) = [of_u, of_v].into_iter().flatten().reduce(|a, b| a + b) else {
        return Ok(du);
    };
    let besides = held(u, &both)?;
    Ok(Some(match du {
        Some(du) => du + besides,
        None => besides,
    }))
}

fn of_s(p: &Pull<'_>) -> Result<Option<Var>> {
    let Some(ds) = &p.dys()[1] else { return Ok(None) };
    matmul(&mul(&p.y(0), &as_rows(ds)?)?, &p.y(2)).map(Some)
}

fn of_vh(p: &Pull<'_>) -> Result<Option<Var>> {
    let Some(dvh) = &p.dys()[2] else { return Ok(None) };
    let (u, s, v, dv) = (p.y(0), p.y(1), adjoint(&p.y(2))?, adjoint(dvh)?);
    let inner = with_ones(&s, 1)? * turns(&matmul(&adjoint(&v)?, &dv)?, &s)?;
    let mut right = matmul(&inner, &p.y(2))?;
    let &[.., n, k] = v.ty().dims() else { return Err(Error::internal("`vh` is a matrix")) };
    if n != k {
        right = right + div(&adjoint(&outside(&dv, &v)?)?, &with_ones(&s, 1)?)?;
    }
    matmul(&u, &right).map(Some)
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Svd::NAME, Svd::build, || {
    let of = |x: Tensor| Sample::new(Svd {}, [x]);
    vec![
        of(f64s(&[0.0, 2.0, -3.0, 0.0], &[2, 2])).gives([
            f64s(&[0.0, 1.0, 1.0, 0.0], &[2, 2]),
            f64s(&[3.0, 2.0], &[2]),
            f64s(&[-1.0, 0.0, 0.0, 1.0], &[2, 2]),
        ]),
        of(f64s(&[3.0, -4.0], &[2, 1])).gives([
            f64s(&[-0.6, 0.8], &[2, 1]),
            f64s(&[5.0], &[1]),
            f64s(&[-1.0], &[1, 1]),
        ]),
        of(f64s(&[2.0, 0.5, -1.0, 1.0, 0.25, 1.5], &[3, 2])),
        of(f64s(&[2.0, 0.5, -1.0, 1.0, 0.25, 1.5], &[2, 3])),
        of(f64s(&[2.0, 0.5, -1.0, 1.0, 0.25, 1.5, 0.5, -0.75], &[2, 2, 2])),
        of(f64s(&[], &[2, 0])).gives([f64s(&[], &[2, 0]), f64s(&[], &[0]), f64s(&[], &[0, 0])]),
        of(f64s(&[f64::INFINITY], &[1, 1])).refused("infinite"),
        of(ramp(&[2])).refused("expected matrices"),
        of(i64s(&[1], &[1, 1])).refused("expected floats"),
    ]
});
