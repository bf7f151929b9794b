//! The reference interpreter.

use std::sync::Arc;

use fluvial_core::{Error, Program, Result, State, Tensor, Var, imperative, no_grad, verify};

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
        let inputs = self.inputs(feeds)?;
        let _scope = (imperative(), no_grad(), self.state.enter());
        let outputs = self.program.apply(&inputs.iter().collect::<Vec<_>>())?;
        outputs.iter().map(|output| output.tensor().cloned()).collect()
    }

    fn inputs(&self, feeds: &[(&str, Tensor)]) -> Result<Vec<Var>> {
        let known = &self.program.inputs;
        if let Some((name, _)) = feeds.iter().find(|(name, _)| !known.iter().any(|n| **n == **name))
        {
            return Err(Error::argument(format!("the program has no input `{name}`"))
                .remedy(format!("its inputs are: {}", known.join(", "))));
        }
        let find = |name: &Arc<str>| {
            let feed = feeds.iter().find(|(fed, _)| **fed == **name);
            feed.map(|(_, tensor)| Var::new(tensor.clone())).ok_or_else(|| {
                Error::argument(format!("the input `{name}` was not fed"))
                    .remedy("feed every input by its name")
            })
        };
        known.iter().map(find).collect()
    }
}
