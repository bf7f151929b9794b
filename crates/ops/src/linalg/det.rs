//! `det`: the determinant.

use super::inverse::inverse_or_nan;
use super::matrices::{one_by_one, square, transposed, with_ones};
use super::solve::LU;
use crate::prelude::*;

/// The determinants of the matrices in the last two axes. Their gradient is that times the
/// inverse: for a singular matrix it is NaN. Of large matrices, [`slogdet`](crate::slogdet) does not overflow.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(det(&x)?.item::<f64>()?, -2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn det(x: &Var) -> Result<Var> {
    let precision = autocast::full();
    let x = &precision.of(x)?;
    bind1(Det {}, &[x])
}

static SOURCE: Source = Source { name: "det", text: include_str!("det.c"), needs: &[&LU] };

attributes! {
    /// The op behind [`det`].
    pub struct Det = "det" {}
}

impl Op for Det {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Analytic
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        square(inputs[0])?;
        Ok(smallvec![inputs[0].with_dims(&inputs[0].dims()[..inputs[0].rank() - 2])?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![kernels::det(inputs[0].tensor()?)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::ALL, |p| {
            let turned = transposed(&inverse_or_nan(&p.x(0))?)?;
            grads![p => with_ones(&(p.dy() * p.y(0)), 2)? * turned]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (n, mut args) = (square(inputs[0])?, one_by_one(inputs[0], 1)?);
        args.extend([Arg::Size(n), kernel::eights(&[n.mul(n)?, n])?]);
        Native::new(&SOURCE, [inputs[0].dtype()], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Det::NAME, Det::build, || {
    let of = |x: Tensor| Sample::new(Det {}, [x]);
    vec![
        of(f64s(&[1.0, 2.0, 3.0, 4.0], &[2, 2])).gives([f64s(&[-2.0], &[])]),
        of(f64s(&[0.0, 2.0, 4.0, 0.0, 1.0, 0.5, 0.0, 1.0], &[2, 2, 2]))
            .gives([f64s(&[-8.0, 1.0], &[2])]),
        of(f64s(&[2.0, 0.0, 1.0, 1.0, 3.0, 0.0, 0.0, 1.0, 4.0], &[3, 3]))
            .gives([f64s(&[25.0], &[])]),
        of(f64s(&[-4.0], &[1, 1])).gives([f64s(&[-4.0], &[])]),
        of(ramp(&[2, 3])).refused("square"),
        of(ramp(&[2])).refused("expected matrices"),
    ]
});
