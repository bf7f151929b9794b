//! What can be seen and set while a program is stopped.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use fluvial_core::{Error, Result, Role, Tensor, Value, ValueId};

use fluvial_runtime::PARTS;

use super::halt::Paused;
use super::pos::Pos;
use super::recording;
use super::shared::{Edit, Edited};
use super::view::{Bound, GRADIENT, View};
use crate::expr::{Context, Statement, function_names, written};
use crate::inspect;
use crate::target::{Evaluated, Event, Output, Scope, ScopeKind, Variable};

impl Paused<'_, '_> {
    /// What there is to see.
    pub fn scopes(&mut self) -> Vec<Scope> {
        let mut scope = |kind: ScopeKind| {
            let expensive = matches!(
                kind,
                ScopeKind::Variables
                    | ScopeKind::Gradients
                    | ScopeKind::Optimizer
                    | ScopeKind::Live
            );
            let count = (!expensive).then(|| self.variables(kind).len());
            Scope { kind, count, expensive }
        };
        ScopeKind::ALL.into_iter().map(&mut scope).collect()
    }

    /// The variables of a scope.
    pub fn variables(&mut self, kind: ScopeKind) -> Vec<Variable> {
        if kind == ScopeKind::Variables {
            return self.bound();
        }
        let view = self.view();
        match kind {
            ScopeKind::Variables => Vec::new(),
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

    /// The variables that the user's function has bound. What is gone is computed again.
    fn bound(&mut self) -> Vec<Variable> {
        let mut variables = Vec::new();
        for name in self.bound_names() {
            let (value, note) = match self.view().variable(&name) {
                Bound::Alive(value) => (Some(value), None),
                _ => {
                    let found = self.recall(std::slice::from_ref(&name));
                    let value = found.ok().and_then(|mut found| found.remove(&name));
                    (value, Some("computed again".to_string()))
                }
            };
            let editable = note.is_none();
            variables.extend(value.map(|value| Variable { name, value, editable, note }));
        }
        variables
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
        names.extend(self.bound_names());
        names.sort();
        names.dedup();
        names.extend(function_names().iter().map(|name| name.to_string()));
        names
    }

    /// The value of an expression, or what an edit does.
    pub fn evaluate(&mut self, text: &str) -> Result<Evaluated> {
        let statement = Statement::parse(text)?;
        match &statement {
            Statement::Expr(expr) => self.seeing(|view| expr.answer(view)),
            Statement::Assign { name, .. } => {
                let value = self.seeing(|view| statement.edited(view))?;
                self.assign(name, value.clone())?;
                Ok(Evaluated::Text(format!("{name} = {}", inspect::line(&value))))
            }
        }
    }

    /// Gives a variable, or one element of it, the value of an expression.
    pub fn set(&mut self, name: &str, index: &[usize], expression: &str) -> Result<Value> {
        let expression = crate::expr::parse(expression)?;
        let new = self.seeing(|view| expression.eval(view))?;
        let view = self.view();
        let Some(old) = view.value(name) else { return Err(unknown(name)) };
        let value = written(&old, index, new)?;
        self.assign(name, value.clone())?;
        match (index, &value) {
            ([first, ..], Value::List(list)) => {
                list.iter().nth(*first).cloned().ok_or_else(|| unknown(name))
            }
            ([], _) => Ok(value),
            (index, Value::Tensor(_) | Value::Device(_)) => {
                let tensor = value.tensor()?;
                let element = index.iter().try_fold(tensor.clone(), |row, &i| row.index(0, i))?;
                Ok(element.into())
            }
            (_, Value::Channel(_)) => Err(unknown(name)),
        }
    }

    /// Evaluates something; variables whose values are gone are computed again for it.
    fn seeing<T>(&mut self, evaluate: impl Fn(&View<'_, '_>) -> Result<T>) -> Result<T> {
        let mut recalled: HashMap<String, Value> = HashMap::new();
        loop {
            let (result, wanted) = {
                let view = View { recalled: Some(&recalled), ..self.view() };
                let result = evaluate(&view);
                let mut wanted = view.gone.take();
                if result.is_err() && wanted.is_empty() {
                    wanted = view.unbound.take();
                }
                (result, wanted)
            };
            let Err(error) = result else { return result };
            // What no line binds is a name that was mistyped.
            let known = self.bound_names();
            let is_new = |name: &String| !recalled.contains_key(name) && known.contains(name);
            let Some(name) = wanted.into_iter().find(is_new) else { return Err(error) };
            recalled.extend(self.recall(&[name])?);
        }
    }

    /// Writes what is kept of the run into a file.
    pub fn record(&self, path: &Path) -> Result<String> {
        let edits: Vec<Edit> = {
            let control = self.shared.control();
            let own = control.edits.iter().filter(|edit| edit.thread == self.lane.thread);
            own.cloned().collect()
        };
        recording::write(&self.lane.history(), &self.pos(), &edits, path)
    }

    /// Gives a variable a value, and keeps account of it.
    fn assign(&mut self, name: &str, value: Value) -> Result<()> {
        let text = {
            let step = self.inner.stack.step();
            format!("edited at step {step}: {name} = {}", inspect::line(&value))
        };
        let edits = self.places_of(name, value)?;
        for (depth, _, what) in &edits {
            match what {
                Edited::Value(id, value) if depth + 1 == self.inner.stack.levels.len() => {
                    self.live.set(*id, value.clone())?;
                }
                // It is set when the op that is run call by call is done, and shown already.
                Edited::Value(id, value) => {
                    let level = self.inner.stack.levels.get_mut(*depth);
                    let kept = level
                        .and_then(|level| level.kept.iter_mut().find(|(known, _)| known == id));
                    if let Some((_, kept)) = kept {
                        *kept = value.clone();
                    }
                }
                Edited::Output(k, value) => {
                    let output =
                        self.outputs.as_deref_mut().and_then(|outputs| outputs.get_mut(*k));
                    if let Some(output) = output {
                        *output = value.clone();
                    }
                }
                Edited::State(name, value) => self.inner.set_state(name, value.clone())?,
            }
        }
        self.inner.note_edit();
        (self.inner.cuts, self.inner.has_edits) = (true, true);
        {
            let mut control = self.shared.control();
            for (i, (_, pos, what)) in edits.into_iter().enumerate() {
                let text = if i == 0 { text.clone() } else { String::new() };
                control.edits.push(Edit { thread: self.lane.thread, pos, what, text });
            }
        }
        let place = super::shared::place(self.step.loc);
        self.shared.emit(&Event::Output { text, kind: Output::Note, place });
        Ok(())
    }

    /// Where a variable is kept: the depth, when it is set, and what. A state is an operand of an op that is run call
    /// by call, and a value of the block around, too.
    fn places_of(&self, name: &str, value: Value) -> Result<Vec<(usize, Pos, Edited)>> {
        let view = self.view();
        let stack = &self.inner.stack;
        let states = view.states(name);
        if states.len() > 1 {
            return Err(Error::argument(format!("`{name}` can be {} states", states.len()))
                .remedy(format!("write one of: {}", states.join(", "))));
        }
        if matches!(view.variable(name), Bound::Gone) {
            return Err(Error::state(format!(
                "nothing uses `{name}` any more: an edit would change nothing"
            ))
            .remedy("stop at the line that binds it, or at one that uses it, and set it there"));
        }
        let innermost = stack.levels.len().saturating_sub(1);
        let mut found = Vec::new();
        for (depth, level) in stack.levels.iter().enumerate().rev() {
            if depth < innermost && level.entered != PARTS {
                break;
            }
            let mut ids = level.info.values(name);
            for map in [&level.info.updates, &level.info.states] {
                let of_state = map.iter().filter(|(_, state)| states.contains(state));
                ids.extend(of_state.map(|(&id, _)| id));
            }
            ids.sort_unstable();
            let id = ids.into_iter().rev().find(|&id| view.at_level(depth, id).is_some());
            let Some(id) = id else { continue };
            let call = level.info.block.calls.get(level.index);
            let k = call.and_then(|call| id.checked_sub(call.first_output)).map(|k| k as usize);
            let n_outputs = self.outputs.as_deref().map_or(0, <[Value]>::len);
            let what = match k.filter(|&k| depth == innermost && k < n_outputs) {
                Some(k) => Edited::Output(k, value.clone()),
                None => Edited::Value(id, value.clone()),
            };
            let is_after = depth < innermost || self.outputs.is_some();
            let pos = stack.pos_at(depth);
            found.push((depth, if is_after { pos.after() } else { pos }, what));
        }
        let pos = stack.pos_at(innermost);
        let pos = if self.outputs.is_some() { pos.after() } else { pos };
        if !found.is_empty() {
            // Outside of loops the run has read the state, and those after it read it again.
            if let Some(state) = states.first().filter(|_| stack.loops().is_empty()) {
                found.push((innermost, pos, Edited::State(state.clone(), value)));
            }
            return Ok(found);
        }
        match states.first() {
            Some(state) if stack.loops().is_empty() => {
                Ok(vec![(innermost, pos, Edited::State(state.clone(), value))])
            }
            Some(state) => Err(Error::state(format!(
                "`{state}` is carried by a loop around, out of reach here"
            ))
            .remedy("set it at an op of that loop's own block: step until you are there")),
            None if view.value(name).is_some() => {
                Err(Error::state(format!("`{name}` cannot be set from here"))
                    .remedy("stop in the block that it belongs to, and set it there"))
            }
            None => Err(unknown(name)),
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
