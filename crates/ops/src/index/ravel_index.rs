//! `ravel_index`: positions on several axes as numbers of elements.

use super::gather::is_index;
use crate::prelude::*;

/// The numbers, in row-major order, of the elements of a tensor with these dims that have the
/// positions `indices[i]` on axis `i`; the indices are broadcast together. Negative positions count
/// from the back.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (rows, columns) = (Var::of(&[0i64, 1], &[2])?, Var::of(&[-1i64], &[1])?);
/// let numbers = ravel_multi_index(&[&rows, &columns], &[Dim::size(2), Dim::size(3)])?;
/// assert_eq!(numbers.to_vec::<i64>()?, [2, 5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn ravel_multi_index(indices: &[&Var], dims: &[Dim]) -> Result<Var> {
    let axes = (0..dims.len()).collect();
    bind1(RavelIndex { dims: dims.to_vec(), axes }, indices)
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "ravel_index", text: include_str!("ravel_index.c"), needs: &[] };

attributes! {
    /// The op behind [`ravel_multi_index`].
    pub struct RavelIndex = "ravel_index" {
        /// The sizes of the axes.
        pub dims: Vec<Dim>,
        /// What errors call the axes.
        pub axes: Vec<usize>,
    }
}

impl Op for RavelIndex {
    fn arity(&self) -> Arity {
        Arity::AtLeast(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs.len() != self.dims.len() || self.axes.len() != self.dims.len() {
            let (given, axes) = (inputs.len(), self.dims.len());
            return Err(Error::argument(format!("{given} indices were given for {axes} axes")));
        }
        let mut dims = SmallVec::<[Dim; 8]>::new();
        for ty in inputs {
            is_index(ty)?;
            dims = broadcast(&dims, ty.dims())?;
        }
        Ok(smallvec![inputs[0].with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let indices = inputs.iter().map(|input| input.tensor()).collect::<Result<Vec<_>>>()?;
        let dims = self.dims.iter().map(|&dim| known_size(dim)).collect::<Result<Vec<_>>>()?;
        let numbers = kernels::ravel_index(&indices, &dims, &self.axes, &known_sizes(&outs[0])?)?;
        Ok(smallvec![numbers.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Index))
    }

    fn positions(&self, _: &[&Type]) -> Option<(usize, Dim)> {
        Some((0, count_of(&self.dims)?))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.broadcast()
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("positions are integers")
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let (dims, distances) = (outs[0].dims(), kernel::distances(&self.dims)?);
        let part = |(i, ty): (usize, &&Type)| {
            let (extra, own) = (dims.len() - ty.rank(), kernel::distances(ty.dims())?);
            let step = |axis: usize| match axis.checked_sub(extra) {
                Some(k) if ty.dim(k) == dims[axis] => own[k],
                _ => Dim::size(0),
            };
            let args = [
                Arg::In(i),
                Arg::Out(0),
                Arg::Int(dims.len() as i64),
                Arg::Sizes(dims.into()),
                Arg::Sizes((0..dims.len()).map(step).collect()),
                Arg::Size(self.dims[i]),
                Arg::Size(distances[i]),
                Arg::Int((i == 0).into()),
            ];
            Ok(Native::new(&SOURCE, [], args).failing())
        };
        let calls = inputs.iter().enumerate().map(part).collect::<Result<_>>()?;
        Ok(Some(Kernel::Calls(calls)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(RavelIndex::NAME, RavelIndex::build, || {
    let of =
        |sizes: &[usize], axes: &[usize]| RavelIndex { dims: dims_of(sizes), axes: axes.to_vec() };
    let (rows, columns) = (i64s(&[0, -1], &[2, 1]), i64s(&[2, 0, 1], &[3]));
    vec![
        Sample::new(of(&[2, 4], &[0, 1]), [rows.clone(), columns.clone()])
            .gives([i64s(&[2, 0, 1, 6, 4, 5], &[2, 3])]),
        Sample::new(of(&[5], &[3]), [i64s(&[-2], &[])]).gives([i64s(&[3], &[])]),
        Sample::new(of(&[2, 2], &[0, 4]), [rows.clone(), columns])
            .refused("index 2 is out of range for axis 4 of size 2"),
        Sample::new(of(&[2], &[0]), [ramp(&[2])]).refused("positions are i64"),
        Sample::new(of(&[2], &[0]), [rows.clone(), rows.clone()]).refused("for 1 axes"),
        Sample::new(of(&[2, 2], &[0, 1]), [i64s(&[0; 3], &[3]), i64s(&[0; 2], &[2])])
            .refused("do not broadcast"),
    ]
});
