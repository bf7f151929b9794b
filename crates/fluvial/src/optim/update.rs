//! From gradients to new values: accumulation, clipping, decay, then the rule.

use fluvial_core::structural::zeros_like;
use fluvial_core::{
    DType, Error, Mode, Place, Result, Var, bind, interrupt, mode, step, update_in_place,
};
use fluvial_ops::{cond, eq, neg, view_as_complex, view_as_real};

use super::descent::{Descent, Group};
use super::gradients::Item;
use super::param::Penalty;
use super::rows::{rows_of, with_rows};
use super::rule::{AtOnce, Decay, Rule, Step, Update, in_dtype};

impl<R: Rule + Clone> Descent<R> {
    /// One step as a whole: no other thread updates the same parameters meanwhile, nothing is left half-way, and what
    /// functions of the user's may break off is undone.
    pub(super) fn accumulate_and_update(&self, mut items: Vec<Item>) -> Result<()> {
        for item in items.iter_mut().filter(|item| item.grad.dtype().is_complex()) {
            self.judge_complex(item)?;
            item.grad = view_as_real(&item.grad)?;
        }
        let step = |items: Vec<Item>| match self.accumulate {
            1 => self.update(items),
            _ => self.accumulated(items),
        };
        if mode() == Mode::Building {
            return step(items);
        }
        drop(self.memory.counter("step")?);
        let own = std::iter::once(self.memory.place("step", None));
        let places = items.iter().map(|item| item.param.place()).chain(own);
        let _turn = step::turn(places.map(|place| place.cell()).collect::<Result<_>>()?)?;
        let _whole = interrupt::hear(false);
        let calls_back = self.groups.iter().any(|group| group.rule.calls_back())
            || items.iter().any(|item| self.penalty(item).is_some());
        match calls_back {
            true => step::whole(|| step(items)),
            false => step(items),
        }
    }

    /// Adds the gradients to those of earlier calls; at every `k`-th call the sums are used.
    fn accumulated(&self, mut items: Vec<Item>) -> Result<()> {
        let calls = self.memory.counter("calls")? + 1.0;
        let mut places = Vec::new();
        for item in &mut items {
            let ty = item.grad.ty();
            let (place, before) = self.memory.slot("accumulated", &item.param, &ty, 0.0)?;
            item.grad = (before + &item.grad).check()?;
            place.assign(&item.grad)?;
            places.push(place);
        }
        let due = eq(&calls, &Var::scalar(i64::from(self.accumulate)))?;
        let then = || {
            for (place, item) in places.iter().zip(&mut items) {
                place.assign(&zeros_like(&item.grad)?)?;
                item.grad = (&item.grad / f64::from(self.accumulate)).check()?;
            }
            self.update(items)?;
            self.memory.put("calls", &Var::scalar(0i64))?;
            Ok(Vec::new())
        };
        let otherwise = || {
            self.memory.put("calls", &calls)?;
            Ok(Vec::new())
        };
        cond(&due, then, otherwise).map(drop)
    }

    /// One update of all parameters.
    fn update(&self, mut items: Vec<Item>) -> Result<()> {
        for item in items.iter_mut().filter(|item| self.groups[item.group].maximize) {
            item.grad = neg(&item.grad)?;
        }
        if let Some(clip) = &self.clip {
            let grads: Vec<Var> = items.iter().map(|item| item.grad.clone()).collect();
            for (item, grad) in items.iter_mut().zip(clip.apply(&grads)?) {
                item.grad = grad;
            }
        }
        let done = self.memory.counter("step")?;
        let next = (&done + 1.0).check()?;
        let t = in_dtype(&next, DType::F64)?;
        for (i, group) in self.groups.iter().enumerate() {
            let own: Vec<&Item> = items.iter().filter(|item| item.group == i).collect();
            if !own.is_empty() {
                let step = Step { t: t.clone(), memory: self.memory.clone(), group: i };
                self.update_group(group, &own, &step, &self.rate(i, &done)?)?;
            }
        }
        self.memory.put("step", &next)
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
                decay: if self.penalty(item).is_some() { 0.0 } else { group.weight_decay },
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
        let (in_parts, dense): (Vec<&Item>, Vec<&Item>) =
            dense.into_iter().partition(|item| item.param.is_complex());
        in_parts.into_iter().try_for_each(|item| self.update_parts(rule, item, numbers))?;
        for items in in_lists(&dense) {
            let mut places: Vec<Place> = Vec::new();
            let mut grads: Vec<Var> = Vec::new();
            for item in items {
                grads.push(self.with_penalty(item, &item.param.read()?)?);
                places.push(item.param.place());
            }
            for slot in rule.slots {
                for item in items {
                    let ty = item.grad.ty();
                    places.push(self.memory.slot(slot, &item.param, &ty, 0.0)?.0);
                }
            }
            let given: Vec<&Var> = grads.iter().chain(numbers).collect();
            update_in_place(&rule.op, &places, &given)?;
        }
        Ok(())
    }

    /// The same for a complex parameter, whose parts are updated as real numbers.
    fn update_parts(&self, rule: &AtOnce, item: &Item, numbers: &[Var]) -> Result<()> {
        let param = view_as_real(&item.param.read()?)?;
        let ty = param.ty();
        let (mut inputs, mut places) = (vec![param], Vec::new());
        for slot in rule.slots {
            let (place, value) = self.memory.slot(slot, &item.param, &ty, 0.0)?;
            inputs.push(value);
            places.push(place);
        }
        inputs.push(self.with_penalty(item, &inputs[0])?);
        let inputs: Vec<&Var> = inputs.iter().chain(numbers).collect();
        let outputs = bind(&rule.op, &inputs)?;
        item.param.place().assign(&view_as_complex(&outputs[0])?)?;
        places.into_iter().zip(&outputs[1..]).try_for_each(|(place, new)| place.assign(new))
    }

    /// Refuses a complex parameter whose parts cannot be updated each on its own.
    fn judge_complex(&self, item: &Item) -> Result<()> {
        let rule = &self.groups[item.group].rule;
        if rule.is_elementwise() {
            return Ok(());
        }
        let (name, dtype, rule) = (item.param.name(), item.grad.dtype(), rule.name());
        Err(Error::dtype(format!("`{name}` is of {dtype}, which `{rule}` does not train"))
            .remedy("keep both parts in a real parameter `p`, and use `view_as_complex(p)`"))
    }

    /// The same for some rows of a parameter.
    fn update_rows(&self, rule: &AtOnce, item: &Item, numbers: &[Var]) -> Result<()> {
        let Some(rows) = &item.rows else { return Ok(()) };
        let mut places = vec![item.param.place()];
        let ty = item.param.read()?.ty();
        let mut inputs = vec![rows_of(&item.param.read()?, rows)?];
        for slot in rule.slots {
            let (place, whole) = self.memory.slot(slot, &item.param, &ty, 0.0)?;
            inputs.push(rows_of(&whole, rows)?);
            places.push(place);
        }
        inputs.push(self.with_penalty(item, &inputs[0])?);
        let inputs: Vec<&Var> = inputs.iter().chain(numbers).collect();
        let outputs = bind(&rule.op, &inputs)?;
        places.into_iter().zip(&outputs).try_for_each(|(place, new)| with_rows(place, rows, new))
    }

    /// The rule by ops on one parameter, or on some rows of it. Of the numbers, the rate is the first.
    fn update_one(&self, group: &Group<R>, item: &Item, decay: f64, numbers: &[Var]) -> Result<()> {
        let mut whole = item.param.read()?;
        let is_complex = whole.dtype().is_complex();
        if is_complex {
            whole = view_as_real(&whole)?;
        }
        let ty = whole.ty();
        let mut param = match &item.rows {
            Some(rows) => rows_of(&whole, rows)?,
            None => whole.clone(),
        };
        drop(whole);
        let mut grad = self.with_penalty(item, &param)?;
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
            shared: numbers[1..].to_vec(),
            memory: self.memory.clone(),
            of: item.param.clone(),
            ty,
            rows: item.rows.clone(),
        };
        let new = group.rule.update(&update)?;
        match &item.rows {
            Some(rows) => with_rows(item.param.place(), rows, &new),
            None if is_complex => item.param.place().assign(&view_as_complex(&new)?),
            None => item.param.place().assign(&new),
        }
    }

    fn penalty(&self, item: &Item) -> Option<Penalty> {
        item.param.penalty().or_else(|| self.penalty.clone())
    }

    /// The gradient with the penalty, if there is one.
    fn with_penalty(&self, item: &Item, param: &Var) -> Result<Var> {
        match self.penalty(item) {
            Some(penalty) => penalty.add_to(&item.grad, param),
            None => Ok(item.grad.clone()),
        }
    }
}

/// What parameters have to have in common to be updated at once.
#[derive(Clone, Copy, PartialEq)]
struct Alike {
    dtype: DType,
    factor: f64,
    decay: f64,
}

/// The elements after which a list ends in a program, where gradients live until their list is complete: as many at
/// least, and this part of all, so that neither calls nor gradients that wait count for much.
const LIST: usize = 1 << 13;
const LISTS: usize = 32;

/// The parameters in lists that are updated at once: in one line by line, where all gradients are there.
fn in_lists<'a>(items: &'a [&'a Item]) -> Vec<&'a [&'a Item]> {
    let size = |item: &&Item| item.grad.ty().numel().unwrap_or(0);
    let full = LIST.max(items.iter().map(size).sum::<usize>() / LISTS);
    let mut lists = Vec::new();
    let (mut first, mut total) = (0, 0);
    for (i, item) in items.iter().enumerate() {
        total += size(item);
        let is_full = mode() == Mode::Building && total >= full;
        if is_full || i + 1 == items.len() {
            lists.push(&items[first..=i]);
            (first, total) = (i + 1, 0);
        }
    }
    lists
}
