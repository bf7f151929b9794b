//! In place of MPI, on systems where no library of it is loaded yet.

use std::convert::Infallible;
use std::path::PathBuf;

use fluvial_tensor::{Error, ErrorKind, Result, Tensor};

use crate::{Comm, Reduction};

/// A library of MPI; there is none.
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    never: Infallible,
}

impl Found {
    /// Whose binary interface it has.
    pub fn interface(&self) -> &'static str {
        match self.never {}
    }

    /// The launcher that belongs to it.
    pub fn launcher(&self) -> Option<PathBuf> {
        match self.never {}
    }
}

/// An error that says so.
pub fn find(_: &[PathBuf]) -> Result<Found> {
    Err(Error::new(ErrorKind::File, "no library of MPI can be loaded on this system yet")
        .remedy("use ranks that are threads"))
}

/// One of several processes; there are none.
pub struct Mpi(Infallible);

impl Mpi {
    /// Joins the other processes.
    pub fn init(found: Found) -> Result<Mpi> {
        match found.never {}
    }

    /// Ends together with the others.
    pub fn finalize(&self) -> Result<()> {
        match self.0 {}
    }

    /// Ends all of them.
    pub fn abort(&self, _: i32) {
        match self.0 {}
    }
}

impl Comm for Mpi {
    fn rank(&self) -> usize {
        match self.0 {}
    }

    fn world(&self) -> usize {
        match self.0 {}
    }

    fn describe(&self) -> String {
        match self.0 {}
    }

    fn all_reduce(&self, _: Tensor, _: Reduction) -> Result<Tensor> {
        match self.0 {}
    }

    fn reduce_scatter(&self, _: Tensor, _: Reduction) -> Result<Tensor> {
        match self.0 {}
    }

    fn all_gather(&self, _: Tensor) -> Result<Tensor> {
        match self.0 {}
    }

    fn broadcast(&self, _: Tensor, _: usize) -> Result<Tensor> {
        match self.0 {}
    }

    fn all_to_all(&self, _: Tensor) -> Result<Tensor> {
        match self.0 {}
    }

    fn send(&self, _: Tensor, _: usize, _: u32) -> Result<()> {
        match self.0 {}
    }

    fn recv(&self, _: Tensor, _: usize, _: u32) -> Result<Tensor> {
        match self.0 {}
    }

    fn recv_any(&self, _: Tensor, _: u32) -> Result<Tensor> {
        match self.0 {}
    }

    fn barrier(&self) -> Result<()> {
        match self.0 {}
    }
}
