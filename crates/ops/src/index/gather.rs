//! `gather`: slices of an axis by position.

use super::index_add;
use crate::batch::{axes_between, batch_of, in_batch, slices_first};
use crate::prelude::*;
use crate::shape::movedim;

/// The slices of an axis at these positions, as numpy's `take`: the axis is replaced by the axes of
/// `index`. Negative positions count from the back.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[10.0, 20.0, 30.0], &[3])?;
/// assert_eq!(gather(&x, &Var::of(&[2i64, 0], &[2])?, 0)?.to_vec::<f64>()?, [30.0, 10.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn gather(x: &Var, index: &Var, axis: i64) -> Result<Var> {
    bind1(Gather { axis }, &[x, index])
}

/// The function in C.
pub(crate) static SOURCE: Source =
    Source { name: "gather", text: include_str!("gather.c"), needs: &[] };

/// The function for devices.
static SHADER: Shader = Shader {
    text: include_str!("gather.wgsl"),
    args: &["x", "index", "y", "outer", "size", "inner", "count"],
    count: |n| n[3].int().saturating_mul(n[5].int()).saturating_mul(n[6].int()),
};

attributes! {
    /// The op behind [`gather`].
    pub struct Gather = "gather" {
        /// The axis.
        pub axis: i64,
    }
}

/// Refuses what is not a tensor of positions.
pub(super) fn is_index(ty: &Type) -> Result<()> {
    match ty.dtype() == DType::I64 && !ty.is_list() {
        true => Ok(()),
        false => Err(Error::dtype(format!("positions are i64, found {ty}")).remedy("cast them")),
    }
}

impl Op for Gather {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (x, index) = (inputs[0], inputs[1]);
        if x.is_list() {
            return Err(Error::dtype("a list has no axes"));
        }
        is_index(index)?;
        let axis = axis(self.axis, x.rank())?;
        let dims: SmallVec<[Dim; 8]> = x.dims()[..axis]
            .iter()
            .chain(index.dims())
            .chain(&x.dims()[axis + 1..])
            .copied()
            .collect();
        Ok(smallvec![x.with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let (x, index) = (inputs[0].tensor()?, inputs[1].tensor()?);
        Ok(smallvec![kernels::gather(x, axis(self.axis, x.rank())?, index)?.into()])
    }

    fn fails(&self, inputs: &[&Type]) -> Option<Fault> {
        let axis = axis(self.axis, inputs[0].rank()).ok()?;
        Some(Fault::position(1, inputs[0].dim(axis)))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = axis(self.axis, batch.rank(0))?;
        let (n_index, n_rest) = (batch.rank(1), batch.rank(0) - axis - 1);
        if !batch.is_batched(1) {
            return batch_of(gather(batch.given(0), batch.given(1), axis as i64 + 1)?);
        }
        if !batch.is_batched(0) {
            let y = gather(batch.given(0), batch.given(1), axis as i64)?;
            return batch_of(movedim(&y, &[axis as i64], &[0])?);
        }
        // The slices of all elements of the batch stand in one axis.
        let x = slices_first(batch.given(0), axis + 1, 1)?;
        let index = in_batch(batch, 1, batch.ty(0)?.dim(axis))?;
        let y = gather(&x, &index, 0)?;
        batch_of(axes_between(&y, 1 + n_index, axis, n_index, n_rest)?)
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b10), |p| {
            let op = p.op::<Gather>()?;
            let ty = p.in_type(0)?;
            let size = ty.dim(axis(op.axis, ty.rank())?);
            grads![p => index_add(&p.dy(), &p.x(1), op.axis, size), None]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let [outer, size, inner] = kernel::around(inputs[0], axis(self.axis, inputs[0].rank())?)?;
        let sizes = [outer, size, inner, kernel::count(inputs[1].dims())?].map(Arg::Size);
        let args = [Arg::In(0), Arg::In(1), Arg::Out(0)].into_iter().chain(sizes);
        Native::new(&SOURCE, [inputs[0].dtype()], args).failing().with_shader(&SHADER).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Gather::NAME, Gather::build, || {
    let x = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    vec![
        Sample::new(Gather { axis: 0 }, [x.clone(), i64s(&[1, 1, -2], &[3])])
            .gives([f64s(&[4.0, 5.0, 6.0, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0], &[3, 3])]),
        Sample::new(Gather { axis: -1 }, [x.clone(), i64s(&[2, 0, 0, 1], &[2, 2])])
            .gives([f64s(&[3.0, 1.0, 1.0, 2.0, 6.0, 4.0, 4.0, 5.0], &[2, 2, 2])]),
        Sample::new(Gather { axis: 1 }, [x.clone(), i64s(&[1], &[])])
            .gives([f64s(&[2.0, 5.0], &[2])]),
        Sample::new(Gather { axis: 0 }, [x.clone(), i64s(&[], &[0])]).gives([f64s(&[], &[0, 3])]),
        Sample::new(Gather { axis: 0 }, [x.clone(), i64s(&[2], &[1])]).refused("2"),
        Sample::new(Gather { axis: 0 }, [x.clone(), ramp(&[2])]).refused("positions are i64"),
        Sample::new(Gather { axis: 2 }, [x, i64s(&[0], &[1])]).refused("out of range"),
    ]
});
