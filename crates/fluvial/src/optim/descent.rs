//! An optimizer: its settings, and what it does. The work is in `gradients` and `update`.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex};

use fluvial_core::scope::user_line;
use fluvial_core::{DType, Error, Loc, Place, Result, Tensor, Type, Value, Var, WeakCell, state};

use super::clip::{Clip, clip_gradients};
use super::memory::{Memory, lock};
use super::param::{Param, Penalty};
use super::rule::{Decay, Rule, in_dtype, is_amount, of_group};
use super::schedule::Schedule;
use crate::nn::used_in_step;

/// An optimizer: parameters in groups, and a rule. The optimizers are names for it:
/// [`Adam`](super::Adam) is `Descent<AdamRule>`.
///
/// It holds its parameters, and what it remembers of them in cells of its own, which listings and files show
/// by labels: `adam.step`, the number of updates; `adam.lr`, the rate; and what the rule remembers of each
/// parameter, such as `adam.m.fc.weight`. Clones share them. An optimizer that is given a
/// [`name`](Descent::name) keeps all that in the state scope of the thread instead, so that it may be made anew
/// in each step and goes on.
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
    pub(super) memory: Memory,
    pub(super) groups: Vec<Group<R>>,
    pub(super) clip: Option<Clipping>,
    pub(super) penalty: Option<Penalty>,
    pub(super) accumulate: u32,
    pub(super) allow_unreached: bool,
    pub(super) retains: bool,
    pub(super) schedule: Option<Schedule>,
}

/// Parameters that are trained with the same settings.
#[derive(Clone, Debug)]
pub struct Group<R> {
    /// The parameters; nothing for all parameters of layers that the step has used.
    pub params: Option<Vec<Param>>,
    /// The rate at the beginning; then the one that is remembered counts.
    pub lr: f64,
    /// Whether the rate was given, so that it counts where another optimizer of this name had another one.
    pub is_rate_given: bool,
    /// The weight decay.
    pub weight_decay: f64,
    /// What weight decay means.
    pub decay: Decay,
    /// Whether steps go uphill.
    pub maximize: bool,
    /// The rule, with its hyper-parameters.
    pub rule: R,
}

/// How gradients are cut down, in a known way or by a function.
#[derive(Clone)]
pub(super) enum Clipping {
    Known(Clip),
    Own(std::sync::Arc<ClipFunction>),
}

type ClipFunction = dyn Fn(&[Var]) -> Result<Vec<Var>> + Send + Sync;

impl Clipping {
    pub fn apply(&self, gradients: &[Var]) -> Result<Vec<Var>> {
        let clipped = match self {
            Clipping::Known(clip) => clip_gradients(gradients, *clip)?,
            Clipping::Own(f) => f(gradients)?,
        };
        match clipped.len() == gradients.len() {
            true => Ok(clipped),
            false => Err(Error::argument(format!(
                "{} gradients were clipped to {}",
                gradients.len(),
                clipped.len()
            ))
            .remedy("return one for each")),
        }
    }
}

impl std::fmt::Debug for Clipping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Clipping::Known(clip) => clip.fmt(f),
            Clipping::Own(_) => f.write_str("a function"),
        }
    }
}

impl<R: Rule + Clone + Default> Descent<R> {
    /// Trains these parameters at this rate.
    #[track_caller]
    pub fn new(params: impl IntoIterator<Item = impl Into<Param>>, lr: f64) -> Descent<R> {
        Descent::of(R::default(), Some(distinct(params)), lr)
    }
}

impl<R: Rule + Clone> Descent<R> {
    /// Trains these parameters by this rule; without any, all parameters of layers that a step has used.
    #[track_caller]
    pub fn of(rule: R, params: Option<Vec<Param>>, lr: f64) -> Descent<R> {
        let memory = Memory::new(rule.name(), user_line());
        let first = Group {
            params: params.map(distinct),
            lr,
            is_rate_given: true,
            weight_decay: rule.weight_decay(),
            decay: rule.decay(),
            maximize: false,
            rule,
        };
        Descent {
            memory,
            groups: vec![first],
            clip: None,
            penalty: None,
            accumulate: 1,
            allow_unreached: false,
            retains: false,
            schedule: None,
        }
    }

    /// Keeps what it remembers in the state scope of the thread, under names that begin with this one: another
    /// optimizer of this name goes on with it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.memory = Memory::named(name.into());
        self
    }

    /// In a program, parameters that no gradient reaches are kept as they are. Without this they are
    /// an error, which says what cuts the way from the loss.
    #[must_use]
    pub fn allow_unreached(mut self) -> Self {
        self.allow_unreached = true;
        self
    }

    /// The tape behind a loss stays after `minimize`, for another optimizer.
    #[must_use]
    pub fn retain_graph(mut self) -> Self {
        self.retains = true;
        self
    }

    /// Without clipping, penalty, schedule and accumulation, for other ones.
    #[must_use]
    pub fn plain(mut self) -> Self {
        (self.clip, self.penalty, self.schedule) = (None, None, None);
        (self.accumulate, self.allow_unreached) = (1, false);
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

    /// Makes what is given to [`minimize`](super::Optimizer::minimize) larger, not smaller.
    #[must_use]
    pub fn maximize(self) -> Self {
        self.with(|group| group.maximize = true)
    }

    /// Adds a penalty to the gradients of parameters that have none of their own, in place of weight decay.
    #[must_use]
    pub fn regularization(mut self, penalty: impl Into<Penalty>) -> Self {
        self.penalty = Some(penalty.into());
        self
    }

    /// Adds a group of parameters with settings of their own. It begins with those that the first
    /// group has so far.
    #[must_use]
    pub fn group(
        mut self,
        params: impl IntoIterator<Item = impl Into<Param>>,
        change: impl FnOnce(&mut Group<R>),
    ) -> Self {
        self.add_group(params, change);
        self
    }

    /// [`group`](Descent::group) of an optimizer that is there.
    pub fn add_group(
        &mut self,
        params: impl IntoIterator<Item = impl Into<Param>>,
        change: impl FnOnce(&mut Group<R>),
    ) {
        let mut group = Group { params: Some(distinct(params)), ..self.groups[0].clone() };
        change(&mut group);
        self.groups.push(group);
    }

    /// Cuts gradients down to size before they are used.
    #[must_use]
    pub fn clip(mut self, clip: Clip) -> Self {
        self.clip = Some(Clipping::Known(clip));
        self
    }

    /// Cuts gradients down by a function of all of them.
    #[must_use]
    pub fn clip_by(
        mut self,
        f: impl Fn(&[Var]) -> Result<Vec<Var>> + Send + Sync + 'static,
    ) -> Self {
        self.clip = Some(Clipping::Own(std::sync::Arc::new(f)));
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

    /// The groups, to be changed. Programs that were built keep the settings that they know.
    pub fn groups_mut(&mut self) -> &mut Vec<Group<R>> {
        &mut self.groups
    }
}

/// Parameters that several layers share count once.
fn distinct(params: impl IntoIterator<Item = impl Into<Param>>) -> Vec<Param> {
    let mut ids = BTreeSet::new();
    let params = params.into_iter().map(Into::into);
    params.filter(|param: &Param| ids.insert(param.id())).collect()
}

impl<R: Rule + Clone> Descent<R> {
    /// What is trained now, each with the number of its group.
    pub(super) fn trained(&self) -> Vec<(usize, Param)> {
        let params = |(i, group): (usize, &Group<R>)| {
            let params = match &group.params {
                Some(params) => params.clone(),
                None => distinct(used_in_step()),
            };
            params.into_iter().map(move |param| (i, param)).collect::<Vec<_>>()
        };
        let all = self.groups.iter().enumerate().flat_map(params);
        all.filter(|(_, param)| param.is_trainable()).collect()
    }

    /// Refuses settings that make no sense, and what cannot be trained.
    pub fn check(&self) -> Result<()> {
        let mut known: Vec<&Param> = Vec::new();
        for group in &self.groups {
            is_amount("the rate", group.lr)?;
            is_amount("the weight decay", group.weight_decay)?;
            group.rule.check()?;
            let before = known.len();
            for param in group.params.iter().flatten() {
                param.check()?;
                if known[..before].iter().any(|known| known.same(param)) {
                    return Err(Error::argument(format!(
                        "the optimizer `{}` has the parameter `{}` in two groups",
                        self.memory.name(),
                        param.name()
                    ))
                    .remedy("name each parameter in one group only"));
                }
                known.push(param);
            }
        }
        match self.accumulate {
            0 => Err(Error::argument("gradients cannot be accumulated over 0 calls")),
            _ => Ok(()),
        }
    }

    fn number_of(&self, group: usize) -> Result<&Group<R>> {
        self.groups.get(group).ok_or_else(|| {
            let (n, name) = (self.groups.len(), self.memory.name());
            Error::index(format!("the optimizer `{name}` has {n} groups, no group {group}"))
        })
    }

    /// The first rate of a group, on which the schedule builds.
    pub(super) fn first_rate(&self, group: usize) -> Result<Var> {
        let Group { lr, is_rate_given, .. } = *self.number_of(group)?;
        let what = of_group("lr", group);
        if let Place::Name(name) = self.memory.place(&what, None)
            && is_rate_given
        {
            keep_given(&name, lr)?;
        }
        self.memory.number(&what, lr)
    }

    pub(super) fn rate(&self, group: usize, done: &Var) -> Result<Var> {
        let first = self.first_rate(group)?;
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

    /// Gives a group another first rate.
    pub(super) fn put_rate(&self, group: usize, rate: &Var) -> Result<()> {
        let _ = self.first_rate(group)?;
        self.memory.put(&of_group("lr", group), &in_dtype(rate, DType::F64)?)
    }

    /// Whether it has to be the same object from step to step.
    pub(super) fn remembers(&self) -> bool {
        let rules = self.groups.iter().any(|group| group.rule.remembers());
        rules || self.schedule.is_some() || self.accumulate != 1
    }

    /// What it remembers, by the names of states.
    pub fn state_dict(&self) -> Vec<(std::sync::Arc<str>, Value)> {
        self.memory.all()
    }

    /// Takes over what another one remembered, by the name of a state.
    pub fn load_state(&self, name: &str, value: impl Into<Value>) -> Result<()> {
        self.memory.load(name, value.into())
    }

    pub(super) fn at(&self, loc: Loc, error: Error) -> Error {
        error.at(loc).note(format!("in the optimizer `{}`", self.memory.name()))
    }
}

/// Which first rate the optimizers of a name were made with, by the cell of the rate.
static GIVEN: LazyLock<Mutex<Vec<(WeakCell, f64)>>> = LazyLock::new(Mutex::default);

/// Lets a rate count that differs from the one with which the last optimizer of this name was made.
fn keep_given(name: &str, rate: f64) -> Result<()> {
    let cell = state::current().own_cell(name);
    let mut given = lock(&GIVEN);
    given.retain(|(cell, _)| cell.upgrade().is_some());
    let is_it = |known: &&mut (WeakCell, f64)| known.0.upgrade().is_some_and(|own| own.same(&cell));
    let Some(known) = given.iter_mut().find(is_it) else {
        given.push((cell.downgrade(), rate));
        return Ok(());
    };
    let is_other = std::mem::replace(&mut known.1, rate) != rate;
    drop(given);
    match is_other && cell.has_value() {
        true => cell.set(Tensor::scalar(rate)),
        false => Ok(()),
    }
}
