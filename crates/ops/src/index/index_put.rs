//! `index_put`: slices written at positions of an axis.

use super::gather::is_index;
use super::{gather, last_writes};
use crate::batch::{batch_of, in_batch, slices_first};
use crate::binary::where_;
use crate::prelude::*;
use crate::shape::{movedim, reshape};

/// `x` with the slices of `updates` written along an axis at the positions in `index`, in order: of
/// several writes to one position the last one counts. `updates` has the shape that [`gather`]
/// gives.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let y = index_put(&x, &Var::of(&[0i64, -1], &[2])?, &Var::of(&[8.0, 9.0], &[2])?, 0)?;
/// assert_eq!(y.to_vec::<f64>()?, [8.0, 2.0, 9.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn index_put(x: &Var, index: &Var, updates: &Var, axis: i64) -> Result<Var> {
    bind1(IndexPut { axis }, &[x, index, updates])
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "index_put", text: include_str!("index_put.c"), needs: &[] };

attributes! {
    /// The op behind [`index_put`].
    pub struct IndexPut = "index_put" {
        /// The axis.
        pub axis: i64,
    }
}

impl Op for IndexPut {
    fn arity(&self) -> Arity {
        Arity::Exactly(3)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (x, index, updates) = (inputs[0], inputs[1], inputs[2]);
        if x.is_list() || updates.is_list() {
            return Err(Error::dtype("a list has no axes"));
        }
        is_index(index)?;
        let axis = axis(self.axis, x.rank())?;
        let slices = x.dims()[..axis].iter().chain(index.dims()).chain(&x.dims()[axis + 1..]);
        if !slices.eq(updates.dims()) {
            return Err(Error::shape(format!(
                "{updates} are not the slices of {x} along axis {axis} at {index}"
            )));
        }
        if x.dtype() != updates.dtype() {
            return Err(Error::dtype(format!("{updates} cannot be written into {x}"))
                .remedy("cast one of them"));
        }
        Ok(smallvec![*x])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        eval_by_over(self, inputs)
    }

    fn n_over(&self, _: usize) -> usize {
        1
    }

    fn eval_over(&self, over: &mut [Tensor], others: &[&Tensor]) -> Result<()> {
        let axis = axis(self.axis, over[0].rank())?;
        kernels::index_put(&mut over[0], axis, others[0], others[1])
    }

    fn fails(&self, inputs: &[&Type]) -> Option<Fault> {
        let axis = axis(self.axis, inputs[0].rank()).ok()?;
        Some(Fault::position(1, inputs[0].dim(axis)))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = axis(self.axis, batch.rank(0))?;
        if !batch.is_batched(1) {
            let (x, updates) = (batch.full(0)?, batch.full(2)?);
            return batch_of(index_put(&x, batch.given(1), &updates, axis as i64 + 1)?);
        }
        let (n_index, size) = (batch.rank(1), batch.ty(0)?.dim(axis));
        let (x, index) = (slices_first(&batch.full(0)?, axis + 1, 1)?, in_batch(batch, 1, size)?);
        let from: Vec<i64> = (axis + 1..axis + 1 + n_index).map(|i| i as i64).collect();
        let to: Vec<i64> = (1..=n_index).map(|i| i as i64).collect();
        let updates = movedim(&batch.full(2)?, &from, &to)?;
        let all = index_put(&x, &index, &updates, 0)?;
        let mut dims = vec![size];
        dims.extend(&all.dims()[1..]);
        batch_of(movedim(&batch.shaped(&all, &dims)?, &[1], &[axis as i64 + 1])?)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b10), |p| {
            let op = p.op::<IndexPut>()?;
            let (dy, index) = (p.dy(), p.x(1));
            let axis = axis(op.axis, dy.rank())?;
            let taken = || gather(&dy, &index, op.axis);
            // What was written over gets nothing.
            let written = || {
                let mut dims = SmallVec::<[Dim; 8]>::from_elem(Dim::size(1), axis);
                dims.extend(index.dims());
                dims.resize(dy.rank() + index.rank() - 1, Dim::size(1));
                reshape(&last_writes(&index, dy.dims()[axis])?, &dims)
            };
            grads![p =>
                index_put(&dy, &index, &zeros_like(&taken()?)?, op.axis),
                None,
                where_(&written()?, &taken()?, &zeros_like(&taken()?)?),
            ]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let [outer, size, inner] = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?;
        let sizes = [outer, size, inner, kernel::count(inputs[1].dims())?].map(Arg::Size);
        let args = [Arg::In(0), Arg::In(1), Arg::In(2), Arg::Out(0)].into_iter().chain(sizes);
        Native::new(&SOURCE, [inputs[0].dtype()], args).failing().alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(IndexPut::NAME, IndexPut::build, || {
    let x = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    let by = |axis| IndexPut { axis };
    vec![
        Sample::new(by(1), [x.clone(), i64s(&[2, 0], &[2]), f64s(&[7.0, 8.0, 9.0, 10.0], &[2, 2])])
            .gives([f64s(&[8.0, 2.0, 7.0, 10.0, 5.0, 9.0], &[2, 3])]),
        Sample::new(by(0), [x.clone(), i64s(&[-1, 1], &[2]), ramp(&[2, 3])])
            .gives([f64s(&[&[1.0, 2.0, 3.0], &ramp(&[2, 3]).to_f64s()[3..]].concat(), &[2, 3])]),
        Sample::new(by(0), [x.clone(), i64s(&[0], &[]), f64s(&[7.0, 8.0, 9.0], &[3])])
            .gives([f64s(&[7.0, 8.0, 9.0, 4.0, 5.0, 6.0], &[2, 3])]),
        Sample::new(by(0), [x.clone(), i64s(&[], &[0]), f64s(&[], &[0, 3])]).gives([x.clone()]),
        Sample::new(by(0), [x.clone(), i64s(&[2], &[1]), ramp(&[1, 3])])
            .refused("index 2 is out of range for axis 0 of size 2"),
        Sample::new(by(0), [x.clone(), i64s(&[0], &[1]), ramp(&[3])]).refused("are not the slices"),
        Sample::new(by(2), [x, i64s(&[0], &[1]), ramp(&[1])]).refused("out of range"),
    ]
});
