//! What an op is given to run on a whole batch at once: behind `vmap`.
//!
//! A batched value has the axis of the batch in front. Rules say how the op is applied to such values; ops without a
//! rule are run element by element.

use fluvial_tensor::{Dim, Error, Result, Type};
use smallvec::SmallVec;

use crate::bind::{Outputs, bind};
use crate::op::OpRef;
use crate::structural;
use crate::var::Var;

/// An op and inputs of which some are batched. A rule gives outputs that all are.
pub struct Batch<'a> {
    op: &'a OpRef,
    inputs: &'a [Var],
    batched: &'a [bool],
    size: Dim,
    reshape: fn(&Var, &[Dim]) -> Result<Var>,
}

impl<'a> Batch<'a> {
    /// The op on these inputs; `reshape` is the op of that name, which this crate does not know.
    pub fn new(
        op: &'a OpRef,
        inputs: &'a [Var],
        batched: &'a [bool],
        size: Dim,
        reshape: fn(&Var, &[Dim]) -> Result<Var>,
    ) -> Batch<'a> {
        Batch { op, inputs, batched, size, reshape }
    }

    /// The size of the batch.
    pub fn size(&self) -> Dim {
        self.size
    }

    /// The number of inputs.
    pub fn n_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Input `i` as it is.
    pub fn given(&self, i: usize) -> &Var {
        &self.inputs[i]
    }

    /// Whether input `i` has the axis of the batch.
    pub fn is_batched(&self, i: usize) -> bool {
        self.batched[i]
    }

    /// The rank of input `i` in one element.
    pub fn rank(&self, i: usize) -> usize {
        self.inputs[i].rank() - usize::from(self.batched[i])
    }

    /// The type of input `i` in one element.
    pub fn ty(&self, i: usize) -> Result<Type> {
        match self.batched[i] {
            true => element_type(&self.inputs[i].ty()),
            false => Ok(self.inputs[i].ty()),
        }
    }

    /// The types of the outputs in one element.
    pub fn outputs(&self) -> Result<SmallVec<[Type; 1]>> {
        let types = (0..self.n_inputs()).map(|i| self.ty(i)).collect::<Result<Vec<_>>>()?;
        self.op.infer(&types.iter().collect::<Vec<_>>())
    }

    /// The dims with the batch in front.
    pub fn dims(&self, dims: &[Dim]) -> SmallVec<[Dim; 8]> {
        std::iter::once(self.size).chain(dims.iter().copied()).collect()
    }

    /// Input `i` with the axis of the batch; one without it is repeated, which costs no memory.
    pub fn full(&self, i: usize) -> Result<Var> {
        let input = &self.inputs[i];
        match self.batched[i] {
            true => Ok(input.clone()),
            false => structural::expand(input, &self.dims(input.ty().dims())),
        }
    }

    /// Input `i`, if it is batched with axes of size one behind the batch, so that it has this rank in one element.
    pub fn aligned(&self, i: usize, rank: usize) -> Result<Var> {
        let input = &self.inputs[i];
        let missing = rank.saturating_sub(self.rank(i));
        if !self.batched[i] || missing == 0 {
            return Ok(input.clone());
        }
        let ty = input.ty();
        let mut dims = SmallVec::<[Dim; 8]>::from_elem(Dim::size(1), missing);
        dims.extend_from_slice(&ty.dims()[1..]);
        self.shaped(input, &dims)
    }

    /// The value with the batch in front of these dims.
    pub fn shaped(&self, x: &Var, dims: &[Dim]) -> Result<Var> {
        let dims = self.dims(dims);
        if x.ty().dims() == &dims[..] { Ok(x.clone()) } else { (self.reshape)(x, &dims) }
    }

    /// The value with any dims.
    pub fn reshaped(&self, x: &Var, dims: &[Dim]) -> Result<Var> {
        (self.reshape)(x, dims)
    }

    /// The place of an axis behind the batch, where one element has this rank.
    pub fn axis(&self, named: i64, rank: usize) -> i64 {
        if named < 0 { named + rank as i64 + 1 } else { named + 1 }
    }

    /// The rule of ops that take further axes in front: the op itself, with the batch as one of them.
    pub fn as_is(&self) -> Result<Option<Outputs>> {
        self.with(self.op)
    }

    /// Another op on the inputs, all with the axis of the batch.
    pub fn with(&self, op: impl Into<OpRef>) -> Result<Option<Outputs>> {
        let inputs = (0..self.n_inputs()).map(|i| self.full(i)).collect::<Result<Vec<_>>>()?;
        bind(op, &inputs.iter().collect::<SmallVec<[&Var; 4]>>()).map(Some)
    }

    /// The rule of ops whose inputs are broadcast together.
    pub fn broadcast(&self) -> Result<Option<Outputs>> {
        let rank = (0..self.n_inputs()).map(|i| self.rank(i)).max().unwrap_or(0);
        let inputs =
            (0..self.n_inputs()).map(|i| self.aligned(i, rank)).collect::<Result<Vec<_>>>()?;
        bind(self.op, &inputs.iter().collect::<SmallVec<[&Var; 4]>>()).map(Some)
    }

    /// The rule of ops that work row by row along the first axis: the batch and that axis are one.
    pub fn folded(&self) -> Result<Option<Outputs>> {
        let mut inputs = SmallVec::<[Var; 4]>::new();
        for i in 0..self.n_inputs() {
            let full = self.full(i)?;
            let ty = full.ty();
            let Some((rows, rest)) = ty.dims()[1..].split_first() else { return Ok(None) };
            let mut dims: SmallVec<[Dim; 8]> = SmallVec::from_elem(self.size.mul(*rows)?, 1);
            dims.extend_from_slice(rest);
            inputs.push((self.reshape)(&full, &dims)?);
        }
        let outputs = bind(self.op, &inputs.iter().collect::<SmallVec<[&Var; 4]>>())?;
        let types = self.outputs()?;
        let unfolded = outputs.iter().zip(&types).map(|(y, ty)| self.shaped(y, ty.dims()));
        unfolded.collect::<Result<Outputs>>().map(Some)
    }
}

/// The type of one element of a batched value: without its first axis. The elements of a list are batched each.
pub fn element_type(ty: &Type) -> Result<Type> {
    match ty.dims().split_first() {
        Some((_, dims)) => ty.with_dims(dims),
        None => Err(Error::internal(format!("{ty} has no axis of a batch"))),
    }
}

/// The type of a batched value whose elements have this type.
pub fn batched_type(ty: &Type, size: Dim) -> Result<Type> {
    let dims: SmallVec<[Dim; 8]> = std::iter::once(size).chain(ty.dims().iter().copied()).collect();
    ty.with_dims(&dims)
}
