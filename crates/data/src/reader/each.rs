//! Stages that make one result of one.

use std::sync::Arc;

use fluvial_tensor::{DType, Error, Result, Tensor};

use super::access::Place;
use super::host::Function;
use super::picture::Edit;
use super::stack::{check_sample, lengthen};
use crate::source::{Field, Sample};

/// What is done with a result.
pub(super) enum Each {
    Cast {
        field: usize,
        dtype: DType,
    },
    Scale {
        field: usize,
        factor: f64,
        offset: f64,
    },
    Select(Vec<usize>),
    /// Another name of a field: nothing is to be done.
    Rename,
    Map {
        function: Arc<Function>,
        name: Arc<str>,
    },
    Pad(Padding),
    Image {
        field: usize,
        edit: Edit,
    },
}

/// How sequences are lengthened, the fields being known.
pub(super) struct Padding {
    pub(super) fields: Vec<usize>,
    pub(super) size: Option<u64>,
    pub(super) multiple: Option<u64>,
    pub(super) value: f64,
    pub(super) length: bool,
    pub(super) mask: bool,
}

impl Each {
    /// Whether doing it with a stack of samples is doing it with each.
    pub(super) fn is_elementwise(&self) -> bool {
        !matches!(self, Each::Map { .. } | Each::Pad(_) | Each::Image { .. })
    }

    /// The result, which consists of `fields`, for what stands at a place of the pass.
    pub(super) fn apply(
        &self,
        mut sample: Sample,
        fields: &[Field],
        place: Place,
    ) -> Result<Sample> {
        match self {
            Each::Cast { field, dtype } => sample[*field] = sample[*field].cast(*dtype)?,
            Each::Scale { field, factor, offset } => {
                let x = std::mem::replace(&mut sample[*field], Tensor::scalar(0_u8));
                sample[*field] = scale(x, *factor, *offset)?;
            }
            Each::Select(picked) => {
                return Ok(picked.iter().map(|&field| sample[field].clone()).collect());
            }
            Each::Rename => {}
            Each::Map { function, name } => {
                let result = (function.call)(sample)?;
                check_sample(&result, fields, &format!("the function `{name}`"))?;
                return Ok(result);
            }
            Each::Pad(padding) => padding.apply(&mut sample, fields)?,
            Each::Image { field, edit } => {
                let noted = |error: Error| {
                    error.note(format!("in field `{}`, by `{}`", fields[*field].name, edit.name()))
                };
                sample[*field] = edit.apply(&sample[*field], place).map_err(noted)?;
            }
        }
        Ok(sample)
    }
}

/// The element type of scaled elements.
pub(super) fn scaled(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::F32 }
}

/// Half floats and integers are computed in `f32` and rounded once.
fn scale(x: Tensor, factor: f64, offset: f64) -> Result<Tensor> {
    let dtype = scaled(x.dtype());
    if dtype == DType::F64 {
        let mut x = x;
        x.as_mut_slice::<f64>()?.iter_mut().for_each(|x| *x = *x * factor + offset);
        return Ok(x);
    }
    let (factor, offset) = (factor as f32, offset as f32);
    let mut wide = x.cast(DType::F32)?;
    drop(x);
    wide.as_mut_slice::<f32>()?.iter_mut().for_each(|x| *x = *x * factor + offset);
    wide.cast(dtype)
}

impl Padding {
    fn apply(&self, sample: &mut Sample, fields: &[Field]) -> Result<()> {
        let before = sample[self.fields[0]].dims().first().copied().unwrap_or(0);
        for &field in &self.fields {
            let now = sample[field].dims().first().copied().unwrap_or(0);
            let size = self
                .target(now)
                .map_err(|error| error.note(format!("in field `{}`", fields[field].name)))?;
            sample[field] = lengthen(&sample[field], size, self.value)?;
        }
        if self.length {
            sample.push(Tensor::scalar(before as i64));
        }
        if self.mask {
            let there = Tensor::full(&[before], true)?;
            sample.push(lengthen(&there, self.target(before)?, 0.0)?);
        }
        Ok(())
    }

    /// The size that a sequence is lengthened to.
    fn target(&self, now: usize) -> Result<usize> {
        let too_long = |size: u64| {
            Error::shape(format!("a sequence of {now} elements cannot be padded to {size}"))
                .remedy("pad to a larger size, or shorten or filter the sequences before")
        };
        match (self.size, self.multiple) {
            (Some(size), _) if now as u64 > size => Err(too_long(size)),
            (Some(size), _) => usize::try_from(size).map_err(|_| too_long(size)),
            (None, Some(multiple)) => (now as u64)
                .checked_next_multiple_of(multiple)
                .and_then(|size| usize::try_from(size).ok())
                .ok_or_else(|| too_long(multiple)),
            (None, None) => Ok(now),
        }
    }
}
