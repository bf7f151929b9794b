//! What all optimizers can do.

use fluvial_core::scope::user_line;
use fluvial_core::{Result, Var, at};

use super::param::Param;
use super::rows::Rows;

/// What all optimizers can do. It can be a trait object: keep it in a `Box`, so that errors and
/// listings name your line.
pub trait Optimizer: Send + Sync {
    /// What the names of its states begin with.
    fn name(&self) -> &str;

    /// The parameters it trains now, in the order of gradients.
    fn params(&self) -> Vec<Param>;

    /// Computes the gradients of a scalar loss and updates the parameters, in both modes.
    #[track_caller]
    fn minimize(&self, loss: &Var) -> Result<()> {
        self.minimize_rows(loss, &[])
    }

    /// [`minimize`](Optimizer::minimize), where tables were read by [`lookup`](super::lookup):
    /// only the rows that were looked up are updated.
    fn minimize_rows(&self, loss: &Var, rows: &[&Rows]) -> Result<()>;

    /// The gradients of a scalar loss with respect to the parameters it trains; nothing where the
    /// loss does not depend on one.
    fn gradients(&self, loss: &Var) -> Result<Vec<Option<Var>>>;

    /// Updates the parameters by these gradients, one for each of [`params`](Optimizer::params).
    /// Nothing stands for zero.
    fn step(&self, gradients: &[Option<Var>]) -> Result<()>;

    /// The rate of the next update of a group, an `f64` scalar.
    fn learning_rate(&self, group: usize) -> Result<Var>;

    /// Gives a group another rate, on which the schedule builds. In a program, from here on.
    fn set_learning_rate(&self, group: usize, rate: f64) -> Result<()>;
}

/// A call through a trait object forgets the line it stands on; one through a box keeps it.
impl<O: Optimizer + ?Sized> Optimizer for Box<O> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn params(&self) -> Vec<Param> {
        (**self).params()
    }

    #[track_caller]
    fn minimize_rows(&self, loss: &Var, rows: &[&Rows]) -> Result<()> {
        let _line = at(user_line());
        (**self).minimize_rows(loss, rows)
    }

    #[track_caller]
    fn gradients(&self, loss: &Var) -> Result<Vec<Option<Var>>> {
        let _line = at(user_line());
        (**self).gradients(loss)
    }

    #[track_caller]
    fn step(&self, gradients: &[Option<Var>]) -> Result<()> {
        let _line = at(user_line());
        (**self).step(gradients)
    }

    #[track_caller]
    fn learning_rate(&self, group: usize) -> Result<Var> {
        let _line = at(user_line());
        (**self).learning_rate(group)
    }

    #[track_caller]
    fn set_learning_rate(&self, group: usize, rate: f64) -> Result<()> {
        let _line = at(user_line());
        (**self).set_learning_rate(group, rate)
    }
}
