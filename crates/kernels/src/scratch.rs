//! Scratch memory that each thread keeps from one kernel to the next.

use std::alloc::Layout;
use std::cell::Cell;

use fluvial_tensor::{Element, Error, Result};

/// More than this is given back after use.
const KEPT_BYTES: usize = 1 << 20;

/// One cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

thread_local! {
    static SCRATCH: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Memory of the current thread, aligned to a cache line and initialised. It goes back to the thread when
/// dropped; a second one taken meanwhile is separate.
pub(crate) struct Scratch(Vec<Line>);

impl Scratch {
    /// At least `len` elements of type `T`. Their contents are unspecified.
    pub(crate) fn take<T: Element>(len: usize) -> Result<Scratch> {
        let too_much =
            || Error::memory(format!("cannot allocate scratch memory of {len} elements"));
        let lines =
            Layout::array::<T>(len).map_err(|_| too_much())?.size().div_ceil(size_of::<Line>());
        let mut kept = SCRATCH.try_with(Cell::take).unwrap_or_default();
        if kept.len() < lines {
            kept.try_reserve_exact(lines - kept.len()).map_err(|_| too_much())?;
            kept.resize(lines, Line([0; 64]));
        }
        Ok(Scratch(kept))
    }

    /// The first element.
    pub(crate) fn as_mut_ptr<T: Element>(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if size_of_val(self.0.as_slice()) <= KEPT_BYTES {
            let lines = std::mem::take(&mut self.0);
            // A thread that is ending has no place to keep it.
            let _ = SCRATCH.try_with(|kept| kept.set(lines));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_kept_and_never_shared() {
        let first = Scratch::take::<f32>(100).unwrap().as_mut_ptr::<f32>();
        let mut again = Scratch::take::<f64>(20).unwrap();
        assert_eq!(again.as_mut_ptr::<f32>(), first);
        let mut nested = Scratch::take::<u8>(1).unwrap();
        assert_ne!(nested.as_mut_ptr::<f32>(), first);
        assert_eq!(again.as_mut_ptr::<u8>() as usize % 64, 0);
        assert!(Scratch::take::<i64>(usize::MAX).is_err());
    }
}
