//! From gradients to new values: accumulation, clipping, decay, then the rule.

use std::sync::Arc;

use fluvial_core::structural::{fill, zeros_like};
use fluvial_core::{
    DType, Mode, Result, Role, Var, assign_state, declare_state, is_recording, mode,
};
use fluvial_ops::{cond, eq, sign};

use super::clip::clip_gradients;
use super::descent::{Descent, Group};
use super::gradients::Item;
use super::rows::{rows_of, with_rows};
use super::rule::{Decay, Rule, Step, Update, in_dtype};
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
        let mut grad = item.grad.clone();
        // A penalty of its own stands in place of weight decay of every kind.
        let decay = if item.param.penalty().is_some() { 0.0 } else { group.weight_decay };
        match (item.param.penalty(), group.decay) {
            (Some(Regularizer::L1(factor)), _) => grad = grad + sign(&param)? * factor,
            (Some(Regularizer::L2(factor)), _) => grad = grad + &param * factor,
            (None, Decay::Coupled) if decay != 0.0 => grad = grad + &param * decay,
            (None, Decay::Decoupled) if decay != 0.0 => param = param * (1.0 - &lr * decay),
            (None, _) => {}
        }
        let update = Update {
            param: param.check()?,
            grad: grad.check()?,
            lr,
            weight_decay: if group.decay == Decay::ByRule { decay } else { 0.0 },
            shared,
            optimizer: &self.name,
            name: name.clone(),
            ty: whole.ty(),
            rows: item.rows.clone(),
        };
        let at_once = match mode() == Mode::Imperative && !is_recording() {
            true => group.rule.update_at_once(&update)?,
            false => None,
        };
        let new = match at_once {
            Some(new) => new,
            None => group.rule.update(&update)?,
        };
        match &item.rows {
            Some(rows) => with_rows(&name, rows, &new),
            None => assign_state(&name, &new),
        }
    }
}
