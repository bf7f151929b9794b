//! A step of a training as a whole: one thread at a time, and all of it or nothing.

use std::cell::{Cell as StdCell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::time::Duration;

use fluvial_tensor::{Error, ErrorKind, Result, interrupt};

use crate::cell::Cell;
use crate::tape::lock;
use crate::var::Var;

/// Cells that this thread changes; other threads wait for their turn. A thread that has its turn with a cell may take
/// it again.
pub struct Turn(Vec<Cell>);

/// Waits until no other thread has its turn with one of these cells. So what a step reads is what it changes, and no
/// update of another thread in between is lost.
pub fn turn(mut cells: Vec<Cell>) -> Result<Turn> {
    // Everybody begins with the same ones, so nobody waits for somebody who waits for him.
    cells.sort_unstable_by_key(Cell::id);
    let me = thread_number();
    loop {
        let mut taken = Turn(Vec::with_capacity(cells.len()));
        let other = cells.iter().find(|cell| {
            match cell.turn().compare_exchange(0, me, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => {
                    taken.0.push((*cell).clone());
                    false
                }
                Err(owner) => owner != me,
            }
        });
        let Some(other) = other else { return Ok(taken) };
        drop(taken);
        wait(other)?;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        for cell in &self.0 {
            cell.turn().store(0, Ordering::SeqCst);
        }
        if WAITING.load(Ordering::SeqCst) > 0 {
            drop(lock(&QUEUE));
            FREED.notify_all();
        }
    }
}

/// How many threads wait.
static WAITING: AtomicUsize = AtomicUsize::new(0);
static QUEUE: Mutex<()> = Mutex::new(());
static FREED: Condvar = Condvar::new();

/// How front ends wait, if they hold what others need, too.
static WAITS: OnceLock<fn(&(dyn Fn() + Sync))> = OnceLock::new();

/// Says how a front end waits: it has to call the function it is given, and lets go of what others may need meanwhile.
pub fn wait_by(f: fn(&(dyn Fn() + Sync))) {
    let _ = WAITS.set(f);
}

/// Until the cell is free, or for a moment. An error if a stop is asked for.
#[cold]
fn wait(cell: &Cell) -> Result<()> {
    interrupt::check()?;
    let pause = || {
        WAITING.fetch_add(1, Ordering::SeqCst);
        let queue = lock(&QUEUE);
        if cell.turn().load(Ordering::SeqCst) != 0 {
            drop(FREED.wait_timeout(queue, Duration::from_millis(20)));
        }
        WAITING.fetch_sub(1, Ordering::SeqCst);
    };
    match WAITS.get() {
        Some(wait) => wait(&pause),
        None => pause(),
    }
    Ok(())
}

/// A number that no other thread has; never zero.
fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: StdCell<u64> = const { StdCell::new(0) };
    }
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

/// What cells held before, by their numbers.
type Before = HashMap<usize, (Cell, Option<Var>)>;

thread_local! {
    /// Whether the thread is within [`whole`], which is looked at first.
    static IS_WHOLE: StdCell<bool> = const { StdCell::new(false) };
    /// For each [`whole`] under way, what cells held when it began, of those that were changed since.
    static BEFORE: RefCell<Vec<Before>> = const { RefCell::new(Vec::new()) };
}

/// Runs a step. If it is interrupted, by a stop, a function of the user's that fails or the end of memory, the cells that
/// this thread has changed hold what they held before.
pub fn whole<R>(step: impl FnOnce() -> Result<R>) -> Result<R> {
    struct Guard {
        was: bool,
        done: bool,
    }
    impl Drop for Guard {
        fn drop(&mut self) {
            IS_WHOLE.set(self.was);
            let before = BEFORE.with_borrow_mut(Vec::pop).unwrap_or_default();
            if !self.done {
                for (cell, var) in before.into_values() {
                    cell.restore(var);
                }
                return;
            }
            // What is around may still fail.
            BEFORE.with_borrow_mut(|all| {
                let Some(outer) = all.last_mut() else { return };
                for (id, kept) in before {
                    outer.entry(id).or_insert(kept);
                }
            });
        }
    }
    BEFORE.with_borrow_mut(|all| all.push(Before::new()));
    let mut guard = Guard { was: IS_WHOLE.replace(true), done: false };
    let result = step();
    let is_cut = |error: &Error| {
        matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::Callback | ErrorKind::Memory)
    };
    guard.done = !result.as_ref().is_err_and(is_cut);
    result
}

/// Has to be called before a cell gets another value: what it holds, if somebody may want it back.
#[inline]
pub(crate) fn changing(cell: &Cell, var: impl FnOnce() -> Option<Var>) {
    if IS_WHOLE.get() {
        BEFORE.with_borrow_mut(|all| {
            let Some(before) = all.last_mut() else { return };
            before.entry(cell.id()).or_insert_with(|| (cell.clone(), var()));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Role;
    use fluvial_tensor::Tensor;

    fn counter() -> Cell {
        Cell::of("n", Role::Counter, Tensor::scalar(0i64))
    }

    fn number(cell: &Cell) -> i64 {
        cell.get().unwrap().item().unwrap()
    }

    #[test]
    fn no_update_is_lost() {
        let cells = [counter(), counter()];
        std::thread::scope(|scope| {
            for order in 0..8 {
                let mut own = cells.to_vec();
                scope.spawn(move || {
                    own.rotate_left(order % 2);
                    for _ in 0..200 {
                        let _turn = turn(own.clone()).unwrap();
                        let _again = turn(own[..1].to_vec()).unwrap();
                        for cell in &own {
                            let next = number(cell) + 1;
                            std::thread::yield_now();
                            cell.set(Tensor::scalar(next)).unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(cells.each_ref().map(number), [1600, 1600]);
    }

    #[test]
    fn a_step_that_is_cut_leaves_everything() {
        let cells = [counter(), counter()];
        let cut = || Error::new(ErrorKind::Interrupted, "stopped");
        let failed: Result<()> = whole(|| {
            cells[0].set(Tensor::scalar(1i64))?;
            whole(|| cells[1].set(Tensor::scalar(2i64)))?;
            Err(cut())
        });
        assert!(failed.is_err());
        assert_eq!(cells.each_ref().map(number), [0, 0]);
        let failed: Result<()> = whole(|| {
            cells[0].set(Tensor::scalar(3i64))?;
            let inner: Result<()> = whole(|| {
                cells[0].set(Tensor::scalar(4i64))?;
                cells[1].set(Tensor::scalar(5i64))?;
                Err(cut())
            });
            assert!(inner.is_err());
            Err(Error::argument("a fault as others"))
        });
        assert!(failed.is_err());
        assert_eq!(
            cells.each_ref().map(number),
            [3, 0],
            "the fault of an op leaves what was before it"
        );
    }
}
