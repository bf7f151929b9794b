//! `slice`: every `step`-th element of an axis, from one position to another.

use super::derived::judged;
use super::{dim_size, narrow, scatter_slice, whole_size};
use crate::binary::{lt, maximum, minimum, where_};
use crate::create::of_size;
use crate::index::End;
use crate::prelude::*;

/// The elements of one axis from `start` to `stop` (exclusive) in steps, as in Python: negative
/// positions count from the back, positions beyond the ends are cut, and `None` means the end that
/// the step comes from or goes to. No copy.
///
/// On an axis of symbolic size, positions are not cut unless the build has an example of the size
/// ([`decisions`]): a run in which they lie beyond the ends is an error. So `x[:-1]` of `n` elements
/// has `n - 1`, and `x[:3]` has 3.
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
    part_of(x, axis, start.map(End::from), stop.map(End::from), step)
}

/// [`slice`] with ends that may depend on sizes, or that only the run knows.
pub(crate) fn part_of(
    x: &Var,
    axis: i64,
    start: Option<End>,
    stop: Option<End>,
    step: i64,
) -> Result<Var> {
    let ty = x.clone().check()?.ty();
    let known = match crate::prelude::axis(axis, ty.rank()) {
        Ok(found) => ty.is_list() || !ty.dim(found).is_symbolic(),
        Err(_) => true,
    };
    if let (Some(start), Some(stop)) = (as_number(&start), as_number(&stop))
        && (known || step == 0 || (start.is_none() && stop.is_none() && step >= -1))
    {
        return bind1(Slice { axis, start, stop, step }, &[x]);
    }
    // Exact arithmetic on symbols: the part first, then backwards, then in steps.
    let size = judged("slice", &[x], |types| match step {
        0 => Err(Error::argument("the step of a slice must not be zero")),
        _ => Ok(types[0].dim(crate::prelude::axis(axis, types[0].rank())?)),
    })?;
    let (first, len) = match (&start, &stop) {
        (Some(End::Value(_)), _) | (_, Some(End::Value(_))) => {
            run_range(size, start, stop, step > 0)?
        }
        _ => judged("slice", &[x], |_| {
            open_range(size.into(), as_whole(&start), as_whole(&stop), step > 0)
        })?,
    };
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

/// An end that is a number or missing; nothing for others.
fn as_number(bound: &Option<End>) -> Option<Option<i64>> {
    match bound {
        None => Some(None),
        Some(End::At(Whole::Number(i))) => Some(Some(*i)),
        Some(_) => None,
    }
}

fn as_whole(bound: &Option<End>) -> Option<Whole> {
    match bound {
        Some(End::At(position)) => Some(*position),
        _ => None,
    }
}

/// The lowest position and the number of positions between the ends. They are cut where it can be
/// decided whether they lie beyond the axis.
fn open_range(
    size: Whole,
    start: Option<Whole>,
    stop: Option<Whole>,
    forward: bool,
) -> Result<(Dim, Dim)> {
    let one = Whole::Number(1);
    let (low, high) = match forward {
        true => (Whole::Number(0), size),
        false => (Whole::Number(-1), size.sub(one)?),
    };
    let place = |position: Option<Whole>, default: Whole| {
        let Some(i) = position else { return Ok(default) };
        let from_front = match decisions::not_negative(i)? {
            Some(false) => i.add(size)?,
            _ => i,
        };
        Ok(match decisions::not_negative(from_front.sub(low)?)? {
            Some(false) => low,
            _ => match decisions::not_negative(high.sub(from_front)?)? {
                Some(false) => high,
                _ => from_front,
            },
        })
    };
    let (from, to) = match forward {
        true => (place(start, low)?, place(stop, high)?),
        // Backwards, an end is the position after it in memory.
        false => (place(stop, low)?.add(one)?, place(start, high)?.add(one)?),
    };
    let len = to.sub(from)?;
    match decisions::not_negative(len)? {
        Some(false) => Ok((Dim::size(0), Dim::size(0))),
        _ => Ok((from.dim()?, len.dim()?)),
    }
}

/// The same where only the run knows the ends.
fn run_range(
    size: Dim,
    start: Option<End>,
    stop: Option<End>,
    forward: bool,
) -> Result<(Dim, Dim)> {
    let (zero, one) = (Var::scalar(0i64), Var::scalar(1i64));
    let size = dim_size(size, DType::I64)?;
    let (low, high) = match forward {
        true => (zero.clone(), size.clone()),
        false => (Var::scalar(-1i64), sub(&size, &one)?),
    };
    let place = |bound: Option<End>, default: &Var| {
        let i = match bound {
            None => return Ok(default.clone()),
            Some(End::At(i)) => whole_size(i, DType::I64)?,
            Some(End::Value(i)) => cast(&i, DType::I64)?,
        };
        let from_front = where_(&lt(&i, &zero)?, &add(&i, &size)?, &i)?;
        maximum(&minimum(&from_front, &high)?, &low)
    };
    let (from, to) = match forward {
        true => (place(start, &low)?, place(stop, &high)?),
        false => (add(&place(stop, &low)?, &one)?, add(&place(start, &high)?, &one)?),
    };
    let len = maximum(&sub(&to, &from)?, &zero)?;
    Ok((of_size(&from)?.dims()[0], of_size(&len)?.dims()[0]))
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

    fn takes(&self) -> Takes {
        Takes::Any
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

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(Slice { axis, ..self.clone() })
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

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let axis = axis(self.axis, inputs[0].rank())?;
        let mut view = View::whole(inputs[0].rank());
        view.start[axis] = match inputs[0].dim(axis).value() {
            Some(size) => Dim::size(self.range(size)?.0),
            None if self.step < 0 => inputs[0].dim(axis).sub(Dim::size(1))?,
            None => Dim::size(0),
        };
        view.axes[axis] = smallvec![(axis, self.step)];
        Ok(Some(Kernel::View(view)))
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
