//! This process as one of several, through MPI.

use std::sync::Arc;

use fluvial::core::{Error, ErrorKind, Program, Result, Tensor};
use fluvial::dist::{self, Broken, Comm, Mpi};
use fluvial::runtime::Checkpoints;

use super::{folders, spread};
use crate::fault::{Fault, Outcome, usage};

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
        Ok(Ranks { mpi })
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

    /// The program that each rank runs. An error if ranks have different ones.
    pub fn spread(&self, program: &Program, strategy: &str) -> Outcome<Program> {
        let program = spread(program, strategy)?;
        let own = Tensor::from_slice(&[program.fingerprint() as i64], &[1])?;
        let all = self.mpi.all_gather(own)?.to_vec::<i64>()?;
        match all.iter().position(|other| *other != all[0]) {
            None => Ok(program),
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
