//! `scatter_slice`: zeros with a slice filled in; the transpose of `slice`.

use super::{narrow, slice};
use crate::prelude::*;

/// Zeros whose `axis` has size `size`, with `x` written at `start`, `start + step`, …
#[track_caller]
pub fn scatter_slice(x: &Var, axis: i64, size: Dim, start: Dim, step: i64) -> Result<Var> {
    bind1(ScatterSlice { axis, size, start, step }, &[x])
}

attributes! {
    /// The op behind [`scatter_slice`].
    pub struct ScatterSlice = "scatter_slice" {
        /// The axis.
        pub axis: i64,
        /// Its size in the result.
        pub size: Dim,
        /// The first position written.
        pub start: Dim,
        /// The distance between positions.
        pub step: i64,
    }
}

impl ScatterSlice {
    /// Whether so many positions are all of those from the first on in steps.
    fn covers(&self, len: Dim) -> Result<bool> {
        let Ok(step @ 1..) = usize::try_from(self.step) else { return Ok(false) };
        let all = self.size.add(Dim::size(step - 1))?.floor_div(Dim::size(step))?;
        Ok(self.start == Dim::size(0) && all == len)
    }
}

impl Op for ScatterSlice {
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
        let known = (inputs[0].dim(axis).value(), self.size.value(), self.start.value());
        if let (Some(len), Some(size), Some(start)) = known {
            let last = (len as i64 - 1)
                .checked_mul(self.step)
                .and_then(|distance| distance.checked_add(i64::try_from(start).ok()?));
            let inside = |position: i64| (0..size as i64).contains(&position);
            let fits = len == 0 || (inside(start as i64) && last.is_some_and(inside));
            if !fits || (self.step == 0 && len > 1) {
                return Err(Error::index(format!(
                    "{len} elements from {start} in steps of {} do not fit into {size}",
                    self.step
                )));
            }
        } else if self.step != 1 && !self.covers(inputs[0].dim(axis))? {
            return Err(Error::shape(
                "with symbolic sizes, steps other than one must go from end to end",
            ));
        }
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(inputs[0].dims());
        dims[axis] = self.size;
        Ok(smallvec![inputs[0].with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let axis = axis(self.axis, x.rank())?;
        let dims = known_sizes(&outs[0])?;
        let start = known_size(self.start)?;
        let whole = kernels::scatter_slice(x, &dims, axis, start, self.step as isize)?;
        Ok(smallvec![whole.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(ScatterSlice { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let op = p.op::<ScatterSlice>()?;
            let len = p.in_type(0)?.dim(axis(op.axis, p.dy().rank())?);
            if op.step == 1 {
                return grads![p => narrow(&p.dy(), op.axis, op.start, len)];
            }
            if len.is_symbolic() {
                return grads![p => slice(&p.dy(), op.axis, None, None, op.step)];
            }
            let (len, start) = (known_size(len)? as i64, known_size(op.start)? as i64);
            // Going backwards past position 0 is written as "to the end".
            let stop = start.saturating_add(len.saturating_mul(op.step));
            let stop = Some(stop).filter(|&stop| stop >= 0);
            let (start, stop) = if len == 0 { (Some(0), Some(0)) } else { (Some(start), stop) };
            grads![p => slice(&p.dy(), op.axis, start, stop, op.step)]
        })
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        let axis = axis(self.axis, inputs[0].rank())?;
        let steps = kernel::distances(outs[0].dims())?;
        let first = self.start.mul(steps[axis])?;
        let mut steps: SmallVec<[Whole; 8]> = steps.into_iter().map(Whole::from).collect();
        steps[axis] = steps[axis].mul(Whole::Number(self.step))?;
        let parts = vec![Placed { first, steps }];
        Ok(Some(Kernel::Placed { zero: true, add: false, parts }))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(ScatterSlice::NAME, ScatterSlice::build, || {
    let by = |size, start, step| ScatterSlice {
        axis: 0,
        size: Dim::size(size),
        start: Dim::size(start),
        step,
    };
    let x = f64s(&[1.0, 2.0], &[2]);
    vec![
        Sample::new(by(5, 1, 2), [x.clone()]).gives([f64s(&[0.0, 1.0, 0.0, 2.0, 0.0], &[5])]),
        Sample::new(by(4, 3, -3), [x.clone()]).gives([f64s(&[2.0, 0.0, 0.0, 1.0], &[4])]),
        Sample::new(by(3, 0, 1), [f64s(&[], &[0])]).gives([f64s(&[0.0; 3], &[3])]),
        Sample::new(by(3, 1, 2), [x]).refused("do not fit"),
    ]
});
