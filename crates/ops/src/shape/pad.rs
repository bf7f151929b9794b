//! `pad`: more elements around, derived from `narrow` and `concat`.

use super::derived::{judged, with_dim};
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

choices! {
    /// What a convolution puts around its input.
    pub enum PaddingMode {
        /// Zeros.
        Zeros = "zeros",
        /// The input, mirrored at its edges.
        Reflect = "reflect",
        /// The elements at the edges.
        Replicate = "replicate",
        /// The other end of the input.
        Circular = "circular",
    }
}

options! {
    /// How to pad.
    pub struct PadOptions {
        /// What the padding consists of: "constant", "reflect", "replicate" or "circular".
        pub mode: PadMode = PadMode::Constant,
        /// The number for "constant", which integers have to hold; a fraction is cut off.
        pub value: Number = Number::Float(0.0),
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
    let mut sides = before.iter().zip(after).enumerate();
    sides.try_fold(x.clone(), |x, (i, (&low, &high))| {
        let along = first + i;
        let kept = cut(&x, along, low.min(0).unsigned_abs(), high.min(0).unsigned_abs())?;
        let side = Side { x: &kept, axis: along, options: &options };
        let front = if low > 0 { Some(side.front(low as usize)?) } else { None };
        let back = if high > 0 { Some(side.back(high as usize)?) } else { None };
        match (&front, &back) {
            (None, None) => Ok(kept),
            _ => {
                let parts: Vec<&Var> = front.iter().chain([&kept]).chain(&back).collect();
                concat(&parts, along as i64)
            }
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

/// An axis to be padded.
struct Side<'a> {
    x: &'a Var,
    axis: usize,
    options: &'a PadOptions,
}

impl Side<'_> {
    /// What comes before the first element.
    fn front(&self, len: usize) -> Result<Var> {
        match self.options.mode {
            PadMode::Constant => self.constant(len),
            PadMode::Reflect => self.backwards(&self.from(Dim::size(1), len)?),
            PadMode::Replicate => self.repeated(&self.from(Dim::size(0), 1)?, len),
            PadMode::Circular => self.up_to(self.size(), len),
        }
    }

    /// What comes after the last element.
    fn back(&self, len: usize) -> Result<Var> {
        match self.options.mode {
            PadMode::Constant => self.constant(len),
            PadMode::Reflect => self.backwards(&self.up_to(self.size().sub(Dim::size(1))?, len)?),
            PadMode::Replicate => self.repeated(&self.up_to(self.size(), 1)?, len),
            PadMode::Circular => self.from(Dim::size(0), len),
        }
    }

    fn size(&self) -> Dim {
        self.x.dims()[self.axis]
    }

    fn dims(&self, len: usize) -> SmallVec<[Dim; 8]> {
        with_dim(&self.x.dims(), self.axis, Dim::size(len))
    }

    /// `len` elements from position `start`.
    fn from(&self, start: Dim, len: usize) -> Result<Var> {
        narrow(self.x, self.axis as i64, start, Dim::size(len))
    }

    /// The last `len` elements before position `end`.
    fn up_to(&self, end: Dim, len: usize) -> Result<Var> {
        self.from(end.sub(Dim::size(len))?, len)
    }

    fn constant(&self, len: usize) -> Result<Var> {
        fill(self.options.value, &self.x.ty().with_dims(&self.dims(len))?)
    }

    fn backwards(&self, part: &Var) -> Result<Var> {
        flip(part, &[self.axis as i64])
    }

    fn repeated(&self, end: &Var, len: usize) -> Result<Var> {
        expand(end, &self.dims(len))
    }
}
