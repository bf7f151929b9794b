//! An optimizer: its settings, and what it does. The work is in `gradients` and `update`.

use std::collections::BTreeSet;

use fluvial_core::scope::{in_phase, updating, user_line};
use fluvial_core::{
    DType, Error, Loc, Phase, Result, Role, Type, Var, assign_state, at, declare_state, no_grad,
};

use super::clip::Clip;
use super::optimizer::Optimizer;
use super::param::Param;
use super::rows::Rows;
use super::rule::{Decay, Rule, group_name, in_dtype, is_amount, number_state};
use super::schedule::Schedule;

/// An optimizer: parameters in groups, and a rule. The optimizers are names for it:
/// [`Adam`](super::Adam) is `Descent<AdamRule>`.
///
/// It holds names and settings only. Everything that changes is in the state scope: `adam.step`,
/// the number of updates; `adam.lr`, the rate; and what the rule remembers of each parameter, such
/// as `adam.m.fc.weight`. Where two optimizers of a kind share a scope, give one another
/// [`name`](Descent::name).
///
/// ```
/// use fluvial::optim::{Clip, Schedule};
/// use fluvial::prelude::*;
///
/// let optimizer = Adam::new(["fc.weight", "fc.bias"], 1e-3)
///     .weight_decay(0.01)
///     .clip(Clip::GlobalNorm(1.0))
///     .schedule(Schedule::cosine(1000, 0.0))
///     .group(["head.weight"], |group| group.lr = 1e-2);
/// ```
#[derive(Clone, Debug)]
pub struct Descent<R> {
    pub(super) name: String,
    pub(super) groups: Vec<Group<R>>,
    pub(super) clip: Option<Clip>,
    pub(super) accumulate: u32,
    pub(super) allow_unreached: bool,
    schedule: Option<Schedule>,
}

/// Parameters that are trained with the same settings.
#[derive(Clone, Debug)]
pub struct Group<R> {
    /// The parameters.
    pub params: Vec<Param>,
    /// The rate at the beginning; then the one in the state scope counts.
    pub lr: f64,
    /// The weight decay.
    pub weight_decay: f64,
    /// What weight decay means.
    pub decay: Decay,
    /// The rule, with its hyper-parameters.
    pub rule: R,
}

impl<R: Rule> Descent<R> {
    /// Trains these parameters at this rate.
    pub fn new(params: impl IntoIterator<Item = impl Into<Param>>, lr: f64) -> Descent<R> {
        let first = Group {
            params: distinct(params),
            lr,
            weight_decay: R::WEIGHT_DECAY,
            decay: R::DECAY,
            rule: R::default(),
        };
        Descent {
            name: R::NAME.into(),
            groups: vec![first],
            clip: None,
            accumulate: 1,
            allow_unreached: false,
            schedule: None,
        }
    }

    /// What the names of its states begin with, in place of the kind of optimizer.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// In a program, parameters that no gradient reaches are kept as they are. Without this they are
    /// an error, which says what cuts the way from the loss.
    #[must_use]
    pub fn allow_unreached(mut self) -> Self {
        self.allow_unreached = true;
        self
    }

    /// Changes the settings of the first group.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Group<R>)) -> Self {
        change(&mut self.groups[0]);
        self
    }

    /// The weight decay; whether it is coupled or decoupled depends on the optimizer.
    #[must_use]
    pub fn weight_decay(self, weight_decay: f64) -> Self {
        self.with(|group| group.weight_decay = weight_decay)
    }

    /// Decouples weight decay from the gradient.
    #[must_use]
    pub fn decoupled(self) -> Self {
        self.with(|group| group.decay = Decay::Decoupled)
    }

    /// Adds a group of parameters with settings of their own. It begins with those that the first
    /// group has so far.
    #[must_use]
    pub fn group(
        mut self,
        params: impl IntoIterator<Item = impl Into<Param>>,
        change: impl FnOnce(&mut Group<R>),
    ) -> Self {
        let mut group = Group { params: distinct(params), ..self.groups[0].clone() };
        change(&mut group);
        self.groups.push(group);
        self
    }

    /// Cuts gradients down to size before they are used.
    #[must_use]
    pub fn clip(mut self, clip: Clip) -> Self {
        self.clip = Some(clip);
        self
    }

    /// Updates the parameters at every `k`-th call only, by the mean gradient of `k` calls.
    #[must_use]
    pub fn accumulate(mut self, k: u32) -> Self {
        self.accumulate = k;
        self
    }

    /// Lets the rate change over the updates.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = Some(schedule);
        self
    }

    /// The groups.
    pub fn groups(&self) -> &[Group<R>] {
        &self.groups
    }
}

/// Parameters that several layers share count once.
fn distinct(params: impl IntoIterator<Item = impl Into<Param>>) -> Vec<Param> {
    let mut names = BTreeSet::new();
    let params = params.into_iter().map(Into::into);
    params.filter(|param: &Param| names.insert(param.name())).collect()
}

impl<R: Rule> Descent<R> {
    pub(super) fn trained(&self) -> Vec<(usize, &Param)> {
        let numbered = self.groups.iter().enumerate();
        let all = numbered.flat_map(|(i, group)| group.params.iter().map(move |p| (i, p)));
        all.filter(|(_, param)| param.is_trainable()).collect()
    }

    fn check(&self) -> Result<()> {
        let mut names = BTreeSet::new();
        for group in &self.groups {
            is_amount("the rate", group.lr)?;
            is_amount("the weight decay", group.weight_decay)?;
            group.rule.check()?;
            if let Some(twice) = group.params.iter().find(|param| !names.insert(param.name())) {
                return Err(Error::argument(format!(
                    "the optimizer `{}` has the parameter `{}` in two groups",
                    self.name,
                    twice.name()
                ))
                .remedy("name each parameter in one group only"));
            }
        }
        match self.accumulate {
            0 => Err(Error::argument("gradients cannot be accumulated over 0 calls")),
            _ => Ok(()),
        }
    }

    fn number_of(&self, group: usize) -> Result<&Group<R>> {
        self.groups.get(group).ok_or_else(|| {
            let n = self.groups.len();
            Error::index(format!("the optimizer `{}` has {n} groups, no group {group}", self.name))
        })
    }

    fn lr_state(&self, group: usize) -> Result<Var> {
        let first = self.number_of(group)?.lr;
        number_state(&group_name(&self.name, "lr", group), first)
    }

    pub(super) fn rate(&self, group: usize, done: &Var) -> Result<Var> {
        let first = self.lr_state(group)?;
        match &self.schedule {
            Some(schedule) => {
                let rate = schedule.rate(&first, &in_dtype(done, DType::F64)?)?;
                match rate.ty() == Type::scalar(DType::F64) {
                    true => Ok(rate),
                    false => Err(Error::argument(format!("the schedule gave {}", rate.ty()))
                        .remedy("a schedule gives a scalar of f64")),
                }
            }
            None => Ok(first),
        }
    }

    pub(super) fn counter(&self, what: &str) -> Result<Var> {
        let init = || Ok(Var::scalar(0i64));
        declare_state(&self.state(what), Type::scalar(DType::I64), Role::Counter, init)
    }

    pub(super) fn state(&self, what: &str) -> String {
        format!("{}.{what}", self.name)
    }

    fn at(&self, loc: Loc, error: Error) -> Error {
        error.at(loc).note(format!("in the optimizer `{}`", self.name))
    }
}

impl<R: Rule> Optimizer for Descent<R> {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<Param> {
        self.trained().into_iter().map(|(_, param)| param.clone()).collect()
    }

    #[track_caller]
    fn minimize_rows(&self, loss: &Var, rows: &[&Rows]) -> Result<()> {
        let loc = user_line();
        let _scope = (at(loc), in_phase(Phase::Optimizer));
        let run = || {
            self.check()?;
            let (dense, of_rows) = self.differentiate(loss, rows)?;
            let _no_grad = no_grad();
            self.run(self.items(dense, rows, &of_rows)?)
        };
        run().map_err(|error| self.at(loc, error))
    }

    #[track_caller]
    fn gradients(&self, loss: &Var) -> Result<Vec<Option<Var>>> {
        let loc = user_line();
        let _scope = (at(loc), in_phase(Phase::Optimizer));
        self.differentiate(loss, &[]).map(|(dense, _)| dense).map_err(|error| self.at(loc, error))
    }

    #[track_caller]
    fn step(&self, gradients: &[Option<Var>]) -> Result<()> {
        let loc = user_line();
        let _scope = (at(loc), updating());
        let run = || {
            self.check()?;
            let n = self.trained().len();
            if gradients.len() != n {
                return Err(Error::argument(format!(
                    "{} gradients were given for {n} parameters",
                    gradients.len()
                ))
                .remedy("give one for each of `params`, nothing where there is none"));
            }
            self.run(self.items(gradients.to_vec(), &[], &[])?)
        };
        run().map_err(|error| self.at(loc, error))
    }

    #[track_caller]
    fn learning_rate(&self, group: usize) -> Result<Var> {
        let loc = user_line();
        let _scope = (at(loc), updating());
        let done = self.counter("step")?;
        self.rate(group, &done).map_err(|error| self.at(loc, error))
    }

    #[track_caller]
    fn set_learning_rate(&self, group: usize, rate: f64) -> Result<()> {
        let loc = user_line();
        let _scope = (at(loc), updating());
        let run = || {
            is_amount("the rate", rate)?;
            let _ = self.lr_state(group)?;
            assign_state(&group_name(&self.name, "lr", group), &Var::scalar(rate))
        };
        run().map_err(|error| self.at(loc, error))
    }
}
