//! Size classes: 64, 96, 128, 192, 256, 384, ... bytes.

use std::alloc::Layout;

/// How large a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Size {
    /// A class: the block is kept for reuse.
    Class(Class),
    /// Just so many bytes, for what lives long.
    Exact(usize),
}

impl Size {
    /// Of at least so many bytes, and hardly more.
    pub(super) fn exact(bytes: usize) -> Option<Size> {
        bytes.checked_next_multiple_of(CACHE_LINE).map(Size::Exact)
    }

    /// The usable size of a block.
    #[inline]
    pub(super) fn bytes(self) -> usize {
        match self {
            Size::Class(class) => class.bytes(),
            Size::Exact(bytes) => bytes,
        }
    }

    /// The alignment of a block.
    #[inline]
    pub(super) fn align(self) -> usize {
        if self.is_huge() { HUGE_PAGE } else { CACHE_LINE }
    }

    /// Whether a block should lie in huge pages.
    #[inline]
    pub(super) fn is_huge(self) -> bool {
        self.bytes() >= HUGE_FROM
    }

    /// What to ask the system for: room to align by hand, because asking for zeroed memory of a
    /// large alignment would touch every page.
    pub(super) fn system_layout(self) -> Option<Layout> {
        Layout::from_size_align(self.bytes().checked_add(self.align())?, 16).ok()
    }
}

/// One size class, numbered from the smallest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Class(u8);

const SMALLEST: usize = 64;

/// The last class has 96 TiB.
pub(super) const N_CLASSES: usize = 82;

const CACHE_LINE: usize = 64;
const HUGE_PAGE: usize = 2 << 20;
const HUGE_FROM: usize = 4 << 20;

impl Class {
    /// The smallest class of at least `bytes`.
    #[inline]
    pub(super) fn of(bytes: usize) -> Option<Class> {
        if bytes <= SMALLEST {
            return Some(Class(0));
        }
        let power = bytes.checked_next_power_of_two()?;
        let doublings = (power.trailing_zeros() - SMALLEST.trailing_zeros()) as usize;
        let index = if bytes <= power / 4 * 3 { 2 * doublings - 1 } else { 2 * doublings };
        (index < N_CLASSES).then_some(Class(index as u8))
    }

    pub(super) fn all() -> impl DoubleEndedIterator<Item = Class> {
        (0..N_CLASSES as u8).map(Class)
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The usable size of a block.
    #[inline]
    pub(super) fn bytes(self) -> usize {
        (SMALLEST + SMALLEST / 2 * (self.index() % 2)) << (self.index() / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_smallest_that_fits() {
        let sizes: Vec<usize> = Class::all().map(Class::bytes).collect();
        assert_eq!(sizes[..8], [64, 96, 128, 192, 256, 384, 512, 768]);
        assert_eq!(sizes.last(), Some(&(96 << 40)));
        for (i, &size) in sizes.iter().enumerate() {
            assert_eq!(Class::of(size).unwrap().index(), i);
            assert_eq!(Class::of(size + 1).map(Class::index), sizes.get(i + 1).map(|_| i + 1));
        }
        assert_eq!(Class::of(0), Some(Class(0)));
        assert_eq!(Class::of(usize::MAX), None);
    }
}
