//! Ranks that are processes, through MPI.

mod abi;
mod ffi;
mod find;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fluvial_tensor::{DType, Error, ErrorKind, Result, Tensor};

pub use find::{Found, find};

use crate::arithmetic::{can_reduce, divided, is_added, reduce};
use crate::launcher::launched;
use crate::solo::to_itself;
use crate::waiting::{Since, asked, waiting};
use crate::{Broken, Comm, Reduction, is_rank, rows_of_each, with_rows};
use ffi::{Buffers, Calls, Job};

/// For so long an exchange is asked without a pause whether it is over; then other threads may run meanwhile.
const SPIN: Duration = Duration::from_micros(500);
const PAUSE: Duration = Duration::from_micros(50);

/// At most so many bytes are exchanged by one call of MPI, whose counts are small.
const MOST: usize = 1 << 30;

/// One of several processes.
pub struct Mpi {
    calls: Box<dyn Calls>,
    rank: usize,
    world: usize,
    path: PathBuf,
    version: String,
    /// Whether ranks compare what they ask for before each exchange.
    checks: bool,
    broken: Mutex<Option<Broken>>,
}

impl Mpi {
    /// Joins the other processes that the launcher has started. An error if the launcher says another number of ranks than
    /// the library: then it belongs to another library, and each process would train by itself.
    pub fn init(found: Found) -> Result<Mpi> {
        asked()?;
        let checks = match std::env::var("FLUVIAL_DIST_CHECK").as_deref() {
            Err(_) | Ok("" | "0") => false,
            Ok("1") => true,
            Ok(other) => {
                return Err(Error::argument(format!("FLUVIAL_DIST_CHECK is `{other}`"))
                    .remedy("set it to 1, or not at all"));
            }
        };
        let path = found.path.clone();
        let calls = found.library.calls(found.abi)?;
        let (rank, world) = calls.init()?;
        let version = calls.version();
        if let Some((launcher, n)) = launched().filter(|(_, n)| *n != world) {
            let message = format!(
                "{} has started {n} ranks, but {version} (`{}`) sees {world}: they do not belong together",
                launcher.name(),
                path.display()
            );
            return Err(Error::new(ErrorKind::State, message).remedy(format!(
                "start by the mpirun of this library (`fluvial launch` finds it), or name the other library in {}",
                find::VARIABLE
            )));
        }
        Ok(Mpi { calls, rank, world, path, version, checks, broken: Mutex::new(None) })
    }

    /// The library.
    pub fn library(&self) -> String {
        format!("{} (`{}`)", self.version, self.path.display())
    }

    /// Ends together with all other ranks: they have to call it, too.
    pub fn finalize(&self) -> Result<()> {
        self.calls.finalize()
    }

    /// Ends all ranks at once with this status.
    pub fn abort(&self, status: i32) {
        self.calls.abort(status);
    }

    fn breaks(&self, why: Broken) {
        *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    fn exchange(&self, name: &str, job: Job, send: Tensor, recv: Tensor) -> Result<Tensor> {
        if self.broken().is_some() {
            return Err(Error::new(
                ErrorKind::State,
                "the ranks cannot go on together after an earlier error",
            )
            .remedy("start again"));
        }
        let buffers = Box::new(Buffers { send, recv });
        let since = Since::now();
        let mut poll = || {
            since.check(name, self.rank)?;
            match since.elapsed() < SPIN {
                true => std::hint::spin_loop(),
                false => std::thread::sleep(PAUSE),
            }
            Ok(())
        };
        let done = waiting(|| self.calls.run(job, buffers, &mut poll));
        let done = done.unwrap_or_else(|| Err(Error::internal("a front end did not wait")));
        done.map(|buffers| buffers.recv).map_err(|error| {
            self.breaks(Broken::PeerLost);
            error.note(format!("in `{name}` of rank {}", self.rank))
        })
    }

    /// Compares what all ranks ask for, if that was asked for.
    fn agree(&self, name: &str, x: &Tensor, further: usize) -> Result<()> {
        if !self.checks {
            return Ok(());
        }
        // A number that differs if one of them does.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let dims = x.dims().iter().map(|&size| size as u64);
        let parts =
            name.bytes().map(u64::from).chain([x.dtype() as u64, further as u64]).chain(dims);
        parts.for_each(|part| hash = (hash ^ part).wrapping_mul(0x0100_0000_01b3));
        let own = Tensor::from_slice(&[hash as i64], &[1])?;
        let all = self.gathered(own)?.to_vec::<i64>()?;
        match all.iter().position(|other| *other != all[0]) {
            None => Ok(()),
            Some(rank) => {
                self.breaks(Broken::Disagreement);
                Err(Error::new(
                    ErrorKind::Check,
                    format!("rank {} asks for `{name}` of {}, but rank 0 and rank {rank} ask for different things", self.rank, x.ty()),
                )
                .remedy("all ranks have to exchange the same, in the same order"))
            }
        }
    }

    /// The rows of all ranks.
    fn gathered(&self, x: Tensor) -> Result<Tensor> {
        let rows = *x.dims().first().ok_or_else(|| Error::shape("a number has no rows"))?;
        let recv = Tensor::zeros(x.dtype(), &with_rows(&x, rows * self.world))?;
        self.exchange("all_gather", Job::AllGather, x, recv)
    }

    /// All elements of all ranks, one tensor for each.
    fn parts(&self, x: &Tensor) -> Result<Vec<Tensor>> {
        let n = x.numel();
        let all = self.gathered(x.reshape(&[n])?)?;
        (0..self.world).map(|rank| all.slice(0, rank * n, n, 1)).collect()
    }
}

/// A tensor whose bytes may be written, in place of one of truth values, and back.
fn as_bytes_of(x: Tensor, f: impl FnOnce(Tensor) -> Result<Tensor>) -> Result<Tensor> {
    match x.dtype().is_bool() {
        true => f(x.cast(DType::U8)?.contiguous()?)?.cast(DType::Bool),
        false => f(x.contiguous()?),
    }
}

impl Comm for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world(&self) -> usize {
        self.world
    }

    fn describe(&self) -> String {
        format!("rank {} of {} through {}", self.rank, self.world, self.library())
    }

    fn all_reduce(&self, x: Tensor, how: Reduction) -> Result<Tensor> {
        can_reduce(x.dtype(), how)?;
        let x = x.contiguous()?;
        self.agree("all_reduce", &x, how as usize)?;
        if !is_added(x.dtype()) {
            let parts = self.parts(&x)?;
            return reduce(&parts, 0, x.numel(), x.dims(), how);
        }
        let (dims, n) = (x.dims().to_vec(), x.numel());
        let most = MOST / x.dtype().size();
        let sum = if n <= most {
            let recv = Tensor::zeros(x.dtype(), &dims)?;
            self.exchange("all_reduce", Job::AllReduce(how), x, recv)?
        } else {
            in_pieces(&x, most, |piece| {
                let recv = Tensor::zeros(piece.dtype(), piece.dims())?;
                self.exchange("all_reduce", Job::AllReduce(how), piece, recv)
            })?
        };
        match how {
            Reduction::Mean => divided(sum, self.world),
            _ => Ok(sum),
        }
    }

    fn reduce_scatter(&self, x: Tensor, how: Reduction) -> Result<Tensor> {
        can_reduce(x.dtype(), how)?;
        let (x, rows) = (x.contiguous()?, rows_of_each(&x, self.world)?);
        self.agree("reduce_scatter", &x, how as usize)?;
        let dims = with_rows(&x, rows);
        let count = x.numel() / self.world;
        if !is_added(x.dtype()) {
            return reduce(&self.parts(&x)?, self.rank * count, count, &dims, how);
        }
        let recv = Tensor::zeros(x.dtype(), &dims)?;
        let sum = self.exchange("reduce_scatter", Job::ReduceScatter(how), x, recv)?;
        match how {
            Reduction::Mean => divided(sum, self.world),
            _ => Ok(sum),
        }
    }

    fn all_gather(&self, x: Tensor) -> Result<Tensor> {
        self.agree("all_gather", &x, 0)?;
        as_bytes_of(x, |x| self.gathered(x))
    }

    fn broadcast(&self, x: Tensor, root: usize) -> Result<Tensor> {
        is_rank(root, self.world)?;
        self.agree("broadcast", &x, root)?;
        let job = Job::Broadcast { root: root as i32 };
        as_bytes_of(x, |x| {
            let most = MOST / x.dtype().size();
            let nothing = || Tensor::zeros(DType::U8, &[1]);
            match x.numel() <= most {
                true => self.exchange("broadcast", job, nothing()?, x.copy()?),
                false => in_pieces(&x, most, |piece| {
                    self.exchange("broadcast", job, nothing()?, piece.copy()?)
                }),
            }
        })
    }

    fn all_to_all(&self, x: Tensor) -> Result<Tensor> {
        rows_of_each(&x, self.world)?;
        self.agree("all_to_all", &x, 0)?;
        as_bytes_of(x, |x| {
            let recv = Tensor::zeros(x.dtype(), x.dims())?;
            self.exchange("all_to_all", Job::AllToAll, x, recv)
        })
    }

    fn send(&self, x: Tensor, to: usize, tag: u32) -> Result<()> {
        is_rank(to, self.world)?;
        if to == self.rank {
            return Err(to_itself());
        }
        let job = Job::Send { to: to as i32, tag: is_tag(tag)? };
        as_bytes_of(x, |x| self.exchange("send", job, x, Tensor::zeros(DType::U8, &[1])?)).map(drop)
    }

    fn recv(&self, like: Tensor, from: usize, tag: u32) -> Result<Tensor> {
        is_rank(from, self.world)?;
        if from == self.rank {
            return Err(to_itself());
        }
        let job = Job::Recv { from: from as i32, tag: is_tag(tag)? };
        as_bytes_of(like, |like| {
            self.exchange("recv", job, Tensor::zeros(DType::U8, &[1])?, like.copy()?)
        })
    }

    fn recv_any(&self, like: Tensor, tag: u32) -> Result<Tensor> {
        let job = Job::RecvAny { tag: is_tag(tag)? };
        as_bytes_of(like, |like| {
            self.exchange("recv", job, Tensor::zeros(DType::U8, &[1])?, like.copy()?)
        })
    }

    fn barrier(&self) -> Result<()> {
        let nothing = || Tensor::zeros(DType::U8, &[1]);
        self.agree("barrier", &nothing()?, 0)?;
        self.exchange("barrier", Job::Barrier, nothing()?, nothing()?).map(drop)
    }

    fn broken(&self) -> Option<Broken> {
        *self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every library has these tags.
fn is_tag(tag: u32) -> Result<i32> {
    match tag <= 32767 {
        true => Ok(tag as i32),
        false => {
            Err(Error::argument(format!("the tag {tag} is too large"))
                .remedy("tags are 0 to 32767"))
        }
    }
}

/// Exchanges pieces of at most so many elements one after another.
fn in_pieces(
    x: &Tensor,
    most: usize,
    mut f: impl FnMut(Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let n = x.numel();
    let flat = x.reshape(&[n])?;
    let mut all = Tensor::zeros(x.dtype(), &[n])?;
    for first in (0..n).step_by(most.max(1)) {
        let piece = f(flat.slice(0, first, most.min(n - first), 1)?)?;
        let (at, size) = (first * x.dtype().size(), x.dtype().size());
        let bytes = piece.as_bytes().ok_or_else(|| Error::internal("a piece is not contiguous"))?;
        all.as_bytes_mut()?[at..at + bytes.len().min(most * size)].copy_from_slice(bytes);
    }
    all.reshape(x.dims())
}
