//! `slice`: every `step`-th element of an axis, from one position to another.

use super::derived::judged;
use super::{narrow, scatter_slice};
use crate::prelude::*;

/// The elements of one axis from `start` to `stop` (exclusive) in steps, as in Python: negative
/// positions count from the back, positions beyond the ends are cut, and `None` means the end that
/// the step comes from or goes to. No copy.
///
/// On an axis of symbolic size, positions are not cut: a run in which they lie beyond the ends is
/// an error. So `x[:-1]` of `n` elements has `n - 1`, and `x[:3]` has 3.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[0.0, 1.0, 2.0, 3.0, 4.0], &[5])?;
/// assert_eq!(slice(&x, 0, Some(1), None, 2)?.to_vec::<f64>()?, [1.0, 3.0]);
/// assert_eq!(slice(&x, 0, None, None, -2)?.to_vec::<f64>()?, [4.0, 2.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn slice(x: &Var, axis: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Result<Var> {
    let _line = at(scope::user_line());
    let ty = x.clone().check()?.ty();
    let known = match crate::prelude::axis(axis, ty.rank()) {
        Ok(found) => ty.is_list() || !ty.dim(found).is_symbolic(),
        Err(_) => true,
    };
    if known || step == 0 || (start.is_none() && stop.is_none() && step >= -1) {
        return bind1(Slice { axis, start, stop, step }, &[x]);
    }
    // Exact arithmetic on symbols: the part first, then backwards, then in steps.
    let (first, len) = judged("slice", &[x], |types| {
        let size = types[0].dim(crate::prelude::axis(axis, types[0].rank())?);
        symbolic_range(size, start, stop, step > 0)
    })?;
    let part = narrow(x, axis, first, len)?;
    let part = match step < 0 {
        true => bind1(Slice { axis, start: None, stop: None, step: -1 }, &[&part])?,
        false => part,
    };
    match step.unsigned_abs() {
        1 => Ok(part),
        _ => bind1(Slice { axis, start: None, stop: None, step: step.saturating_abs() }, &[&part]),
    }
}

/// The lowest position and the number of positions between the ends, which are not cut.
fn symbolic_range(
    size: Dim,
    start: Option<i64>,
    stop: Option<i64>,
    forward: bool,
) -> Result<(Dim, Dim)> {
    let place = |position: Option<i64>, beyond: usize, default: Dim| match position {
        None => Ok(default),
        Some(i) => {
            let distance = Dim::size(i.unsigned_abs() as usize);
            let from_front = if i < 0 { size.sub(distance)? } else { distance };
            from_front.add(Dim::size(beyond))
        }
    };
    // Backwards, an end is the position after it in memory.
    let zero = Dim::size(0);
    let (low, high) = match forward {
        true => (place(start, 0, zero)?, place(stop, 0, size)?),
        false => (place(stop, 1, zero)?, place(start, 1, size)?),
    };
    match (low.value(), high.value()) {
        (Some(low), Some(high)) if low >= high => Ok((zero, zero)),
        _ => Ok((low, high.sub(low)?)),
    }
}

attributes! {
    /// The op behind [`slice`].
    pub struct Slice = "slice" {
        /// The axis.
        pub axis: i64,
        /// The first position.
        pub start: Option<i64>,
        /// The position before which it ends.
        pub stop: Option<i64>,
        /// The distance between positions; negative to go backwards.
        pub step: i64,
    }
}

impl Slice {
    /// Whether it goes from one end to the other, so that the size of the axis need not be known.
    fn is_whole(&self) -> bool {
        let from_end = match self.step {
            1.. => self.start.unwrap_or(0) == 0,
            -1 => self.start.is_none(),
            _ => false,
        };
        from_end && self.stop.is_none()
    }

    /// First position and number of elements on an axis of this size.
    fn range(&self, size: usize) -> Result<(usize, usize)> {
        if self.step == 0 {
            return Err(Error::argument("the step of a slice must not be zero"));
        }
        let size = size as i64;
        let (low, high) = if self.step > 0 { (0, size) } else { (-1, size - 1) };
        let place = |position: Option<i64>, default: i64| match position {
            None => default,
            Some(i) if i < 0 => i.saturating_add(size).clamp(low, high),
            Some(i) => i.clamp(low, high),
        };
        let forward = self.step > 0;
        let start = place(self.start, if forward { 0 } else { size - 1 });
        let stop = place(self.stop, if forward { size } else { -1 });
        let distance = if forward { stop - start } else { start - stop };
        let stride = self.step.unsigned_abs();
        let len = if distance > 0 { (distance as u64).div_ceil(stride) } else { 0 };
        Ok((if len == 0 { 0 } else { start as usize }, len as usize))
    }
}

impl Op for Slice {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if inputs[0].is_list() {
            return Err(Error::dtype("a list has no axes"));
        }
        let axis = axis(self.axis, inputs[0].rank())?;
        let dim = inputs[0].dim(axis);
        let len = match dim.value() {
            Some(size) => Dim::size(self.range(size)?.1),
            None if self.is_whole() => {
                let step = self.step.unsigned_abs() as usize;
                dim.add(Dim::size(step - 1))?.floor_div(Dim::size(step))?
            }
            None => {
                return Err(Error::shape(format!(
                    "axis {axis} of {} has no known size to slice",
                    inputs[0]
                ))
                .remedy("give the axis a size, or use `narrow` with symbolic positions"));
            }
        };
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(inputs[0].dims());
        dims[axis] = len;
        Ok(smallvec![inputs[0].with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let axis = axis(self.axis, x.rank())?;
        let (start, len) = self.range(x.dims()[axis])?;
        Ok(smallvec![x.slice(axis, start, len, self.step as isize)?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let op = p.op::<Slice>()?;
            let whole = p.in_type(0)?;
            let axis = axis(op.axis, whole.rank())?;
            let dim = whole.dim(axis);
            let Some(size) = dim.value() else {
                return match op.step {
                    1 => grads![p => p.dy()],
                    -1 => grads![p => slice(&p.dy(), op.axis, None, None, -1)],
                    _ => grads![p => scatter_slice(
                        &p.dy(), op.axis, dim, Dim::size(0), op.step
                    )],
                };
            };
            let start = Dim::size(op.range(size)?.0);
            grads![p => scatter_slice(&p.dy(), axis as i64, dim, start, op.step)]
        })
    }

    fn properties(&self) -> Properties {
        Properties::VIEW
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Slice::NAME, Slice::build, || {
    let x = f64s(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], &[6]);
    let by = |start, stop, step| Slice { axis: 0, start, stop, step };
    let matrix = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    vec![
        Sample::new(by(Some(1), Some(4), 1), [x.clone()]).gives([f64s(&[1.0, 2.0, 3.0], &[3])]),
        Sample::new(by(None, None, 2), [x.clone()]).gives([f64s(&[0.0, 2.0, 4.0], &[3])]),
        Sample::new(by(Some(-2), None, -2), [x.clone()]).gives([f64s(&[4.0, 2.0, 0.0], &[3])]),
        Sample::new(by(Some(4), Some(1), 1), [x.clone()]).gives([f64s(&[], &[0])]),
        Sample::new(by(Some(-100), Some(100), 5), [x.clone()]).gives([f64s(&[0.0, 5.0], &[2])]),
        Sample::new(by(None, None, -1), [f64s(&[], &[0])]).gives([f64s(&[], &[0])]),
        Sample::new(Slice { axis: -1, start: Some(1), stop: None, step: 1 }, [matrix.clone()])
            .gives([f64s(&[2.0, 3.0, 5.0, 6.0], &[2, 2])]),
        Sample::new(by(None, None, 0), [x]).refused("must not be zero"),
        Sample::new(Slice { axis: 2, start: None, stop: None, step: 1 }, [matrix])
            .refused("out of range"),
    ]
});
