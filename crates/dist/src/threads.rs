//! Ranks that are threads of one process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fluvial_tensor::{DType, Error, ErrorKind, Result, Tensor};

use crate::arithmetic::{can_reduce, reduce};
use crate::solo::to_itself;
use crate::waiting::{Since, asked, lost, waiting};
use crate::{Broken, Comm, Reduction, context, is_rank, rows_of_each, with_rows};

/// How long a rank sleeps before it looks whether it should stop.
const PAUSE: Duration = Duration::from_millis(20);

/// One of several ranks within a process.
pub struct Threads {
    group: Arc<Group>,
    rank: usize,
}

/// What the ranks share.
struct Group {
    world: usize,
    meeting: Mutex<Meeting>,
    changed: Condvar,
}

#[derive(Default)]
struct Meeting {
    /// By rank: what it brought to the meeting that is under way.
    brought: Vec<Option<Brought>>,
    /// What all have brought, while not every rank has taken it along.
    complete: Option<Arc<Vec<Brought>>>,
    taken: usize,
    /// By sender, receiver and tag: what is on its way.
    sent: HashMap<(usize, usize, u32), VecDeque<Tensor>>,
    /// Ranks that have ended.
    left: Vec<usize>,
    broken: Option<Broken>,
}

#[derive(Clone)]
struct Brought {
    what: What,
    tensor: Tensor,
}

/// What a rank asks for. All ranks must ask for the same.
#[derive(Clone, PartialEq, Debug)]
struct What {
    name: &'static str,
    how: Option<Reduction>,
    root: Option<usize>,
    /// Element type and sizes.
    of: Option<(DType, Vec<usize>)>,
}

impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`", self.name)?;
        if let Some((dtype, dims)) = &self.of {
            write!(f, " of {}{dims:?}", dtype.name())?;
        }
        if let Some(how) = self.how {
            write!(f, " by {how:?}")?;
        }
        self.root.map_or(Ok(()), |root| write!(f, " from rank {root}"))
    }
}

impl Threads {
    /// So many ranks, one for each thread that is to take part.
    pub fn new(world: usize) -> Result<Vec<Arc<Threads>>> {
        if world == 0 {
            return Err(Error::argument("a run needs at least one rank"));
        }
        asked()?;
        let meeting = Meeting { brought: vec![None; world], ..Meeting::default() };
        let group =
            Arc::new(Group { world, meeting: Mutex::new(meeting), changed: Condvar::new() });
        let rank = |rank| Arc::new(Threads { group: group.clone(), rank });
        Ok((0..world).map(rank).collect())
    }

    /// Runs a function on so many ranks, each a thread that has [entered](crate::enter) it, and gives what they return;
    /// the first error that is not the consequence of another.
    pub fn run<R: Send>(world: usize, f: impl Fn(&Threads) -> Result<R> + Sync) -> Result<Vec<R>> {
        let ranks = Threads::new(world)?;
        let results: Vec<Result<R>> = std::thread::scope(|scope| {
            let start = |comm: Arc<Threads>| {
                let f = &f;
                scope.spawn(move || {
                    let _entered = context::enter(comm.clone());
                    let _leaving = Leaving(comm.clone());
                    f(&comm)
                })
            };
            let threads: Vec<_> = ranks.iter().cloned().map(start).collect();
            let ended = |rank: usize| Error::internal(format!("rank {rank} has panicked"));
            let join = |(rank, thread): (usize, std::thread::ScopedJoinHandle<'_, _>)| {
                thread.join().unwrap_or_else(|_| Err(ended(rank)))
            };
            threads.into_iter().enumerate().map(join).collect()
        });
        let is_cause =
            |result: &&Result<R>| matches!(result, Err(error) if error.kind() != ErrorKind::Limit);
        if let Some(Err(error)) = results.iter().find(is_cause) {
            return Err(error.clone());
        }
        results.into_iter().collect()
    }

    /// Says that this rank has ended, so that no other waits for it.
    pub fn leave(&self) {
        self.group.lock().left.push(self.rank);
        self.group.changed.notify_all();
    }

    /// Brings a tensor to a meeting of all ranks, and gives what all have brought, in their order.
    fn meet(&self, what: What, tensor: Tensor) -> Result<Arc<Vec<Brought>>> {
        let tensor = tensor.contiguous()?;
        let all = waiting(|| self.group.meet(self.rank, Brought { what, tensor }));
        let all = all.ok_or_else(|| Error::internal("a front end did not wait"))??;
        if let Some(other) = all.iter().find(|other| other.what != all[0].what) {
            let at = all.iter().position(|one| one.what == other.what).unwrap_or(0);
            self.group.lock().broken = Some(Broken::Disagreement);
            return Err(Error::new(
                ErrorKind::Check,
                format!("rank 0 asks for {}, but rank {at} for {}", all[0].what, other.what),
            )
            .remedy("all ranks have to exchange the same, in the same order"));
        }
        Ok(all)
    }

    /// What a rank has sent here, or any.
    fn received(&self, like: Tensor, from: Option<usize>, tag: u32) -> Result<Tensor> {
        let found = waiting(|| self.group.received(from, self.rank, tag));
        let found = found.ok_or_else(|| Error::internal("a front end did not wait"))??;
        match (found.dtype(), found.dims()) == (like.dtype(), like.dims()) {
            true => Ok(found),
            false => Err(Error::new(
                ErrorKind::Check,
                format!("{} is expected, but {} was sent", like.ty(), found.ty()),
            )
            .remedy("send and receive the same type")),
        }
    }

    fn tensors(&self, what: What, x: Tensor) -> Result<Vec<Tensor>> {
        Ok(self.meet(what, x)?.iter().map(|brought| brought.tensor.clone()).collect())
    }
}

/// Leaves when a thread ends, however it does.
struct Leaving(Arc<Threads>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Group {
    fn lock(&self) -> MutexGuard<'_, Meeting> {
        self.meeting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pause<'a>(&self, meeting: MutexGuard<'a, Meeting>) -> MutexGuard<'a, Meeting> {
        self.changed.wait_timeout(meeting, PAUSE).unwrap_or_else(PoisonError::into_inner).0
    }

    fn meet(&self, rank: usize, own: Brought) -> Result<Arc<Vec<Brought>>> {
        let (since, name) = (Since::now(), own.what.name);
        let mut meeting = self.lock();
        // The last meeting ends when all have taken what they came for.
        while meeting.complete.is_some() {
            since.check(name, rank)?;
            meeting = self.pause(meeting);
        }
        meeting.check()?;
        meeting.brought[rank] = Some(own);
        if meeting.brought.iter().all(Option::is_some) {
            let all = meeting.brought.iter_mut().filter_map(Option::take).collect();
            meeting.complete = Some(Arc::new(all));
            self.changed.notify_all();
        }
        loop {
            if let Some(complete) = &meeting.complete {
                let all = complete.clone();
                meeting.taken += 1;
                if meeting.taken == self.world {
                    (meeting.complete, meeting.taken) = (None, 0);
                    self.changed.notify_all();
                }
                return Ok(all);
            }
            if let Err(error) = meeting.check_left(name).and_then(|()| since.check(name, rank)) {
                meeting.broken = Some(Broken::PeerLost);
                self.changed.notify_all();
                return Err(error);
            }
            meeting = self.pause(meeting);
        }
    }
}

impl Meeting {
    fn check(&self) -> Result<()> {
        match self.broken {
            None => Ok(()),
            Some(_) => {
                Err(lost("the ranks cannot go on together after an earlier error".to_string()))
            }
        }
    }

    /// An error if somebody is missing who will not come.
    fn check_left(&self, name: &str) -> Result<()> {
        self.check()?;
        match self.left.iter().find(|&&rank| self.brought[rank].is_none()) {
            None => Ok(()),
            Some(rank) => {
                Err(lost(format!("rank {rank} has ended, but others wait for it in `{name}`")))
            }
        }
    }
}

fn what(name: &'static str, x: &Tensor) -> What {
    What { name, how: None, root: None, of: Some((x.dtype(), x.dims().to_vec())) }
}

impl Comm for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world(&self) -> usize {
        self.group.world
    }

    fn describe(&self) -> String {
        format!("rank {} of {} threads", self.rank, self.group.world)
    }

    fn all_reduce(&self, x: Tensor, how: Reduction) -> Result<Tensor> {
        can_reduce(x.dtype(), how)?;
        let all = self.tensors(What { how: Some(how), ..what("all_reduce", &x) }, x)?;
        reduce(&all, 0, all[0].numel(), all[0].dims(), how)
    }

    fn reduce_scatter(&self, x: Tensor, how: Reduction) -> Result<Tensor> {
        can_reduce(x.dtype(), how)?;
        let rows = rows_of_each(&x, self.world())?;
        let all = self.tensors(What { how: Some(how), ..what("reduce_scatter", &x) }, x)?;
        let count = all[0].numel() / self.world();
        reduce(&all, self.rank * count, count, &with_rows(&all[0], rows), how)
    }

    fn all_gather(&self, x: Tensor) -> Result<Tensor> {
        let rows = *x.dims().first().ok_or_else(|| Error::shape("a number has no rows"))?;
        let all = self.tensors(what("all_gather", &x), x)?;
        joined(&all, &with_rows(&all[0], rows * self.world()))
    }

    fn broadcast(&self, x: Tensor, root: usize) -> Result<Tensor> {
        is_rank(root, self.world())?;
        let all = self.meet(What { root: Some(root), ..what("broadcast", &x) }, x)?;
        Ok(all[root].tensor.clone())
    }

    fn all_to_all(&self, x: Tensor) -> Result<Tensor> {
        let rows = rows_of_each(&x, self.world())?;
        let all = self.tensors(what("all_to_all", &x), x)?;
        let part = |one: &Tensor| one.slice(0, self.rank * rows, rows, 1);
        let parts = all.iter().map(part).collect::<Result<Vec<_>>>()?;
        joined(&parts, all[0].dims())
    }

    fn send(&self, x: Tensor, to: usize, tag: u32) -> Result<()> {
        is_rank(to, self.world())?;
        if to == self.rank {
            return Err(to_itself());
        }
        let mut meeting = self.group.lock();
        meeting.check()?;
        meeting.sent.entry((self.rank, to, tag)).or_default().push_back(x);
        self.group.changed.notify_all();
        Ok(())
    }

    fn recv(&self, like: Tensor, from: usize, tag: u32) -> Result<Tensor> {
        is_rank(from, self.world())?;
        if from == self.rank {
            return Err(to_itself());
        }
        self.received(like, Some(from), tag)
    }

    fn recv_any(&self, like: Tensor, tag: u32) -> Result<Tensor> {
        self.received(like, None, tag)
    }

    fn barrier(&self) -> Result<()> {
        let what = What { name: "barrier", how: None, root: None, of: None };
        self.meet(what, Tensor::scalar(0u8)).map(drop)
    }

    fn broken(&self) -> Option<Broken> {
        self.group.lock().broken
    }
}

impl Group {
    fn received(&self, from: Option<usize>, to: usize, tag: u32) -> Result<Tensor> {
        let since = Since::now();
        let others: Vec<usize> = match from {
            Some(from) => vec![from],
            None => (0..self.world).filter(|rank| *rank != to).collect(),
        };
        let mut meeting = self.lock();
        loop {
            for &from in &others {
                let sent = meeting.sent.get_mut(&(from, to, tag));
                if let Some(tensor) = sent.and_then(VecDeque::pop_front) {
                    return Ok(tensor);
                }
            }
            meeting.check()?;
            if others.iter().all(|rank| meeting.left.contains(rank)) {
                let who = from.map_or("all others".to_string(), |rank| format!("rank {rank}"));
                return Err(lost(format!("{who} has ended, but `recv` waits for it")));
            }
            since.check("recv", to)?;
            meeting = self.pause(meeting);
        }
    }
}

/// Tensors of one type, row after row.
fn joined(parts: &[Tensor], dims: &[usize]) -> Result<Tensor> {
    let mut out = Tensor::zeros(parts[0].dtype(), dims)?;
    fluvial_tensor::dispatch!(parts[0].dtype(), T => {
        let mut rest = out.as_mut_slice::<T>()?;
        for part in parts {
            let part = part.contiguous()?;
            let own = part.as_slice::<T>().unwrap_or(&[]);
            let (now, then) = rest.split_at_mut(own.len().min(rest.len()));
            now.copy_from_slice(own);
            rest = then;
        }
    });
    Ok(out)
}
