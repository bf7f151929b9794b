//! The checks of one block, its calls and the blocks nested in them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use fluvial_tensor::{Dim, Error, Result, Type};
use smallvec::SmallVec;

use super::fault::{BlockPath, Fault, Faults, Line, Place, Section, Step};
use super::symbols::{Scope, has_placeholder, symbols};
use super::{MAX_NESTING, count};
use crate::attrs::Attr;
use crate::block::{Block, Call, ValueId};
use crate::program::{Program, StateDecl};
use crate::structural::{Assign, Note, Read};
use crate::text::is_value_name;

/// More faults than these help nobody.
const MAX_FAULTS: usize = 100;

pub(super) struct Checker<'a> {
    states: &'a BTreeMap<Arc<str>, StateDecl>,
    faults: Vec<Fault>,
    n_found: usize,
    path: BlockPath,
    scope: Scope,
    /// Blocks and lists around the point that is checked.
    depth: usize,
}

impl<'a> Checker<'a> {
    pub fn new(states: &'a BTreeMap<Arc<str>, StateDecl>) -> Checker<'a> {
        let path = BlockPath { section: Section::Startup, steps: Vec::new() };
        Checker { states, faults: Vec::new(), n_found: 0, path, scope: Scope::default(), depth: 0 }
    }

    pub fn finish(self, program: &Program) -> Faults {
        Faults::new(program, self.faults, self.n_found)
    }

    pub fn state(&mut self, name: &Arc<str>, decl: &StateDecl) {
        if let Err(error) = no_placeholder(&decl.ty) {
            self.fault_at(Place::State(name.clone()), error);
        }
    }

    /// Makes the outermost block of a section the place of the faults to come.
    pub fn enter(&mut self, section: Section) {
        self.path = BlockPath { section, steps: Vec::new() };
    }

    pub fn section(&mut self, section: Section, block: &Block) {
        self.enter(section);
        self.block(block);
    }

    pub fn fault(&mut self, line: Line, error: Error) {
        self.fault_at(Place::Line(self.path.clone(), line), error);
    }

    fn fault_at(&mut self, place: Place, error: Error) {
        self.n_found += 1;
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(Fault { place, error });
        }
    }

    fn block(&mut self, block: &Block) {
        if !self.numbering(block) {
            // Without numbers nothing else can be said.
            return;
        }
        let mark = self.scope.mark();
        for ty in block.param_types() {
            self.scope.bind_sizes(ty, |_| true);
            self.declared(Line::Head, ty);
        }
        for (index, call) in block.calls.iter().enumerate() {
            self.call(block, index, call);
        }
        for &id in &block.results {
            if id as usize >= block.types.len() {
                self.fault(Line::Return, Error::program(format!("%{id} is not defined")));
            }
        }
        self.names(block);
        self.scope.reset(mark);
    }

    /// Checks that the values are numbered as they are defined.
    fn numbering(&mut self, block: &Block) -> bool {
        let n_faults = self.n_found;
        let n_values = block.types.len();
        if block.n_params > n_values {
            let params = count(block.n_params, "parameter");
            let message = format!("{params}, but {n_values} values have a type");
            self.fault(Line::Head, Error::program(message));
            return false;
        }
        let mut n_defined = block.n_params;
        for (index, call) in block.calls.iter().enumerate() {
            let first = call.first_output as usize;
            if first != n_defined {
                let message = format!("the outputs start at %{first}, expected %{n_defined}");
                self.fault(Line::Call(index), Error::program(message));
            }
            n_defined = n_defined.saturating_add(call.n_outputs);
        }
        if n_defined != n_values && self.n_found == n_faults {
            let message = format!("{n_defined} values are defined, but {n_values} have a type");
            self.fault(Line::Return, Error::program(message));
        }
        self.n_found == n_faults
    }

    fn names(&mut self, block: &Block) {
        let mut owners: HashMap<&str, ValueId> = HashMap::new();
        for (&id, name) in &block.names {
            let line = match block.calls.partition_point(|call| call.first_output <= id) {
                after if after > 0 && id as usize >= block.n_params => Line::Call(after - 1),
                _ => Line::Head,
            };
            if id as usize >= block.types.len() {
                let message = format!("the name `{name}` is given to %{id}, which is not defined");
                self.fault(Line::Return, Error::program(message));
            } else if !is_value_name(name) {
                let message = format!("{name:?} is not a name for a value");
                let remedy = "use letters, digits, `_` and `.`, not starting with a digit";
                self.fault(line, Error::program(message).remedy(remedy));
            } else if owners.insert(name, id).is_some() {
                self.fault(line, Error::program(format!("two values are named `{name}`")));
            }
        }
    }

    fn call(&mut self, block: &Block, index: usize, call: &Call) {
        let line = Line::Call(index);
        let n_faults = self.n_found;
        for &id in call.inputs.iter().filter(|&&id| id >= call.first_output) {
            self.fault(line, Error::program(format!("%{id} is not defined before it is used")));
        }
        self.attributes(index, call);
        let outputs = &block.types[call.first_output as usize..][..call.n_outputs];
        // An op is asked only about what is in order: it may index its inputs and its blocks.
        if self.n_found == n_faults {
            let inputs: SmallVec<[&Type; 4]> =
                call.inputs.iter().map(|&id| &block.types[id as usize]).collect();
            if let Err(error) = self.judge(call, &inputs, outputs) {
                self.fault(line, error.in_op(call.op.name(), &inputs).at(call.loc));
            }
        }
        if self.n_found == n_faults {
            outputs.iter().for_each(|ty| self.declared(line, ty));
        } else {
            // One fault is enough: what follows may take these sizes as given.
            outputs.iter().flat_map(symbols).for_each(|symbol| self.scope.bind(symbol));
        }
    }

    /// Arity, state and types of one call.
    fn judge(&mut self, call: &Call, inputs: &[&Type], outputs: &[Type]) -> Result<()> {
        call.op.arity().check(call.op.name(), inputs.len())?;
        self.state_use(call, inputs)?;
        let inferred = crate::op::inferred(&*call.op, inputs)?;
        if inferred.len() != outputs.len() {
            let gives = count(inferred.len(), "output");
            let message = format!("the op gives {gives}, the call has {}", outputs.len());
            return Err(Error::program(message));
        }
        let open = self.open_sizes(&inferred, outputs)?;
        let named = |dim: Dim| {
            let k = dim.fresh_index()?;
            open.iter().find(|(index, _)| *index == k).map(|(_, symbol)| *symbol)
        };
        for (inferred, declared) in inferred.iter().zip(outputs) {
            if inferred.substitute(&named)? != *declared {
                return Err(differs(inferred, declared));
            }
            self.scope.bind_sizes(declared, |dim| open.iter().any(|(_, symbol)| *symbol == dim));
        }
        let brought = brought_out(call, inputs);
        for declared in outputs {
            self.scope.bind_sizes(declared, |dim| brought.contains(&dim));
        }
        Ok(())
    }

    /// The symbols that the call declares for the sizes which `infer` leaves open.
    fn open_sizes(&self, inferred: &[Type], outputs: &[Type]) -> Result<SmallVec<[(u8, Dim); 2]>> {
        let mut open: SmallVec<[(u8, Dim); 2]> = SmallVec::new();
        for (inferred, declared) in inferred.iter().zip(outputs) {
            if inferred.rank() != declared.rank() {
                return Err(differs(inferred, declared));
            }
            // Open sizes of a channel are those of its messages, each of which may have others.
            if inferred.is_channel() {
                continue;
            }
            for (found, &symbol) in inferred.dims().iter().zip(declared.dims()) {
                let Some(k) = found.fresh_index() else { continue };
                if open.iter().any(|(index, _)| *index == k) {
                    continue;
                }
                let is_used = self.scope.is_known(symbol) || open.iter().any(|(_, s)| *s == symbol);
                if symbol.symbol_name().is_none() || is_used {
                    return Err(Error::program(format!(
                        "a size that only a run will know is declared as `{symbol}` in {declared}"
                    ))
                    .remedy("declare it as a symbol that is not in use yet"));
                }
                open.push((k, symbol));
            }
        }
        Ok(open)
    }

    fn state_use(&self, call: &Call, inputs: &[&Type]) -> Result<()> {
        if let Some(note) = call.op.downcast::<Note>() {
            return self.note(note, inputs[0]);
        }
        let (state, ty) = match (call.op.downcast::<Read>(), call.op.downcast::<Assign>()) {
            (Some(read), _) => (&read.state, read.ty),
            (_, Some(assign)) => (&assign.state, *inputs[0]),
            _ => return Ok(()),
        };
        if !self.path.steps.is_empty() {
            return Err(Error::program("state is used inside a nested block")
                .remedy("pass its value in, return the new one, and assign it outside"));
        }
        match self.states.get(state) {
            None => Err(Error::program(format!("no state named `{state}` is declared"))),
            Some(decl) if decl.ty != ty => Err(Error::program(format!(
                "state `{state}` is declared {}, but is used as {ty}",
                decl.ty
            ))),
            Some(_) => Ok(()),
        }
    }

    /// What a note says of a state that the program has lost is of no use, and no fault.
    fn note(&self, note: &Note, ty: &Type) -> Result<()> {
        match self.states.get(&note.state) {
            Some(decl) if decl.ty != *ty => Err(Error::program(format!(
                "state `{}` is declared {}, but is noted as {ty}",
                note.state, decl.ty
            ))),
            _ => Ok(()),
        }
    }

    fn attributes(&mut self, index: usize, call: &Call) {
        let mut n_blocks = 0;
        for (_, attr) in call.op.attrs().iter() {
            self.attribute(index, attr, &mut n_blocks);
        }
    }

    fn attribute(&mut self, index: usize, attr: &Attr, n_blocks: &mut usize) {
        let line = Line::Call(index);
        match attr {
            Attr::Dim(dim) => {
                if let Err(error) = self.size(*dim) {
                    self.fault(line, error);
                }
            }
            // Its symbols are judged where they come out, in the types of the outputs.
            Attr::Type(ty) => {
                if let Err(error) = no_placeholder(ty) {
                    self.fault(line, error);
                }
            }
            Attr::List(_) | Attr::Block(_) if self.depth == MAX_NESTING => {
                let message = format!("blocks and lists are nested more than {MAX_NESTING} deep");
                self.fault(line, Error::program(message));
            }
            Attr::List(items) => {
                self.depth += 1;
                for item in items {
                    self.attribute(index, item, n_blocks);
                }
                self.depth -= 1;
            }
            Attr::Block(block) => {
                self.depth += 1;
                self.path.steps.push(Step { call: index, block: *n_blocks });
                self.block(block);
                self.path.steps.pop();
                self.depth -= 1;
                *n_blocks += 1;
            }
            _ => {}
        }
    }

    /// Checks a type as it is declared, when its own sizes are bound.
    fn declared(&mut self, line: Line, ty: &Type) {
        self.scope.note_elements(ty);
        let checked = no_placeholder(ty).and_then(|()| match ty.is_list() {
            true => Ok(()),
            false => ty.dims().iter().try_for_each(|&dim| self.size(dim)),
        });
        if let Err(error) = checked {
            self.fault(line, error.note(format!("in the type {ty}")));
        }
    }

    /// Refuses a size that a run could not know.
    fn size(&self, dim: Dim) -> Result<()> {
        if !dim.is_symbolic() {
            return Ok(());
        }
        if has_placeholder(dim) {
            return Err(placeholder(dim));
        }
        match self.scope.unbound(dim) {
            None => Ok(()),
            Some(symbol) => Err(Error::program(format!("nothing binds the size `{symbol}`"))
                .remedy("make it a size of an input by itself")),
        }
    }
}

/// The symbols that may come out of a call unbound: those of lists and of the op's blocks.
fn brought_out(call: &Call, inputs: &[&Type]) -> HashSet<Dim> {
    let lists = inputs.iter().filter(|ty| ty.is_list());
    let mut brought: HashSet<Dim> = lists.flat_map(|ty| symbols(ty)).collect();
    for (_, attr) in call.op.attrs().iter() {
        results_of(attr, &mut brought);
    }
    brought
}

fn results_of(attr: &Attr, brought: &mut HashSet<Dim>) {
    match attr {
        Attr::List(items) => items.iter().for_each(|item| results_of(item, brought)),
        Attr::Block(block) => brought.extend(block.result_types().flat_map(symbols)),
        _ => {}
    }
}

fn no_placeholder(ty: &Type) -> Result<()> {
    // Open sizes of messages belong to no block.
    if ty.is_channel() {
        return Ok(());
    }
    match ty.dims().iter().find(|dim| dim.is_symbolic() && has_placeholder(**dim)) {
        None => Ok(()),
        Some(dim) => Err(placeholder(*dim)),
    }
}

fn placeholder(dim: Dim) -> Error {
    Error::program(format!("the size `{dim}` has a placeholder"))
        .remedy("only what `infer` returns may have placeholders; give the size a name")
}

fn differs(inferred: &Type, declared: &Type) -> Error {
    Error::program(format!("the op gives {inferred}, but {declared} is declared"))
}
