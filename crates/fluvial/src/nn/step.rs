//! The step that runs: which parameters it has read, for optimizers that were given none.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

use fluvial_core::{Mode, mode};

use super::parameter::{Parameter, WeakParameter};

thread_local! {
    static USED: RefCell<Vec<WeakParameter>> = const { RefCell::new(Vec::new()) };
    static NUMBER: Cell<u64> = const { Cell::new(0) };
    static BUILDING: Cell<bool> = const { Cell::new(false) };
}

/// Begins a step: nothing was read yet.
pub fn begin_step() {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    USED.with_borrow_mut(Vec::clear);
    NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    BUILDING.set(mode() == Mode::Building);
}

/// A change of mode begins a step.
fn enter() -> u64 {
    if NUMBER.get() == 0 || BUILDING.get() != (mode() == Mode::Building) {
        begin_step();
    }
    NUMBER.get()
}

/// Notes that a parameter was read, in the step that it was last noted in.
pub(super) fn note(parameter: &Parameter, noted_in: &AtomicU64) {
    let step = enter();
    if noted_in.swap(step, Ordering::Relaxed) != step {
        USED.with_borrow_mut(|used| used.push(parameter.downgrade()));
    }
}

/// The parameters that the step has read, in order, without buffers.
pub fn used_in_step() -> Vec<Parameter> {
    let _ = enter();
    let used = USED.with_borrow(|used| used.iter().filter_map(WeakParameter::upgrade).collect());
    let is_parameter = |parameter: &Parameter| !parameter.is_buffer();
    Vec::into_iter(used).filter(is_parameter).collect()
}
