//! Which task of the host has assigned a cell: what two of them assign without an order between them would be lost, or
//! depend on time. In a program the trace refuses it when it is built; line by line it is refused here, at the second one.

use std::cell::Cell as Slot;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use fluvial_tensor::{Error, Loc, Result};

use crate::cell::{Cell, WeakCell};
use crate::scope;

/// How many tasks and shared cells there are to look after. Without any, cells are assigned as ever.
static N_WATCHED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The task that this thread runs; 0 for those that nobody has started.
    static TASK: Slot<u64> = const { Slot::new(0) };
}

#[derive(Default)]
struct Owners {
    /// Counts what happens.
    clock: u64,
    last_task: u64,
    /// Tasks that nobody has waited for.
    tasks: HashMap<u64, Begun>,
    /// Who has assigned a cell last, by its number. The handle keeps the number from being given to another one.
    writes: HashMap<usize, (WeakCell, Write)>,
    /// Cells that tasks share, and the line that says so.
    shared: HashMap<usize, (Cell, Loc)>,
}

struct Begun {
    parent: u64,
    at: u64,
    /// The line that starts it.
    started: Loc,
    has_ended: bool,
    /// Whether somebody was told that it assigns what another one does.
    is_told: bool,
}

struct Write {
    task: u64,
    at: u64,
}

fn owners() -> MutexGuard<'static, Owners> {
    static OWNERS: OnceLock<Mutex<Owners>> = OnceLock::new();
    OWNERS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a task of the host, which this thread starts.
pub(super) fn begin(started: Loc) -> u64 {
    let mut owners = owners();
    owners.clock += 1;
    owners.last_task += 1;
    let (number, at) = (owners.last_task, owners.clock);
    owners.tasks.insert(
        number,
        Begun { parent: TASK.get(), at, started, has_ended: false, is_told: false },
    );
    N_WATCHED.fetch_add(1, Ordering::Relaxed);
    number
}

/// Makes this thread run the task; gives the one that it ran before.
pub(super) fn enter(task: u64) -> u64 {
    TASK.replace(task)
}

/// The task has ended, and this thread knows it: what it has assigned comes before what this thread assigns.
pub(super) fn settle(task: u64) {
    owners().settle(task, TASK.get());
}

/// The task has ended. If it was at fault, this was told: others go on.
pub(super) fn ended(task: u64) {
    let mut owners = owners();
    let Some(begun) = owners.tasks.get_mut(&task) else { return };
    begun.has_ended = true;
    if begun.is_told {
        owners.settle(task, 0);
    }
}

impl Owners {
    fn settle(&mut self, task: u64, by: u64) {
        if self.tasks.remove(&task).is_none() {
            return;
        }
        self.clock += 1;
        for (_, write) in self.writes.values_mut() {
            if write.task == task {
                (write.task, write.at) = (by, self.clock);
            }
        }
        if self.tasks.is_empty() {
            self.writes.clear();
        }
        N_WATCHED.fetch_sub(1, Ordering::Relaxed);
    }

    /// Somebody is told that a task assigns what another one does.
    fn told(&mut self, task: u64) {
        let Some(begun) = self.tasks.get_mut(&task) else { return };
        begun.is_told = true;
        if begun.has_ended {
            self.settle(task, 0);
        }
    }

    /// Whether a task was started, through others perhaps, by one that had assigned something before.
    fn follows(&self, task: u64, write: &Write) -> bool {
        let mut child = task;
        while let Some(begun) = self.tasks.get(&child) {
            if begun.parent == write.task {
                return write.at < begun.at;
            }
            child = begun.parent;
        }
        false
    }

    fn is_in_order(&self, me: u64, write: &Write) -> bool {
        if write.task == me {
            return true;
        }
        let is_under_way = write.task != 0 && self.tasks.contains_key(&write.task);
        let begun = self.tasks.get(&me).map_or(0, |begun| begun.at);
        let is_later = me != 0 && write.at > begun;
        !(is_under_way && !self.follows(me, write)) && !is_later
    }
}

/// An error if the cell is shared: its value is elsewhere.
fn check_shared(owners: &Owners, cell: &Cell) -> Result<()> {
    let Some((_, shared)) = owners.shared.get(&cell.id()) else { return Ok(()) };
    Err(Error::state(format!("the state `{}` is shared by tasks", cell.label()))
        .note(format!("it is shared since {shared}"))
        .remedy("use `get` and `update` of what `fl.shared` gives, or what follows its block"))
}

/// Called before a cell is read.
pub(crate) fn before_read(cell: &Cell) -> Result<()> {
    match N_WATCHED.load(Ordering::Relaxed) {
        0 => Ok(()),
        _ => check_shared(&owners(), cell),
    }
}

/// Called before a cell is assigned: an error if another task has assigned it that may still run, or that was not waited
/// for.
pub(crate) fn before_assign(cell: &Cell) -> Result<()> {
    if N_WATCHED.load(Ordering::Relaxed) == 0 {
        return Ok(());
    }
    let mut owners = owners();
    check_shared(&owners, cell)?;
    let me = TASK.get();
    if let Some((_, write)) = owners.writes.get(&cell.id())
        && !owners.is_in_order(me, write)
    {
        let other = write.task;
        let error = Error::state(format!("two tasks assign the state `{}`", cell.label()))
            .note(match owners.tasks.get(&write.task).or_else(|| owners.tasks.get(&me)) {
                Some(task) if write.task != 0 => {
                    format!("the other one was started at {}", task.started)
                }
                Some(task) => {
                    format!("it was assigned since this one was started at {}", task.started)
                }
                None => "the other one has ended, and nobody has waited for it".to_string(),
            })
            .remedy("wait for the one before the other assigns it, or share it with `fl.shared`");
        [me, other].into_iter().for_each(|task| owners.told(task));
        return Err(error);
    }
    owners.clock += 1;
    let write = Write { task: me, at: owners.clock };
    owners.writes.insert(cell.id(), (cell.downgrade(), write));
    Ok(())
}

/// Says that tasks share a cell, whose value is elsewhere until [`unshare`].
#[track_caller]
pub fn share(cell: &Cell) -> Result<()> {
    let loc = scope::user_line();
    before_assign(cell)?;
    let mut owners = owners();
    check_shared(&owners, cell)?;
    owners.shared.insert(cell.id(), (cell.clone(), loc));
    N_WATCHED.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Ends what [`share`] began.
pub fn unshare(cell: &Cell) {
    let gone = owners().shared.remove(&cell.id());
    if gone.is_some() {
        N_WATCHED.fetch_sub(1, Ordering::Relaxed);
    }
}
