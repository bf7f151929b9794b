//! What can be seen and set while a program is stopped.

use std::sync::Arc;

use fluvial_core::{Error, Result, Role, Tensor, Value, ValueId};

use super::halt::Paused;
use super::shared::{Edit, Edited};
use super::view::{GRADIENT, View};
use crate::expr::{Context, Statement, function_names, written};
use crate::inspect;
use crate::target::{Evaluated, Event, Output, Scope, ScopeKind, Variable};

impl Paused<'_, '_> {
    /// What there is to see.
    pub fn scopes(&self) -> Vec<Scope> {
        let scope = |kind: ScopeKind| {
            let expensive =
                matches!(kind, ScopeKind::Gradients | ScopeKind::Optimizer | ScopeKind::Live);
            let count = (!expensive).then(|| self.variables(kind).len());
            Scope { kind, count, expensive }
        };
        ScopeKind::ALL.into_iter().map(scope).collect()
    }

    /// The variables of a scope.
    pub fn variables(&self, kind: ScopeKind) -> Vec<Variable> {
        let view = self.view();
        match kind {
            ScopeKind::Inputs => self.inputs(&view),
            ScopeKind::Output => self.outputs(&view),
            ScopeKind::Parameters => of_states(&view, &[Role::Parameter, Role::Buffer]),
            ScopeKind::Optimizer => {
                of_states(&view, &[Role::Optimizer, Role::Counter, Role::Random])
            }
            ScopeKind::Gradients => gradients(&view),
            ScopeKind::Loop => self.counters(&view),
            ScopeKind::Live => self.live_values(&view),
        }
    }

    fn local(&self, view: &View<'_, '_>, id: ValueId, editable: bool) -> Option<Variable> {
        let level = self.inner.stack.levels.last()?;
        let value = view.local(id)?.clone();
        let state = level.info.updates.get(&id).map(|state| format!("becomes @{state}"));
        Some(Variable { name: level.info.name(id), value, editable, note: state })
    }

    fn inputs(&self, view: &View<'_, '_>) -> Vec<Variable> {
        let Some(call) = self.step.block.calls.get(self.step.index) else { return Vec::new() };
        let mut ids: Vec<ValueId> = Vec::new();
        call.inputs.iter().for_each(|id| {
            if !ids.contains(id) {
                ids.push(*id)
            }
        });
        let editable = self.outputs.is_none();
        ids.into_iter().filter_map(|id| self.local(view, id, editable)).collect()
    }

    fn outputs(&self, view: &View<'_, '_>) -> Vec<Variable> {
        let Some(call) = self.step.block.calls.get(self.step.index) else { return Vec::new() };
        if self.outputs.is_none() {
            return Vec::new();
        }
        call.outputs().filter_map(|id| self.local(view, id, true)).collect()
    }

    fn counters(&self, view: &View<'_, '_>) -> Vec<Variable> {
        let mut variables = Vec::new();
        let mut add = |name: &str, value: Option<Value>, note: Option<&str>| {
            let note = note.map(String::from);
            let make = |value| Variable { name: name.into(), value, editable: false, note };
            variables.extend(value.map(make));
        };
        for name in ["step", "epoch", "iteration", "run"] {
            add(name, view.value(name), None);
        }
        let loss = self.inner.losses.last();
        add("loss", loss.map(|loss| Tensor::scalar(loss).into()), Some("the latest one"));
        let rates = view.inner.state.iter().flat_map(|state| state.names());
        for name in rates.filter(|name| name.ends_with(".lr") || name.ends_with("learning_rate")) {
            add(&name, view.state(&name), None);
        }
        variables
    }

    fn live_values(&self, view: &View<'_, '_>) -> Vec<Variable> {
        let mut variables = Vec::new();
        let innermost = self.inner.stack.levels.len().saturating_sub(1);
        for (depth, level) in self.inner.stack.levels.iter().enumerate().rev() {
            let ids: Vec<ValueId> = match depth == innermost {
                true => self.live.iter().map(|(id, _)| id).collect(),
                false => level.kept.iter().map(|(id, _)| *id).collect(),
            };
            for id in ids {
                let Some(value) = view.at_level(depth, id).cloned() else { continue };
                let (name, editable) = (level.info.name(id), depth == innermost);
                let note = (depth < innermost).then(|| format!("{} blocks out", innermost - depth));
                variables.push(Variable { name, value, editable, note });
            }
        }
        variables
    }

    /// Names that an expression may begin with.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.view().names();
        names.extend(function_names().iter().map(|name| name.to_string()));
        names
    }

    /// The value of an expression, or what an edit does.
    pub fn evaluate(&mut self, text: &str) -> Result<Evaluated> {
        let statement = Statement::parse(text)?;
        match &statement {
            Statement::Expr(expr) => expr.answer(&self.view()),
            Statement::Assign { name, .. } => {
                let value = statement.edited(&self.view())?;
                self.assign(name, value.clone())?;
                Ok(Evaluated::Text(format!("{name} = {}", inspect::line(&value))))
            }
        }
    }

    /// Gives a variable, or one element of it, the value of an expression.
    pub fn set(&mut self, name: &str, index: &[usize], expression: &str) -> Result<Value> {
        let view = self.view();
        let new = crate::expr::parse(expression)?.eval(&view)?;
        let Some(old) = view.value(name) else { return Err(unknown(name)) };
        let value = written(&old, index, new)?;
        self.assign(name, value.clone())?;
        Ok(value)
    }

    /// Gives a variable a value, and keeps account of it.
    fn assign(&mut self, name: &str, value: Value) -> Result<()> {
        let what = self.place_of(name, value)?;
        let pos = match self.outputs.is_some() {
            true => self.inner.stack.pos().after(),
            false => self.inner.stack.pos(),
        };
        let shown = match &what {
            Edited::Value(id, value) => {
                self.live.set(*id, value.clone())?;
                value
            }
            Edited::Output(k, value) => {
                let output = self.outputs.as_deref_mut().and_then(|outputs| outputs.get_mut(*k));
                if let Some(output) = output {
                    *output = value.clone();
                }
                value
            }
            Edited::State(name, value) => {
                self.inner.set_state(name, value.clone())?;
                value
            }
        };
        let step = self.inner.stack.step();
        let text = format!("edited at step {step}: {name} = {}", inspect::line(shown));
        self.inner.note_edit();
        self.inner.cuts = true;
        self.shared.control().edits.push(Edit { pos, what, text: text.clone() });
        let place = super::shared::place(self.step.loc);
        self.shared.emit(&Event::Output { text, kind: Output::Note, place });
        Ok(())
    }

    /// Where a variable is kept, and that it fits.
    fn place_of(&self, name: &str, value: Value) -> Result<Edited> {
        let view = self.view();
        let level = self.inner.stack.levels.last();
        let call = self.step.block.calls.get(self.step.index);
        let mut ids = level.map_or(Vec::new(), |level| level.info.values(name));
        let states = view.states(name.trim_start_matches('@'));
        if let [state] = &states[..] {
            ids.extend(view.local_of_state(state));
        }
        ids.sort_unstable();
        let id = ids.into_iter().rev().find(|&id| view.local(id).is_some());
        if let Some(id) = id {
            let of_step = call.and_then(|call| id.checked_sub(call.first_output));
            let output = of_step.map(|k| k as usize);
            let n_outputs = self.outputs.as_deref().map_or(0, <[Value]>::len);
            return Ok(match output.filter(|&k| k < n_outputs) {
                Some(k) => Edited::Output(k, value),
                None => Edited::Value(id, value),
            });
        }
        match &states[..] {
            [state] if self.inner.stack.loops().is_empty() => {
                Ok(Edited::State(state.clone(), value))
            }
            [state] => Err(Error::state(format!(
                "`{state}` is carried by a loop around, out of reach here"
            ))
            .remedy("set it at an op of the loop's own block: step until you are there")),
            [] if view.value(name).is_some() => Err(Error::state(format!(
                "`{name}` is a value of a block around, which cannot be set from here"
            ))
            .remedy("stop before the loop, and set it there")),
            [] => Err(unknown(name)),
            many => Err(Error::argument(format!("`{name}` can be {} states", many.len()))
                .remedy(format!("write one of: {}", many.join(", ")))),
        }
    }
}

fn unknown(name: &str) -> Error {
    Error::argument(format!("there is no value `{name}` here"))
        .remedy("look at the scopes, or ask for completions")
}

/// The states of some roles that the program knows.
fn of_states(view: &View<'_, '_>, roles: &[Role]) -> Vec<Variable> {
    let Some(state) = &view.inner.state else { return Vec::new() };
    let is_known = |name: &Arc<str>| match &view.inner.stack.known {
        Some(known) => known.executor.source().states.contains_key(name),
        None => true,
    };
    let mut variables = Vec::new();
    for name in state.names().into_iter().filter(is_known) {
        let Some(role) = view.role(&name).filter(|role| roles.contains(role)) else { continue };
        let Some(value) = view.state(&name) else { continue };
        let note = (role != Role::Parameter).then(|| role.name().to_string());
        variables.push(Variable { name: name.to_string(), value, editable: true, note });
    }
    variables
}

/// The gradients that are alive.
fn gradients(view: &View<'_, '_>) -> Vec<Variable> {
    let Some(state) = &view.inner.state else { return Vec::new() };
    let gradient = |name: Arc<str>| {
        let value = view.gradient(&name)?;
        let editable = view.value(&format!("{name}{GRADIENT}")).is_some();
        Some(Variable { name: format!("grad({name})"), value, editable, note: None })
    };
    state.names().into_iter().filter_map(gradient).collect()
}
