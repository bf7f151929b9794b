//! Tasks that may fail, and memory that they share.

use std::sync::{Mutex, PoisonError};

use fluvial_tensor::{Element, Error, Result, Tensor};

use crate::threads;

/// Runs `task` for each number below `n_tasks` on the shared threads; the first fault, if there is one.
pub(super) fn run(n_tasks: usize, task: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let fault: Mutex<Option<Error>> = Mutex::new(None);
    threads::run(n_tasks, |number| {
        if let Err(error) = task(number) {
            fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    });
    fault.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Memory of which tasks write disjoint parts.
#[derive(Clone, Copy)]
pub(super) struct Shared<T> {
    data: *mut T,
    len: usize,
}

// SAFETY: the parts that tasks take are disjoint, by the promise of `part`.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(super) fn new(data: &mut [T]) -> Shared<T> {
        Shared { data: data.as_mut_ptr(), len: data.len() }
    }

    /// `len` elements from `start` on.
    ///
    /// # Safety
    ///
    /// The memory is still there, and no other task takes any of these elements meanwhile.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn part(&self, start: usize, len: usize) -> &mut [T] {
        assert!(start <= self.len && len <= self.len - start);
        // SAFETY: within the memory, and by the caller's promise nobody else's.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(start), len) }
    }

    /// The first element; what is written from it must be as disjoint as the parts.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn as_ptr(&self) -> *mut T {
        self.data
    }
}

/// Memory of `len` elements for intermediate results, from the pool of the tensors.
pub(super) fn buffer<T: Element>(len: usize) -> Result<Tensor> {
    Tensor::empty(T::DTYPE, &[len])
}

/// Part `number` of `total` things in `n_parts` parts, the sizes of which differ by one unit at most.
pub(super) fn share(
    total: usize,
    n_parts: usize,
    number: usize,
    unit: usize,
) -> std::ops::Range<usize> {
    let units = total.div_ceil(unit);
    let at = |number: usize| (units * number / n_parts * unit).min(total);
    at(number)..at(number + 1)
}
