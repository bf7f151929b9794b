//! `narrow`: part of an axis, by position and length.

use super::scatter_slice;
use crate::prelude::*;

/// `len` elements of an axis from position `start`; both may be symbols. No copy.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[0.0, 1.0, 2.0, 3.0], &[4])?;
/// let y = narrow(&x, 0, Dim::size(1), Dim::size(2))?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn narrow(x: &Var, axis: i64, start: Dim, len: Dim) -> Result<Var> {
    bind1(Narrow { axis, start, len }, &[x])
}

attributes! {
    /// The op behind [`narrow`].
    pub struct Narrow = "narrow" {
        /// The axis.
        pub axis: i64,
        /// The first position.
        pub start: Dim,
        /// The number of elements.
        pub len: Dim,
    }
}

impl Op for Narrow {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() {
            return Err(Error::dtype("a list has no axes"));
        }
        let axis = axis(self.axis, inputs[0].rank())?;
        let end = self.start.add(self.len)?;
        if let (Some(end), Some(size)) = (end.value(), inputs[0].dim(axis).value())
            && end > size
        {
            return Err(Error::index(format!(
                "{} elements from {} end beyond the size {size} of axis {axis}",
                self.len, self.start
            )));
        }
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(inputs[0].dims());
        dims[axis] = self.len;
        Ok(smallvec![inputs[0].with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let (start, len) = (known_size(self.start)?, known_size(self.len)?);
        Ok(smallvec![x.slice(axis(self.axis, x.rank())?, start, len, 1)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(Narrow { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let op = p.op::<Narrow>()?;
            let whole = p.in_type(0)?;
            let size = whole.dim(axis(op.axis, whole.rank())?);
            grads![p => scatter_slice(&p.dy(), op.axis, size, op.start, 1)]
        })
    }

    fn properties(&self) -> Properties {
        Properties::VIEW
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let mut view = View::whole(inputs[0].rank());
        view.start[axis(self.axis, inputs[0].rank())?] = self.start;
        Ok(Some(Kernel::View(view)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Narrow::NAME, Narrow::build, || {
    let by = |axis, start, len| Narrow { axis, start: Dim::size(start), len: Dim::size(len) };
    let x = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    vec![
        Sample::new(by(1, 1, 2), [x.clone()]).gives([f64s(&[2.0, 3.0, 5.0, 6.0], &[2, 2])]),
        Sample::new(by(-2, 1, 1), [x.clone()]).gives([f64s(&[4.0, 5.0, 6.0], &[1, 3])]),
        Sample::new(by(0, 2, 0), [x.clone()]).gives([f64s(&[], &[0, 3])]),
        Sample::new(by(0, 1, 2), [x.clone()]).refused("end beyond the size"),
        Sample::new(by(2, 0, 1), [x]).refused("out of range"),
    ]
});
