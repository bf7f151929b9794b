//! A run of one rank.

use fluvial_tensor::{Error, Result, Tensor};

use crate::{Comm, Reduction, is_rank};

/// One rank alone: what it gives is what it gets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Solo;

impl Comm for Solo {
    fn rank(&self) -> usize {
        0
    }

    fn world(&self) -> usize {
        1
    }

    fn describe(&self) -> String {
        "one rank alone".to_string()
    }

    fn all_reduce(&self, x: Tensor, _: Reduction) -> Result<Tensor> {
        Ok(x)
    }

    fn reduce_scatter(&self, x: Tensor, _: Reduction) -> Result<Tensor> {
        Ok(x)
    }

    fn all_gather(&self, x: Tensor) -> Result<Tensor> {
        Ok(x)
    }

    fn broadcast(&self, x: Tensor, root: usize) -> Result<Tensor> {
        is_rank(root, 1).map(|()| x)
    }

    fn all_to_all(&self, x: Tensor) -> Result<Tensor> {
        Ok(x)
    }

    fn send(&self, _: Tensor, to: usize, _: u32) -> Result<()> {
        is_rank(to, 1)?;
        Err(to_itself())
    }

    fn recv(&self, _: Tensor, from: usize, _: u32) -> Result<Tensor> {
        is_rank(from, 1)?;
        Err(to_itself())
    }

    fn recv_any(&self, _: Tensor, _: u32) -> Result<Tensor> {
        Err(to_itself())
    }

    fn barrier(&self) -> Result<()> {
        Ok(())
    }
}

/// The error of a rank that sends to itself, which would wait for ever.
pub(crate) fn to_itself() -> Error {
    Error::argument("a rank does not send to itself").remedy("use the value as it is")
}
