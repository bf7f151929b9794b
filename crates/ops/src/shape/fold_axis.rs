//! `fold_axis`: windows added up where they came from; the transpose of `unfold_axis`.

use super::unfold_axis::{UnfoldAxis, window_count};
use crate::prelude::*;

/// An axis of size `size` from its windows, `step` apart, which the last axis of `x` holds: where
/// they overlap they are added up, where there is none the result is zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let windows = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// let y = fold_axis(&windows, 0, Dim::size(3), 1)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 5.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn fold_axis(x: &Var, axis: i64, size: Dim, step: usize) -> Result<Var> {
    bind1(FoldAxis { axis, size, step }, &[x])
}

attributes! {
    /// The op behind [`fold_axis`].
    pub struct FoldAxis = "fold_axis" {
        /// The axis of the result.
        pub axis: i64,
        /// Its size.
        pub size: Dim,
        /// The distance from one window to the next.
        pub step: usize,
    }
}

impl Op for FoldAxis {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Complex
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() || inputs[0].dtype().is_bool() {
            return Err(Error::dtype("only numbers can be added up"));
        }
        let Some((&window, dims)) = inputs[0].dims().split_last() else {
            return Err(Error::shape("a scalar has no windows"));
        };
        let axis = axis(self.axis, dims.len())?;
        let window = known_size(window)?;
        let count = window_count(self.size, window, self.step)?;
        if dims[axis] != count {
            return Err(Error::shape(format!(
                "an axis of {} has {count} windows of {window}, {} apart, not {}",
                self.size, self.step, dims[axis]
            )));
        }
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(dims);
        dims[axis] = self.size;
        Ok(smallvec![inputs[0].with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let dims = known_sizes(&outs[0])?;
        let axis = axis(self.axis, dims.len())?;
        let stride =
            |axis: usize| dims[axis + 1..].iter().fold(1, |all: usize, &n| all.saturating_mul(n));
        let mut strides: Vec<usize> = (0..dims.len()).map(stride).collect();
        strides.push(strides[axis]);
        // A step that is never taken may be of any length.
        strides[axis] = strides[axis].saturating_mul(self.step);
        Ok(smallvec![kernels::place(x, &dims, 0, &strides, true)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        // The last axis holds the windows.
        let axis = batch.axis(self.axis, batch.rank(0) - 1);
        batch.with(FoldAxis { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let FoldAxis { axis: named, step, .. } = *p.op::<FoldAxis>()?;
            let axis = axis(named, p.dy().rank())? as i64;
            let window = p.in_type(0)?.dims().last().copied().unwrap_or(Dim::size(0));
            let unfold = UnfoldAxis { axis, size: known_size(window)?, step };
            grads![p => bind1(unfold, &[&p.dy()])]
        })
    }

    fn kernel(&self, _: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let axis = axis(self.axis, outs[0].rank())?;
        let mut steps: SmallVec<[Whole; 8]> =
            kernel::distances(outs[0].dims())?.into_iter().map(Whole::from).collect();
        steps.push(steps[axis]);
        steps[axis] = steps[axis].mul(Whole::Number(self.step as i64))?;
        let parts = vec![Placed { first: Dim::size(0), steps }];
        Ok(Some(Kernel::Placed { zero: true, add: true, parts }))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(FoldAxis::NAME, FoldAxis::build, || {
    let by = |axis, size, step| FoldAxis { axis, size: Dim::size(size), step };
    let x = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]);
    vec![
        Sample::new(by(0, 4, 1), [x.clone()]).gives([f64s(&[1.0, 5.0, 9.0, 6.0], &[4])]),
        Sample::new(by(-1, 9, 3), [x.clone()])
            .gives([f64s(&[1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 5.0, 6.0, 0.0], &[9])]),
        Sample::new(by(0, 5, 1), [x.clone()]).refused("has 4 windows of 2"),
        Sample::new(by(1, 4, 1), [x]).refused("out of range"),
        Sample::new(by(0, 1, 1), [f64s(&[1.0], &[])]).refused("no windows"),
    ]
});
