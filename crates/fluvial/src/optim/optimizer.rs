//! What all optimizers can do.

use fluvial_core::scope::{in_phase, updating, user_line};
use fluvial_core::{Error, Phase, Result, Var, at, no_grad};

use super::descent::Descent;
use super::gradients::Found;
use super::param::Param;
use super::rows::Rows;
use super::rule::{Rule, is_amount};
use crate::nn::begin_step;

/// What all optimizers can do. It can be a trait object: keep it in a `Box`, so that errors and
/// listings name your line.
pub trait Optimizer: Send + Sync {
    /// What the names of its states begin with.
    fn name(&self) -> &str;

    /// The parameters it trains now, in the order of gradients.
    fn params(&self) -> Vec<Param>;

    /// Computes the gradients of a scalar loss and updates the parameters, in both modes. Line by line, if
    /// `backward` was called on the loss already, these gradients are used.
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

    /// Updates the parameters by the gradients that [`Var::backward`] has accumulated; those that have none
    /// are left alone.
    fn step_accumulated(&self) -> Result<()>;

    /// Forgets the gradients that [`Var::backward`] has accumulated.
    fn zero_grad(&self) -> Result<()>;

    /// The rate of the next update of a group, an `f64` scalar.
    fn learning_rate(&self, group: usize) -> Result<Var>;

    /// Gives a group another rate, on which the schedule builds. In a program, from here on.
    fn set_learning_rate(&self, group: usize, rate: f64) -> Result<()>;
}

impl<R: Rule + Clone> Descent<R> {
    /// [`minimize`](Optimizer::minimize) of these parameters, or else of all it trains, and rows of tables. Returns
    /// what was updated, with its gradient.
    #[track_caller]
    pub fn minimize_these(
        &self,
        loss: &Var,
        only: Option<Vec<Param>>,
        rows: &[&Rows],
    ) -> Result<Vec<(Param, Var)>> {
        let loc = user_line();
        let _scope = (at(loc), in_phase(Phase::Optimizer));
        let run = || {
            self.check()?;
            let trained = match only {
                Some(only) => only.into_iter().map(|param| (0, param)).collect(),
                None => self.trained(),
            };
            let found = self.differentiate(loss, trained, rows)?;
            let _no_grad = no_grad();
            self.run(found, rows)
        };
        run().map_err(|error| self.at(loc, error))
    }

    /// [`step`](Optimizer::step), where some tables have gradients of rows: the table, the numbers of rows, and one
    /// gradient for each. Such a table has nothing among the other gradients.
    #[track_caller]
    pub fn step_rows(&self, gradients: &[Option<Var>], rows: Vec<(Param, Var, Var)>) -> Result<()> {
        let loc = user_line();
        let _scope = (at(loc), updating());
        let of_rows = rows.iter().map(|(.., grad)| grad.clone()).collect();
        let rows: Vec<Rows> =
            rows.into_iter().map(|(table, ids, values)| Rows { table, ids, values }).collect();
        let rows: Vec<&Rows> = rows.iter().collect();
        self.step_by(gradients, &rows, of_rows).map_err(|error| self.at(loc, error))
    }

    fn step_by(&self, gradients: &[Option<Var>], rows: &[&Rows], of_rows: Vec<Var>) -> Result<()> {
        self.check()?;
        let trained = self.trained();
        if gradients.len() != trained.len() {
            return Err(Error::argument(format!(
                "{} gradients were given for {} parameters",
                gradients.len(),
                trained.len()
            ))
            .remedy("give one for each of `params`, nothing where there is none"));
        }
        let given = trained.into_iter().zip(gradients.iter().cloned());
        let dense = given.map(|((group, param), grad)| (group, param, grad)).collect();
        self.run(Found { dense, of_rows }, rows).map(drop)
    }

    /// Makes a rate out of a value that the first one was computed of, in both modes.
    #[track_caller]
    pub fn assign_learning_rate(&self, group: usize, rate: &Var) -> Result<()> {
        let loc = user_line();
        let _scope = (at(loc), updating());
        self.put_rate(group, rate).map_err(|error| self.at(loc, error))
    }
}

impl<R: Rule + Clone> Optimizer for Descent<R> {
    fn name(&self) -> &str {
        self.memory.name()
    }

    fn params(&self) -> Vec<Param> {
        self.trained().into_iter().map(|(_, param)| param).collect()
    }

    #[track_caller]
    fn minimize_rows(&self, loss: &Var, rows: &[&Rows]) -> Result<()> {
        self.minimize_these(loss, None, rows).map(drop)
    }

    #[track_caller]
    fn gradients(&self, loss: &Var) -> Result<Vec<Option<Var>>> {
        let loc = user_line();
        let _scope = (at(loc), in_phase(Phase::Optimizer));
        let found = self.differentiate(loss, self.trained(), &[]);
        let found = found.map_err(|error| self.at(loc, error))?;
        Ok(found.dense.into_iter().map(|(_, _, grad)| grad).collect())
    }

    #[track_caller]
    fn step(&self, gradients: &[Option<Var>]) -> Result<()> {
        let loc = user_line();
        let _scope = (at(loc), updating());
        self.step_by(gradients, &[], Vec::new()).map_err(|error| self.at(loc, error))
    }

    #[track_caller]
    fn step_accumulated(&self) -> Result<()> {
        let loc = user_line();
        let _scope = (at(loc), updating());
        let run = || {
            self.check()?;
            let trained = self.trained();
            let (n, mut dense) = (trained.len(), Vec::new());
            for (group, param) in trained {
                if let Some(grad) = param.grad()? {
                    dense.push((group, param, Some(grad)));
                }
            }
            if dense.is_empty() {
                return Err(Error::gradient(format!(
                    "none of the {n} parameters of the optimizer `{}` has a gradient",
                    self.memory.name()
                ))
                .remedy("call `loss.backward()` before `step()`, or use `minimize(loss)`"));
            }
            self.run(Found { dense, of_rows: Vec::new() }, &[]).map(drop)
        };
        run().map_err(|error| self.at(loc, error))
    }

    #[track_caller]
    fn zero_grad(&self) -> Result<()> {
        let _line = at(user_line());
        self.trained().iter().try_for_each(|(_, param)| param.zero_grad())
    }

    #[track_caller]
    fn learning_rate(&self, group: usize) -> Result<Var> {
        let loc = user_line();
        let _scope = (at(loc), updating());
        let rate = || self.rate(group, &self.memory.counter("step")?);
        rate().map_err(|error| self.at(loc, error))
    }

    #[track_caller]
    fn set_learning_rate(&self, group: usize, rate: f64) -> Result<()> {
        let loc = user_line();
        let _line = at(loc);
        is_amount("the rate", rate).map_err(|error| self.at(loc, error))?;
        self.assign_learning_rate(group, &Var::scalar(rate))
    }
}

impl<R: Rule + Clone> Descent<R> {
    /// Updates by what was found, and returns what was updated.
    fn run(&self, found: Found, rows: &[&Rows]) -> Result<Vec<(Param, Var)>> {
        let items = self.items(found, rows)?;
        let params: Vec<Param> = items.iter().map(|item| item.param.clone()).collect();
        self.memory.alone(&params)?;
        self.memory.trains(&params);
        if self.groups.iter().any(|group| group.params.is_none()) {
            let what = format!("the optimizer `{}`", self.memory.name());
            self.memory.go_on(&what, &params)?;
        }
        if self.remembers() {
            let what = format!("the optimizer `{}`", self.memory.name());
            self.memory.before_step(&what, &params)?;
        }
        let grads: Vec<Var> = items.iter().map(|item| item.grad.clone()).collect();
        self.accumulate_and_update(items)?;
        self.memory.after_step();
        begin_step();
        Ok(params.into_iter().zip(grads).collect())
    }
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
    fn step_accumulated(&self) -> Result<()> {
        let _line = at(user_line());
        (**self).step_accumulated()
    }

    #[track_caller]
    fn zero_grad(&self) -> Result<()> {
        let _line = at(user_line());
        (**self).zero_grad()
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
