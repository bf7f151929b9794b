//! Programs in the short form: what a person writes by hand.
//!
//! The text is carried out statement by statement while a program is built, by the same functions that programs of Rust and
//! Python call: ops by their names, layers of [`nn`](crate::nn), optimizers of [`optim`](crate::optim), initialisers of
//! [`init`](crate::init). Types are inferred, loops see what stands around them and carry the states that they change.
//! The result is a program like all others; its text is in the full form.
//!
//! ```
//! use fluvial::prelude::*;
//!
//! let text = "fluvial 1 short
//!     state @w : f64[] parameter = constant{value=3.0}
//!     main(%x: f64[]) {
//!       %y = mul(%x, @w)
//!       %loss = mul(%y, %y)
//!       %slope = grad(%loss, @w)
//!       sgd{lr=0.1}(%loss)
//!       return %loss, %slope
//!     }";
//! let program = Program::parse(text, &fluvial::short::registry())?;
//! let _state = State::new();
//! let _scope = _state.enter();
//! let outputs = program.apply(&[&Var::scalar(2.0)])?;
//! assert_eq!((outputs[0].item::<f64>()?, outputs[1].item::<f64>()?), (36.0, 24.0));
//! # Ok::<(), Error>(())
//! ```

mod functions;
mod loops;
mod statements;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fluvial_core::text::short::{Operand, Short, ShortBlock, ShortCall, ShortState};
use fluvial_core::{
    DType, Dim, Error, Program, Registry, Result, Sizes, State, Type, Var, abort_program,
    assign_state, at, begin_program, bind_at, declare_state, enable_grad, end_program,
    program_input, read_state,
};
use fluvial_ops::{full, with_stream};

use crate::init::Initializer;
use statements::Layers;

/// All ops, and the reader of the short form.
pub fn registry() -> Registry {
    fluvial_ops::registry().with_short(build)
}

/// An error and its place in the text.
type Placed<T> = std::result::Result<T, (usize, Error)>;

/// Builds the program of a short form.
fn build(short: &Short, registry: &Registry) -> Placed<Program> {
    // Names of states are those of the text, whatever lives in the scope of the thread.
    let state = State::new();
    let _scope = (state.enter(), enable_grad());
    begin_program();
    let built = Builder::new(short, registry).and_then(|mut builder| builder.program(short));
    if built.is_err() {
        abort_program();
    }
    built
}

/// What is known while a program is built.
struct Builder<'a> {
    registry: &'a Registry,
    states: BTreeMap<&'a str, &'a ShortState>,
    /// Those of them that the program has.
    declared: BTreeSet<&'a str>,
    layers: Layers,
    /// What names stand for, block by block.
    blocks: Vec<BTreeMap<Arc<str>, Var>>,
    /// What the sizes are that the text calls by name, block by block.
    sizes: Vec<Sizes>,
}

impl<'a> Builder<'a> {
    fn new(short: &'a Short, registry: &'a Registry) -> Placed<Builder<'a>> {
        let mut states = BTreeMap::new();
        for state in &short.states {
            if states.insert(&*state.name, state).is_some() {
                let error = Error::program("a state of this name is declared above");
                return Err((state.start, error));
            }
        }
        Ok(Builder {
            registry,
            states,
            declared: BTreeSet::new(),
            layers: Layers::default(),
            blocks: Vec::new(),
            sizes: Vec::new(),
        })
    }

    fn program(&mut self, short: &'a Short) -> Placed<Program> {
        self.blocks.push(BTreeMap::new());
        self.sizes.push(Sizes::default());
        for param in &short.main.params {
            let input = program_input(&param.public, param.ty).map_err(|e| (param.start, e))?;
            self.define(param.start, &param.name, input)?;
        }
        let results = self.statements(&short.main)?;
        let is_left = |state: &&ShortState| !self.declared.contains(&*state.name);
        for state in short.states.iter().filter(is_left).collect::<Vec<_>>() {
            let _ = self.read(state.start, &state.name)?;
        }
        let names = short.main.results.iter().map(|(operand, public)| match (public, operand) {
            (Some(name), _) => Ok(name.clone()),
            (None, Operand::Value(_, name) | Operand::State(_, name)) => Ok(name.clone()),
            (None, Operand::Number(start, _)) => {
                Err((*start, Error::program("this output has no name").remedy("add `as NAME`")))
            }
        });
        let names = names.collect::<Placed<Vec<Arc<str>>>>()?;
        let outputs: Vec<(&str, &Var)> = names.iter().map(|name| &**name).zip(&results).collect();
        let end = short.main.results.first().map_or(0, |(operand, _)| operand.start());
        let program = end_program(&outputs).map_err(|error| {
            // The program is given up already; there is one to give up for the caller.
            begin_program();
            (end, error)
        })?;
        Ok(program.unbound())
    }

    /// Carries out the statements of a block; what it returns.
    fn statements(&mut self, block: &'a ShortBlock) -> Placed<Vec<Var>> {
        for call in &block.calls {
            let _line = at(call.loc);
            let outputs = self.statement(call)?;
            self.bind_outputs(call, outputs)?;
        }
        let results = block.results.iter();
        results.map(|(operand, _)| self.operand(operand, DType::F32)).collect()
    }

    fn bind_outputs(&mut self, call: &'a ShortCall, outputs: Vec<Var>) -> Placed<()> {
        let fault = |message: String| (call.start, Error::program(message));
        let (wanted, n) = (call.outputs.len(), outputs.len());
        if wanted != n {
            return Err(fault(format!("`{}` gives {n} values, which get {wanted} names", call.op)));
        }
        if !call.types.is_empty() && call.types.len() != n {
            return Err(fault(format!("{} types are said for {n} values", call.types.len())));
        }
        for (declared, output) in call.types.iter().zip(&outputs) {
            self.check(declared, &output.ty()).map_err(|error| (call.start, error))?;
        }
        for ((start, name), output) in call.outputs.iter().zip(outputs) {
            self.define(*start, name, output.named(name))?;
        }
        Ok(())
    }

    /// An error unless a value has the type that the text says.
    fn check(&mut self, declared: &Type, found: &Type) -> Result<()> {
        let Some(sizes) = self.sizes.last_mut() else { return Ok(()) };
        let differs = || {
            Error::shape(format!("the text says {declared}, but it is {found}"))
                .remedy("correct the type, or leave it out")
        };
        match declared.is_symbolic() {
            true => sizes.unify(declared, found).map_err(|_| differs()),
            false if declared == found => Ok(()),
            false => Err(differs()),
        }
    }

    fn define(&mut self, start: usize, name: &Arc<str>, value: Var) -> Placed<()> {
        let Some(known) = self.blocks.last_mut() else { return Ok(()) };
        if known.contains_key(name) {
            return Err((start, Error::program(format!("%{name} is defined above already"))));
        }
        known.insert(name.clone(), value);
        Ok(())
    }

    /// What an operand stands for; a number is of the element type `dtype`.
    fn operand(&mut self, operand: &Operand, dtype: DType) -> Placed<Var> {
        match operand {
            Operand::Value(start, name) => {
                let found = self.blocks.iter().rev().find_map(|block| block.get(name));
                found.cloned().ok_or_else(|| {
                    (*start, Error::program(format!("%{name} is not defined above")))
                })
            }
            Operand::State(start, name) => self.read(*start, name),
            Operand::Number(start, number) => {
                let is_whole = number.fract() == 0.0;
                match dtype.is_float() || is_whole {
                    true => full(&[] as &[Dim], *number, dtype).map_err(|e| (*start, e)),
                    false => Err((
                        *start,
                        Error::argument(format!("{number} is not a number of {dtype}")),
                    )),
                }
            }
        }
    }

    /// What operands stand for: numbers are of the element type of the first other one.
    fn operands(&mut self, operands: &[Operand]) -> Placed<Vec<Var>> {
        let first = operands.iter().find(|one| !matches!(one, Operand::Number(..)));
        let dtype = match first {
            Some(first) => self.operand(first, DType::F32)?.dtype(),
            None => DType::F32,
        };
        operands.iter().map(|operand| self.operand(operand, dtype)).collect()
    }

    /// What a state holds; it gets its initial value in the startup block.
    fn read(&mut self, start: usize, name: &str) -> Placed<Var> {
        let Some(&state) = self.states.get(name) else {
            // States of layers and optimizers are known by name, too.
            return read_state(name).map_err(|error| (start, error));
        };
        if !self.declared.insert(&state.name) {
            return read_state(name).map_err(|error| (start, error));
        }
        let placed = |error: Error| (state.start, error);
        let init = Initializer::named(&state.init.0, &state.init.1).map_err(placed)?;
        let _line = at(state.loc);
        let draw = || match init.is_random() {
            true => with_stream(name, || init.draw(&state.ty)),
            false => init.draw(&state.ty),
        };
        declare_state(name, state.ty, state.role, draw).map_err(placed)
    }

    fn statement(&mut self, call: &'a ShortCall) -> Placed<Vec<Var>> {
        if let Some(block) = &call.block {
            return self.loop_of(call, block);
        }
        let placed = |error: Error| (call.start, error);
        match call.op.as_str() {
            "grad" => self.gradients(call),
            "assign" => {
                let values = self.operands(&call.operands)?;
                let (Some(name), [value]) = (statements::text(call, "state"), &values[..]) else {
                    let what = "`assign{state=\"NAME\"}` takes one value";
                    return Err(placed(Error::argument(what)));
                };
                let _ = self.read(call.start, name)?;
                assign_state(name, value).map_err(placed)?;
                Ok(Vec::new())
            }
            "read" => Err(placed(
                Error::program("a state is read by its name").remedy("write `@NAME` as an operand"),
            )),
            op if Layers::knows(op) => self.layer(call),
            op if statements::is_optimizer(op) => self.optimizer(call),
            op => {
                // A size that the text calls by name may have another name in a loop.
                let sizes = self.sizes.last().cloned().unwrap_or_default();
                let attrs = call.attrs.substitute(&|size| sizes.get(size)).map_err(placed)?;
                if functions::is_function(op) {
                    return self.function(call, &attrs);
                }
                let made = self.registry.make(op, &attrs).map_err(|error| {
                    placed(match self.registry.defs().any(|def| def.name == op) {
                        true => error,
                        false => statements::unknown(op),
                    })
                })?;
                let inputs = self.operands(&call.operands)?;
                let inputs: Vec<&Var> = inputs.iter().collect();
                let outputs = bind_at(made, &inputs, call.loc).map_err(placed)?;
                Ok(outputs.into_iter().collect())
            }
        }
    }
}
