//! A little memory that is kept back, so that small things can be made when there is none left: the text of an error, a
//! handle, a name. What is as large as users' numbers say is asked for in ways that may fail, and does not get it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// A piece of what is kept back.
const SPARE: Layout = match Layout::from_size_align(1 << 20, 4096) {
    Ok(layout) => layout,
    Err(_) => panic!("a size and an alignment of pages"),
};

/// How many pieces are kept back. They are given back one by one, so that no tensor takes all at once.
const PIECES: usize = 4;

/// What is larger than this is not small.
const SMALL: usize = 1 << 18;

#[global_allocator]
static ALLOCATOR: Sparing = Sparing([const { AtomicPtr::new(ptr::null_mut()) }; PIECES]);

/// Whether a piece was given back and is missing since.
static LOW: AtomicBool = AtomicBool::new(false);

/// The system's allocator, and what is kept back.
struct Sparing([AtomicPtr<u8>; PIECES]);

// SAFETY: memory comes from the system's allocator and goes back to it, with the layouts that are given.
unsafe impl GlobalAlloc for Sparing {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        let found = unsafe { System.alloc(layout) };
        match found.is_null() && self.spend(layout.size()) {
            false => found,
            // SAFETY: as above.
            true => unsafe { System.alloc(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(memory, layout) };
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        let found = unsafe { System.alloc_zeroed(layout) };
        match found.is_null() && self.spend(layout.size()) {
            false => found,
            // SAFETY: as above.
            true => unsafe { System.alloc_zeroed(layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller says.
        let found = unsafe { System.realloc(memory, layout, size) };
        match found.is_null() && self.spend(size) {
            false => found,
            // SAFETY: as above; what failed has left the memory as it was.
            true => unsafe { System.realloc(memory, layout, size) },
        }
    }
}

impl Sparing {
    /// Gives back a piece of what was kept, if there is one and it is asked for by something small.
    #[cold]
    fn spend(&self, size: usize) -> bool {
        if size > SMALL {
            return false;
        }
        let mut pieces = self.0.iter().map(|piece| piece.swap(ptr::null_mut(), Ordering::Relaxed));
        let Some(spare) = pieces.find(|spare| !spare.is_null()) else { return false };
        // SAFETY: it came from there with this layout, and nobody else has it any more.
        unsafe { System.dealloc(spare, SPARE) };
        LOW.store(true, Ordering::Relaxed);
        true
    }
}

/// Keeps back what is missing, as far as there is memory.
pub fn keep_back() {
    for piece in &ALLOCATOR.0 {
        if !piece.load(Ordering::Relaxed).is_null() {
            continue;
        }
        // SAFETY: the size is not zero.
        let spare = unsafe { System.alloc(SPARE) };
        let other = piece.swap(spare, Ordering::Relaxed);
        if !other.is_null() {
            // SAFETY: another thread has kept it back at the same time, with this layout.
            unsafe { System.dealloc(other, SPARE) };
        }
        if spare.is_null() {
            return;
        }
    }
    LOW.store(false, Ordering::Relaxed);
}

/// Refuses to go on where small things have used up a part of what is kept back, and it cannot be had again: what comes next
/// would find nothing.
#[inline]
pub fn check() -> PyResult<()> {
    match LOW.load(Ordering::Relaxed) {
        false => Ok(()),
        true => restored(),
    }
}

#[cold]
fn restored() -> PyResult<()> {
    keep_back();
    match LOW.load(Ordering::Relaxed) {
        false => Ok(()),
        true => Err(PyMemoryError::new_err(
            "there is no memory left\n  remedy: let go of tensors that are no longer needed, or use smaller ones",
        )),
    }
}
