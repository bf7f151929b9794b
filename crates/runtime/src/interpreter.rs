//! The reference interpreter.

use std::sync::Arc;

use fluvial_core::{
    Program, Result, State, Tensor, Var, imperative, no_grad, scope, tasks, verify,
};

use crate::feeds;

/// Runs a program on a state scope. Clones share the program; `run` may be called from several
/// threads at once.
#[derive(Clone)]
pub struct Interpreter {
    program: Arc<Program>,
    state: State,
}

impl Interpreter {
    /// For a program and the scope that holds its state. The program is verified once.
    pub fn new(program: Program, state: State) -> Result<Interpreter> {
        verify(&program)?;
        let state = state.bound_to(&program.bound());
        Ok(Interpreter { program: Arc::new(program), state })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The state scope.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Runs the startup block for the states that have no value yet. `run` does so by itself.
    pub fn initialise(&self) -> Result<()> {
        self.program.initialise(&self.state)
    }

    /// Runs the program on inputs given by name, and returns its outputs in order.
    #[track_caller]
    pub fn run(&self, feeds: &[(&str, Tensor)]) -> Result<Vec<Tensor>> {
        let loc = scope::user_line();
        let inputs = feeds::in_order(&self.program, feeds).map_err(|error| error.at(loc))?;
        let inputs: Vec<Var> = inputs.into_iter().map(|tensor| Var::new(tensor.clone())).collect();
        let _scope = (imperative(), no_grad(), self.state.enter());
        let apply = || self.program.apply(&inputs.iter().collect::<Vec<_>>());
        let outputs = match self.program.main.has_tasks() {
            false => apply()?,
            true => tasks::run(apply)?,
        };
        outputs.iter().map(|output| output.tensor().cloned()).collect()
    }
}
