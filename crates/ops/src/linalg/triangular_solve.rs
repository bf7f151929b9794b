//! `triangular_solve`: linear equations with a triangular matrix.

use super::matmul;
use super::matrices::{BATCH, equations, float_matrices, square, transposed};
use crate::prelude::*;
use crate::{tril, triu};

/// The solution of `a x = b` for a lower triangular `a`, of shape `[.., n, n]`, and a `b` of shape
/// `[.., n, k]`; the axes before the last two are broadcast.
///
/// If `upper`, the matrix is upper triangular; if `transpose`, it stands for its transpose; if
/// `unit_diagonal`, its diagonal is taken as ones. Elements outside the triangle are not read. A
/// zero on the diagonal is an error that names the matrix and the pivot.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let a = Var::of(&[2.0, 0.0, 1.0, 4.0], &[2, 2])?;
/// let b = Var::of(&[2.0, 9.0], &[2, 1])?;
/// let x = triangular_solve(&a, &b, false, false, false)?;
/// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn triangular_solve(
    a: &Var,
    b: &Var,
    upper: bool,
    transpose: bool,
    unit_diagonal: bool,
) -> Result<Var> {
    bind1(TriangularSolve { upper, transpose, unit_diagonal, singular: false }, &[a, b])
}

/// Equations with an upper triangle for gradient rules: zeros on the diagonal give infinities and NaN.
#[track_caller]
pub(super) fn solve_upper(a: &Var, b: &Var) -> Result<Var> {
    let op =
        TriangularSolve { upper: true, transpose: false, unit_diagonal: false, singular: true };
    bind1(op, &[a, b])
}

static SOURCE: Source =
    Source { name: "triangular_solve", text: include_str!("triangular_solve.c"), needs: &[&BATCH] };

attributes! {
    /// The op behind [`triangular_solve`].
    pub struct TriangularSolve = "triangular_solve" {
        /// Whether the matrix is upper triangular.
        pub upper: bool,
        /// Whether it stands for its transpose.
        pub transpose: bool,
        /// Whether its diagonal is taken as ones.
        pub unit_diagonal: bool,
        /// Whether zeros on the diagonal are not an error, but give infinities and NaN.
        pub singular: bool,
    }
}

/// The type of the solution of equations with these matrices and right-hand sides.
pub(super) fn solution(a: &Type, b: &Type) -> Result<Type> {
    let n = square(a)?;
    let (rows, columns) = float_matrices(b)?;
    if n != rows {
        return Err(Error::shape(format!("{n} equations for a right-hand side of {rows} rows"))
            .remedy("the second operand is [.., n, k], one column for each solution"));
    }
    let mut dims = broadcast(&a.dims()[..a.rank() - 2], &b.dims()[..b.rank() - 2])?;
    dims.extend([n, columns]);
    Type::new(a.dtype().promote(b.dtype()), &dims)
}

/// The operands with the type and the batch of the solution.
pub(super) fn aligned(inputs: &[&Value], out: &Type) -> Result<(Tensor, Tensor)> {
    let sizes = known_sizes(out)?;
    let batch = &sizes[..sizes.len() - 2];
    let align = |x: &Tensor| {
        let own = &x.dims()[x.rank() - 2..];
        x.cast(out.dtype())?.expand(&[batch, own].concat())
    };
    Ok((align(inputs[0].tensor()?)?, align(inputs[1].tensor()?)?))
}

impl Op for TriangularSolve {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn takes(&self) -> Takes {
        Takes::Analytic
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Ok(smallvec![solution(inputs[0], inputs[1])?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (a, b) = aligned(inputs, &outs[0])?;
        let kind = kernels::Triangle {
            upper: self.upper,
            transposed: self.transpose,
            unit: self.unit_diagonal,
            singular: self.singular,
        };
        Ok(smallvec![kernels::triangular_solve(&a, &b, kind)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        // The axes before the matrices are broadcast together.
        batch.broadcast()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b1).and_outputs(0b1), |p| {
            let op = p.op::<TriangularSolve>()?;
            let turned = TriangularSolve { transpose: !op.transpose, ..op.clone() };
            let of_b = bind1(turned, &[&p.x(0), &p.dy()])?;
            let of_a = || {
                let x = p.y(0);
                let product = match op.transpose {
                    false => matmul(&of_b, &transposed(&x)?)?,
                    true => matmul(&x, &transposed(&of_b)?)?,
                };
                let offset = i64::from(op.unit_diagonal);
                let part =
                    if op.upper { triu(&product, offset)? } else { tril(&product, -offset)? };
                neg(&part)
            };
            grads![p => of_a(), of_b.clone()]
        })
    }

    fn properties(&self) -> Properties {
        // Cotangents of broadcast operands are summed to their shapes by the reverse walk.
        Properties { broadcasts: true, ..Properties::PURE }
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let (n, mut args) = (square(inputs[0])?, equations(inputs[0], inputs[1], &outs[0])?);
        let kind = [self.upper, self.transpose, self.unit_diagonal, self.singular];
        args.extend(kind.map(|is| Arg::Int(is.into())));
        args.push(kernel::eights(&[n])?);
        Native::new(&SOURCE, [outs[0].dtype()], args).failing().alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(TriangularSolve::NAME, TriangularSolve::build, || {
    let by = |upper, transpose, unit_diagonal| TriangularSolve {
        upper,
        transpose,
        unit_diagonal,
        singular: false,
    };
    let a = f64s(&[2.0, 5.0, 1.0, 4.0], &[2, 2]);
    let b = f64s(&[2.0, 4.0, 9.0, 6.0], &[2, 2]);
    let three = f64s(&[2.0, 0.5, -1.0, 1.0, 4.0, 0.25, 0.5, -0.5, -1.0], &[3, 3]);
    let mut samples = vec![
        Sample::new(by(false, false, false), [a.clone(), b.clone()])
            .gives([f64s(&[1.0, 2.0, 2.0, 1.0], &[2, 2])]),
        Sample::new(by(true, false, false), [a.clone(), b.clone()])
            .gives([f64s(&[-4.625, -1.75, 2.25, 1.5], &[2, 2])]),
        Sample::new(by(false, true, false), [a.clone(), b.clone()])
            .gives([f64s(&[-0.125, 1.25, 2.25, 1.5], &[2, 2])]),
        Sample::new(by(true, true, false), [a.clone(), b.clone()])
            .gives([f64s(&[1.0, 2.0, 1.0, -1.0], &[2, 2])]),
        Sample::new(by(false, false, true), [a.clone(), b.clone()])
            .gives([f64s(&[2.0, 4.0, 7.0, 2.0], &[2, 2])]),
        Sample::new(by(true, true, true), [a.clone(), b.clone()])
            .gives([f64s(&[2.0, 4.0, -1.0, -14.0], &[2, 2])]),
    ];
    samples.extend([
        Sample::new(by(false, false, false), [three.clone(), ramp(&[2, 3, 1])]),
        Sample::new(by(true, true, false), [three.clone(), ramp(&[3, 2])]),
        Sample::new(by(false, false, false), [a.clone(), f64s(&[], &[2, 0])])
            .gives([f64s(&[], &[2, 0])]),
        Sample::new(by(false, false, false), [f64s(&[0.0; 4], &[2, 2]), b.clone()])
            .refused("pivot 0 is zero"),
        Sample::new(by(false, false, false), [a.clone(), ramp(&[3, 2])]).refused("2 equations"),
        Sample::new(by(false, false, false), [a, ramp(&[2])]).refused("expected matrices"),
        Sample::new(by(false, false, false), [ramp(&[2, 3]), b]).refused("square"),
    ]);
    samples
});
