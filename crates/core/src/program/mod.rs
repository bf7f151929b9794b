//! Programs: a main block, the states it reads and assigns, and the startup block that gives them
//! their initial values.

mod bound;
mod build;
mod fingerprint;
mod merge;
mod startup;
mod stateless;
mod transform;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fluvial_tensor::{Error, Loc, Result, Type};

pub use build::{
    Draft, abort_program, begin_program, end_program, program_input, resume_program,
    snapshot_program, suspend_program,
};
pub use stateless::Stateless;
pub use transform::map_blocks;

use crate::block::{Block, Call};
use crate::cell::Cell;
use crate::scope::{self, Mode};
use crate::state;
use crate::step;
use crate::structural::Assign;
use crate::var::Var;

/// A program: data that can be printed, saved, checked, differentiated and run.
///
/// Sizes may be symbols, so one program serves every batch size.
#[derive(Clone, Default, PartialEq)]
pub struct Program {
    /// The named states.
    pub states: BTreeMap<Arc<str>, StateDecl>,
    /// Computes initial values and assigns them. A state that has a value already keeps it.
    pub startup: Block,
    /// The program proper; its parameters are the inputs, its results the outputs.
    pub main: Block,
    /// The names of the inputs.
    pub inputs: Vec<Arc<str>>,
    /// The names of the outputs.
    pub outputs: Vec<Arc<str>>,
}

/// What a program says of a state.
#[derive(Clone, Debug)]
pub struct StateDecl {
    /// The type.
    pub ty: Type,
    /// What it is for.
    pub role: Role,
    /// The cell that it is, if the program is bound to one: that of the layer or the optimizer that
    /// it was built of. Programs are equal whatever they are bound to, and files know no cells.
    pub cell: Option<Cell>,
}

impl StateDecl {
    /// Of a state that is looked up by its name.
    pub fn new(ty: Type, role: Role) -> StateDecl {
        StateDecl { ty, role, cell: None }
    }

    /// Of a state that is this cell.
    pub(crate) fn with_cell(self, cell: &Cell) -> StateDecl {
        StateDecl { cell: Some(cell.clone()), ..self }
    }
}

impl PartialEq for StateDecl {
    fn eq(&self, other: &StateDecl) -> bool {
        (self.ty, self.role) == (other.ty, other.role)
    }
}

impl Eq for StateDecl {}

/// What a state is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Trained: reading it gives a leaf.
    Parameter,
    /// Kept with the model but not trained (running means).
    Buffer,
    /// Belongs to an optimizer.
    Optimizer,
    /// A random stream.
    Random,
    /// A counter of steps or epochs.
    Counter,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 5] =
        [Role::Parameter, Role::Buffer, Role::Optimizer, Role::Random, Role::Counter];

    /// The name in program files.
    pub fn name(self) -> &'static str {
        match self {
            Role::Parameter => "parameter",
            Role::Buffer => "buffer",
            Role::Optimizer => "optimizer",
            Role::Random => "random",
            Role::Counter => "counter",
        }
    }

    /// The role of that name.
    pub fn parse(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Program {
    /// The descriptions of the readers that loops go through, and the lines of these.
    pub fn readers(&self) -> BTreeMap<Arc<str>, Loc> {
        fn within(block: &Block, found: &mut BTreeMap<Arc<str>, Loc>) {
            for call in &block.calls {
                found.extend(call.op.reader().map(|reader| (Arc::from(reader), call.loc)));
                call.op.blocks().iter().for_each(|block| within(block, found));
            }
        }
        let mut found = BTreeMap::new();
        within(&self.main, &mut found);
        found
    }

    /// The states that a run assigns.
    pub fn assigned(&self) -> Vec<Arc<str>> {
        let assign = |call: &Call| call.op.downcast::<Assign>().map(|op| op.state.clone());
        let names: BTreeSet<Arc<str>> = self.main.calls.iter().filter_map(assign).collect();
        names.into_iter().collect()
    }

    /// The types of the inputs.
    pub fn input_types(&self) -> &[Type] {
        self.main.param_types()
    }

    /// The types of the outputs.
    pub fn output_types(&self) -> impl Iterator<Item = &Type> {
        self.main.result_types()
    }

    /// The position of the output of that name.
    pub fn output(&self, name: &str) -> Result<usize> {
        self.outputs.iter().position(|known| &**known == name).ok_or_else(|| {
            let known = self.outputs.join(", ");
            Error::argument(format!("the program has no output `{name}`"))
                .remedy(format!("its outputs are: {known}"))
        })
    }

    /// Applies the program, in either mode. In imperative mode it runs, on the cells that it is bound
    /// to and on the state scope of the thread, after states without a value got their first one;
    /// while building, it becomes part of the program being built, with its states and their
    /// initialisers.
    #[track_caller]
    pub fn apply(&self, inputs: &[&Var]) -> Result<Vec<Var>> {
        let loc = scope::user_line();
        if inputs.len() != self.inputs.len() {
            return Err(Error::argument(format!(
                "the program takes {} inputs ({}), got {}",
                self.inputs.len(),
                self.inputs.join(", "),
                inputs.len()
            ))
            .at(loc));
        }
        let run = || match scope::mode() {
            Mode::Imperative => {
                let state = state::current().bound_to(&self.bound());
                self.initialise(&state)?;
                let _turn = step::turn(state.all_of(&self.assigned()))?;
                let _scope = state.enter();
                // Call by call, a stop may come between two assignments.
                step::whole(|| self.main.apply(inputs))
            }
            Mode::Building => self.inlined(inputs),
        };
        run().map_err(|error| error.at(loc))
    }
}
