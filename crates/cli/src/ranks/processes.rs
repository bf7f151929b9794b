//! This process as one of several, through MPI.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fluvial::core::{Error, ErrorKind, Program, Result, Tensor};
use fluvial::dist::{self, Broken, Comm, Mpi, Reduction};
use fluvial::runtime::{Agreed, Checkpoints};

use super::folders;
use super::generation::{self, Generation};
use super::resumed::{self, Programs, Saved};
use super::spread::{Spread, SpreadArgs};
use crate::fault::{Fault, Outcome, usage};
use crate::signals;

/// The launcher belongs to another library.
const MISMATCH: u8 = 3;
/// There is no library of MPI.
const NO_LIBRARY: u8 = 4;
/// Another rank has ended or does not answer: start again.
const PEER_LOST: u8 = 5;
/// Ranks run different programs, or exchange different things.
const DISAGREE: u8 = 6;

/// This process as one of several ranks.
pub struct Ranks {
    mpi: Arc<Mpi>,
    /// A signal has come to one of them, and all have stopped.
    stopped: Arc<AtomicBool>,
}

impl Ranks {
    /// Joins the processes that were started with this one.
    pub fn join() -> Outcome<Ranks> {
        if dist::launched().is_none() {
            return Err(usage(
                "`--dist` needs several ranks, but nothing has started them",
                "start it by `fluvial launch -n 2 -- run …`, `mpirun -n 2 fluvial run …` or `srun`",
            ));
        }
        let found = dist::find(&folders()).map_err(|error| Fault::with(error, NO_LIBRARY))?;
        let mpi = Arc::new(Mpi::init(found).map_err(|error| Fault::with(error, MISMATCH))?);
        dist::set_default(Some(mpi.clone()));
        Ok(Ranks { mpi, stopped: Arc::default() })
    }

    /// Whether this is the rank that writes.
    pub fn is_first(&self) -> bool {
        self.mpi.rank() == 0
    }

    /// The number of this rank, and how many there are.
    pub fn numbers(&self) -> (usize, usize) {
        (self.mpi.rank(), self.mpi.world())
    }

    /// Finds the latest step that all ranks have a checkpoint of, and removes later ones: some ranks may have been ended
    /// before they wrote theirs.
    pub fn settle(&self, checkpoints: &Checkpoints) -> Outcome<()> {
        loop {
            let (latest, _) = checkpoints.latest()?;
            let own = latest.map(|checkpoint| checkpoint.step);
            let number = own.and_then(|step| i64::try_from(step).ok()).unwrap_or(-1);
            let all = self.mpi.all_gather(Tensor::from_slice(&[number], &[1])?)?.to_vec::<i64>()?;
            let least = all.iter().copied().min().unwrap_or(-1);
            if all.iter().all(|step| *step == least) {
                return Ok(());
            }
            checkpoints.forget_after(u64::try_from(least).ok())?;
        }
    }

    /// Begins another start of the run in a folder: earlier ones that still run write no more.
    pub fn begin(&self, folder: &Path) -> Outcome<Generation> {
        let known = i64::try_from(generation::latest(folder)?).unwrap_or(i64::MAX - 1);
        let all = self.mpi.all_reduce(Tensor::from_slice(&[known], &[1])?, Reduction::Max)?;
        let number = all.to_vec::<i64>()?[0].unsigned_abs() + 1;
        Ok(Generation::begin(folder, number)?)
    }

    /// What finds out before a step whether all ranks stop there, if a signal has come to one of them, and which checkpoint
    /// all of them have.
    pub fn agree(&self) -> impl Fn(Option<u64>) -> Result<Agreed> + Send + Sync + 'static {
        let (mpi, stopped) = (self.mpi.clone(), self.stopped.clone());
        move |saved| {
            let step = saved.and_then(|step| i64::try_from(step).ok()).unwrap_or(-1);
            let own = [i64::from(signals::has_arrived()), step, -step];
            let all = mpi.all_reduce(Tensor::from_slice(&own, &[3])?, Reduction::Max)?;
            let all = all.to_vec::<i64>()?;
            let stops = all[0] != 0;
            stopped.store(stops, Ordering::Relaxed);
            // The greatest is the least.
            let saved = u64::try_from(all[1]).ok().filter(|_| all[1] == -all[2]);
            Ok(Agreed { stops, saved })
        }
    }

    /// Whether all ranks have stopped, as a signal has asked for.
    pub fn have_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// If the latest checkpoints of the run are of another number of ranks: these.
    pub fn saved_by_others(&self, folder: &Path) -> Outcome<Option<Saved>> {
        let (_, world) = self.numbers();
        let own = if self.is_first() { resumed::latest(folder, world) } else { Ok(None) };
        let numbers = match &own {
            Ok(Some(saved)) if saved.world != world => [saved.world as i64, saved.step as i64],
            Ok(_) => [0, 0],
            Err(_) => [-1, 0],
        };
        let told = self.mpi.broadcast(Tensor::from_slice(&numbers, &[2])?, 0)?.to_vec::<i64>()?;
        match told[..] {
            [0, _] => Ok(None),
            [world, step] if world > 0 => {
                Ok(Some(Saved { world: world as usize, step: step.unsigned_abs() }))
            }
            _ => {
                own?;
                Err(Error::state("rank 0 cannot go on; see what it has written").into())
            }
        }
    }

    /// Goes on with the run of another number of ranks. Gives how many batches come once more.
    pub fn adopt(
        &self,
        folder: &Path,
        saved: Saved,
        programs: &Programs,
        own: &Checkpoints,
    ) -> Outcome<u64> {
        let again = resumed::adopt(folder, saved, programs, self.numbers(), own)?;
        self.mpi.barrier()?;
        if self.is_first() {
            resumed::forget(folder, saved.world);
        }
        Ok(again)
    }

    /// The programs of the ranks. An error if ranks have different ones.
    pub fn spread(&self, program: &Program, how: &str, args: &SpreadArgs) -> Outcome<Spread> {
        let spread = Spread::of(program, how, Some(self.mpi.world()), args)?;
        let own = Tensor::from_slice(&[spread.fingerprint() as i64], &[1])?;
        let all = self.mpi.all_gather(own)?.to_vec::<i64>()?;
        match all.iter().position(|other| *other != all[0]) {
            None => Ok(spread),
            Some(rank) => Err(Fault::with(
                Error::new(
                    ErrorKind::Check,
                    format!("rank 0 and rank {rank} run different programs"),
                )
                .remedy("give the same file to all ranks"),
                DISAGREE,
            )),
        }
    }

    /// The fault of a run, with the exit code that tells whether the ranks have lost one another.
    pub fn fault(&self, fault: Fault) -> Fault {
        match self.mpi.broken() {
            Some(Broken::PeerLost) => fault.status(PEER_LOST),
            Some(Broken::Disagreement) => fault.status(DISAGREE),
            None => fault,
        }
    }

    /// Ends together with the other ranks.
    pub fn finish(&self) -> Result<()> {
        dist::set_default(None);
        self.mpi.finalize()
    }
}
