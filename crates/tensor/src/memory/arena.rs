//! Memory that is shared out before it is needed: for programs whose values have known lifetimes.

use super::{Block, allocate_exact};
use crate::error::Result;
use std::cell::Cell;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One block of memory and the ranges of it that tensors will use. Ranges may overlap if their
/// tensors do not live at the same time.
///
/// ```
/// use fluvial_tensor::{DType, Tensor, memory::Arena};
/// let mut arena = Arena::new(&[0..64, 0..64])?;
/// let first = arena.place(&[Some(0)], || Tensor::zeros(DType::F32, &[16]))?;
/// let second = arena.place(&[Some(1)], || Tensor::zeros(DType::F32, &[16]))?;
/// assert_ne!(first.data_ptr(), second.data_ptr());
/// let at = first.data_ptr();
/// drop(first);
/// let third = arena.place(&[Some(1)], || Tensor::zeros(DType::F32, &[16]))?;
/// assert_eq!(third.data_ptr(), at);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub struct Arena(Arc<Ranges>);

struct Ranges {
    block: Option<Block>,
    ranges: Box<[Range<usize>]>,
    /// For each range, one bit for each that overlaps it, itself included.
    overlaps: Box<[u64]>,
    /// One bit for each range that a tensor has.
    busy: Box<[AtomicU64]>,
}

impl Arena {
    /// An arena of these ranges of bytes. Starts are best multiples of 64.
    pub fn new(ranges: &[Range<usize>]) -> Result<Arena> {
        let bytes = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        let block = if bytes > 0 { Some(allocate_exact(bytes)?) } else { None };
        let words = ranges.len().div_ceil(64);
        let mut overlaps = vec![0; ranges.len() * words];
        for (i, a) in ranges.iter().enumerate() {
            for (j, b) in ranges.iter().enumerate() {
                if i == j || a.start < b.end && b.start < a.end {
                    overlaps[i * words + j / 64] |= 1 << (j % 64);
                }
            }
        }
        Ok(Arena(Arc::new(Ranges {
            block,
            ranges: ranges.into(),
            overlaps: overlaps.into(),
            busy: (0..words).map(|_| AtomicU64::new(0)).collect(),
        })))
    }

    /// The bytes from the start of the first range to the end of the last.
    pub fn bytes(&self) -> usize {
        self.0.ranges.iter().map(|range| range.end).max().unwrap_or(0)
    }

    /// Runs `f`. The first tensors that this thread makes meanwhile lie in the ranges of these
    /// numbers: a tensor takes the first range that has just its size and that no other tensor, also
    /// by an overlapping range, has; if there is none it is made as usual.
    pub fn place<R>(&mut self, wanted: &[Option<u32>], f: impl FnOnce() -> R) -> R {
        // SAFETY: nothing may be overwritten.
        unsafe { self.place_over(wanted, None, f) }
    }

    /// [`place`](Arena::place), where the ranges may also overlap the range `over`.
    ///
    /// # Safety
    ///
    /// What `f` makes in the ranges is written element by element, and after each element nothing
    /// at the same place or before it is read any more from a tensor in `over`.
    pub unsafe fn place_over<R>(
        &mut self,
        wanted: &[Option<u32>],
        over: Option<u32>,
        f: impl FnOnce() -> R,
    ) -> R {
        let places = Places { arena: &self.0, wanted, over, taken: Cell::new(0) };
        let _guard = Guard(PLACES.replace(&raw const places as *const ()));
        f()
    }
}

/// The ranges offered to the tensors that a thread makes.
struct Places<'a> {
    arena: &'a Arc<Ranges>,
    wanted: &'a [Option<u32>],
    over: Option<u32>,
    /// One bit for each of the first wanted ranges that is gone.
    taken: Cell<u64>,
}

thread_local! {
    /// The [`Places`] of the innermost `place`, or null.
    static PLACES: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

/// Puts the former places back.
struct Guard(*const ());

impl Drop for Guard {
    fn drop(&mut self) {
        PLACES.set(self.0);
    }
}

/// Memory of just so many bytes that was offered to this thread's tensors.
#[inline]
pub(crate) fn placed(bytes: usize) -> Option<Placed> {
    let places = PLACES.get();
    if places.is_null() { None } else { find(places, bytes) }
}

fn find(places: *const (), bytes: usize) -> Option<Placed> {
    // SAFETY: the pointer was set by a `place_over` that has not returned: it would have put the former
    // one back.
    let places: &Places<'_> = unsafe { &*places.cast() };
    for (i, &number) in places.wanted.iter().enumerate().take(64) {
        let Some(number) = number else { continue };
        let is_taken = places.taken.get() >> i & 1 == 1;
        let range = &places.arena.ranges[number as usize];
        if is_taken || range.len() != bytes || !places.arena.reserve(number, places.over) {
            continue;
        }
        places.taken.set(places.taken.get() | 1 << i);
        return Some(Placed { arena: places.arena.clone(), number });
    }
    None
}

impl Ranges {
    /// Marks a range as busy, unless it or one that overlaps it is.
    fn reserve(&self, number: u32, over: Option<u32>) -> bool {
        let words = self.busy.len();
        let overlaps = &self.overlaps[number as usize * words..][..words];
        let is_free = self.busy.iter().zip(overlaps).enumerate().all(|(word, (busy, overlaps))| {
            let spared = match over {
                Some(over) if over as usize / 64 == word => 1 << (over % 64),
                _ => 0,
            };
            // Pairs with the release of who had the range, so that their reads are over.
            busy.load(Ordering::Acquire) & overlaps & !spared == 0
        });
        if is_free {
            self.busy[number as usize / 64].fetch_or(1 << (number % 64), Ordering::Relaxed);
        }
        is_free
    }
}

/// A range of an arena that a tensor has; free again when dropped.
pub(crate) struct Placed {
    arena: Arc<Ranges>,
    number: u32,
}

impl Placed {
    /// The first byte.
    pub(crate) fn data(&self) -> NonNull<u8> {
        match &self.arena.block {
            Some(block) => {
                let start = self.arena.ranges[self.number as usize].start;
                // SAFETY: the block is as long as the last range.
                unsafe { block.data().add(start) }
            }
            None => NonNull::<u64>::dangling().cast(),
        }
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        let bit = 1 << (self.number % 64);
        self.arena.busy[self.number as usize / 64].fetch_and(!bit, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Tensor};

    fn tensor(n: usize) -> Tensor {
        Tensor::empty(DType::F32, &[n]).unwrap()
    }

    #[test]
    fn ranges_are_taken_once_and_given_back() {
        let mut arena = Arena::new(&[0..64, 64..128, 0..128]).unwrap();
        assert_eq!(arena.bytes(), 128);
        let (a, other) = arena.place(&[Some(0)], || (tensor(16), tensor(16)));
        let base = a.data_ptr();
        assert_ne!(other.data_ptr(), base);
        let b = arena.place(&[Some(1)], || tensor(16));
        assert_eq!(b.data_ptr(), base.wrapping_add(64));
        // Overlaps both.
        assert_ne!(arena.place(&[Some(2)], || tensor(32)).data_ptr(), base);
        let view = a.slice(0, 3, 4, 1).unwrap();
        drop((a, b));
        assert_ne!(arena.place(&[Some(2)], || tensor(32)).data_ptr(), base);
        drop(view);
        let c = arena.place(&[Some(2)], || tensor(32));
        assert_eq!(c.data_ptr(), base);
        // Another size is not placed, nor is anything outside.
        assert!(arena.place(&[Some(0)], || tensor(17)).is_unique());
        drop(c);
        assert_ne!(tensor(32).data_ptr(), base);
        drop(arena.place(&[None, Some(0)], || tensor(16)));
        assert!(Arena::new(&[]).unwrap().place(&[], || tensor(3)).is_unique());
    }

    #[test]
    fn tensors_outlive_their_arena_and_die_anywhere() {
        let mut arena = Arena::new(&[0..400, 448..848]).unwrap();
        let (a, b) = arena.place(&[Some(0), Some(1)], || {
            let full = |value| Tensor::full(&[100], value).unwrap();
            (full(1.0f32), full(2.0f32))
        });
        drop(arena);
        std::thread::spawn(move || drop(a)).join().unwrap();
        assert!(b.to_f64s().iter().all(|&x| x == 2.0));
    }

    #[test]
    fn a_range_over_another_is_given_on_demand() {
        let mut arena = Arena::new(&[0..64, 0..64]).unwrap();
        let a = arena.place(&[Some(0)], || Tensor::full(&[16], 3.0f32).unwrap());
        // SAFETY: nothing is read from `a` after the write.
        let b = unsafe { arena.place_over(&[Some(1)], Some(0), || tensor(16)) };
        assert_eq!(a.data_ptr(), b.data_ptr());
        drop(a);
        assert_ne!(arena.place(&[Some(0)], || tensor(16)).data_ptr(), b.data_ptr());
    }

    #[test]
    fn places_nest() {
        let [mut outer, mut inner] = [(); 2].map(|()| Arena::new(&[0..64, 64..128]).unwrap());
        let (a, b) = outer.place(&[Some(0)], || {
            let b = inner.place(&[Some(0)], || tensor(16));
            (tensor(16), b)
        });
        let (at_a, at_b) = (a.data_ptr(), b.data_ptr());
        drop((a, b));
        assert_eq!(outer.place(&[Some(0)], || tensor(16)).data_ptr(), at_a);
        assert_eq!(inner.place(&[Some(0)], || tensor(16)).data_ptr(), at_b);
    }
}
