//! `repeat_index`: each number as often as it is told.

use super::gather::is_index;
use crate::prelude::*;

/// Each number `i` as often as `counts[i]` says. The size of the result is known only when it is
/// computed.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let y = repeat_index(&Var::of(&[2i64, 0, 1], &[3])?)?;
/// assert_eq!(y.to_vec::<i64>()?, [0, 0, 2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn repeat_index(counts: &Var) -> Result<Var> {
    bind1(RepeatIndex {}, &[counts])
}

attributes! {
    /// The op behind [`repeat_index`].
    pub struct RepeatIndex = "repeat_index" {}
}

impl Op for RepeatIndex {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_index(inputs[0])?;
        match inputs[0].rank() {
            1 => Ok(smallvec![inputs[0].with_dims(&[Dim::fresh(0)])?]),
            _ => Err(Error::shape(format!("counts have one axis, found {}", inputs[0]))),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![kernels::repeat_index(inputs[0].tensor()?)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("positions are integers")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(RepeatIndex::NAME, RepeatIndex::build, || {
    vec![
        Sample::new(RepeatIndex {}, [i64s(&[1, 0, 3], &[3])]).gives([i64s(&[0, 2, 2, 2], &[4])]),
        Sample::new(RepeatIndex {}, [i64s(&[], &[0])]).gives([i64s(&[], &[0])]),
        Sample::new(RepeatIndex {}, [i64s(&[1, -1], &[2])]).refused("count 1 is -1"),
        Sample::new(RepeatIndex {}, [i64s(&[1], &[])]).refused("counts have one axis"),
    ]
});
