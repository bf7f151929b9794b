//! `along_index`: the numbers of elements chosen along one axis.

use super::gather::is_index;
use crate::batch::{batch_of, numbers};
use crate::prelude::*;
use crate::shape::dim_size;

/// The numbers, in row-major order, of the elements that `index` chooses along an axis of size
/// `size`, in a tensor whose other axes are those of `index`. With them `take_along_axis` and
/// `scatter` become a `gather` or an `index_put` on one axis.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let index = Var::of(&[2i64, -3], &[2, 1])?;
/// assert_eq!(along_index(&index, 1, Dim::size(3))?.to_vec::<i64>()?, [2, 3]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn along_index(index: &Var, axis: i64, size: Dim) -> Result<Var> {
    bind1(AlongIndex { axis, size }, &[index])
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "along_index", text: include_str!("along_index.c"), needs: &[] };

attributes! {
    /// The op behind [`along_index`].
    pub struct AlongIndex = "along_index" {
        /// The axis.
        pub axis: i64,
        /// Its size in the tensor whose elements are chosen.
        pub size: Dim,
    }
}

impl Op for AlongIndex {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_index(inputs[0])?;
        axis(self.axis, inputs[0].rank())?;
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let index = inputs[0].tensor()?;
        let axis = axis(self.axis, index.rank())?;
        Ok(smallvec![kernels::along_index(index, axis, known_size(self.size)?)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::position(0, self.size))
    }

    fn positions(&self, inputs: &[&Type]) -> Option<(usize, Dim)> {
        let mut dims = inputs[0].dims().to_vec();
        let axis = axis(self.axis, dims.len()).ok()?;
        dims[axis] = self.size;
        Some((0, count_of(&dims)?))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = axis(self.axis, batch.rank(0))?;
        let found = along_index(batch.given(0), axis as i64 + 1, self.size)?;
        // They are numbers among the elements of the whole batch.
        let mut dims = batch.ty(0)?.dims().to_vec();
        dims[axis] = self.size;
        let count = dims.iter().try_fold(Dim::size(1), |all, &dim| all.mul(dim))?;
        let first = mul(&numbers(batch, batch.rank(0))?, &dim_size(count, DType::I64)?)?;
        batch_of(sub(&found, &first)?)
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("positions are integers")
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let [outer, own, inner] = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?;
        let sizes = [outer, own, inner, self.size].map(Arg::Size);
        let args = [Arg::In(0), Arg::Out(0)].into_iter().chain(sizes);
        Native::new(&SOURCE, [], args).failing().alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AlongIndex::NAME, AlongIndex::build, || {
    let by = |axis, size| AlongIndex { axis, size: Dim::size(size) };
    let index = i64s(&[0, -1, 2, 1], &[2, 2]);
    vec![
        Sample::new(by(1, 3), [index.clone()]).gives([i64s(&[0, 2, 5, 4], &[2, 2])]),
        Sample::new(by(-2, 3), [index.clone()]).gives([i64s(&[0, 5, 4, 3], &[2, 2])]),
        Sample::new(by(0, 0), [i64s(&[], &[0, 2])]).gives([i64s(&[], &[0, 2])]),
        Sample::new(by(0, 2), [index.clone()])
            .refused("index 2 is out of range for axis 0 of size 2"),
        Sample::new(by(2, 3), [index]).refused("out of range"),
        Sample::new(by(0, 3), [ramp(&[2])]).refused("positions are i64"),
    ]
});
