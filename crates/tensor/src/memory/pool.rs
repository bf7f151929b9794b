//! The free blocks of one size class.

use super::block::Base;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Free blocks, last in first out, so that the warmest is reused, and what has been handed out.
pub(super) struct Pool(Mutex<Free>);

struct Free {
    bases: Vec<Base>,
    allocations: u64,
    reuses: u64,
}

impl Pool {
    pub(super) const fn new() -> Pool {
        Pool(Mutex::new(Free { bases: Vec::new(), allocations: 0, reuses: 0 }))
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Free> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A free block for a tensor; counts the allocation even if there is none.
    #[inline]
    pub(super) fn take(&self) -> Option<Base> {
        let mut free = self.lock();
        let base = free.bases.pop();
        free.allocations += 1;
        free.reuses += u64::from(base.is_some());
        base
    }

    /// Keeps a block that a tensor gave back.
    #[inline]
    pub(super) fn keep(&self, base: Base) {
        self.lock().bases.push(base);
    }

    /// A free block to be given back to the system.
    pub(super) fn remove(&self) -> Option<Base> {
        self.lock().bases.pop()
    }

    /// Allocations so far, and how many of them were reuses.
    pub(super) fn counts(&self) -> (u64, u64) {
        let free = self.lock();
        (free.allocations, free.reuses)
    }
}
