//! From gradients to new values: accumulation, clipping, decay, then the rule.

use std::sync::Arc;

use fluvial_core::structural::{fill, zeros_like};
use fluvial_core::{
    DType, Mode, Result, Role, Var, assign_state, bind, declare_state, mode, update_states,
};
use fluvial_ops::{cond, eq, sign};

use super::clip::clip_gradients;
use super::descent::{Descent, Group};
use super::gradients::Item;
use super::rows::{rows_of, with_rows};
use super::rule::{AtOnce, Decay, Rule, Step, Update, in_dtype, slot_name};
use crate::nn::Regularizer;

impl<R: Rule> Descent<R> {
    pub(super) fn run(&self, items: Vec<Item>) -> Result<()> {
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
        // Parameters of one element type, factor on the rate and decay share all but themselves.
        let mut alike: Vec<(Alike, Vec<&Item>)> = Vec::new();
        for &item in items {
            let key = Alike {
                dtype: item.grad.dtype(),
                factor: item.param.factor(),
                // A penalty of its own stands in place of weight decay of every kind.
                decay: if item.param.penalty().is_some() { 0.0 } else { group.weight_decay },
            };
            match alike.iter_mut().find(|(known, _)| *known == key) {
                Some((_, items)) => items.push(item),
                None => alike.push((key, vec![item])),
            }
        }
        for (Alike { dtype, factor, decay }, items) in alike {
            let scaled = if factor == 1.0 { rate.clone() } else { rate * factor };
            let mut numbers = vec![in_dtype(&scaled, dtype)?];
            for number in &shared {
                numbers.push(in_dtype(number, dtype)?);
            }
            match group.rule.at_once(decay, group.decay == Decay::Decoupled) {
                Some(rule) => self.update_at_once(&rule, &items, &numbers)?,
                None => {
                    for item in items {
                        self.update_one(group, item, decay, &numbers)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// One op for many parameters.
    fn update_at_once(&self, rule: &AtOnce, items: &[&Item], numbers: &[Var]) -> Result<()> {
        let (dense, of_rows): (Vec<&Item>, Vec<&Item>) =
            items.iter().partition(|item| item.rows.is_none());
        of_rows.into_iter().try_for_each(|item| self.update_rows(rule, item, numbers))?;
        for items in in_lists(&dense) {
            let mut names: Vec<String> = Vec::new();
            let mut grads: Vec<Var> = Vec::new();
            for item in items {
                let param = item.param.read()?;
                grads.push(with_penalty(item, &param)?);
                names.push(item.param.name().to_string());
            }
            for slot in rule.slots {
                for item in items {
                    let (name, ty) = (self.slot_name(slot, item), item.grad.ty());
                    let _ = declare_state(&name, ty, Role::Optimizer, || fill(0.0, &ty))?;
                    names.push(name);
                }
            }
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let given: Vec<&Var> = grads.iter().chain(numbers).collect();
            update_states(&rule.op, &names, &given)?;
        }
        Ok(())
    }

    /// The same for some rows of a parameter.
    fn update_rows(&self, rule: &AtOnce, item: &Item, numbers: &[Var]) -> Result<()> {
        let Some(rows) = &item.rows else { return Ok(()) };
        let mut names = vec![item.param.name().to_string()];
        let ty = item.param.read()?.ty();
        let mut inputs = vec![rows_of(&item.param.read()?, rows)?];
        for slot in rule.slots {
            let name = self.slot_name(slot, item);
            let whole = declare_state(&name, ty, Role::Optimizer, || fill(0.0, &ty))?;
            inputs.push(rows_of(&whole, rows)?);
            names.push(name);
        }
        inputs.push(with_penalty(item, &inputs[0])?);
        let inputs: Vec<&Var> = inputs.iter().chain(numbers).collect();
        let outputs = bind(&rule.op, &inputs)?;
        names.iter().zip(&outputs).try_for_each(|(name, new)| with_rows(name, rows, new))
    }

    /// The rule by ops on one parameter, or on some rows of it. Of the numbers, the rate is the first.
    fn update_one(&self, group: &Group<R>, item: &Item, decay: f64, numbers: &[Var]) -> Result<()> {
        let name: Arc<str> = item.param.name();
        let whole = item.param.read()?;
        let ty = whole.ty();
        let mut param = match &item.rows {
            Some(rows) => rows_of(&whole, rows)?,
            None => whole.clone(),
        };
        drop(whole);
        let mut grad = with_penalty(item, &param)?;
        let lr = &numbers[0];
        match group.decay {
            Decay::Coupled if decay != 0.0 => grad = grad + &param * decay,
            Decay::Decoupled if decay != 0.0 => param = param * (1.0 - lr * decay),
            _ => {}
        }
        let update = Update {
            param: param.check()?,
            grad: grad.check()?,
            lr: lr.clone(),
            weight_decay: if group.decay == Decay::ByRule { decay } else { 0.0 },
            shared: &numbers[1..],
            optimizer: &self.name,
            name: name.clone(),
            ty,
            rows: item.rows.clone(),
        };
        let new = group.rule.update(&update)?;
        match &item.rows {
            Some(rows) => with_rows(&name, rows, &new),
            None => assign_state(&name, &new),
        }
    }

    fn slot_name(&self, slot: &str, item: &Item) -> String {
        slot_name(&self.name, slot, &item.param.name())
    }
}

/// What parameters have to have in common to be updated at once.
#[derive(Clone, Copy, PartialEq)]
struct Alike {
    dtype: DType,
    factor: f64,
    decay: f64,
}

/// The gradient with the penalty that the parameter has of its own.
fn with_penalty(item: &Item, param: &Var) -> Result<Var> {
    match item.param.penalty() {
        Some(Regularizer::L1(factor)) => (&item.grad + sign(param)? * factor).check(),
        Some(Regularizer::L2(factor)) => (&item.grad + param * factor).check(),
        None => Ok(item.grad.clone()),
    }
}

/// The elements after which a list ends in a program: gradients live until their list is complete.
const LIST: usize = 1 << 20;

/// The parameters in lists that are updated at once: in one line by line, where all gradients are there.
fn in_lists<'a>(items: &'a [&'a Item]) -> Vec<&'a [&'a Item]> {
    let mut lists = Vec::new();
    let (mut first, mut total) = (0, 0);
    for (i, item) in items.iter().enumerate() {
        total += item.grad.ty().numel().unwrap_or(0);
        let is_full = mode() == Mode::Building && total >= LIST;
        if is_full || i + 1 == items.len() {
            lists.push(&items[first..=i]);
            (first, total) = (i + 1, 0);
        }
    }
    lists
}
