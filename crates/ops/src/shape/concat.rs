//! `concat`: tensors one after another along an axis.

use super::narrow;
use crate::prelude::*;

/// The tensors one after another along an axis.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (a, b) = (Var::of(&[1.0], &[1])?, Var::of(&[2.0, 3.0], &[2])?);
/// assert_eq!(concat(&[&a, &b], 0)?.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn concat(parts: &[&Var], axis: i64) -> Result<Var> {
    bind1(Concat { axis }, parts)
}

attributes! {
    /// The op behind [`concat`].
    pub struct Concat = "concat" {
        /// The axis.
        pub axis: i64,
    }
}

impl Op for Concat {
    fn arity(&self) -> Arity {
        Arity::AtLeast(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let first = inputs[0];
        if let Some(list) = inputs.iter().find(|ty| ty.is_list()) {
            return Err(Error::dtype(format!("expected a tensor, found {list}")));
        }
        let axis = axis(self.axis, first.rank())?;
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(first.dims());
        let mut dtype = first.dtype();
        for ty in &inputs[1..] {
            let same = ty.rank() == first.rank()
                && (0..first.rank()).all(|i| i == axis || ty.dim(i) == first.dim(i));
            if !same {
                return Err(Error::shape(format!("{first} and {ty} differ outside axis {axis}")));
            }
            dims[axis] = dims[axis].add(ty.dim(axis))?;
            dtype = dtype.promote(ty.dtype());
        }
        Ok(smallvec![Type::new(dtype, &dims)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let cast = |value: &&Value| value.tensor()?.cast(outs[0].dtype());
        let parts = inputs.iter().map(cast).collect::<Result<Vec<_>>>()?;
        let axis = axis(self.axis, outs[0].rank())?;
        Ok(smallvec![kernels::concat(&parts.iter().collect::<Vec<_>>(), axis)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(Concat { axis })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::TYPES, |p| {
            let op = p.op::<Concat>()?;
            let mut cotangents = Cotangents::new();
            let mut start = Dim::size(0);
            for i in 0..p.n_inputs() {
                let ty = p.in_type(i)?;
                let len = ty.dim(axis(op.axis, ty.rank())?);
                cotangents.push(match p.wanted(i) {
                    true => Some(narrow(&p.dy(), op.axis, start, len)?),
                    false => None,
                });
                start = start.add(len)?;
            }
            Ok(cotangents)
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let axis = axis(self.axis, outs[0].rank())?;
        let steps = kernel::distances(outs[0].dims())?;
        let mut start = Dim::size(0);
        let mut parts = Vec::new();
        for ty in inputs {
            let steps = steps.iter().map(|&step| Whole::from(step)).collect();
            parts.push(Placed {
                first: start.mul(kernel::distances(outs[0].dims())?[axis])?,
                steps,
            });
            start = start.add(ty.dim(axis))?;
        }
        Ok(Some(Kernel::Placed { zero: false, add: false, parts }))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Concat::NAME, Concat::build, || {
    let (a, b) = (f64s(&[1.0, 2.0], &[2, 1]), f64s(&[3.0, 4.0, 5.0, 6.0], &[2, 2]));
    vec![
        Sample::new(Concat { axis: 1 }, [a.clone(), b.clone()])
            .gives([f64s(&[1.0, 3.0, 4.0, 2.0, 5.0, 6.0], &[2, 3])]),
        Sample::new(Concat { axis: -2 }, [b.clone(), b.clone(), f64s(&[], &[0, 2])])
            .gives([f64s(&[3.0, 4.0, 5.0, 6.0, 3.0, 4.0, 5.0, 6.0], &[4, 2])]),
        Sample::new(Concat { axis: 0 }, [a.clone()]).gives([a.clone()]),
        Sample::new(Concat { axis: 0 }, [a.clone(), b]).refused("differ outside axis 0"),
        Sample::new(Concat { axis: 2 }, [a]).refused("out of range"),
        Sample::new(Concat { axis: 0 }, []).refused("at least one input"),
    ]
});
