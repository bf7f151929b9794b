//! Where samples come from.

use std::sync::Arc;

use fluvial_tensor::{Error, Result, Tensor, Type};

/// One of the tensors that a sample consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name; fields without one are called by their number.
    pub name: Arc<str>,
    /// The type in each sample. A size that differs from sample to sample is a symbol.
    pub ty: Type,
}

/// The tensors of a sample, in the order of the fields.
pub type Sample = Vec<Tensor>;

/// The samples of one pass.
pub type Samples = Box<dyn Iterator<Item = Result<Sample>> + Send>;

/// Samples by number: files and arrays.
///
/// Any number of threads may ask at once.
pub trait Dataset: Send + Sync {
    /// What each sample consists of.
    fn fields(&self) -> &[Field];

    /// How many samples there are.
    fn len(&self) -> u64;

    /// Whether there is no sample.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All samples as arrays by the names of the fields, if they are kept so.
    fn arrays(&self) -> Option<Vec<(Arc<str>, Tensor)>> {
        None
    }

    /// The samples of these numbers, in this order, stacked: a tensor per field, with one more axis in
    /// front. Samples of different sizes are an error.
    fn gather(&self, numbers: &[u64]) -> Result<Vec<Tensor>>;

    /// One sample.
    fn get(&self, number: u64) -> Result<Sample> {
        let stacked = self.gather(&[number])?;
        stacked.iter().map(|tensor| tensor.reshape(&tensor.dims()[1..])).collect()
    }

    /// Whether a sample may be another one in each pass, as what a function of the host gives.
    fn depends_on_pass(&self) -> bool {
        false
    }

    /// The samples of these numbers one by one, in a pass of this number.
    fn fetch(&self, _epoch: u64, numbers: &[u64]) -> Result<Vec<Sample>> {
        numbers.iter().map(|&number| self.get(number)).collect()
    }

    /// What [`Dataset::fetch`] gives, stacked.
    fn gather_in(&self, _epoch: u64, numbers: &[u64]) -> Result<Vec<Tensor>> {
        self.gather(numbers)
    }

    /// What a user should know about the files, such as that one was not written to its end.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The error for a number that is too large.
    fn check(&self, number: u64) -> Result<()> {
        match number < self.len() {
            true => Ok(()),
            false => Err(Error::argument(format!(
                "sample {number} was asked for, but there are {}",
                self.len()
            ))),
        }
    }
}

/// Samples one after another, of which the number need not be known: what a function of the host gives.
pub trait Stream: Send + Sync {
    /// What each sample consists of.
    fn fields(&self) -> &[Field];

    /// Starts a pass.
    fn start(&self, epoch: u64) -> Result<Samples>;
}

/// Where a reader stands. Together with the seeds in its description it says which samples come next,
/// whatever was read ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of the pass.
    pub epoch: u64,
    /// How many results this pass has given.
    pub index: u64,
}
