//! Runs of compiled programs on a device: the fused program, call by call. The device is told of all of them one after the
//! other and waits for nobody, so between steps of the host its work is one stretch.

use fluvial_compile::Options;
use fluvial_core::{Error, Result, State, Value, Var, device, imperative, no_grad};

use crate::executor::{Executor, Inputs};

/// Passes that make ops which no device runs as one, from two that it does run.
const WITHOUT: [&str; 1] = ["epilogues"];

impl Executor {
    /// The device on which a run with these inputs takes place, if an input or a state is on one, or one was chosen.
    pub(crate) fn device(&self, inputs: &[Value]) -> Option<String> {
        if !device::is_used() {
            return None;
        }
        let of_value = |value: &Value| value.device().map(|device| device.name().to_string());
        let of_state = |name| {
            let held = self.state().read(name).ok()?;
            of_value(held.value().ok()?)
        };
        let mut names = self.compiled().program.states.keys();
        let found =
            inputs.iter().find_map(of_value).or_else(|| names.find_map(|name| of_state(name)));
        found.or_else(|| device::chosen().map(|device| device.name().to_string()))
    }

    /// An error if a run would take place on a device, where nobody can follow it.
    pub(crate) fn refuse_device(&self, inputs: &[Value]) -> Result<()> {
        match self.device(inputs) {
            Some(name) => Err(Error::argument(format!(
                "a run on {name} is not observed, debugged, suspended or written to checkpoints"
            ))
            .remedy("bring states and inputs to the CPU for this run: `x.to(\"cpu\")`, `net.to(\"cpu\")`")),
            None => Ok(()),
        }
    }

    /// The program as devices run it.
    pub(crate) fn for_devices(&self) -> Result<Executor> {
        let compile = || {
            let program = &self.compiled().program;
            let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
            let mut options: Options = self.options().clone();
            options.without.extend(WITHOUT.map(String::from));
            Executor::with(self.source(), &outputs, State::new(), &options)
        };
        self.variant(compile)
    }

    /// Runs the program on the device where its inputs and states are.
    pub(crate) fn run_on_device(&self, inputs: Inputs) -> Result<Vec<Value>> {
        let executor = self.for_devices()?;
        let _scope = (imperative(), no_grad(), executor.state().enter());
        executor.initialise()?;
        let _turn = executor.turn()?;
        let vars: Vec<Var> = inputs.into_iter().map(Var::new).collect();
        let program = &executor.compiled().program;
        let outputs = executor.to_the_end(|| program.apply(&vars.iter().collect::<Vec<_>>()))?;
        outputs.into_iter().map(Var::take_value).collect()
    }
}
