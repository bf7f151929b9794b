//! What a run began with: a run that goes on must have been given the same.

use std::collections::BTreeMap;

use fluvial_core::{Error, Result, State, Value};
use fluvial_data::{Reader, checksum, files};

use super::states_of;
use crate::attach::Start;
use crate::executor::Executor;

/// Checksums by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) inputs: BTreeMap<String, u32>,
    /// The initial values of states.
    pub(super) states: BTreeMap<String, u32>,
    /// The files that loops read, and how long they were.
    pub(super) files: BTreeMap<String, (u64, u32)>,
}

impl Begun {
    /// Of a run that is about to start, whose states have their initial values.
    pub(super) fn of(executor: &Executor, start: &Start) -> Result<Begun> {
        let mut begun = Begun::unknown(executor)?;
        begun.inputs = inputs(executor, start)?;
        for (name, _, value) in states_of(executor.state())? {
            begun.states.insert(name.to_string(), sum(&value)?);
        }
        Ok(begun)
    }

    /// Of a run that is taken up from a checkpoint that does not say it: from now on its data is known.
    pub(super) fn unknown(executor: &Executor) -> Result<Begun> {
        let mut begun = Begun::default();
        for reader in executor.compiled().program.readers().into_keys() {
            for path in reader.parse::<Reader>()?.paths() {
                if !begun.files.contains_key(&*path) {
                    let sum = files::checksum(&path)?;
                    begun.files.insert(path.to_string(), sum);
                }
            }
        }
        Ok(begun)
    }

    /// An error if something else is given than the run began with.
    pub(super) fn check(&self, executor: &Executor, start: &Start, given: &[String]) -> Result<()> {
        for (name, sum) in inputs(executor, start)? {
            if self.inputs.get(&name).is_some_and(|known| *known != sum) {
                return Err(changed(&format!("the input `{name}` is")));
            }
        }
        self.check_states(executor.state(), given)?;
        for (path, known) in &self.files {
            if files::checksum(path)? != *known {
                return Err(changed(&format!("the contents of `{path}` are, by their checksum,")));
            }
        }
        Ok(())
    }

    fn check_states(&self, state: &State, given: &[String]) -> Result<()> {
        for (name, _, value) in states_of(state)? {
            if given.iter().any(|given| *given == *name)
                && self.states.get(&*name) != Some(&sum(&value)?)
            {
                return Err(changed(&format!("the state `{name}` is given a value that is")));
            }
        }
        Ok(())
    }
}

fn changed(what: &str) -> Error {
    Error::state(format!("{what} not what the run began with"))
        .remedy("a run goes on as it began: leave the change out, or begin a new run, in another folder, with the states of this checkpoint")
}

fn inputs(executor: &Executor, start: &Start) -> Result<BTreeMap<String, u32>> {
    let Start::Inputs(values) = start else { return Ok(BTreeMap::new()) };
    let names = executor.compiled().program.inputs.iter();
    names.zip(values).map(|(name, value)| Ok((name.to_string(), sum(value)?))).collect()
}

/// The checksum of a value, with its type.
fn sum(value: &Value) -> Result<u32> {
    match value {
        Value::Tensor(_) | Value::Device(_) => checksum(value.tensor()?),
        Value::List(list) => {
            let mut all = Vec::new();
            for value in list.iter() {
                all.extend(sum(value)?.to_le_bytes());
            }
            checksum(&fluvial_core::Tensor::from_slice(&all, &[all.len()])?)
        }
        Value::Channel(_) => Err(Error::argument("a channel has no checksum")),
    }
}
