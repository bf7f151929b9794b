//! What names mean where a program is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use fluvial_core::{Role, Tensor, Value, ValueId};
use fluvial_runtime::{Live, Step};

use super::inner::Inner;
use super::points::meant;
use crate::expr::Context;

/// All values that can be seen from a step.
pub struct View<'a, 'b> {
    pub inner: &'a Inner,
    pub step: &'a Step<'a>,
    pub live: &'a Live<'b>,
    pub outputs: Option<&'a [Value]>,
    /// What `value` means: what a watched variable has got.
    pub watched: Option<&'a Value>,
    /// Values that were gone, and have been computed again.
    pub recalled: Option<&'a HashMap<String, Value>>,
    /// The variables whose values are gone that somebody has asked for.
    pub gone: RefCell<Vec<String>>,
    /// The names that somebody has asked for and that nothing here has.
    pub unbound: RefCell<Vec<String>>,
}

/// The value of a variable.
pub enum Bound {
    /// It is there.
    Alive(Value),
    /// It was bound, and is gone.
    Gone,
    /// Nothing has bound it so far.
    Unbound,
}

/// The end of the name of a gradient.
pub const GRADIENT: &str = ".grad";

impl<'a, 'b> View<'a, 'b> {
    /// What can be seen from a step.
    pub fn new(
        inner: &'a Inner,
        step: &'a Step<'a>,
        live: &'a Live<'b>,
        outputs: Option<&'a [Value]>,
        watched: Option<&'a Value>,
    ) -> View<'a, 'b> {
        let (gone, unbound) = Default::default();
        View { inner, step, live, outputs, watched, recalled: None, gone, unbound }
    }
}

impl View<'_, '_> {
    /// A value of the innermost block, also if the step has just computed it.
    pub fn local(&self, id: ValueId) -> Option<&Value> {
        let call = self.step.block.calls.get(self.step.index);
        let output = call.and_then(|call| id.checked_sub(call.first_output));
        let output = output.and_then(|k| self.outputs?.get(k as usize));
        output.or_else(|| self.live.get(id))
    }

    /// A value of a level.
    pub fn at_level(&self, depth: usize, id: ValueId) -> Option<&Value> {
        let level = self.inner.stack.levels.get(depth)?;
        match depth + 1 == self.inner.stack.levels.len() {
            true => self.local(id),
            false => level.kept.iter().find(|(known, _)| *known == id).map(|(_, value)| value),
        }
    }

    /// The value that a variable was bound to last, from the innermost block outwards.
    pub fn variable(&self, name: &str) -> Bound {
        let levels = &self.inner.stack.levels;
        if name.starts_with('%') {
            let numbered = levels.iter().enumerate().rev().find_map(|(depth, level)| {
                level.info.values(name).iter().find_map(|&id| self.at_level(depth, id).cloned())
            });
            return numbered.map_or(Bound::Unbound, Bound::Alive);
        }
        for (depth, level) in levels.iter().enumerate().rev() {
            let bindings = level.info.bindings(name);
            let is_innermost = depth + 1 == levels.len();
            // What was bound inside of the call that is under way was found further in, if it was bound.
            let done = level.index + usize::from(is_innermost && self.outputs.is_some());
            let last = bindings.iter().rev().find(|(at, _)| *at <= done);
            match last {
                Some((_, Some(id))) => {
                    let value = self.at_level(depth, *id).cloned();
                    return value.map_or(Bound::Gone, Bound::Alive);
                }
                Some((_, None)) => return Bound::Gone,
                None => {}
            }
            // The trip before has bound it.
            let is_later_trip = depth > 0 && {
                let outer = &levels[depth - 1];
                let call = outer.info.block.calls.get(outer.index);
                call.is_some_and(|call| call.op.carries().is_some()) && outer.visit > 1
            };
            if !bindings.is_empty() && is_later_trip {
                return Bound::Gone;
            }
        }
        Bound::Unbound
    }

    /// The value of a variable, also if it was computed again.
    fn known(&self, name: &str) -> Option<Value> {
        match self.variable(name) {
            Bound::Alive(value) => Some(value),
            Bound::Gone => {
                let recalled = self.recalled.and_then(|recalled| recalled.get(name)).cloned();
                if recalled.is_none() {
                    self.gone.borrow_mut().push(name.to_string());
                }
                recalled
            }
            Bound::Unbound => {
                let recalled = self.recalled.and_then(|recalled| recalled.get(name)).cloned();
                if recalled.is_none() {
                    self.unbound.borrow_mut().push(name.to_string());
                }
                recalled
            }
        }
    }

    /// The states that are meant by a name.
    pub fn states(&self, name: &str) -> Vec<Arc<str>> {
        let state = self.inner.state.as_ref();
        state.map_or(Vec::new(), |state| meant(state.names().iter(), name))
    }

    /// The value that a state has here: inside of loops it is one of the block.
    pub fn state(&self, name: &str) -> Option<Value> {
        for (depth, level) in self.inner.stack.levels.iter().enumerate().rev() {
            let of_state = |map: &std::collections::HashMap<ValueId, Arc<str>>| {
                let mut ids: Vec<ValueId> =
                    map.iter().filter(|(_, known)| &***known == name).map(|(&id, _)| id).collect();
                ids.sort_unstable();
                ids.iter().rev().find_map(|&id| self.at_level(depth, id).cloned())
            };
            let found = of_state(&level.info.updates).or_else(|| of_state(&level.info.states));
            if found.is_some() {
                return found;
            }
        }
        self.inner.state.as_ref()?.read(name).ok()?.value().ok().cloned()
    }

    /// Numbers that say where the run is.
    fn counter(&self, name: &str) -> Option<Value> {
        let stack = &self.inner.stack;
        let number = match name {
            "step" => stack.step(),
            "iteration" => stack.loops().last().map_or(stack.step(), |&(_, trip)| trip),
            "epoch" => stack.epoch()?,
            "run" => stack.run,
            _ => return None,
        };
        Some(Tensor::scalar(i64::try_from(number).unwrap_or(i64::MAX)).into())
    }

    /// The value that a watched name had before the step.
    pub fn before(&self, name: &str) -> Option<Value> {
        let level = self.inner.stack.levels.last()?;
        let states = self.states(name);
        let is_one = |known: &Arc<str>| states.contains(known);
        let of_state = level.info.states.iter().find(|(_, known)| is_one(known));
        let of_state = of_state.and_then(|(&id, _)| self.live.get(id)).cloned();
        of_state.or_else(|| {
            self.inner.state.as_ref()?.read(states.first()?).ok()?.value().ok().cloned()
        })
    }

    /// What the step has computed for a watched name.
    pub fn output_named(&self, name: &str) -> Option<Value> {
        let level = self.inner.stack.levels.last()?;
        let call = self.step.block.calls.get(self.step.index)?;
        let (ids, states) = (level.info.values(name), self.states(name));
        let is_named = |id: &ValueId| {
            let becomes = level.info.updates.get(id).is_some_and(|state| states.contains(state));
            ids.contains(id) || becomes
        };
        let id = call.outputs().find(is_named)?;
        self.local(id).cloned()
    }

    /// The role of a state.
    pub fn role(&self, name: &str) -> Option<Role> {
        Some(self.inner.state.as_ref()?.declaration(name)?.role)
    }
}

impl Context for View<'_, '_> {
    fn value(&self, name: &str) -> Option<Value> {
        if let Some(value) = self.watched.filter(|_| name == "value") {
            return Some(value.clone());
        }
        let of_state = || match &self.states(name.trim_start_matches('@'))[..] {
            [state] => self.state(state),
            _ => None,
        };
        // `step` is that of the loop, and not that of an optimizer.
        self.known(name).or_else(|| self.counter(name)).or_else(of_state)
    }

    fn gradient(&self, name: &str) -> Option<Value> {
        let states = self.states(name.trim_start_matches('@'));
        let names = states.iter().map(|state| format!("{state}{GRADIENT}"));
        let mut names = names.chain([format!("{name}{GRADIENT}")]);
        names.find_map(|name| self.known(&name))
    }

    fn names(&self) -> Vec<String> {
        let counters = ["step", "iteration", "epoch", "run"].into_iter();
        let counters = counters.filter(|name| self.counter(name).is_some());
        let mut names: Vec<String> = counters.map(String::from).collect();
        for level in &self.inner.stack.levels {
            let bound = level.info.bound();
            let bound = bound.filter(|name| match self.variable(name) {
                Bound::Alive(_) => true,
                // Gradients that are gone are not variables of a line.
                Bound::Gone => !name.contains('.'),
                Bound::Unbound => false,
            });
            names.extend(bound.map(|name| name.to_string()));
        }
        if let Some(state) = &self.inner.state {
            names.extend(state.names().iter().map(|name| name.to_string()));
        }
        names.sort();
        names.dedup();
        names
    }
}
