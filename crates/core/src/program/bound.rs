//! Which cells the states of a program are.

use std::collections::BTreeMap;
use std::sync::Arc;

use fluvial_tensor::{Error, Result};

use super::{Program, map_blocks};
use crate::block::{Block, Call};
use crate::cell::Cell;
use crate::op::OpRef;
use crate::state::{Bound, State};
use crate::structural::{Assign, Note, Read};
use crate::trace;
use crate::var::Var;

impl Program {
    /// The cells that states of the program are bound to, by name.
    pub fn bound(&self) -> Arc<Bound> {
        let cells = self.states.iter();
        let cells = cells.filter_map(|(name, decl)| Some((name.clone(), decl.cell.clone()?)));
        Arc::new(cells.collect())
    }

    /// The number of the scope that cells of the program [belong to](crate::Cell::belongs_to), if there are any.
    pub fn scope(&self) -> Option<u64> {
        self.states.values().find_map(|decl| decl.cell.as_ref()?.scope())
    }

    /// Refuses a scope other than the one that cells of the program belong to: they would be mixed with the values of another.
    pub fn check_scope(&self, state: &State) -> Result<()> {
        let mut cells = self.states.values().filter_map(|decl| decl.cell.as_ref());
        let is_elsewhere = |cell: &&Cell| cell.scope().is_some_and(|n| n != state.number());
        let Some(cell) = cells.find(is_elsewhere) else { return Ok(()) };
        Err(Error::state(format!(
            "`{}`, which an optimizer remembers for the values of another scope, would be used with those of this one",
            cell.label()
        ))
        .remedy("build the program in the scope where it runs, or give the optimizer a name"))
    }

    /// The program bound to nothing, as if it came from a file: its states are looked up by name, in
    /// the scope that it runs on.
    ///
    /// ```
    /// use fluvial_core::{Cell, Program, Role, State, Tensor};
    ///
    /// let w = Cell::of("w", Role::Buffer, Tensor::scalar(2.0f32));
    /// let program = Program::build(&[], |_| Ok(vec![w.read()?]))?;
    /// let scope = State::new();
    /// scope.insert("w", Role::Buffer, Tensor::scalar(5.0f32))?;
    /// let _entered = scope.enter();
    /// assert_eq!(program.apply(&[])?[0].item::<f32>()?, 2.0);
    /// assert_eq!(program.unbound().apply(&[])?[0].item::<f32>()?, 5.0);
    /// # Ok::<(), fluvial_core::Error>(())
    /// ```
    #[must_use]
    pub fn unbound(&self) -> Program {
        let mut program = self.clone();
        program.states.values_mut().for_each(|decl| decl.cell = None);
        program
    }

    /// The program bound to the cells of living objects that are listed in a scope by the names of its
    /// states and have their types: a program that was saved goes on with the layers that it was built
    /// of. What is bound already stays so, and other states are looked up by name. Which of several
    /// objects of one name is meant cannot be known: that is an error.
    pub fn bound_to_listed(&self, state: &State) -> Result<Program> {
        let mut program = self.clone();
        for (name, decl) in program.states.iter_mut().filter(|(_, decl)| decl.cell.is_none()) {
            if state.n_called(name) > 1 {
                return Err(Error::state(format!(
                    "the program has the state `{name}`, and more than one object here has a value \
                     that is called so"
                ))
                .remedy("give models different names, or load the program in a scope of its own"));
            }
            let fits = |known: &super::StateDecl| known.ty == decl.ty;
            decl.cell =
                state.listed(name).filter(|cell| cell.declaration().as_ref().is_some_and(fits));
        }
        Ok(program)
    }

    /// The program bound to the cells that a scope holds by the names of its states, which are made if
    /// there are none: it owns them, wherever it runs.
    #[must_use]
    pub fn bound_to_all(&self, state: &State) -> Program {
        let mut program = self.clone();
        for (name, decl) in &mut program.states {
            decl.cell = Some(state.cell(name).unwrap_or_else(|| state.own_cell(name)));
        }
        program
    }

    /// Makes this program a part of the one being built. States that are one cell in both are one
    /// state, whatever they are called.
    pub(super) fn inlined(&self, inputs: &[&Var]) -> Result<Vec<Var>> {
        let names = trace::names_of(&self.states)?;
        if names.is_empty() {
            self.declare_states()?;
            return self.main.apply(inputs);
        }
        let renamed = self.renamed(&names);
        renamed.declare_states()?;
        renamed.main.apply(inputs)
    }

    /// The program with other names for some of its states.
    fn renamed(&self, names: &BTreeMap<Arc<str>, Arc<str>>) -> Program {
        let name_of = |name: &Arc<str>| names.get(name).unwrap_or(name).clone();
        let states = self.states.iter().map(|(name, decl)| (name_of(name), decl.clone()));
        Program {
            states: states.collect(),
            startup: renamed_block(&self.startup, &name_of),
            main: renamed_block(&self.main, &name_of),
            ..self.clone()
        }
    }
}

fn renamed_block(block: &Block, name_of: &dyn Fn(&Arc<str>) -> Arc<str>) -> Block {
    let mut block = block.clone();
    for call in &mut block.calls {
        if let Some(op) = renamed_op(call, name_of) {
            call.op = op;
        }
    }
    block
}

/// The op of a call that reads, assigns or notes a state, here or in its blocks, under the state's other name.
pub(super) fn renamed_op(call: &Call, name_of: &dyn Fn(&Arc<str>) -> Arc<str>) -> Option<OpRef> {
    if !call.op.blocks().is_empty() {
        return map_blocks(&call.op, &mut |block| Ok(Arc::new(renamed_block(block, name_of)))).ok();
    }
    if let Some(note) = call.op.downcast::<Note>() {
        return Some(OpRef::new(Note { state: name_of(&note.state) }));
    }
    if let Some(read) = call.op.downcast::<Read>() {
        return Some(OpRef::new(Read { state: name_of(&read.state), ty: read.ty }));
    }
    let assign = call.op.downcast::<Assign>()?;
    Some(OpRef::new(Assign { state: name_of(&assign.state) }))
}
