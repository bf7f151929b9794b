//! The driver of all optimizers: groups, decay, clipping, accumulation and schedules, around the
//! rule of one.

use std::collections::BTreeSet;
use std::sync::Arc;

use fluvial_core::scope::user_line;
use fluvial_core::structural::{fill, zeros_like};
use fluvial_core::{
    DType, Error, GradOptions, Loc, Result, Role, Type, Var, assign_state, at, declare_state,
    no_grad, vjp,
};
use fluvial_ops::{cond, eq, sign};

use super::clip::{Clip, clip_gradients};
use super::param::Param;
use super::rows::{Rows, rows_of, sum_by_table, with_rows};
use super::rule::{Decay, Rule, Step, Update, group_name, in_dtype, is_amount, number_state};
use super::schedule::Schedule;
use crate::nn::Regularizer;

/// What all optimizers can do. It can be a trait object.
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
    name: String,
    groups: Vec<Group<R>>,
    clip: Option<Clip>,
    accumulate: u32,
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
            schedule: None,
        }
    }

    /// What the names of its states begin with, in place of the kind of optimizer.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
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

/// The gradient of one parameter, or of some rows of it.
struct Item {
    group: usize,
    param: Param,
    grad: Var,
    rows: Option<Var>,
}

impl<R: Rule> Descent<R> {
    fn trained(&self) -> Vec<(usize, &Param)> {
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

    fn rate(&self, group: usize, done: &Var) -> Result<Var> {
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

    fn counter(&self, what: &str) -> Result<Var> {
        let init = || Ok(Var::scalar(0i64));
        declare_state(&self.state(what), Type::scalar(DType::I64), Role::Counter, init)
    }

    fn state(&self, what: &str) -> String {
        format!("{}.{what}", self.name)
    }

    /// The dense gradients, and those of the rows that were looked up.
    fn differentiate(&self, loss: &Var, rows: &[&Rows]) -> Result<(Vec<Option<Var>>, Vec<Var>)> {
        let trained = self.trained();
        let mut wrt = Vec::new();
        for (_, param) in &trained {
            wrt.push(param.read()?);
        }
        wrt.extend(rows.iter().map(|rows| rows.values.clone()));
        let refs: Vec<&Var> = wrt.iter().collect();
        let mut found = vjp(&[loss], &[None], &refs, GradOptions::default())?;
        if found.iter().all(Option::is_none) {
            return Err(Error::gradient(format!(
                "the loss depends on none of the {} parameters of the optimizer `{}`",
                trained.len(),
                self.name
            ))
            .remedy("check their names, and that the loss was computed from them, not detached"));
        }
        let of_rows = found.split_off(trained.len());
        let of_rows = of_rows.into_iter().zip(rows).map(|(grad, rows)| match grad {
            Some(grad) => Ok(grad),
            None => zeros_like(&rows.values),
        });
        let of_rows = of_rows.collect::<Result<_>>()?;
        Ok((found, of_rows))
    }

    /// Brings dense gradients and those of rows together, one for each parameter.
    fn items(&self, dense: Vec<Option<Var>>, rows: &[&Rows], of_rows: &[Var]) -> Result<Vec<Item>> {
        let tables = sum_by_table(rows, of_rows)?;
        let mut items = Vec::new();
        for ((group, param), grad) in self.trained().into_iter().zip(dense) {
            let name = param.name();
            let table = tables.iter().find(|table| *table.name == *name);
            let (grad, rows) = match (grad, table) {
                (Some(_), Some(_)) => {
                    return Err(Error::gradient(format!(
                        "`{name}` was used both as a whole and by rows that were looked up"
                    ))
                    .remedy("read it by `lookup` only, or as a whole only"));
                }
                (None, Some(table)) => (table.grad.clone(), Some(table.rows.clone())),
                (Some(grad), None) => (grad, None),
                (None, None) => (zeros_like(&param.read()?)?, None),
            };
            items.push(Item { group, param: param.clone(), grad, rows });
        }
        let known = |name: &str| items.iter().any(|item| *item.param.name() == *name);
        if let Some(table) = tables.iter().find(|table| !known(&table.name)) {
            return Err(Error::argument(format!(
                "the optimizer `{}` does not train the table `{}`",
                self.name, table.name
            ))
            .remedy("add it to its parameters"));
        }
        if items.iter().any(|item| item.rows.is_some()) {
            self.refuse_rows()?;
        }
        Ok(items)
    }

    fn refuse_rows(&self) -> Result<()> {
        if !R::ELEMENTWISE {
            return Err(Error::argument(format!(
                "the optimizer `{}` needs whole parameters, not rows of them",
                self.name
            ))
            .remedy("gather from the whole table, or take another optimizer for it"));
        }
        match self.accumulate {
            1 => Ok(()),
            _ => Err(Error::argument("gradients of rows are not accumulated over several calls")
                .remedy("gather from the whole table, or update at each call")),
        }
    }

    fn run(&self, items: Vec<Item>) -> Result<()> {
        match self.accumulate {
            1 => self.update(items),
            _ => self.accumulated(items),
        }
    }

    /// Adds the gradients to those of earlier calls; at every `k`-th call the sums are used.
    fn accumulated(&self, mut items: Vec<Item>) -> Result<()> {
        let calls = self.counter("calls")? + 1.0;
        let mut names = Vec::new();
        for item in &mut items {
            let (name, ty) =
                (self.state(&format!("accumulated.{}", item.param.name())), item.grad.ty());
            let before = declare_state(&name, ty, Role::Optimizer, || fill(0.0, &ty))?;
            item.grad = (before + &item.grad).check()?;
            assign_state(&name, &item.grad)?;
            names.push(name);
        }
        let due = eq(&calls, &Var::scalar(i64::from(self.accumulate)))?;
        let then = || {
            for (name, item) in names.iter().zip(&mut items) {
                assign_state(name, &zeros_like(&item.grad)?)?;
                item.grad = (&item.grad / f64::from(self.accumulate)).check()?;
            }
            self.update(items)?;
            assign_state(&self.state("calls"), &Var::scalar(0i64))?;
            Ok(Vec::new())
        };
        let otherwise = || {
            assign_state(&self.state("calls"), &calls)?;
            Ok(Vec::new())
        };
        cond(&due, then, otherwise).map(drop)
    }

    /// One update of all parameters.
    fn update(&self, mut items: Vec<Item>) -> Result<()> {
        if let Some(clip) = self.clip {
            let grads: Vec<Var> = items.iter().map(|item| item.grad.clone()).collect();
            for (item, grad) in items.iter_mut().zip(clip_gradients(&grads, clip)?) {
                item.grad = grad;
            }
        }
        let done = self.counter("step")?;
        let next = (&done + 1.0).check()?;
        let t = in_dtype(&next, DType::F64)?;
        for (i, group) in self.groups.iter().enumerate() {
            let own: Vec<&Item> = items.iter().filter(|item| item.group == i).collect();
            if !own.is_empty() {
                let step = Step { t: t.clone(), optimizer: &self.name, group: i };
                self.update_group(group, &own, &step, &self.rate(i, &done)?)?;
            }
        }
        assign_state(&self.state("step"), &next)
    }

    fn update_group(
        &self,
        group: &Group<R>,
        items: &[&Item],
        step: &Step,
        rate: &Var,
    ) -> Result<()> {
        let shared = group.rule.shared(step)?;
        // What parameters of one element type and factor share is computed once.
        let mut rates: Vec<(DType, f64, Var)> = Vec::new();
        let mut casts: Vec<(DType, Vec<Var>)> = Vec::new();
        for item in items {
            let (dtype, factor) = (item.grad.dtype(), item.param.factor());
            let known = rates.iter().find(|known| (known.0, known.1) == (dtype, factor));
            let lr = match known {
                Some((_, _, lr)) => lr.clone(),
                None => {
                    let scaled = if factor == 1.0 { rate.clone() } else { rate * factor };
                    let lr = in_dtype(&scaled, dtype)?;
                    rates.push((dtype, factor, lr.clone()));
                    lr
                }
            };
            if !casts.iter().any(|(known, _)| *known == dtype) {
                let own = shared.iter().map(|var| in_dtype(var, dtype));
                casts.push((dtype, own.collect::<Result<_>>()?));
            }
            let shared = casts.iter().find(|(known, _)| *known == dtype);
            self.update_one(group, item, lr, shared.map_or(&[], |(_, shared)| shared))?;
        }
        Ok(())
    }

    fn update_one(&self, group: &Group<R>, item: &Item, lr: Var, shared: &[Var]) -> Result<()> {
        let name: Arc<str> = item.param.name();
        let whole = item.param.read()?;
        let mut param = match &item.rows {
            Some(rows) => rows_of(&whole, rows)?,
            None => whole.clone(),
        };
        if item.grad.ty() != param.ty() {
            return Err(Error::shape(format!(
                "the gradient of `{name}` is {}, but the parameter is {}",
                item.grad.ty(),
                param.ty()
            )));
        }
        let (mut grad, decay) = (item.grad.clone(), group.weight_decay);
        let penalty = item.param.penalty();
        match (penalty, group.decay) {
            (Some(Regularizer::L1(factor)), _) => grad = grad + sign(&param)? * factor,
            (Some(Regularizer::L2(factor)), _) => grad = grad + &param * factor,
            (None, Decay::Coupled) if decay != 0.0 => grad = grad + &param * decay,
            (None, _) => {}
        }
        if group.decay == Decay::Decoupled && decay != 0.0 {
            param = param * (1.0 - &lr * decay);
        }
        let by_rule = group.decay == Decay::ByRule && penalty.is_none();
        let update = Update {
            param: param.check()?,
            grad: grad.check()?,
            lr,
            weight_decay: if by_rule { decay } else { 0.0 },
            shared,
            optimizer: &self.name,
            name: name.clone(),
            ty: whole.ty(),
            rows: item.rows.clone(),
        };
        let new = group.rule.update(&update)?;
        match &item.rows {
            Some(rows) => with_rows(&name, rows, &new),
            None => assign_state(&name, &new),
        }
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
        let _line = at(loc);
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
        let _line = at(loc);
        self.differentiate(loss, &[]).map(|(dense, _)| dense).map_err(|error| self.at(loc, error))
    }

    #[track_caller]
    fn step(&self, gradients: &[Option<Var>]) -> Result<()> {
        let loc = user_line();
        let _scope = (at(loc), no_grad());
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
        let _scope = (at(loc), no_grad());
        let done = self.counter("step")?;
        self.rate(group, &done).map_err(|error| self.at(loc, error))
    }

    #[track_caller]
    fn set_learning_rate(&self, group: usize, rate: f64) -> Result<()> {
        let loc = user_line();
        let _scope = (at(loc), no_grad());
        let run = || {
            is_amount("the rate", rate)?;
            let _ = self.lr_state(group)?;
            assign_state(&group_name(&self.name, "lr", group), &Var::scalar(rate))
        };
        run().map_err(|error| self.at(loc, error))
    }
}
