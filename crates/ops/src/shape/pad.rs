//! `pad`: more elements around, derived from `narrow` and `concat`.

use super::derived::judged;
use super::{concat, flip, narrow};
use crate::prelude::*;

choices! {
    /// What padding consists of.
    pub enum PadMode {
        /// One number.
        Constant = "constant",
        /// The elements mirrored at the outermost one, which is not repeated.
        Reflect = "reflect",
        /// The outermost element.
        Replicate = "replicate",
        /// The elements from the other end.
        Circular = "circular",
    }
}

options! {
    /// How to pad.
    pub struct PadOptions {
        /// What the padding consists of: "constant", "reflect", "replicate" or "circular".
        pub mode: PadMode = PadMode::Constant,
        /// The number for "constant".
        pub value: f64 = 0.0,
    }
}

/// `before[i]` elements in front of and `after[i]` behind each of the last axes, for which numbers
/// are given in the order of the axes. Negative numbers cut elements off.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0], &[3])?;
/// let y = pad(&x, &[1], &[2], PadOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [0.0, 1.0, 2.0, 3.0, 0.0, 0.0]);
/// let y = pad(&x, &[2], &[0], PadOptions::default().mode(PadMode::Reflect))?;
/// assert_eq!(y.to_vec::<f64>()?, [3.0, 2.0, 1.0, 2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn pad(x: &Var, before: &[i64], after: &[i64], options: PadOptions) -> Result<Var> {
    let _line = at(scope::user_line());
    let first = judged("pad", &[x], |types| {
        if before.len() != after.len() {
            return Err(Error::argument(format!(
                "{before:?} and {after:?} are not as many numbers"
            )));
        }
        let Some(first) = types[0].rank().checked_sub(before.len()) else {
            return Err(Error::argument(format!(
                "padding for {} axes was given for {}",
                before.len(),
                types[0]
            )));
        };
        for (axis, (&low, &high)) in before.iter().zip(after).enumerate() {
            check(types[0].dim(first + axis), first + axis, low, high, options.mode)?;
        }
        Ok(first)
    })?;
    let sides = before.iter().zip(after).enumerate();
    sides.into_iter().try_fold(x.clone(), |x, (i, (&low, &high))| {
        let along = first + i;
        let kept = cut(&x, along, low.min(0).unsigned_abs(), high.min(0).unsigned_abs())?;
        let (low, high) = (low.max(0) as usize, high.max(0) as usize);
        let (front, back) = match options.mode {
            PadMode::Constant => {
                (constant(&kept, along, low, &options)?, constant(&kept, along, high, &options)?)
            }
            PadMode::Reflect => reflected(&kept, along, low, high)?,
            PadMode::Replicate => replicated(&kept, along, low, high)?,
            PadMode::Circular => wrapped(&kept, along, low, high)?,
        };
        match [low, high] {
            [0, 0] => Ok(kept),
            [_, 0] => concat(&[&front, &kept], along as i64),
            [0, _] => concat(&[&kept, &back], along as i64),
            [_, _] => concat(&[&front, &kept, &back], along as i64),
        }
    })
}

/// Refuses padding that an axis of this size does not have.
fn check(dim: Dim, axis: usize, low: i64, high: i64, mode: PadMode) -> Result<()> {
    let Some(size) = dim.value() else { return Ok(()) };
    let cut = low.min(0).saturating_add(high.min(0)).unsigned_abs();
    let Some(left) = (size as u64).checked_sub(cut) else {
        return Err(Error::shape(format!(
            "{low} and {high} cut more than the {size} elements of axis {axis}"
        )));
    };
    let most = match mode {
        PadMode::Constant => i64::MAX as u64,
        PadMode::Reflect => left.saturating_sub(1),
        PadMode::Replicate => {
            if left > 0 {
                i64::MAX as u64
            } else {
                0
            }
        }
        PadMode::Circular => left,
    };
    match low.max(high) > 0 && low.max(high) as u64 > most {
        true => Err(Error::shape(format!(
            "padding of {low} and {high} is too much for the {left} elements of axis {axis} in the \
             mode {mode}, which has at most {most}"
        ))
        .remedy("pad less, or in steps, or with the mode constant")),
        false => Ok(()),
    }
}

fn cut(x: &Var, axis: usize, low: u64, high: u64) -> Result<Var> {
    if (low, high) == (0, 0) {
        return Ok(x.clone());
    }
    let (low, high) = (Dim::size(low as usize), Dim::size(high as usize));
    narrow(x, axis as i64, low, x.dims()[axis].sub(low)?.sub(high)?)
}

fn constant(x: &Var, axis: usize, len: usize, options: &PadOptions) -> Result<Var> {
    let mut dims = x.dims();
    dims[axis] = Dim::size(len);
    fill(options.value, &x.ty().with_dims(&dims)?)
}

/// The last `len` elements before position `end`.
fn up_to(x: &Var, axis: usize, end: Dim, len: usize) -> Result<Var> {
    narrow(x, axis as i64, end.sub(Dim::size(len))?, Dim::size(len))
}

fn reflected(x: &Var, axis: usize, low: usize, high: usize) -> Result<(Var, Var)> {
    let along = axis as i64;
    let one = Dim::size(usize::from(low > 0));
    let front = narrow(x, along, one, Dim::size(low))?;
    let end = x.dims()[axis].sub(Dim::size(usize::from(high > 0)))?;
    let back = up_to(x, axis, end, high)?;
    Ok((flip(&front, &[along])?, flip(&back, &[along])?))
}

fn replicated(x: &Var, axis: usize, low: usize, high: usize) -> Result<(Var, Var)> {
    let repeated = |end: Result<Var>, len: usize| {
        let mut dims = x.dims();
        dims[axis] = Dim::size(len);
        expand(&end?, &dims)
    };
    // Without padding, an axis may have no outermost element.
    let last = if low.max(high) == 0 { x.dims()[axis] } else { Dim::size(1) };
    let front = narrow(x, axis as i64, Dim::size(0), last);
    if low.max(high) == 0 {
        return Ok((front?, x.clone()));
    }
    let back = up_to(x, axis, x.dims()[axis], 1);
    Ok((repeated(front, low)?, repeated(back, high)?))
}

fn wrapped(x: &Var, axis: usize, low: usize, high: usize) -> Result<(Var, Var)> {
    let front = up_to(x, axis, x.dims()[axis], low)?;
    Ok((front, narrow(x, axis as i64, Dim::size(0), Dim::size(high))?))
}
