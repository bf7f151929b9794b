//! Blocks of memory, and getting them from the system.

use super::class::Size;
use std::alloc::{alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// A block in use; goes back to its pool, or to the system, when dropped.
pub(crate) struct Block {
    base: Base,
    size: Size,
}

impl Block {
    #[inline]
    pub(super) fn new(base: Base, size: Size) -> Block {
        Block { base, size }
    }

    /// The first usable byte.
    #[inline]
    pub(crate) fn data(&self) -> NonNull<u8> {
        self.base.data(self.size)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        super::give_back(Base(self.base.0), self.size);
    }
}

/// What the system returned for a block; the usable part starts at the next aligned address.
pub(super) struct Base(NonNull<u8>);

// SAFETY: a `Base` is the only handle of its memory, and memory is not tied to a thread.
unsafe impl Send for Base {}

// SAFETY: a shared `Base` gives out a pointer and nothing else.
unsafe impl Sync for Base {}

impl Base {
    /// Zeroed memory for a block of this size; none if the system has no more.
    pub(super) fn fresh(size: Size) -> Option<Base> {
        let layout = size.system_layout()?;
        // SAFETY: the layout's size is not 0.
        let base = Base(NonNull::new(unsafe { alloc_zeroed(layout) })?);
        if size.is_huge() {
            advise_huge_pages(base.data(size), size.bytes());
        }
        Some(base)
    }

    #[inline]
    fn data(&self, size: Size) -> NonNull<u8> {
        let padding = self.0.as_ptr().align_offset(size.align());
        // SAFETY: the padding is less than the alignment, by which the memory is larger than the
        // block.
        unsafe { self.0.add(padding) }
    }

    /// Gives the memory back to the system.
    pub(super) fn release(self, size: Size) {
        if let Some(layout) = size.system_layout() {
            // SAFETY: the memory came from `fresh` with the layout of this size, and `self` was its
            // only handle.
            unsafe { dealloc(self.0.as_ptr(), layout) }
        }
    }
}

/// Asks Linux to back the block with huge pages, so that its first touch costs 512 times fewer
/// faults. Only a hint: a failure changes nothing.
#[cfg(target_os = "linux")]
fn advise_huge_pages(data: NonNull<u8>, bytes: usize) {
    const MADV_HUGEPAGE: std::ffi::c_int = 14;
    unsafe extern "C" {
        fn madvise(
            address: *mut std::ffi::c_void,
            length: usize,
            advice: std::ffi::c_int,
        ) -> std::ffi::c_int;
    }
    // SAFETY: the range lies inside memory that was just allocated, and this advice does not
    // change its contents.
    unsafe { madvise(data.as_ptr().cast(), bytes, MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages(_data: NonNull<u8>, _bytes: usize) {}
