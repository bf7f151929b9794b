//! The threads that kernels share.
//!
//! [`run`] splits a job into numbered tasks; the caller and the workers take them one by one. A worker
//! spins for a moment after a job, so that the next one finds it awake, and parks after that. The
//! caller never waits for a worker that has not joined: on a busy machine it does all the work itself.
//! A job inside a job, and one of a second thread while the workers are busy, runs inline.
//!
//! What the tasks are depends on shapes only, never on the number of threads, so results do not either.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use fluvial_tensor::interrupt;

/// How long a worker looks for the next job before it parks.
const SPIN: Duration = Duration::from_micros(50);

/// The most threads; more than any machine of today has cores.
const MAX_THREADS: usize = 1024;

/// Runs `task` for each number below `n_tasks`, on as many threads as there are.
///
/// The order is not defined. If a task panics, the others still run, and then `run` panics. If a stop is asked for
/// and the thread [hears](interrupt::hear), no further task is begun, and the work is left.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let sum = AtomicUsize::new(0);
/// fluvial_kernels::threads::run(10, |i| {
///     sum.fetch_add(i, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 45);
/// ```
pub fn run(n_tasks: usize, task: impl Fn(usize) + Sync) {
    run_erased(n_tasks, &task);
}

/// [`run`] compiled once, whatever the task.
fn run_erased(n_tasks: usize, task: &(dyn Fn(usize) + Sync)) {
    let helpers = count().min(n_tasks).saturating_sub(1);
    // So many that the counts of those taken at both ends fit into one number.
    if helpers == 0 || INSIDE.get() || n_tasks > i32::MAX as usize {
        return one_by_one(n_tasks, task);
    }
    match POOL.try_lock() {
        Ok(pool) => share(pool, helpers, n_tasks, task),
        Err(TryLockError::Poisoned(pool)) => share(pool.into_inner(), helpers, n_tasks, task),
        Err(TryLockError::WouldBlock) => one_by_one(n_tasks, task),
    }
}

/// All tasks by the caller.
fn one_by_one(n_tasks: usize, task: &(dyn Fn(usize) + Sync)) {
    let watch = interrupt::Watch::start();
    for number in 0..n_tasks {
        task(number);
        watch.leave_if_over();
    }
}

/// Runs `f` with jobs of this thread done by itself: for threads that have work of their own beside one another.
pub fn alone<R>(f: impl FnOnce() -> R) -> R {
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }
    let _back = Back(INSIDE.replace(true));
    f()
}

/// How many threads kernels use, the caller's included. At first, one per core.
pub fn count() -> usize {
    match COUNT.load(Ordering::Relaxed) {
        0 => {
            let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
            set_count(cores);
            cores.clamp(1, MAX_THREADS)
        }
        count => count,
    }
}

/// Sets how many threads kernels use, the caller's included. Nothing is started before it is needed.
pub fn set_count(count: usize) {
    COUNT.store(count.clamp(1, MAX_THREADS), Ordering::Relaxed);
}

/// The number of threads; 0 before anybody asked.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The workers; locked by the one thread whose job they run.
static POOL: Mutex<Vec<Worker>> = Mutex::new(Vec::new());

thread_local! {
    /// Whether this thread runs a task.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A worker as the caller sees it.
struct Worker {
    thread: Thread,
    asleep: Arc<AtomicBool>,
}

/// What all workers watch: `epoch << 32 | open << 31 | number of workers inside`. A worker enters by
/// counting itself in while the job is open; the caller closes the job, and then waits for those
/// inside only.
static GATE: AtomicU64 = AtomicU64::new(0);
const OPEN: u64 = 1 << 31;
const INSIDERS: u64 = OPEN - 1;

/// The job of the current epoch. Only a worker inside may read it.
static JOB: JobSlot = JobSlot(Cell::new(None));

struct JobSlot(Cell<Option<Job>>);

// SAFETY: the caller writes the slot while the gate is closed and nobody is inside; workers read it
// while they are inside, after they have seen the gate that the caller opened afterwards.
unsafe impl Sync for JobSlot {}

/// A job, which lives on the stack of its caller until the gate is closed and empty.
#[derive(Clone, Copy)]
struct Job {
    task: *const (dyn Fn(usize) + Sync),
    shared: *const Shared,
}

struct Shared {
    n_tasks: usize,
    watch: interrupt::Watch,
    /// How many tasks have been taken: from the first on in the lower half, from the last on in the upper.
    taken: AtomicU64,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Where tasks are taken, as what is added to [`Shared::taken`] for one.
#[derive(Clone, Copy)]
#[repr(u64)]
enum End {
    First = 1,
    Last = 1 << 32,
}

impl Shared {
    /// Takes tasks until there are none left. The caller begins with the first and workers begin with the
    /// last: so the next job on the same memory finds it in the caches of those who had it before.
    fn work(&self, task: &(dyn Fn(usize) + Sync), from: End) {
        INSIDE.set(true);
        loop {
            let taken = self.taken.fetch_add(from as u64, Ordering::Relaxed);
            let (first, last) = (taken as u32 as usize, (taken >> 32) as usize);
            if first + last >= self.n_tasks || self.watch.is_over() {
                break;
            }
            let number = match from {
                End::First => first,
                End::Last => self.n_tasks - 1 - last,
            };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task(number))) {
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
        }
        INSIDE.set(false);
    }
}

fn share(
    mut pool: MutexGuard<'_, Vec<Worker>>,
    helpers: usize,
    n_tasks: usize,
    task: &(dyn Fn(usize) + Sync),
) {
    grow(&mut pool, helpers);
    let watch = interrupt::Watch::start();
    let shared = Shared { n_tasks, watch, taken: AtomicU64::new(0), panic: Mutex::new(None) };
    // SAFETY: only the lifetime changes. The gate is closed and empty again before `task` ends.
    let erased: *const (dyn Fn(usize) + Sync) = unsafe {
        std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync)>(
            task,
        )
    };
    JOB.0.set(Some(Job { task: erased, shared: &shared }));
    let epoch = (GATE.load(Ordering::Relaxed) >> 32).wrapping_add(1);
    GATE.store(epoch << 32 | OPEN, Ordering::SeqCst);
    for worker in pool.iter().take(helpers) {
        if worker.asleep.swap(false, Ordering::SeqCst) {
            worker.thread.unpark();
        }
    }
    shared.work(task, End::First);
    let mut gate = GATE.fetch_and(!OPEN, Ordering::AcqRel);
    while gate & INSIDERS != 0 {
        std::hint::spin_loop();
        gate = GATE.load(Ordering::Acquire);
    }
    JOB.0.set(None);
    drop(pool);
    let panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
    watch.leave_if_over();
}

/// Starts workers until there are so many; fewer, if the system refuses.
fn grow(pool: &mut Vec<Worker>, helpers: usize) {
    while pool.len() < helpers {
        let asleep = Arc::new(AtomicBool::new(false));
        let (flag, number) = (asleep.clone(), pool.len());
        let started = thread::Builder::new()
            .name(format!("fluvial-{}", number + 1))
            .spawn(move || serve(number, &flag));
        match started {
            Ok(handle) => pool.push(Worker { thread: handle.thread().clone(), asleep }),
            Err(_) => break,
        }
    }
}

/// What a worker does all its life.
fn serve(number: usize, asleep: &AtomicBool) {
    let mut seen = 0;
    let mut idle_since = Instant::now();
    loop {
        let gate = GATE.load(Ordering::SeqCst);
        let is_new = gate & OPEN != 0 && gate >> 32 != seen;
        // A worker beyond the number that was set has been started for an earlier one.
        if is_new && number + 1 < COUNT.load(Ordering::Relaxed) {
            let entered =
                GATE.compare_exchange(gate, gate + 1, Ordering::AcqRel, Ordering::Relaxed);
            if entered.is_ok() {
                seen = gate >> 32;
                if let Some(job) = JOB.0.get() {
                    // SAFETY: the caller keeps the job alive until this worker has left.
                    let (shared, task) = unsafe { (&*job.shared, &*job.task) };
                    shared.work(task, End::Last);
                }
                GATE.fetch_sub(1, Ordering::Release);
                idle_since = Instant::now();
            }
            continue;
        }
        if idle_since.elapsed() < SPIN {
            (0..32).for_each(|_| std::hint::spin_loop());
            continue;
        }
        asleep.store(true, Ordering::SeqCst);
        // A job opened before the flag was set would not wake this worker: look once more.
        let gate = GATE.load(Ordering::SeqCst);
        if gate & OPEN != 0 && gate >> 32 != seen && number + 1 < COUNT.load(Ordering::Relaxed) {
            asleep.store(false, Ordering::SeqCst);
        } else {
            thread::park();
        }
        idle_since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of threads is one for the process, so the tests take turns.
    static TURN: Mutex<()> = Mutex::new(());

    fn turn() -> MutexGuard<'static, ()> {
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn each_task_runs_once() {
        let _turn = turn();
        for threads in [1, 2, 3, 8] {
            set_count(threads);
            for n_tasks in [0, 1, 2, 7, 100] {
                for _ in 0..200 {
                    let runs: Vec<AtomicUsize> =
                        (0..n_tasks).map(|_| AtomicUsize::new(0)).collect();
                    run(n_tasks, |i| {
                        runs[i].fetch_add(1, Ordering::Relaxed);
                    });
                    assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
                }
            }
        }
    }

    #[test]
    fn no_job_is_lost_between_spinning_and_parking() {
        let _turn = turn();
        set_count(3);
        let total = AtomicUsize::new(0);
        for round in 0..600 {
            run(6, |_| {
                total.fetch_add(1, Ordering::Relaxed);
            });
            // Pauses around the time after which workers park.
            let pause = Instant::now();
            while pause.elapsed() < Duration::from_micros(round % 120) {
                std::hint::spin_loop();
            }
        }
        assert_eq!(total.into_inner(), 3600);
    }

    #[test]
    fn jobs_inside_jobs_and_from_several_threads() {
        let _turn = turn();
        set_count(4);
        let total = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        run(4, |_| {
                            run(3, |_| {
                                total.fetch_add(1, Ordering::Relaxed);
                            });
                        });
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 4 * 100 * 12);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_goes_on() {
        let _turn = turn();
        set_count(2);
        let done = AtomicUsize::new(0);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            run(8, |i| {
                assert!(i != 3, "task three fails");
                done.fetch_add(1, Ordering::Relaxed);
            });
        }));
        assert!(caught.is_err());
        assert_eq!(done.load(Ordering::Relaxed), 7);
        run(4, |_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), 11);
    }
}
