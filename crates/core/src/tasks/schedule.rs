//! Which task goes on where several can: by chance, by a seed, or in all ways one after the other.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

/// How tasks of the worlds that begin in this thread are scheduled.
#[derive(Clone)]
enum Schedule {
    /// By a seed.
    Seed(u64),
    /// As written down, and beyond that the first of several.
    Choices(Arc<Mutex<Choices>>),
}

/// The choices of a run: of how many which one.
#[derive(Default)]
pub(super) struct Choices {
    made: Vec<(usize, usize)>,
    next: usize,
}

impl Choices {
    fn below(&mut self, n: usize) -> usize {
        let known = self.made.get(self.next).map(|&(_, chosen)| chosen);
        if known.is_none() {
            self.made.push((n, 0));
        }
        self.next += 1;
        known.unwrap_or(0)
    }

    /// Goes on to the next way to choose; false after the last one.
    fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some((n, chosen)) = self.made.pop() {
            if chosen + 1 < n {
                self.made.push((n, chosen + 1));
                return true;
            }
        }
        false
    }
}

thread_local! {
    static SCHEDULE: RefCell<Option<Schedule>> = const { RefCell::new(None) };
}

fn scheduled<R>(schedule: Option<Schedule>, f: impl FnOnce() -> R) -> R {
    struct Back(Option<Schedule>);
    impl Drop for Back {
        fn drop(&mut self) {
            SCHEDULE.set(self.0.take());
        }
    }
    let _back = Back(SCHEDULE.replace(schedule));
    f()
}

/// Runs `f`; in worlds that begin meanwhile in this thread one task runs at a time, and which one goes on at an
/// operation on a channel follows from the seed. So a run can be repeated exactly.
pub fn with_schedule<R>(seed: Option<u64>, f: impl FnOnce() -> R) -> R {
    scheduled(seed.map(Schedule::Seed), f)
}

/// Runs `f`, which runs one world, again and again: once for each way in which its tasks may take turns at their
/// operations on channels, and in which a select may choose. Gives how many ways there are, or nothing if `f` says `false`
/// before the end.
pub fn explore(mut f: impl FnMut() -> bool) -> Option<usize> {
    let choices: Arc<Mutex<Choices>> = Arc::default();
    for n in 1.. {
        if !scheduled(Some(Schedule::Choices(choices.clone())), &mut f) {
            return None;
        }
        if !choices.lock().unwrap_or_else(PoisonError::into_inner).advance() {
            return Some(n);
        }
    }
    None
}

/// Chooses one of several.
pub(super) enum Chooser {
    Random(u64),
    Choices(Arc<Mutex<Choices>>),
}

impl Chooser {
    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        let state = match self {
            Chooser::Random(state) => state,
            Chooser::Choices(_) if n < 2 => return 0,
            Chooser::Choices(choices) => {
                return choices.lock().unwrap_or_else(PoisonError::into_inner).below(n);
            }
        };
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ (mixed >> 31)) >> 33) as usize) % n.max(1)
    }
}

/// What chooses in a new world, and whether one task runs at a time.
pub(super) fn of_new_world() -> (Chooser, bool) {
    match SCHEDULE.with_borrow(Clone::clone) {
        Some(Schedule::Seed(seed)) => (Chooser::Random(seed), true),
        Some(Schedule::Choices(choices)) => (Chooser::Choices(choices), true),
        None => {
            let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            (Chooser::Random(clock.map_or(0, |time| time.as_nanos() as u64)), false)
        }
    }
}
