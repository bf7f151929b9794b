//! What notes say while blocks run call by call: for ops that go on when a block has failed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use fluvial_tensor::Error;

use crate::op::Told;
use crate::var::Var;

thread_local! {
    /// For each attempt under way: what the notes have said last.
    static TAKEN: RefCell<Vec<Told<Var>>> = const { RefCell::new(Vec::new()) };
}

/// Takes back what is on top when dropped, also after a panic.
struct Level(usize);

impl Drop for Level {
    fn drop(&mut self) {
        TAKEN.with_borrow_mut(|taken| taken.truncate(self.0));
    }
}

/// Runs `f`, and gives what the notes of the blocks that it ran have said last.
pub fn taken<R>(f: impl FnOnce() -> R) -> (R, Told<Var>) {
    let level = TAKEN.with_borrow_mut(|taken| {
        taken.push(Vec::new());
        Level(taken.len() - 1)
    });
    let done = f();
    let told = TAKEN.with_borrow_mut(|taken| taken.get_mut(level.0).map(std::mem::take));
    (done, told.unwrap_or_default())
}

/// Keeps what a note says, for all attempts under way.
pub(crate) fn take_down(name: &Arc<str>, value: &Var) {
    TAKEN.with_borrow_mut(|taken| {
        for told in taken {
            match told.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => *known = value.clone(),
                None => told.push((name.clone(), value.clone())),
            }
        }
    });
}

thread_local! {
    /// By the key of an attempt: the error that it has caught last.
    static CAUGHT: RefCell<HashMap<Arc<str>, Error>> = RefCell::new(HashMap::new());
}

/// Keeps an error that an attempt has caught, for lines that raise it again.
pub fn keep_error(key: &Arc<str>, error: &Error) {
    CAUGHT.with_borrow_mut(|caught| caught.insert(key.clone(), error.clone()));
}

/// The error that an attempt of this thread has caught last.
pub fn kept_error(key: &str) -> Option<Error> {
    CAUGHT.with_borrow(|caught| caught.get(key).cloned())
}
