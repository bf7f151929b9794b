//! Tensor types: element type and sizes, possibly symbolic, possibly inside lists; and channels of such.

use crate::dim::Dim;
use crate::dtype::DType;
use crate::error::{Error, Result};
use smallvec::SmallVec;
use std::fmt;

/// The largest number of axes.
pub const MAX_RANK: usize = 8;

/// The deepest nesting of lists.
const MAX_LISTS: u8 = 250;

/// The type of a value: a tensor's dtype and sizes, a list of such tensors, or a channel of either.
///
/// ```
/// use fluvial_tensor::{DType, Dim, Type};
/// let ty = Type::new(DType::F32, &[Dim::size(2), Dim::symbol("batch")?])?;
/// assert_eq!(ty.to_string(), "f32[2, batch]");
/// assert_eq!(Type::parse("list f32[2, batch]")?, ty.list_of()?);
/// assert_eq!(ty.channel_of()?.to_string(), "chan f32[2, ?0]");
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Type {
    dtype: DType,
    lists: u8,
    is_channel: bool,
    rank: u8,
    /// Entries beyond `rank` are 0, so that comparing all of them compares the live ones.
    dims: [Dim; MAX_RANK],
}

impl Type {
    /// A tensor type; an error above [`MAX_RANK`] axes.
    pub fn new(dtype: DType, dims: &[Dim]) -> Result<Type> {
        Type::scalar(dtype).with_dims(dims)
    }

    /// A tensor type with plain sizes; an error above [`MAX_RANK`] axes.
    pub fn of(dtype: DType, sizes: &[usize]) -> Result<Type> {
        check_rank(sizes.len())?;
        let mut ty = Type::scalar(dtype);
        ty.rank = sizes.len() as u8;
        for (dim, &size) in ty.dims.iter_mut().zip(sizes) {
            *dim = Dim::size(size);
        }
        Ok(ty)
    }

    /// The type of a tensor that exists, from its sizes followed by zeros.
    #[inline]
    pub(crate) fn from_padded(dtype: DType, rank: usize, sizes: [usize; MAX_RANK]) -> Type {
        Type {
            dtype,
            lists: 0,
            is_channel: false,
            rank: rank as u8,
            dims: sizes.map(Dim::size_of_axis),
        }
    }

    /// The type of a tensor without axes.
    #[inline]
    pub const fn scalar(dtype: DType) -> Type {
        Type { dtype, lists: 0, is_channel: false, rank: 0, dims: [Dim::size(0); MAX_RANK] }
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        usize::from(self.rank)
    }

    /// The sizes; of the innermost tensors, if this is a list.
    #[inline]
    pub fn dims(&self) -> &[Dim] {
        &self.dims[..usize::from(self.rank)]
    }

    /// How many lists the tensors are inside of.
    #[inline]
    pub fn lists(&self) -> u8 {
        self.lists
    }

    /// Whether this is a list or a channel rather than a tensor.
    #[inline]
    pub fn is_list(&self) -> bool {
        self.lists > 0 || self.is_channel
    }

    /// Whether this is a channel.
    #[inline]
    pub fn is_channel(&self) -> bool {
        self.is_channel
    }

    /// Whether the dtype is a float, in a list or not.
    #[inline]
    pub fn is_float(&self) -> bool {
        self.dtype.is_float() && !self.is_channel
    }

    /// Whether the numbers have gradients: floats and complex ones, in a list or not. Messages have none.
    #[inline]
    pub fn is_inexact(&self) -> bool {
        self.dtype.is_inexact() && !self.is_channel
    }

    /// The size of axis `i`; 1 beyond the last axis, as in broadcasting.
    #[inline]
    pub fn dim(&self, i: usize) -> Dim {
        self.dims().get(i).copied().unwrap_or(Dim::size(1))
    }

    /// The same type with another dtype.
    #[inline]
    #[must_use]
    pub fn with_dtype(mut self, dtype: DType) -> Type {
        self.dtype = dtype;
        self
    }

    /// The same type with other sizes; an error above [`MAX_RANK`] axes.
    pub fn with_dims(mut self, dims: &[Dim]) -> Result<Type> {
        check_rank(dims.len())?;
        if dims.contains(&Dim::REST) {
            return Err(Error::argument("a size is left open where all must be given")
                .remedy("give the size, or a symbol; `reshape` and `broadcast_to` fill it in"));
        }
        self.rank = dims.len() as u8;
        self.dims = [Dim::size(0); MAX_RANK];
        self.dims[..dims.len()].copy_from_slice(dims);
        Ok(self)
    }

    /// The type of a list of these; an error beyond 250 nested lists.
    pub fn list_of(mut self) -> Result<Type> {
        if self.is_channel {
            return Err(Error::argument("there are no lists of channels")
                .remedy("give each channel a name of its own"));
        }
        if self.lists >= MAX_LISTS {
            return Err(Error::argument(format!("lists can be nested {MAX_LISTS} deep at most")));
        }
        self.lists += 1;
        Ok(self)
    }

    /// The type of a list's elements; nothing for other values.
    pub fn element(mut self) -> Option<Type> {
        if self.is_channel {
            return None;
        }
        self.lists = self.lists.checked_sub(1)?;
        Some(self)
    }

    /// The type of a channel of these. Sizes that are symbols are open: each message may have others.
    pub fn channel_of(mut self) -> Result<Type> {
        if self.is_channel {
            return Err(Error::argument("there are no channels of channels")
                .remedy("make both channels before the tasks that use them"));
        }
        let mut count = 0;
        for dim in &mut self.dims[..usize::from(self.rank)] {
            if dim.is_symbolic() {
                *dim = Dim::fresh(count);
                count += 1;
            }
        }
        self.is_channel = true;
        Ok(self)
    }

    /// The type of a channel's messages; nothing for other values. Open sizes are [fresh](Dim::fresh).
    pub fn message(mut self) -> Option<Type> {
        std::mem::take(&mut self.is_channel).then_some(self)
    }

    /// The number of elements of a tensor, if all sizes are known and the product fits; none for
    /// a list.
    pub fn numel(&self) -> Option<usize> {
        if self.is_list() {
            return None;
        }
        numel(&self.sizes()?)
    }

    /// The sizes as numbers, if all are known.
    pub fn sizes(&self) -> Option<SmallVec<[usize; 8]>> {
        self.dims().iter().map(|dim| dim.value()).collect()
    }

    /// Whether any size is symbolic. Open sizes of a channel's messages are their own affair.
    pub fn is_symbolic(&self) -> bool {
        !self.is_channel && self.dims().iter().any(|dim| dim.is_symbolic())
    }

    /// Applies [`Dim::substitute`] to every size.
    pub fn substitute(&self, f: &dyn Fn(Dim) -> Option<Dim>) -> Result<Type> {
        let mut ty = *self;
        if self.is_channel {
            return Ok(ty);
        }
        for dim in &mut ty.dims[..usize::from(self.rank)] {
            *dim = dim.substitute(f)?;
        }
        Ok(ty)
    }

    /// Reads what `Display` writes, such as `list f32[2, batch]`.
    pub fn parse(text: &str) -> Result<Type> {
        let malformed =
            |expected: &str| Error::parse(format!("type {text:?}: expected {expected}"));
        let (mut rest, mut lists) = (text.trim(), 0_usize);
        let channel = rest.strip_prefix("chan").filter(|r| r.starts_with(' '));
        rest = channel.map_or(rest, str::trim_start);
        while let Some(inner) = rest.strip_prefix("list").filter(|r| r.starts_with(' ')) {
            (rest, lists) = (inner.trim_start(), lists + 1);
        }
        let body = rest.strip_suffix(']').ok_or_else(|| malformed("a closing bracket"))?;
        let (name, dims) = body.split_once('[').ok_or_else(|| malformed("an opening bracket"))?;
        let names = "a dtype: bool, u8, i8, i32, i64, f16, bf16, f32 or f64";
        let dtype = DType::parse(name.trim_end()).ok_or_else(|| malformed(names))?;
        let mut ty = Type::scalar(dtype);
        if !dims.trim().is_empty() {
            check_rank(dims.split(',').take(MAX_RANK + 1).count())?;
            let dims: Result<SmallVec<[Dim; 8]>> = dims.split(',').map(Dim::parse).collect();
            ty = ty.with_dims(&dims?)?;
        }
        if lists > usize::from(MAX_LISTS) {
            return Err(malformed("fewer nested lists"));
        }
        ty.lists = lists as u8;
        if channel.is_some() { ty.channel_of() } else { Ok(ty) }
    }
}

/// An error if a tensor cannot have this many axes.
pub(crate) fn check_rank(rank: usize) -> Result<()> {
    if rank > MAX_RANK {
        return Err(Error::shape(format!("a tensor has at most {MAX_RANK} axes, not {rank}")));
    }
    Ok(())
}

/// The product of the sizes, if it fits; 0 if any size is.
pub(crate) fn numel(sizes: &[usize]) -> Option<usize> {
    if sizes.contains(&0) {
        return Some(0);
    }
    sizes.iter().try_fold(1_usize, |product, &size| product.checked_mul(size))
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_channel {
            f.write_str("chan ")?;
        }
        for _ in 0..self.lists {
            f.write_str("list ")?;
        }
        write!(f, "{}{}", self.dtype, Shape(self.dims()))
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Sizes written as in a type: `[2, batch]`.
pub(crate) struct Shape<'a, D>(pub(crate) &'a [D]);

impl<D: fmt::Display> fmt::Display for Shape<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, dim) in self.0.iter().enumerate() {
            write!(f, "{}{dim}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in [
            "f32[]",
            "bool[0]",
            "f32[2, batch]",
            "list f32[2]",
            "list list bf16[(h - 3)//2 + 1, ?1]",
            "chan f32[]",
            "chan list f32[2, ?0]",
        ] {
            let ty = Type::parse(text).unwrap();
            assert_eq!(ty.to_string(), text);
            assert_eq!(Type::parse(&ty.to_string()).unwrap(), ty);
        }
        assert_eq!(
            Type::parse(" list  f32 [ 2,batch ] ").unwrap().to_string(),
            "list f32[2, batch]"
        );
    }

    #[test]
    fn malformed_text_is_refused() {
        for text in ["", "f32", "f32[", "f32]", "f33[]", "f32[2,]", "listf32[]", "f32[1]]", "list"]
        {
            assert!(Type::parse(text).is_err(), "{text}");
        }
        let error = Type::parse("f99[2]").unwrap_err().to_string();
        assert_eq!(
            error,
            "type \"f99[2]\": expected a dtype: bool, u8, i8, i32, i64, f16, bf16, f32 or f64"
        );
        assert!(Type::parse(&format!("f32[{}1]", "1,".repeat(100_000))).is_err());
        assert!(Type::parse(&format!("{}f32[]", "list ".repeat(251))).is_err());
        assert!(Type::parse(&format!("{}f32[]", "list ".repeat(250))).is_ok());
    }

    #[test]
    fn rank_is_bounded() {
        assert!(Type::of(DType::F32, &[1; 8]).is_ok());
        let error = Type::of(DType::F32, &[1; 9]).unwrap_err();
        assert_eq!(error.to_string(), "a tensor has at most 8 axes, not 9");
    }

    #[test]
    fn equality_ignores_what_was_there_before() {
        let long = Type::of(DType::F32, &[2, 3, 4]).unwrap();
        let short = Type::of(DType::F32, &[2]).unwrap();
        assert_eq!(long.with_dims(&[Dim::size(2)]).unwrap(), short);
        assert_ne!(long, short);
    }

    #[test]
    fn lists_nest_and_unwrap() {
        let tensor = Type::scalar(DType::F32);
        let list = tensor.list_of().unwrap();
        assert_eq!(list.element(), Some(tensor));
        assert_eq!(tensor.element(), None);
        assert_eq!((list.is_list(), list.numel(), tensor.numel()), (true, None, Some(1)));
        let deepest = (0..250).try_fold(tensor, |ty, _| ty.list_of()).unwrap();
        assert!(deepest.list_of().is_err());
    }

    #[test]
    fn channels_are_neither_tensors_nor_lists() {
        let channel = Type::parse("chan f32[n, 2, m]").unwrap();
        assert_eq!(channel.to_string(), "chan f32[?0, 2, ?1]");
        assert!(channel.is_list() && channel.is_channel() && !channel.is_symbolic());
        assert!(!channel.is_inexact() && channel.element().is_none() && channel.numel().is_none());
        assert_eq!(channel.message().unwrap().to_string(), "f32[?0, 2, ?1]");
        assert!(channel.channel_of().is_err() && channel.list_of().is_err());
        assert!(Type::parse("chan chan f32[]").is_err() && Type::parse("list chan f32[]").is_err());
    }

    #[test]
    fn numel_does_not_overflow() {
        let ty = |sizes: &[usize]| Type::of(DType::U8, sizes).unwrap();
        assert_eq!(ty(&[3, 4]).numel(), Some(12));
        assert_eq!(ty(&[1 << 40, 1 << 40]).numel(), None);
        assert_eq!(ty(&[1 << 40, 1 << 40, 0]).numel(), Some(0));
        let symbolic = Type::parse("u8[2, batch]").unwrap();
        assert_eq!((symbolic.numel(), symbolic.sizes()), (None, None));
        let five = symbolic.substitute(&|_| Some(Dim::size(5))).unwrap();
        assert_eq!(five.numel(), Some(10));
        assert_eq!(five.dim(7), Dim::size(1));
    }
}
