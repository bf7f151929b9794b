//! `last_writes`: which of several writes to one position counts.

use super::gather::is_index;
use crate::batch::{batch_of, in_batch};
use crate::prelude::*;

/// For each position in `index`, on an axis of size `size`, whether no later one is the same: of
/// writes at these positions, in order, whether it is the one that stays.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let last = last_writes(&Var::of(&[0i64, 1, -2], &[3])?, Dim::size(2))?;
/// assert_eq!(last.to_vec::<bool>()?, [false, true, true]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn last_writes(index: &Var, size: Dim) -> Result<Var> {
    bind1(LastWrites { size }, &[index])
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "last_writes", text: include_str!("last_writes.c"), needs: &[] };

attributes! {
    /// The op behind [`last_writes`].
    pub struct LastWrites = "last_writes" {
        /// The size of the axis.
        pub size: Dim,
    }
}

impl Op for LastWrites {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_index(inputs[0])?;
        Ok(smallvec![inputs[0].with_dtype(DType::Bool)])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        Ok(smallvec![kernels::last_writes(inputs[0].tensor()?, known_size(self.size)?)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::position(0, self.size))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let index = in_batch(batch, 0, self.size)?;
        batch_of(last_writes(&index, batch.size().mul(self.size)?)?)
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("positions are integers")
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let count = kernel::count(inputs[0].dims())?;
        let args =
            [Arg::In(0), Arg::Out(0), Arg::Work(self.size), Arg::Size(self.size), Arg::Size(count)];
        Native::new(&SOURCE, [], args).failing().alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(LastWrites::NAME, LastWrites::build, || {
    let of = |size| LastWrites { size: Dim::size(size) };
    vec![
        Sample::new(of(3), [i64s(&[1, 0, -2, 2], &[2, 2])])
            .gives([bools(&[false, true, true, true], &[2, 2])]),
        Sample::new(of(3), [i64s(&[1], &[])]).gives([bools(&[true], &[])]),
        Sample::new(of(2), [i64s(&[2], &[1])]).refused("index 2 is out of range"),
        Sample::new(of(2), [ramp(&[1])]).refused("positions are i64"),
    ]
});
