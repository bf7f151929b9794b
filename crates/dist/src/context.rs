//! The ranks that the work of a thread belongs to.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::{Comm, Solo};

/// Those of the process, for threads that have none of their own.
static DEFAULT: RwLock<Option<Arc<dyn Comm>>> = RwLock::new(None);

/// Whether anything else than one rank alone was ever entered: until then nobody has to look.
static IS_USED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static ENTERED: RefCell<Vec<Arc<dyn Comm>>> = const { RefCell::new(Vec::new()) };
}

/// The ranks that the work of this thread belongs to.
pub fn current() -> Arc<dyn Comm> {
    if !IS_USED.load(Ordering::Relaxed) {
        return Arc::new(Solo);
    }
    if let Some(comm) = ENTERED.with_borrow(|entered| entered.last().cloned()) {
        return comm;
    }
    let default = DEFAULT.read().unwrap_or_else(PoisonError::into_inner);
    default.clone().unwrap_or_else(|| Arc::new(Solo))
}

/// Whether there are other ranks.
pub fn is_distributed() -> bool {
    IS_USED.load(Ordering::Relaxed) && current().world() > 1
}

/// Lets the work of this thread belong to these ranks until the guard is dropped.
#[must_use = "it counts as long as the guard lives"]
pub fn enter(comm: Arc<dyn Comm>) -> Entered {
    IS_USED.store(true, Ordering::Relaxed);
    ENTERED.with_borrow_mut(|entered| entered.push(comm));
    Entered { _of_thread: std::marker::PhantomData }
}

/// Leaves the ranks that were entered once it is dropped.
pub struct Entered {
    /// It must be dropped by the thread that has entered.
    _of_thread: std::marker::PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        ENTERED.with_borrow_mut(|entered| {
            entered.pop();
        });
    }
}

/// The ranks of all threads that have entered none; nothing stands for one rank alone.
pub fn set_default(comm: Option<Arc<dyn Comm>>) {
    IS_USED.store(true, Ordering::Relaxed);
    *DEFAULT.write().unwrap_or_else(PoisonError::into_inner) = comm;
}
