//! How the ranks of one run exchange tensors.
//!
//! - [`Comm`]: what ranks can do together. [`Solo`] is a run of one, [`Threads`] are ranks within a process, and [`Mpi`]
//!   are processes, on one machine or many, through a library of MPI that is found when it is asked for.
//! - [`current`]: the ranks that the work of a thread belongs to; one alone, unless somebody has said otherwise.
//!
//! Every rank has to ask for the same in the same order. Threads notice if one does not, and so does MPI with
//! `FLUVIAL_DIST_CHECK=1`; what waits for a rank that never comes ends after [`patience`].
//!
//! ```
//! use fluvial_dist::{Comm, Reduction, Threads};
//! use fluvial_tensor::{Error, Tensor};
//!
//! let sums = Threads::run(3, |comm| {
//!     let own = Tensor::scalar(comm.rank() as f32);
//!     comm.all_reduce(own, Reduction::Sum)?.item::<f32>()
//! })?;
//! assert_eq!(sums, [3.0, 3.0, 3.0]);
//! # Ok::<(), Error>(())
//! ```

mod arithmetic;
mod context;
mod group;
mod launcher;
#[cfg_attr(not(unix), path = "no_mpi.rs")]
mod mpi;
mod solo;
mod threads;
mod waiting;

pub use arithmetic::{is_added, reduced};
pub use context::{Entered, current, enter, is_distributed, set_default};
pub use group::gathered_from;
pub use launcher::{Launcher, launched};
pub use mpi::{Found, Mpi, find};
pub use solo::Solo;
pub use threads::Threads;
pub use waiting::{patience, set_patience, wait_by};

use fluvial_tensor::{Error, Result, Tensor};

/// How the tensors of all ranks become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their sum by the number of ranks; of floats only.
    Mean,
    /// The greatest.
    Max,
    /// The least.
    Min,
}

/// What ranks can do together. All of them have to ask for the same, with tensors of the same type, in the same order.
///
/// Sums are made in an order that does not depend on when ranks come, so that a run again gives the same bits, and
/// all ranks get the same bits. 16-bit floats are added up in `f32` and rounded once.
pub trait Comm: Send + Sync {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn world(&self) -> usize;

    /// What it is, for people.
    fn describe(&self) -> String;

    /// The tensors of all ranks as one, which each rank gets.
    fn all_reduce(&self, x: Tensor, how: Reduction) -> Result<Tensor>;

    /// The tensors of all ranks as one, of which each rank gets its part of the rows, in the order of the ranks.
    fn reduce_scatter(&self, x: Tensor, how: Reduction) -> Result<Tensor>;

    /// The rows of all ranks, in their order.
    fn all_gather(&self, x: Tensor) -> Result<Tensor>;

    /// The tensor of the rank `root`; those of others say its type.
    fn broadcast(&self, x: Tensor, root: usize) -> Result<Tensor>;

    /// Each rank sends its part `i` of the rows to rank `i`, and gets parts in the order of the ranks.
    fn all_to_all(&self, x: Tensor) -> Result<Tensor>;

    /// Sends to one rank, which has to [`recv`](Comm::recv) with the same tag.
    fn send(&self, x: Tensor, to: usize, tag: u32) -> Result<()>;

    /// Waits for what a rank sends; `like` says its type.
    fn recv(&self, like: Tensor, from: usize, tag: u32) -> Result<Tensor>;

    /// Waits for what any rank sends with this tag; the tensor has to say whose it is. `like` says its type.
    fn recv_any(&self, like: Tensor, tag: u32) -> Result<Tensor>;

    /// Waits until all ranks are here.
    fn barrier(&self) -> Result<()>;

    /// Why nothing can be exchanged any more, if something went wrong.
    fn broken(&self) -> Option<Broken> {
        None
    }
}

/// Why ranks cannot go on together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A rank has ended, or does not answer.
    PeerLost,
    /// Ranks asked for different things.
    Disagreement,
}

/// Refuses a rank that does not exist.
fn is_rank(rank: usize, world: usize) -> Result<()> {
    match rank < world {
        true => Ok(()),
        false => Err(Error::index(format!("there is no rank {rank} among {world}"))
            .remedy(format!("ranks are 0 to {}", world - 1))),
    }
}

/// How many rows each rank has, of a tensor that is cut into as many parts as there are ranks.
pub(crate) fn rows_of_each(x: &Tensor, world: usize) -> Result<usize> {
    match x.dims().first() {
        Some(rows) if rows % world == 0 => Ok(rows / world),
        Some(rows) => {
            Err(Error::shape(format!("{rows} rows cannot be cut into {world} equal parts"))
                .remedy("pad them to a multiple of the number of ranks"))
        }
        None => Err(Error::shape("a tensor without axes has no rows to be cut")),
    }
}

/// The sizes of a tensor with another number of rows.
pub(crate) fn with_rows(x: &Tensor, rows: usize) -> Vec<usize> {
    let mut dims = x.dims().to_vec();
    if let Some(first) = dims.first_mut() {
        *first = rows;
    }
    dims
}
