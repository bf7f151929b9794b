//! `argwhere` and `nonzero`: where elements are not zero.

use crate::prelude::*;
use crate::shape::derived::judged;
use crate::shape::unbind;

/// The positions of the elements that are not zero (or true), in row-major order: one row for each,
/// one column for each axis. How many there are is known only when it is computed.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let found = argwhere(&Var::of(&[0.0, 3.0, 4.0, 0.0], &[2, 2])?)?;
/// assert_eq!(found.to_vec::<i64>()?, [0, 1, 1, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn argwhere(x: &Var) -> Result<Var> {
    bind1(Argwhere {}, &[x])
}

/// The positions of the elements that are not zero (or true), in row-major order: one vector for
/// each axis, as an index takes them. How many there are is known only when it is computed.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let found = nonzero(&Var::of(&[0.0, 3.0, 4.0, 0.0], &[2, 2])?)?;
/// assert_eq!(found[0].to_vec::<i64>()?, [0, 1]);
/// assert_eq!(found[1].to_vec::<i64>()?, [1, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn nonzero(x: &Var) -> Result<Vec<Var>> {
    let _line = at(scope::user_line());
    judged("nonzero", &[x], |types| match types[0].rank() {
        0 => Err(Error::shape("a scalar has no axes to give positions on")
            .remedy("compare it with zero, or give it an axis")),
        _ => Ok(()),
    })?;
    unbind(&argwhere(x)?, 1)
}

attributes! {
    /// The op behind [`argwhere`].
    pub struct Argwhere = "argwhere" {}
}

impl Op for Argwhere {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() {
            return Err(Error::dtype("a list has no axes"));
        }
        let dims = [Dim::fresh(0), Dim::size(inputs[0].rank())];
        Ok(smallvec![Type::new(DType::I64, &dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![kernels::nonzero(inputs[0].tensor()?)?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("positions are integers")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Argwhere::NAME, Argwhere::build, || {
    let x = f64s(&[0.0, -0.0, f64::NAN, 2.0], &[2, 2]);
    vec![
        Sample::new(Argwhere {}, [x]).gives([i64s(&[1, 0, 1, 1], &[2, 2])]),
        Sample::new(Argwhere {}, [bools(&[true, false, true], &[3])])
            .gives([i64s(&[0, 2], &[2, 1])]),
        Sample::new(Argwhere {}, [i64s(&[0, i64::MIN, 5], &[3])]).gives([i64s(&[1, 2], &[2, 1])]),
        Sample::new(Argwhere {}, [f64s(&[0.0; 2], &[2])]).gives([i64s(&[], &[0, 1])]),
        Sample::new(Argwhere {}, [f64s(&[3.0], &[])]).gives([i64s(&[], &[1, 0])]),
    ]
});
