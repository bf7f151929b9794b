//! Limits of what runs, for hosts that run programs of others: time, trips of loops, memory; and of what single ops give.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fluvial_tensor::{Error, ErrorKind, Result, Type, memory};

use crate::tasks;

/// What a run may need at most; nothing is limited that is not given. Beyond a limit the run ends with an error, as
/// one that is stopped does: of kind [`Memory`](ErrorKind::Memory), or [`Limit`](ErrorKind::Limit) for time and trips.
///
/// ```
/// use fluvial_core::{Limits, interrupt};
/// let _limited = Limits { trips: Some(2), ..Limits::default() }.enter();
/// assert!(interrupt::before_trip().is_ok() && interrupt::before_trip().is_ok());
/// assert!(interrupt::before_trip().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes: of tensors, and on Linux of the process, which is looked at between steps.
    pub memory: Option<u64>,
    /// The most time.
    pub time: Option<Duration>,
    /// The most trips of loops, those of loops in loops included.
    pub trips: Option<u64>,
}

/// How many limits are in force, in all threads.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ENTERED: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone)]
struct Entered {
    limits: Limits,
    began: Instant,
    /// Those of all threads that work for the run.
    n_trips: Arc<AtomicU64>,
    /// When the memory of the process was looked at.
    looked: Option<Instant>,
}

/// While it lives, what runs in this thread is limited.
#[must_use = "limits end with their guard"]
pub struct Limited {
    memory: Option<u64>,
    /// It belongs to the thread that entered it.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Limits {
    /// Whether anything is limited.
    pub fn is_any(&self) -> bool {
        *self != Limits::default()
    }

    /// Limits what runs in this thread from now on, beside limits that are in force already. The limit of memory
    /// concerns tensors of all threads, since they share it.
    pub fn enter(self) -> Limited {
        let entered =
            Entered { limits: self, began: Instant::now(), n_trips: Arc::default(), looked: None };
        ENTERED.with_borrow_mut(|all| all.push(entered));
        ACTIVE.fetch_add(1, Ordering::Relaxed);
        let memory = self.memory.map(memory::limit_further);
        Limited { memory, _thread: std::marker::PhantomData }
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        ENTERED.with_borrow_mut(Vec::pop);
        ACTIVE.fetch_sub(1, Ordering::Relaxed);
        if let Some(before) = self.memory {
            memory::set_limit(Some(before).filter(|&bytes| bytes != u64::MAX));
        }
    }
}

/// The limits of a thread, for others that work for it.
pub(crate) struct Carried {
    entered: Vec<Entered>,
    largest: u64,
}

/// The limits of this thread.
pub(crate) fn carried() -> Carried {
    let entered = ENTERED.with_borrow(Clone::clone);
    Carried { entered, largest: LARGEST.get() }
}

impl Carried {
    /// Lets them count in this thread, until the guard is dropped.
    pub fn enter(&self) -> Carrying {
        let entered = ENTERED.replace(self.entered.clone());
        Carrying(Carried { entered, largest: LARGEST.replace(self.largest) })
    }
}

/// Puts back what a thread had.
#[must_use = "limits end with their guard"]
pub(crate) struct Carrying(Carried);

impl Drop for Carrying {
    fn drop(&mut self) {
        ENTERED.set(std::mem::take(&mut self.0.entered));
        LARGEST.set(self.0.largest);
    }
}

/// Makes all threads look from now on, or no longer: whether the run that they work for has been ended, or where the
/// inputs of ops are.
pub(crate) fn alert(is_on: bool) {
    match is_on {
        true => ACTIVE.fetch_add(1, Ordering::Relaxed),
        false => ACTIVE.fetch_sub(1, Ordering::Relaxed),
    };
}

thread_local! {
    static LARGEST: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// While it lives, no op that runs line by line in this thread gives more than so many bytes: for readers that compute
/// with what a file says.
#[must_use = "limits end with their guard"]
pub struct LimitedOutputs {
    before: u64,
    /// It belongs to the thread that entered it.
    _thread: std::marker::PhantomData<*const ()>,
}

/// Refuses what ops of this thread would give, with an error of the kind [`ErrorKind::Limit`], if it has more than so
/// many bytes.
pub fn limit_outputs(bytes: u64) -> LimitedOutputs {
    let before = LARGEST.get();
    LARGEST.set(before.min(bytes));
    ACTIVE.fetch_add(1, Ordering::Relaxed);
    LimitedOutputs { before, _thread: std::marker::PhantomData }
}

impl Drop for LimitedOutputs {
    fn drop(&mut self) {
        LARGEST.set(self.before);
        ACTIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether outputs of ops of this thread are limited.
#[inline]
pub(crate) fn has_largest() -> bool {
    is_any() && LARGEST.get() != u64::MAX
}

/// An error if one of these is larger than what is allowed. Sizes that only the op knows are those of its inputs at most.
#[cold]
pub(crate) fn check_outputs(types: &[Type]) -> Result<()> {
    let most = LARGEST.get();
    if most == u64::MAX {
        return Ok(());
    }
    let bytes = |ty: &Type| {
        let sizes = ty.dims().to_vec().into_iter().map(|dim| dim.value().unwrap_or(1) as u64);
        sizes.fold(ty.dtype().size() as u64, u64::saturating_mul)
    };
    match types.iter().filter(|ty| !ty.is_list()).map(bytes).max().filter(|&bytes| bytes > most) {
        Some(bytes) => Err(reached(format!("{bytes} bytes are more than the {most} allowed here"))),
        None => Ok(()),
    }
}

/// Whether any thread is limited.
#[inline]
pub(crate) fn is_any() -> bool {
    ACTIVE.load(Ordering::Relaxed) != 0
}

/// An error if a limit of this thread is reached, after so many further trips.
#[cold]
pub(crate) fn check(trips: u64) -> Result<()> {
    tasks::check()?;
    ENTERED.with_borrow_mut(|all| all.iter_mut().try_for_each(|entered| entered.check(trips)))
}

impl Entered {
    fn check(&mut self, trips: u64) -> Result<()> {
        let Limits { memory, time, trips: most } = self.limits;
        let n_trips = self.n_trips.fetch_add(trips, Ordering::Relaxed) + trips;
        if let Some(most) = most.filter(|&most| n_trips > most) {
            return Err(reached(format!("loops made {most} trips, which is the limit")));
        }
        if memory.is_none() && time.is_none() {
            return Ok(());
        }
        let now = Instant::now();
        if let Some(most) = time.filter(|&most| now - self.began > most) {
            return Err(reached(format!("the run took {most:?}, which is the limit of time")));
        }
        let Some(most) = memory else { return Ok(()) };
        if self.looked.is_some_and(|looked| now - looked < LOOK) {
            return Ok(());
        }
        self.looked = Some(now);
        match resident().filter(|&bytes| bytes > most) {
            Some(bytes) => Err(Error::memory(format!(
                "the process holds {bytes} bytes, and the limit is {most}"
            ))
            .remedy("raise the limit, or run on less data")),
            None => Ok(()),
        }
    }
}

/// How often the memory of the process is looked at.
const LOOK: Duration = Duration::from_millis(20);

fn reached(what: String) -> Error {
    Error::new(ErrorKind::Limit, what).remedy("raise the limit, if the program may go on")
}

/// The bytes of memory that the process has, where the system tells.
pub fn resident() -> Option<u64> {
    static PAGE: AtomicU64 = AtomicU64::new(0);
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    let mut page = PAGE.load(Ordering::Relaxed);
    if page == 0 {
        page = page_bytes()?;
        PAGE.store(page, Ordering::Relaxed);
    }
    pages.checked_mul(page)
}

/// The size of a page.
fn page_bytes() -> Option<u64> {
    let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let line = smaps.lines().find(|line| line.starts_with("KernelPageSize:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}
