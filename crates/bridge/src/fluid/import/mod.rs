//! Programs of Fluid as programs of ours: ops are run over values, and what is run while a program is built is the
//! program. `table` has an entry for each op; the modules of families hold them. `interface` finds out what is fed, fetched
//! and kept, `gradient` what gradient ops give.

mod activations;
mod arithmetic;
mod arrays;
mod call;
mod control;
mod create;
mod gradient;
mod image;
mod index;
mod interface;
mod linalg;
mod loss;
mod metrics;
mod norm;
mod optimizers;
mod random;
mod recurrent;
mod reduce;
mod rows;
mod sequence;
mod shape;
mod table;
mod value;

use std::cell::{Cell as Counter, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use fluvial_core::{
    Cell, Dim, Error, ErrorKind, Program, Result, Tensor, Type, Var, imperative, limit_outputs,
    scope,
};
use fluvial_ops as ops;
use prost::Message;

use super::Options;
use super::generated::{BlockDesc, OpDesc, ProgramDesc, VarDesc};
use super::types;
use call::{Call, Inputs, is_there};
use gradient::Record;
pub use interface::parameters;
pub use table::supported;
use table::{Import, Outs};
use value::{Val, like};

/// How deep blocks may lie in each other.
const DEPTH: usize = 48;
/// How many ops may be run while a program is read, those of loops each time.
const OPS: usize = 1 << 20;
/// How many bytes constants of a program may become while it is read, beside so many times what the file has.
const FOLDED: (u64, u64) = (1 << 28, 4);

/// What does not change while a program is read.
pub struct Importer<'a> {
    program: &'a ProgramDesc,
    /// Variables that are declared in each block.
    vars: Vec<HashMap<&'a str, &'a VarDesc>>,
    /// Whether gradient ops are run in each block, or in one inside of it.
    has_gradients: Vec<bool>,
    /// The states that were declared.
    states: RefCell<HashMap<String, Cell>>,
    n_ops: Counter<usize>,
    /// How many bytes constants may still become.
    foldable: Counter<u64>,
}

/// The values of variables in a block, in the block around it.
pub struct Env<'a> {
    block: usize,
    values: HashMap<String, Val>,
    /// Ops that gradient ops may belong to.
    records: Vec<Record<'a>>,
    outer: Option<&'a Env<'a>>,
    depth: usize,
}

impl<'a> Env<'a> {
    fn new(block: usize) -> Env<'a> {
        Env { block, values: HashMap::new(), records: Vec::new(), outer: None, depth: 0 }
    }

    /// The value of a variable, if it has one.
    pub fn get(&self, name: &str) -> Option<&Val> {
        self.values.get(name).or_else(|| self.outer?.get(name))
    }

    /// Inside of this one.
    pub fn inner<'b>(&'b self, block: usize) -> Result<Env<'b>> {
        if self.depth >= DEPTH {
            return Err(Error::program(format!("blocks lie more than {DEPTH} deep in each other")));
        }
        let depth = self.depth + 1;
        Ok(Env { outer: Some(self), depth, ..Env::new(block) })
    }

    /// Gives a variable a value.
    pub fn set(&mut self, name: &str, val: Val) {
        self.values.insert(name.to_string(), val);
    }
}

/// The program of a main program; states get their first values from `values`, else from `startup`.
#[track_caller]
pub fn program(
    main: &ProgramDesc,
    startup: Option<&ProgramDesc>,
    mut values: HashMap<String, Tensor>,
    options: &Options,
) -> Result<Program> {
    let _line = scope::at(scope::user_line());
    let importer = Importer::new(main);
    let startup = startup.map(Importer::new);
    let inputs = interface::inputs(&importer, options)?;
    let fetched = interface::fetched(&importer, options)?;
    let kept = interface::kept(&importer);
    for (name, value) in &options.values {
        if kept.iter().all(|var| var.name != *name) {
            return Err(Error::argument(format!("the program keeps no variable `{name}`"))
                .remedy("leave it out of `values`"));
        }
        values.insert(name.clone(), value.clone());
    }
    let mut outputs: Vec<String> = Vec::new();
    let named: Vec<(&str, Type)> = inputs.iter().map(|(name, ty)| (&**name, *ty)).collect();
    let mut program = Program::build(&named, |vars| {
        let mut env = Env::new(0);
        interface::feed(&mut env, &inputs, vars);
        let mut first: HashMap<&str, Var> = HashMap::new();
        for var in &kept {
            let read = importer.state(var, values.remove(&var.name), startup.as_ref(), options)?;
            env.set(&var.name, Val::new(read.clone()));
            first.insert(&var.name, read);
        }
        importer.block(&mut env)?;
        for var in &kept {
            importer.keep(&env, &var.name, &first[&*var.name])?;
        }
        let mut results = Vec::new();
        for name in &fetched {
            let told =
                |error: Error| error.note(format!("in the variable `{name}`, which is fetched"));
            let val = env.get(name).ok_or_else(|| told(unknown(name)))?;
            let var = val.var().map_err(told)?;
            if var.ty().is_list() {
                return Err(told(Error::dtype("an output that is an array is not supported")));
            }
            results.push(var);
            outputs.push(name.clone());
            for (level, lengths) in val.lengths().iter().enumerate() {
                results.push(lengths.clone());
                outputs.push(interface::lengths_name(name, level));
            }
        }
        Ok(results)
    })?;
    program.outputs = outputs.iter().map(|name| Arc::from(&**name)).collect();
    Ok(program)
}

impl<'a> Importer<'a> {
    fn new(program: &'a ProgramDesc) -> Importer<'a> {
        let of_block = |block: &'a BlockDesc| {
            block.vars.iter().map(|var| (var.name.as_str(), var)).collect::<HashMap<_, _>>()
        };
        Importer {
            program,
            vars: program.blocks.iter().map(of_block).collect(),
            has_gradients: with_gradients(program),
            states: RefCell::default(),
            n_ops: Counter::new(0),
            foldable: Counter::new(FOLDED.0 + FOLDED.1 * program.encoded_len() as u64),
        }
    }

    /// Counts an op that is looked at or run.
    pub fn count(&self) -> Result<()> {
        self.n_ops.set(self.n_ops.get() + 1);
        match self.n_ops.get() > OPS {
            true => Err(Error::program(format!("more than {OPS} ops are run to read the program"))),
            false => Ok(()),
        }
    }

    /// Whether gradient ops may follow the ops of a block. In other blocks, gradients pass all ops: those of a loop are
    /// taken of the loop as a whole.
    fn follows(&self, block: usize) -> bool {
        self.has_gradients.get(block).copied().unwrap_or(false)
    }

    /// A block by its number.
    pub fn block_of(&self, number: i64) -> Result<&'a BlockDesc> {
        let block = usize::try_from(number).ok().and_then(|number| self.program.blocks.get(number));
        block.ok_or_else(|| Error::program(format!("there is no block {number}")))
    }

    /// Whether a block declares a variable itself.
    pub fn is_local(&self, block: usize, name: &str) -> bool {
        self.vars.get(block).is_some_and(|vars| vars.contains_key(name))
    }

    /// What is said of a variable, by a block or one around it.
    fn described(&self, mut block: usize, name: &str) -> Option<&'a VarDesc> {
        for _ in 0..DEPTH {
            if let Some(var) = self.vars.get(block)?.get(name) {
                return Some(var);
            }
            let parent = self.program.blocks.get(block)?.parent_idx;
            block = usize::try_from(parent).ok().filter(|&parent| parent != block)?;
        }
        None
    }

    /// Whether a variable is a state.
    pub fn is_state(&self, name: &str) -> bool {
        self.states.borrow().contains_key(name)
    }

    /// Declares a state; its value.
    fn state(
        &self,
        var: &VarDesc,
        value: Option<Tensor>,
        startup: Option<&Importer<'_>>,
        options: &Options,
    ) -> Result<Var> {
        let name = &var.name;
        let told = |error: Error| error.note(format!("in the persistable variable `{name}`"));
        let role = interface::role(self, var, options);
        if let Some(tensor) = value {
            let cell = Cell::of(name.as_str(), role, tensor.clone());
            self.states.borrow_mut().insert(name.clone(), cell.clone());
            return cell.declare(tensor.ty(), role, || Ok(Var::new(tensor)));
        }
        let ty = interface::whole_type(var).map_err(told)?;
        let cell = Cell::new(name.as_str());
        self.states.borrow_mut().insert(name.clone(), cell.clone());
        let init = || match startup {
            Some(startup) if startup.writes(name) => {
                let made = ops::with_stream(name, || startup.first_value(name))?;
                like(&made, ty.dims()).and_then(|made| ops::cast(&made, ty.dtype()))
            }
            // What is only written needs no first value.
            _ if !self.reads(name) => ops::zeros(ty.dims(), ty.dtype()),
            _ => Err(Error::state("nothing gives it a first value")
                .remedy("give the startup program, or its value among `values`")),
        };
        cell.declare(ty, role, init).map_err(told)
    }

    fn reads(&self, name: &str) -> bool {
        let ops = self.program.blocks.iter().flat_map(|block| &block.ops);
        let inputs = ops.flat_map(|op| &op.inputs).flat_map(|slot| &slot.arguments);
        inputs.into_iter().any(|read| read == name)
    }

    fn writes(&self, name: &str) -> bool {
        let outputs = self.program.blocks[0].ops.iter().flat_map(|op| &op.outputs);
        outputs.flat_map(|slot| &slot.arguments).any(|written| written == name)
    }

    /// What a startup program makes of a variable, by the ops that it needs.
    fn first_value(&self, name: &str) -> Result<Var> {
        let ops = &self.program.blocks[0].ops;
        let mut needed: HashSet<&str> = [name].into();
        let mut chosen = Vec::new();
        for (i, op) in ops.iter().enumerate().rev() {
            let names = |slots: &'a [super::generated::op_desc::Slot]| {
                slots.iter().flat_map(|slot| &slot.arguments).map(String::as_str)
            };
            // All parameters of one memory are as they were.
            if op.r#type != "coalesce_tensor" && names(&op.outputs).any(|out| needed.contains(out))
            {
                needed.extend(names(&op.inputs));
                chosen.push(i);
            }
        }
        let mut env = Env::new(0);
        for &i in chosen.iter().rev() {
            self.op(&ops[i], i, &mut env)?;
        }
        env.get(name).ok_or_else(|| unknown(name))?.var()
    }

    /// Assigns a state, if it has another value than it began with.
    fn keep(&self, env: &Env<'_>, name: &str, first: &Var) -> Result<()> {
        let Some(val) = env.get(name) else { return Ok(()) };
        let told = |error: Error| error.note(format!("in the persistable variable `{name}`"));
        let last = val.var().map_err(told)?;
        let states = self.states.borrow();
        let Some(cell) = states.get(name).filter(|_| !last.same(first)) else { return Ok(()) };
        let last = like(&last, &first.dims()).and_then(|last| ops::cast(&last, first.dtype()));
        last.and_then(|last| cell.assign(&last)).map_err(told)
    }

    /// Runs the ops of a block.
    fn block<'e>(&self, env: &mut Env<'e>) -> Result<()>
    where
        'a: 'e,
    {
        let block = self.block_of(env.block as i64)?;
        for (i, op) in block.ops.iter().enumerate() {
            self.op(op, i, env)?;
        }
        Ok(())
    }

    /// Runs a block inside of another one, with these values of variables; what its variables hold in the end.
    pub fn inside<'e>(
        &self,
        block: i64,
        values: Vec<(String, Val)>,
        env: &'e Env<'_>,
    ) -> Result<HashMap<String, Val>>
    where
        'a: 'e,
    {
        let mut inner = env.inner(usize::try_from(block).unwrap_or(usize::MAX))?;
        for (name, val) in values {
            inner.set(&name, val);
        }
        self.block(&mut inner)?;
        Ok(inner.values)
    }

    fn op<'e>(&self, op: &'a OpDesc, number: usize, env: &mut Env<'e>) -> Result<()>
    where
        'a: 'e,
    {
        self.count()?;
        let mut inputs = Inputs::new();
        for slot in &op.inputs {
            let vals = slot.arguments.iter().map(|name| env.get(name).cloned());
            inputs.insert(slot.parameter.clone(), vals.collect());
        }
        let block = env.block;
        let told = |error: Error| error.note(shown(op, block, number, &|name| env.get(name)));
        let written = self.written(op, inputs, env).map_err(told)?;
        let mut outs: HashMap<String, Vec<Option<Val>>> = HashMap::new();
        let inputs = written.inputs;
        let values: HashMap<String, Val> = written.values.into_iter().collect();
        for slot in &op.outputs {
            let vals = slot.arguments.iter().map(|name| values.get(name).cloned());
            outs.insert(slot.parameter.clone(), vals.collect());
        }
        for (name, val) in values {
            let val = self
                .fitted(env.block, &name, val)
                .map_err(|error| error.note(shown(op, block, number, &|name| env.get(name))))?;
            env.set(&name, val);
        }
        if self.follows(block) && !op.r#type.ends_with("_grad") {
            env.records.push(Record { op, inputs, outs });
        }
        Ok(())
    }

    /// What an op writes, by the names of variables, and the inputs that it was given.
    fn written(&self, op: &OpDesc, inputs: Inputs, env: &Env<'_>) -> Result<Written> {
        let Some(entry) = table::find(&op.r#type) else {
            return match op.r#type.ends_with("_grad") {
                true => gradient::written(self, op, inputs, env),
                false => Err(unsupported(op)),
            };
        };
        check_attributes(op)?;
        let all = || inputs.values().flatten().flatten();
        let is_known = entry.folds && all().all(Val::is_known);
        let inputs = match self.follows(env.block) && !is_known {
            true => cut(inputs),
            false => inputs,
        };
        let call = Call { proto: op, inputs, importer: self, env };
        let import = || -> Result<Vec<(String, Val)>> {
            match entry.import {
                Import::One(output, import) => {
                    let var = import(&call)?.check()?;
                    let lengths = shared(&call, &var)?;
                    named(op, vec![(output, vec![Val::Dense(var, lengths)])])
                }
                Import::Many(import) => named(op, import(&call)?),
                Import::Block(import) => import(&call),
            }
        };
        let mut values = None;
        if is_known {
            let folded = {
                let _at_once = (imperative(), limit_outputs(self.foldable.get()));
                import()
            };
            // What is too large to be computed now is computed by the program.
            if !folded.as_ref().is_err_and(|error| error.kind() == ErrorKind::Limit) {
                let folded = folded?;
                let tensors = folded.iter().filter_map(|(_, val)| val.tensor());
                let bytes = tensors.map(|x| (x.numel() * x.dtype().size()) as u64).sum();
                self.foldable.set(self.foldable.get().saturating_sub(bytes));
                values = Some(folded);
            }
        }
        let values = match values {
            Some(values) => values,
            None => import()?,
        };
        Ok(Written { inputs: call.inputs, values })
    }

    /// Values of one element have one axis up to version 2.4, and none since: as the variable says.
    fn fitted(&self, block: usize, name: &str, val: Val) -> Result<Val> {
        let Val::Dense(var, lengths) = val else { return Ok(val) };
        let said = self.described(block, name).and_then(types::tensor);
        let wanted: Option<&[Dim]> = match (said.map(|(desc, _)| &desc.dims[..]), &var.dims()[..]) {
            (Some([1]), []) => Some(&[Dim::size(1)]),
            (Some([]), [one]) if *one == Dim::size(1) && self.says_scalars() => Some(&[]),
            _ => None,
        };
        let var = match wanted {
            None => var,
            Some(dims) if var.is_symbolic() => ops::reshape(&var, dims)?,
            Some(dims) => {
                let _at_once = imperative();
                ops::reshape(&var, dims)?
            }
        };
        Ok(Val::Dense(if is_name(name) { var.named(name) } else { var }, lengths))
    }

    /// Whether variables without axes are declared as such, which they are since version 2.5.
    pub fn says_scalars(&self) -> bool {
        self.program.version.is_some_and(|version| version.version >= 2_005_000)
    }
}

/// For each block, whether gradient ops are run in it or in one inside of it. Blocks of gradient ops are never run.
fn with_gradients(program: &ProgramDesc) -> Vec<bool> {
    let is_gradient = |op: &OpDesc| op.r#type.ends_with("_grad");
    let mut found: Vec<bool> =
        program.blocks.iter().map(|block| block.ops.iter().any(is_gradient)).collect();
    // Blocks stand behind those around them.
    for number in (0..program.blocks.len()).rev() {
        let ops = program.blocks[number].ops.iter().filter(|op| !is_gradient(op));
        let inner = ops.flat_map(|op| &op.attrs).filter(|attr| attr.r#type == 8);
        let inner = inner.filter_map(|attr| usize::try_from(attr.block_idx).ok());
        if inner.into_iter().any(|inner| found.get(inner).copied().unwrap_or(false)) {
            found[number] = true;
        }
    }
    found
}

/// What an op was given, and what it writes.
pub struct Written {
    pub inputs: Inputs,
    pub values: Vec<(String, Val)>,
}

/// Refuses what passes over programs write into ops: activations and sums that are a part of them, and attributes that are
/// variables.
fn check_attributes(op: &OpDesc) -> Result<()> {
    const FUSED: [&str; 5] = [
        "fuse_relu",
        "fuse_with_relu",
        "fuse_residual_connection",
        "fuse_activation",
        "fuse_brelu",
    ];
    for attr in &op.attrs {
        let is_set = attr.b || attr.i != 0 || !attr.s.is_empty();
        if FUSED.contains(&attr.name.as_str()) && is_set {
            return Err(Error::argument(format!("the attribute `{}`", attr.name))
                .remedy("save the program before passes for inference change it"));
        }
        if matches!(attr.r#type, 13 | 14) {
            return Err(Error::argument(format!("the attribute `{}` is a variable", attr.name)));
        }
    }
    Ok(())
}

/// Values by the names of an op's variables. An output that nobody gives is a fault of the table.
fn named(op: &OpDesc, outs: Outs) -> Result<Vec<(String, Val)>> {
    let mut found = Vec::new();
    for (slot, vals) in outs {
        let names = call::arguments(&op.outputs, slot);
        for (name, val) in names.iter().zip(vals) {
            if is_there(name) {
                found.push((name.clone(), val));
            }
        }
    }
    Ok(found)
}

/// Inputs without their history, so that the gradients of an op are those with respect to its own inputs.
fn cut(inputs: Inputs) -> Inputs {
    let cut = |vals: Vec<Option<Val>>| -> Vec<Option<Val>> {
        vals.into_iter().map(|val| val.map(|val| val.cut())).collect()
    };
    inputs.into_iter().map(|(slot, vals)| (slot, cut(vals))).collect()
}

/// The sequences of a result that has a row for each row of an input: those of the input.
fn shared(call: &Call<'_>, var: &Var) -> Result<Vec<Var>> {
    let Some(&rows) = var.dims().first() else { return Ok(Vec::new()) };
    for slot in &call.proto.inputs {
        for val in call.vals(&slot.parameter) {
            if !val.lengths().is_empty() && val.dims()?.first() == Some(&rows) {
                return Ok(val.lengths().to_vec());
            }
        }
    }
    Ok(Vec::new())
}

/// Whether a name can stand in the listing of a program.
fn is_name(name: &str) -> bool {
    let starts = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}

fn shown<'v>(
    op: &OpDesc,
    block: usize,
    number: usize,
    get: &dyn Fn(&str) -> Option<&'v Val>,
) -> String {
    let of = |name: &String| get(name).map_or("nothing".to_string(), Val::shown);
    let slot = |slot: &super::generated::op_desc::Slot| {
        let types: Vec<String> = slot.arguments.iter().map(of).collect();
        format!("{}: {}", slot.parameter, types.join(", "))
    };
    let used = op.inputs.iter().filter(|slot| !slot.arguments.is_empty());
    let inputs: Vec<String> = used.map(slot).collect();
    format!(
        "in block {block}, op {number} of the Fluid program: {}({})",
        op.r#type,
        inputs.join("; ")
    )
}

fn unknown(name: &str) -> Error {
    Error::program(format!("nothing in the program gives `{name}` before it is used"))
}

fn unsupported(op: &OpDesc) -> Error {
    Error::argument(format!("the Fluid op {} is not supported", op.r#type))
        .remedy("docs/fluid_programs.md lists the ops that are")
}
