//! First values of states: each state is initialised once, whatever is run how often.

use std::collections::BTreeSet;
use std::sync::Arc;

use fluvial_tensor::{Error, Result, Tensor};

use super::Program;
use crate::scope;
use crate::state::State;
use crate::structural::{Assign, Read};

impl Program {
    /// Gives every state of the program that has no value in `state` its first one. States that
    /// have a value keep it; if an initialiser fails, none is added. A state that the main block assigns before
    /// it reads it, as startup programs do, needs no initialiser: it is zero until then.
    pub fn initialise(&self, state: &State) -> Result<()> {
        for cell in self.states.keys().filter_map(|name| state.bound_cell(name)) {
            if !cell.has_value() {
                state.claim(&cell)?;
            }
        }
        let by_name = self.states.iter().filter(|(_, decl)| decl.cell.is_none());
        state.settle(by_name.map(|(name, _)| name));
        let missing: BTreeSet<Arc<str>> =
            self.states.keys().filter(|name| !state.holds(name)).cloned().collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.startup.check_form()?;
        let block = self.startup_for(&missing, &|name| state.holds(name));
        let assigned: BTreeSet<&Arc<str>> = block
            .calls
            .iter()
            .filter_map(|call| call.op.downcast::<Assign>().map(|assign| &assign.state))
            .collect();
        let is_given = |name: &Arc<str>| assigned.contains(name) || self.assigns_first(name);
        if let Some(name) = missing.iter().find(|name| !is_given(name)) {
            return Err(Error::state(format!("state `{name}` has no value and no initialiser"))
                .remedy("load it from a file, or merge the program with its startup program"));
        }
        // The block runs on a scope of its own, so that a failure leaves nothing half done.
        let draft = State::new();
        for call in &block.calls {
            if let Some(read) = call.op.downcast::<Read>()
                && let Some(known) = state.declaration(&read.state)
            {
                draft.insert(&read.state, known.role, state.tensor(&read.state)?)?;
            }
        }
        for name in &missing {
            let decl = &self.states[name];
            let sizes = decl.ty.sizes().ok_or_else(|| {
                Error::state(format!("state `{name}` is {}, whose sizes are not known", decl.ty))
            })?;
            draft.insert(name, decl.role, Tensor::zeros(decl.ty.dtype(), &sizes)?)?;
        }
        {
            let _scope = (scope::imperative(), scope::no_grad(), draft.enter());
            block.apply(&[])?;
        }
        state.insert_missing(&missing, &draft)
    }

    /// Whether the main block assigns a state before it reads it.
    fn assigns_first(&self, name: &Arc<str>) -> bool {
        self.main
            .calls
            .iter()
            .find_map(|call| match call.op.downcast::<Assign>() {
                Some(assign) => (assign.state == *name).then_some(true),
                None => {
                    let read = call.op.downcast::<Read>()?;
                    (read.state == *name).then_some(false)
                }
            })
            .unwrap_or(false)
    }
}
