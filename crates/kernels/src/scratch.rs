//! Scratch memory that each thread keeps from one kernel to the next.

use std::alloc::Layout;
use std::cell::Cell;

use fluvial_tensor::{Element, Error, Result};

/// What a thread keeps at most, in so many blocks. More is given back after use.
const KEPT_BYTES: usize = 8 << 20;
const KEPT_BLOCKS: usize = 4;

/// One cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

thread_local! {
    static SCRATCH: Cell<[Vec<Line>; KEPT_BLOCKS]> = const { Cell::new([const { Vec::new() }; KEPT_BLOCKS]) };
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
        let mut block = with_kept(|kept| {
            // The smallest that is large enough, or else the largest.
            let fit = (0..KEPT_BLOCKS).min_by_key(|&i| {
                let len = kept[i].len();
                if len >= lines { (0, len) } else { (1, usize::MAX - len) }
            });
            fit.map(|i| std::mem::take(&mut kept[i])).unwrap_or_default()
        });
        if block.len() < lines {
            // Its contents need not be copied.
            block.clear();
            block.try_reserve_exact(lines).map_err(|_| too_much())?;
            block.resize(lines, Line([0; 64]));
        }
        Ok(Scratch(block))
    }

    /// The first element.
    pub(crate) fn as_mut_ptr<T: Element>(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let block = std::mem::take(&mut self.0);
        with_kept(|kept| {
            let smallest = (0..KEPT_BLOCKS).min_by_key(|&i| kept[i].len()).unwrap_or(0);
            let others: usize = kept.iter().map(Vec::len).sum::<usize>() - kept[smallest].len();
            let fits = (others + block.len()) * size_of::<Line>() <= KEPT_BYTES;
            if fits && block.len() > kept[smallest].len() {
                kept[smallest] = block;
            }
        });
    }
}

/// Calls `f` with the blocks that the thread keeps; one that is ending keeps none.
fn with_kept<R>(f: impl FnOnce(&mut [Vec<Line>; KEPT_BLOCKS]) -> R) -> R {
    let mut kept = SCRATCH.try_with(Cell::take).unwrap_or_default();
    let result = f(&mut kept);
    let _ = SCRATCH.try_with(|place| place.set(kept));
    result
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
