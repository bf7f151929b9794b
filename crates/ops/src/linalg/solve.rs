//! `solve`: linear equations.

use super::matmul;
use super::matrices::{BATCH, equations, square, transposed};
use super::triangular_solve::{aligned, solution};
use crate::prelude::*;
use crate::reshape;

/// The solution of `a x = b` for square matrices `a`, of shape `[.., n, n]`, and a `b` of shape
/// `[.., n, k]`, or a vector `[n]`; the axes before the last two are broadcast. A singular matrix
/// is an error that names it and its pivot.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let a = Var::of(&[0.0, 2.0, 1.0, 1.0], &[2, 2])?;
/// let x = solve(&a, &Var::of(&[4.0, 5.0], &[2])?)?;
/// assert_eq!(x.to_vec::<f64>()?, [3.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn solve(a: &Var, b: &Var) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let (a, b) = (&precision.of(a)?, &precision.of(b)?);
    if b.rank() != 1 || b.ty().is_list() {
        return bind1(Solve {}, &[a, b]);
    }
    let column = reshape(b, &[b.dims()[0], Dim::size(1)])?;
    let x = bind1(Solve {}, &[a, &column])?;
    reshape(&x, &x.dims()[..x.rank() - 1])
}

static SOURCE: Source =
    Source { name: "solve", text: include_str!("solve.c"), needs: &[&LU, &BATCH] };

/// Factors of square matrices, and solutions by them.
pub(super) static LU: Source = Source { name: "lu", text: include_str!("lu.c"), needs: &[] };

attributes! {
    /// The op behind [`solve`].
    pub struct Solve = "solve" {}
}

impl Op for Solve {
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
        Ok(smallvec![kernels::solve(&a, &b)?.into()])
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
            let of_b = bind1(Solve {}, &[&transposed(&p.x(0))?, &p.dy()])?;
            grads![p => neg(&matmul(&of_b, &transposed(&p.y(0))?)?), of_b.clone()]
        })
    }

    fn properties(&self) -> Properties {
        // Cotangents of broadcast operands are summed to their shapes by the reverse walk.
        Properties { broadcasts: true, ..Properties::PURE }
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let (n, mut args) = (square(inputs[0])?, equations(inputs[0], inputs[1], &outs[0])?);
        args.push(kernel::eights(&[n.mul(n)?, n, n])?);
        Native::new(&SOURCE, [outs[0].dtype()], args).failing().alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Solve::NAME, Solve::build, || {
    let of = |a: Tensor, b: Tensor| Sample::new(Solve {}, [a, b]);
    let a = f64s(&[0.0, 2.0, 1.0, 1.0], &[2, 2]);
    let batch = f64s(&[0.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0], &[2, 2, 2]);
    let b = f64s(&[4.0, 2.0, 5.0, 0.5], &[2, 2]);
    vec![
        of(a.clone(), b.clone()).gives([f64s(&[3.0, -0.5, 2.0, 1.0], &[2, 2])]),
        of(batch.clone(), f64s(&[4.0, 5.0], &[2, 1]))
            .gives([f64s(&[3.0, 2.0, -1.0, 6.0], &[2, 2, 1])]),
        of(a.clone(), ramp(&[3, 2, 1])),
        of(f64s(&[2.0, 1.0, 0.5, -1.0, 3.0, 1.0, 0.25, 1.0, -2.0], &[3, 3]), ramp(&[3, 1])),
        of(f64s(&[], &[0, 0]), f64s(&[], &[0, 2])).gives([f64s(&[], &[0, 2])]),
        of(f64s(&[1.0, 2.0, 2.0, 4.0], &[2, 2]), b.clone()).refused("singular: pivot 1 is zero"),
        of(a.clone(), ramp(&[3, 2])).refused("2 equations"),
        of(ramp(&[2, 3]), b).refused("square"),
    ]
});
