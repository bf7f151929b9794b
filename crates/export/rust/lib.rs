//! A program with its weights, and only those kernels that it needs.

use std::path::Path;

use fluvial_core::{
    Error, ErrorKind, OpDef, Program, Registry, Result, State, Tensor, Var, no_grad,
};
use fluvial_data::{files, safetensors};

static PROGRAM: &[u8] = include_bytes!("@NAME@.flb");
static WEIGHTS: &[u8] = include_bytes!("@NAME@.safetensors");

/// The ops of the program. They are looked up while this is compiled, so that no others are linked.
const OPS: &[OpDef] = &[
@OPS@];

const fn op(name: &str) -> OpDef {
    match found(fluvial_ops::OPS, name) {
        Some(def) => def,
        None => match found(fluvial_compile::OPS, name) {
            Some(def) => def,
            None => panic!("these crates of Fluvial have no op of this name"),
        },
    }
}

const fn found(defs: &[OpDef], name: &str) -> Option<OpDef> {
    let mut i = 0;
    while i < defs.len() {
        if same(defs[i].name.as_bytes(), name.as_bytes()) {
            return Some(defs[i]);
        }
        i += 1;
    }
    None
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    a.len() == b.len() && i == a.len()
}

/// The program with its states. Runs of several threads take turns where they assign states.
pub struct Model {
    program: Program,
    state: State,
}

impl Model {
    /// The program with its initial states.
    pub fn new() -> Result<Model> {
        let registry = Registry::structural().with(OPS)?;
        let program = Program::from_bytes(PROGRAM, &registry)?;
        let model = Model { program, state: State::new() };
        let mut bytes = WEIGHTS;
        model.take(safetensors::read_all(&mut bytes, WEIGHTS.len() as u64, "the weights")?)?;
        Ok(model)
    }

    /// What it takes, with the types.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &fluvial_core::Type)> {
        let names = self.program.inputs.iter().map(|name| &**name);
        names.zip(self.program.input_types())
    }

    /// What it gives.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.program.outputs.iter().map(|name| &**name)
    }

    /// Runs it once, and gives its outputs in order: a prediction, or a step of a training, which changes states.
    pub fn run(&self, inputs: &[(&str, Tensor)]) -> Result<Vec<Tensor>> {
        let _ways = (self.state.enter(), no_grad());
        let mut given = Vec::new();
        for name in &self.program.inputs {
            let input = inputs.iter().find(|(known, _)| *known == &**name);
            let (_, tensor) =
                input.ok_or_else(|| Error::argument(format!("the input `{name}` is missing")))?;
            given.push(Var::new(tensor.clone()));
        }
        if let Some((name, _)) =
            inputs.iter().find(|(name, _)| self.program.inputs.iter().all(|own| **own != **name))
        {
            let known = self.program.inputs.join(", ");
            return Err(Error::argument(format!("there is no input `{name}`"))
                .remedy(format!("the inputs are: {known}")));
        }
        let found = self.program.apply(&given.iter().collect::<Vec<_>>())?;
        found.iter().map(|var| var.tensor().cloned()).collect()
    }

    /// Writes all states to a file, `.safetensors`.
    pub fn save(&self, path: &Path) -> Result<()> {
        let names: Vec<&str> = self.program.states.keys().map(|name| &**name).collect();
        let values = names.iter().map(|name| self.state.tensor(name)).collect::<Result<Vec<_>>>()?;
        let all: Vec<(&str, &Tensor)> = names.iter().copied().zip(&values).collect();
        let shown = path.display().to_string();
        files::write_at(path, |to| safetensors::write(to, &all, &shown))
    }

    /// Reads states from a file that `save` has written.
    pub fn load(&self, path: &Path) -> Result<()> {
        let shown = path.display().to_string();
        let io = |error| files::io(&shown, error);
        let bytes = std::fs::read(path).map_err(io)?;
        self.take(safetensors::read_all(&mut &bytes[..], bytes.len() as u64, &shown)?)
    }

    fn take(&self, values: safetensors::File) -> Result<()> {
        for (name, decl) in &self.program.states {
            let value = values.tensors.iter().find(|(known, _)| **known == **name);
            let (_, tensor) = value.ok_or_else(|| {
                Error::new(ErrorKind::File, format!("the state `{name}` is missing"))
            })?;
            if tensor.ty() != decl.ty {
                return Err(Error::shape(format!(
                    "the state `{name}` is {}, but the file has {}",
                    decl.ty,
                    tensor.ty()
                )));
            }
            self.state.insert(name, decl.role, tensor.clone())?;
        }
        Ok(())
    }
}
