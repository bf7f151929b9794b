//! `qr`: an orthonormal basis and an upper triangle.

use super::matmul;
use super::matrices::{adjoint, float_matrices, lesser, one_by_one, symmetric_part, with_matrix};
use super::triangular_solve::solve_upper;
use crate::prelude::*;
use crate::{concat, narrow, tril};

/// Matrices `q` of orthonormal columns and upper triangular `r` with `q r = x`, reduced: of
/// `[.., m, n]` they are `[.., m, k]` and `[.., k, n]` with `k = min(m, n)`.
///
/// The diagonal of `r` is real and not negative, which makes the decomposition of a matrix of full rank
/// unique. The gradient exists where the first `k` columns are independent; else it is infinite or NaN.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (q, r) = qr(&Var::of(&[0.0, -2.0, 3.0, 1.0], &[2, 2])?)?;
/// assert_eq!(r.to_vec::<f64>()?, [3.0, 1.0, 0.0, 2.0]);
/// assert_eq!(matmul(&q, &r)?.to_vec::<f64>()?, [0.0, -2.0, 3.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn qr(x: &Var) -> Result<(Var, Var)> {
    let precision = autocast::full();
    let x = &precision.of(x)?;
    let mut outputs = bind(Qr {}, &[x])?;
    match (outputs.pop(), outputs.pop()) {
        (Some(r), Some(q)) => Ok((q, r)),
        _ => Err(Error::internal("`qr` has two outputs")),
    }
}

static SOURCE: Source = Source { name: "qr", text: include_str!("qr.c"), needs: &[&MIRROR] };
static MIRROR: Source = Source { name: "mirror", text: include_str!("mirror.c"), needs: &[] };

attributes! {
    /// The op behind [`qr`].
    pub struct Qr = "qr" {}
}

impl Op for Qr {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (m, n) = float_matrices(inputs[0])?;
        let k = lesser(m, n)?;
        Ok(smallvec![with_matrix(inputs[0], &[m, k])?, with_matrix(inputs[0], &[k, n])?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (q, r) = kernels::qr(inputs[0].tensor()?)?;
        Ok(smallvec![q.into(), r.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::ALL, |p| {
            let (x, q, r) = (p.x(0), p.y(0), p.y(1));
            let (m, n) = float_matrices(&x.ty())?;
            let k = lesser(m, n)?;
            let [dq, dr] = [0, 1].map(|i| p.dys()[i].clone());
            if k == n {
                return grads![p => tall(&q, &r, dq, dr)];
            }
            // The columns beyond the first `k` are `q` times those of `r`.
            let rest = n.sub(k)?;
            let Some(dr) = dr else {
                let first = tall(&q, &narrow(&r, -1, Dim::size(0), k)?, dq, None)?;
                let last = zeros_like(&narrow(&x, -1, k, rest)?)?;
                return grads![p => concat(&[&first, &last], -1)];
            };
            let dr_first = narrow(&dr, -1, Dim::size(0), k)?;
            let dr_last = narrow(&dr, -1, k, rest)?;
            let through = matmul(&narrow(&x, -1, k, rest)?, &adjoint(&dr_last)?)?;
            let dq = match dq {
                Some(dq) => add(&dq, &through)?,
                None => through,
            };
            let r_first = narrow(&r, -1, Dim::size(0), k)?;
            let first = tall(&q, &r_first, Some(dq), Some(dr_first))?;
            grads![p => concat(&[&first, &matmul(&q, &dr_last)?], -1)]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (m, n) = float_matrices(inputs[0])?;
        let (k, mut args) = (lesser(m, n)?, one_by_one(inputs[0], 2)?);
        args.extend([
            Arg::Size(m),
            Arg::Size(n),
            kernel::eights(&[m.mul(n)?, m.mul(k)?, m.mul(k)?])?,
        ]);
        Native::new(&SOURCE, [inputs[0].dtype()], args).alone()
    }
}

/// The cotangent of a matrix that has at least as many rows as columns.
fn tall(q: &Var, r: &Var, dq: Option<Var>, dr: Option<Var>) -> Result<Var> {
    let from_r = dr.map(|dr| matmul(r, &adjoint(&dr)?)).transpose()?;
    let from_q = dq.as_ref().map(|dq| matmul(&adjoint(dq)?, q)).transpose()?;
    let inner = match (from_r, from_q) {
        (Some(from_r), Some(from_q)) => sub(&from_r, &from_q)?,
        (Some(from_r), None) => from_r,
        (None, Some(from_q)) => neg(&from_q)?,
        (None, None) => return Err(Error::internal("a rule is asked with a cotangent")),
    };
    let mut symmetric = add(&tril(&inner, 0)?, &adjoint(&tril(&inner, -1)?)?)?;
    if symmetric.dtype().is_complex() {
        // The diagonal of `r` is real.
        symmetric = symmetric_part(&symmetric)?;
    }
    let spread = matmul(q, &symmetric)?;
    let whole = match dq {
        Some(dq) => add(&dq, &spread)?,
        None => spread,
    };
    adjoint(&solve_upper(r, &adjoint(&whole)?)?)
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Qr::NAME, Qr::build, || {
    let of = |x: Tensor| Sample::new(Qr {}, [x]);
    let tall = f64s(&[3.0, 1.0, 4.0, -2.0, 0.0, 2.0], &[3, 2]);
    vec![
        of(f64s(&[0.0, -2.0, 3.0, 1.0], &[2, 2]))
            .gives([f64s(&[0.0, -1.0, 1.0, 0.0], &[2, 2]), f64s(&[3.0, 1.0, 0.0, 2.0], &[2, 2])]),
        of(f64s(&[3.0, 4.0], &[2, 1])).gives([f64s(&[0.6, 0.8], &[2, 1]), f64s(&[5.0], &[1, 1])]),
        of(f64s(&[-2.0, 4.0, 6.0], &[1, 3]))
            .gives([f64s(&[-1.0], &[1, 1]), f64s(&[2.0, -4.0, -6.0], &[1, 3])]),
        of(tall),
        of(f64s(&[1.0, 0.5, -1.0, 2.0, 0.25, -0.5, 1.5, 1.0], &[2, 4])),
        of(f64s(&[1.0, 0.5, -1.0, 2.0, 0.25, -0.5, 1.5, 1.0], &[2, 2, 2])),
        of(f64s(&[], &[2, 0])).gives([f64s(&[], &[2, 0]), f64s(&[], &[0, 0])]),
        of(ramp(&[2])).refused("expected matrices"),
        of(i64s(&[1], &[1, 1])).refused("expected floats"),
    ]
});
