//! `index_add`: slices added up at positions of an axis; the transpose of `gather`.

use super::gather;
use super::gather::is_index;
use crate::batch::{batch_of, in_batch};
use crate::prelude::*;
use crate::shape::movedim;

/// Zeros whose `axis` has size `size`, with the slices of `updates` added at the positions in
/// `index`, in order.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let updates = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let y = index_add(&updates, &Var::of(&[0i64, 2, 0], &[3])?, 0, Dim::size(3))?;
/// assert_eq!(y.to_vec::<f64>()?, [4.0, 0.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn index_add(updates: &Var, index: &Var, axis: i64, size: Dim) -> Result<Var> {
    bind1(IndexAdd { axis, size }, &[updates, index])
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "index_add", text: include_str!("index_add.c"), needs: &[] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("index_add.wgsl"),
    args: &["updates", "index", "y", "outer", "size", "inner", "count"],
    count: |n| n[3].int().saturating_mul(n[4].int()).saturating_mul(n[5].int()),
};

attributes! {
    /// The op behind [`index_add`].
    pub struct IndexAdd = "index_add" {
        /// The axis of the result.
        pub axis: i64,
        /// Its size.
        pub size: Dim,
    }
}

impl IndexAdd {
    /// The axis, counted from the front, and the dims of the result.
    fn shape(&self, updates: &Type, index: &Type) -> Result<(usize, SmallVec<[Dim; 8]>)> {
        let Some(others) = updates.rank().checked_sub(index.rank()) else {
            return Err(Error::shape(format!(
                "{updates} has fewer axes than the positions {index}"
            )));
        };
        let axis = axis(self.axis, others + 1)?;
        if updates.dims().get(axis..axis + index.rank()) != Some(index.dims()) {
            return Err(Error::shape(format!(
                "the axes of {updates} from {axis} on are not those of the positions {index}"
            )));
        }
        let mut dims = SmallVec::from_slice(&updates.dims()[..axis]);
        dims.push(self.size);
        dims.extend_from_slice(&updates.dims()[axis + index.rank()..]);
        Ok((axis, dims))
    }
}

impl Op for IndexAdd {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() || inputs[0].dtype().is_bool() {
            return Err(Error::dtype("only numbers can be added up"));
        }
        is_index(inputs[1])?;
        let (_, dims) = self.shape(inputs[0], inputs[1])?;
        Ok(smallvec![inputs[0].with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (updates, index) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let (axis, _) = self.shape(&updates.ty(), &index.ty())?;
        Ok(smallvec![kernels::index_add(&known_sizes(&outs[0])?, axis, index, updates)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::position(1, self.size))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let (n_index, rank) = (batch.rank(1), batch.rank(0));
        let axis = axis(self.axis, rank - n_index + 1)?;
        if !batch.is_batched(1) {
            return batch_of(index_add(
                batch.given(0),
                batch.given(1),
                axis as i64 + 1,
                self.size,
            )?);
        }
        let (updates, index) = (batch.full(0)?, in_batch(batch, 1, self.size)?);
        let from: Vec<i64> = (axis + 1..axis + 1 + n_index).map(|i| i as i64).collect();
        let to: Vec<i64> = (1..=n_index).map(|i| i as i64).collect();
        let updates = movedim(&updates, &from, &to)?;
        let all = index_add(&updates, &index, 0, batch.size().mul(self.size)?)?;
        let mut dims = vec![self.size];
        dims.extend(&all.dims()[1..]);
        batch_of(movedim(&batch.shaped(&all, &dims)?, &[1], &[axis as i64 + 1])?)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b10), |p| {
            let axis = p.op::<IndexAdd>()?.axis;
            grads![p => gather(&p.dy(), &p.x(1), axis), None]
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let (axis, _) = self.shape(inputs[0], inputs[1])?;
        let [outer, size, inner] = kernel::around(&outs[0], axis)?;
        let sizes = [outer, size, inner, kernel::count(inputs[1].dims())?].map(Arg::Size);
        let args = [Arg::In(0), Arg::In(1), Arg::Out(0)].into_iter().chain(sizes);
        Native::new(&SOURCE, [inputs[0].dtype()], args).failing().with_shader(&SHADER).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(IndexAdd::NAME, IndexAdd::build, || {
    let of = |axis, size| IndexAdd { axis, size: Dim::size(size) };
    let updates = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]);
    vec![
        Sample::new(of(0, 2), [updates.clone(), i64s(&[1, 0, -1], &[3])])
            .gives([f64s(&[3.0, 4.0, 6.0, 8.0], &[2, 2])]),
        Sample::new(of(1, 3), [updates.clone(), i64s(&[2, 2], &[2])])
            .gives([f64s(&[0.0, 0.0, 3.0, 0.0, 0.0, 7.0, 0.0, 0.0, 11.0], &[3, 3])]),
        Sample::new(of(0, 2), [updates.clone(), i64s(&[0, 5, 0], &[3])]).refused("5"),
        Sample::new(of(0, 2), [updates, i64s(&[0, 1], &[2])]).refused("not those of the positions"),
    ]
});
