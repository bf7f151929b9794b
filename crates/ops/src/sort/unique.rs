//! `unique`: the different elements.

use crate::index::gather;
use crate::prelude::*;
use crate::shape::reshape;

/// The different elements in order; for each element of `x`, the number of its own among them; and how
/// often each occurs. Each NaN is an element of its own, after all others, as the array API standard says and
/// PyTorch does. How many there are is known only when the op runs. The gradient goes to the first occurrence.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (values, inverse, counts) = unique(&Var::of(&[3.0, 1.0, 3.0], &[3])?)?;
/// assert_eq!(values.to_vec::<f64>()?, [1.0, 3.0]);
/// assert_eq!(inverse.to_vec::<i64>()?, [1, 0, 1]);
/// assert_eq!(counts.to_vec::<i64>()?, [1, 2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn unique(x: &Var) -> Result<(Var, Var, Var)> {
    let _line = at(scope::user_line());
    let mut outputs = bind(UniquePositions {}, &[x])?;
    let (Some(counts), Some(inverse), Some(first)) = (outputs.pop(), outputs.pop(), outputs.pop())
    else {
        return Err(Error::internal("`unique_positions` has three outputs"));
    };
    let count = x.dims().iter().try_fold(Dim::size(1), |all, &dim| all.mul(dim))?;
    let values = gather(&reshape(x, &[count])?, &first, 0)?;
    Ok((values, inverse, counts))
}

attributes! {
    /// The op behind [`unique`]: where each of the different elements occurs first, which of them each
    /// element is, and how often each occurs.
    pub struct UniquePositions = "unique_positions" {}
}

impl Op for UniquePositions {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() {
            return Err(Error::dtype("a list has no elements to compare"));
        }
        let found = Type::new(DType::I64, &[Dim::fresh(0)])?;
        Ok(smallvec![found, inputs[0].with_dtype(DType::I64), found])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (first, inverse, counts) = kernels::unique(inputs[0].tensor()?)?;
        Ok(smallvec![first.into(), inverse.into(), counts.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("a position does not change smoothly")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(UniquePositions::NAME, UniquePositions::build, || {
    let x = f64s(&[2.0, f64::NAN, 1.0, 2.0, f64::NAN, 2.0], &[2, 3]);
    vec![
        Sample::new(UniquePositions {}, [x]).gives([
            i64s(&[2, 0, 1, 4], &[4]),
            i64s(&[1, 2, 0, 1, 3, 1], &[2, 3]),
            i64s(&[1, 3, 1, 1], &[4]),
        ]),
        Sample::new(UniquePositions {}, [i64s(&[4], &[])]).gives([
            i64s(&[0], &[1]),
            i64s(&[0], &[]),
            i64s(&[1], &[1]),
        ]),
        Sample::new(UniquePositions {}, [f64s(&[], &[0])]).gives([
            i64s(&[], &[0]),
            i64s(&[], &[0]),
            i64s(&[], &[0]),
        ]),
    ]
});
