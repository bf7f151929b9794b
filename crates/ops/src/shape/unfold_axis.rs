//! `unfold_axis`: all windows along an axis.

use super::fold_axis::FoldAxis;
use crate::prelude::*;

/// All windows of `size` neighbours along an axis, `step` apart: the axis counts the windows, a new
/// last axis the elements within. No copy, also where windows overlap.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[4])?;
/// let y = unfold_axis(&x, 0, 2, 1)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0, 2.0, 3.0, 3.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn unfold_axis(x: &Var, axis: i64, size: usize, step: usize) -> Result<Var> {
    bind1(UnfoldAxis { axis, size, step }, &[x])
}

attributes! {
    /// The op behind [`unfold_axis`].
    pub struct UnfoldAxis = "unfold_axis" {
        /// The axis.
        pub axis: i64,
        /// The number of elements of a window.
        pub size: usize,
        /// The distance from one window to the next.
        pub step: usize,
    }
}

/// The number of windows on an axis.
pub(super) fn window_count(dim: Dim, size: usize, step: usize) -> Result<Dim> {
    if step == 0 {
        return Err(Error::argument("windows 0 apart do not come to an end"));
    }
    match dim.value() {
        Some(n) if n < size => {
            Err(Error::shape(format!("a window of {size} elements does not fit an axis of {n}"))
                .remedy("take a smaller window, or `pad` first"))
        }
        _ => dim.sub(Dim::size(size))?.floor_div(Dim::size(step))?.add(Dim::size(1)),
    }
}

impl Op for UnfoldAxis {
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
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(inputs[0].dims());
        dims[axis] = window_count(dims[axis], self.size, self.step)?;
        dims.push(Dim::size(self.size));
        Ok(smallvec![inputs[0].with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        Ok(smallvec![x.windows(axis(self.axis, x.rank())?, self.size, self.step)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(UnfoldAxis { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let UnfoldAxis { axis: named, step, .. } = *p.op::<UnfoldAxis>()?;
            let ty = p.in_type(0)?;
            let axis = axis(named, ty.rank())?;
            let fold = FoldAxis { axis: axis as i64, size: ty.dim(axis), step };
            grads![p => bind1(fold, &[&p.dy()])]
        })
    }

    fn properties(&self) -> Properties {
        Properties::VIEW
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let axis = axis(self.axis, inputs[0].rank())?;
        let mut view = View::whole(inputs[0].rank());
        view.axes[axis] = smallvec![(axis, self.step as i64)];
        view.axes.push(smallvec![(axis, 1)]);
        Ok(Some(Kernel::View(view)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(UnfoldAxis::NAME, UnfoldAxis::build, || {
    let by = |axis, size, step| UnfoldAxis { axis, size, step };
    let x = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0], &[5]);
    let matrix = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]);
    vec![
        Sample::new(by(0, 3, 1), [x.clone()])
            .gives([f64s(&[1.0, 2.0, 3.0, 2.0, 3.0, 4.0, 3.0, 4.0, 5.0], &[3, 3])]),
        Sample::new(by(-1, 2, 3), [x.clone()]).gives([f64s(&[1.0, 2.0, 4.0, 5.0], &[2, 2])]),
        Sample::new(by(0, 2, 1), [matrix])
            .gives([f64s(&[1.0, 3.0, 2.0, 4.0, 3.0, 5.0, 4.0, 6.0], &[2, 2, 2])]),
        Sample::new(by(0, 1, 7), [f64s(&[2.0], &[1])]).gives([f64s(&[2.0], &[1, 1])]),
        Sample::new(by(0, 6, 1), [x.clone()]).refused("does not fit an axis of 5"),
        Sample::new(by(0, 1, 0), [x]).refused("do not come to an end"),
    ]
});
