//! Tensors of several ranks as one, in the order of the ranks.

use fluvial_tensor::{DType, Element, Error, Result, Tensor, dispatch, dispatch_real};

use crate::Reduction;

/// Refuses element types that cannot be reduced so.
pub(crate) fn can_reduce(dtype: DType, how: Reduction) -> Result<()> {
    if dtype.is_bool() {
        return Err(Error::dtype("truth values of several ranks are not added up")
            .remedy("cast them to an integer first"));
    }
    if dtype.is_complex() {
        return Err(Error::dtype("complex numbers of several ranks are not reduced")
            .remedy("reduce their real and imaginary parts"));
    }
    match how == Reduction::Mean && !dtype.is_float() {
        true => Err(Error::dtype(format!("the mean of {dtype:?} is not an integer"))
            .remedy("cast to a float first, or take the sum")),
        false => Ok(()),
    }
}

/// Contiguous tensors of one type, one of each rank and in their order, as one.
pub fn reduced(parts: &[Tensor], how: Reduction) -> Result<Tensor> {
    let (numel, dims) = parts.first().map_or((0, &[][..]), |first| (first.numel(), first.dims()));
    reduce(parts, 0, numel, dims, how)
}

/// A part of the elements of all tensors, which have the same type, as one.
pub(crate) fn reduce(
    parts: &[Tensor],
    first: usize,
    count: usize,
    dims: &[usize],
    how: Reduction,
) -> Result<Tensor> {
    let Some(dtype) = parts.first().map(Tensor::dtype) else {
        return Err(Error::internal("nothing is reduced"));
    };
    can_reduce(dtype, how)?;
    let mut out = Tensor::zeros(dtype, dims)?;
    dispatch!(dtype, T => {
        let slices: Vec<&[T]> = parts
            .iter()
            .map(|part| part.as_slice::<T>().and_then(|all| all.get(first..first + count)))
            .collect::<Option<_>>()
            .ok_or_else(|| Error::internal("ranks reduce tensors of different types"))?;
        dispatch_real!(dtype, C => {
            each::<T, C>(&slices, out.as_mut_slice::<T>()?, how);
        });
    });
    Ok(out)
}

/// The numbers that sums are made of.
trait Number: Element + PartialOrd {
    fn plus(self, other: Self) -> Self;
    fn by(self, n: usize) -> Self;
    fn is_nan(self) -> bool;
}

macro_rules! numbers {
    ($($int:ty),*; $($float:ty),*) => {
        $(impl Number for $int {
            fn plus(self, other: $int) -> $int { self.wrapping_add(other) }
            fn by(self, n: usize) -> $int { self / n as $int }
            fn is_nan(self) -> bool { false }
        })*
        $(impl Number for $float {
            fn plus(self, other: $float) -> $float { self + other }
            fn by(self, n: usize) -> $float { self / n as $float }
            fn is_nan(self) -> bool { self.is_nan() }
        })*
    };
}

numbers!(u8, i8, i32, i64, u64; f32, f64);

fn each<T: Element, C: Number>(parts: &[&[T]], out: &mut [T], how: Reduction) {
    let Some((first, others)) = parts.split_first() else { return };
    for (i, out) in out.iter_mut().enumerate() {
        let mut all: C = first[i].convert();
        for other in others {
            let other: C = other[i].convert();
            all = match how {
                Reduction::Sum | Reduction::Mean => all.plus(other),
                Reduction::Max if other > all || other.is_nan() => other,
                Reduction::Min if other < all || other.is_nan() => other,
                Reduction::Max | Reduction::Min => all,
            };
        }
        *out = match how {
            Reduction::Mean => all.by(parts.len()).convert(),
            _ => all.convert(),
        };
    }
}

/// A sum of `world` tensors as their mean.
pub(crate) fn divided(mut sum: Tensor, world: usize) -> Result<Tensor> {
    let dtype = sum.dtype();
    can_reduce(dtype, Reduction::Mean)?;
    dispatch!(dtype, T => {
        dispatch_real!(dtype, C => {
            for x in sum.as_mut_slice::<T>()? {
                *x = x.convert::<C>().by(world).convert();
            }
        });
    });
    Ok(sum)
}

/// Whether a library of MPI adds up numbers of this type itself. Others are gathered, and added up by each rank.
pub fn is_added(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64 | DType::I32 | DType::I64)
}
