//! `Block::apply`: interpreter, inliner and recomputation in one, because `bind` obeys the scope.

use fluvial_tensor::{Dim, Error, Result, Type};
use smallvec::SmallVec;

use crate::bind::bind_at;
use crate::block::{Block, Call, ValueId, substitute_op};
use crate::interrupt;
use crate::notes;
use crate::op::OpRef;
use crate::scope;
use crate::state::{assign_state, read_state};
use crate::structural::{Assign, Note, Read};
use crate::trace;
use crate::value::Value;
use crate::var::Var;

impl Block {
    /// Applies the block to arguments. In imperative mode each call runs in turn, and what nothing
    /// reads any more is freed; while building, the calls are appended to the block being built.
    pub fn apply(&self, args: &[&Var]) -> Result<Vec<Var>> {
        self.apply_with(args, false)
    }

    /// Runs the block on values, call by call, recording nothing.
    pub fn run(&self, args: &[&Value]) -> Result<Vec<Value>> {
        let _scope = (scope::imperative(), scope::no_grad());
        let args: Vec<Var> = args.iter().map(|&value| Var::new(value.clone())).collect();
        let results = self.apply(&args.iter().collect::<Vec<_>>())?;
        results.into_iter().map(Var::take_value).collect()
    }

    /// Applies the block while building, with the symbols that it has for sizes that only a run
    /// knows, for blocks that take its place.
    pub(crate) fn apply_verbatim(&self, args: &[&Var]) -> Result<Vec<Var>> {
        trace::reserve_symbols(&self.types)?;
        self.apply_with(args, true)
    }

    fn apply_with(&self, args: &[&Var], verbatim: bool) -> Result<Vec<Var>> {
        if args.len() != self.n_params {
            return Err(Error::program(format!(
                "a block of {} parameters was given {} arguments",
                self.n_params,
                args.len()
            )));
        }
        self.check_form()?;
        let facts = self.facts();
        let is_inlined = !verbatim && scope::mode() == scope::Mode::Building;
        let mut sizes = Sizes::default();
        let mut values: Vec<Option<Var>> = vec![None; self.types.len()];
        for (i, (&arg, declared)) in args.iter().zip(self.param_types()).enumerate() {
            let arg = arg.clone().check()?;
            sizes.unify(declared, &arg.ty()).map_err(|error| error.note(self.param_note(i)))?;
            self.put_hooks(i as ValueId, &arg)?;
            values[i] = Some(arg);
        }
        for (index, call) in self.calls.iter().enumerate() {
            interrupt::check()?;
            let _line = match verbatim {
                true => scope::exactly_at(call.loc),
                false => scope::at(call.loc),
            };
            if verbatim {
                let declared = call.outputs().map(|id| self.types[id as usize]);
                trace::suggest_types(declared.collect());
            }
            if is_inlined && facts.symbolic_calls[index] && !call.op.blocks().is_empty() {
                sizes.rename_inner(&call.op)?;
            }
            let outputs = {
                let inputs: SmallVec<[&Var; 4]> =
                    call.inputs.iter().map(|&id| defined(&values, id)).collect::<Result<_>>()?;
                perform(call, facts.symbolic_calls[index], &sizes, &inputs)?
            };
            if outputs.len() < call.n_outputs {
                return Err(Error::internal(format!("`{}` lost an output", call.op.name())));
            }
            for (id, output) in call.outputs().zip(outputs) {
                let declared = &self.types[id as usize];
                if declared.is_symbolic() {
                    sizes.unify(declared, &output.ty()).map_err(|error| error.at(call.loc))?;
                }
                self.put_hooks(id, &output)?;
                values[id as usize] = Some(output);
            }
            for &id in &facts.last_uses[index] {
                values[id as usize] = None;
            }
        }
        self.results.iter().map(|&id| defined(&values, id).cloned()).collect()
    }

    /// Puts the hooks of a value on what stands for it, if a gradient can reach that.
    fn put_hooks(&self, id: ValueId, var: &Var) -> Result<()> {
        let Some(hooks) = self.hooks.0.get(&id) else { return Ok(()) };
        if !var.is_tracked() && !var.is_symbolic() {
            return Ok(());
        }
        hooks.iter().try_for_each(|hook| var.hook_here(hook.clone()))
    }

    fn param_note(&self, i: usize) -> String {
        match self.names.get(&(i as u32)) {
            Some(name) => format!("in the argument `{name}`"),
            None => format!("in argument {i}"),
        }
    }
}

fn defined(values: &[Option<Var>], id: u32) -> Result<&Var> {
    values[id as usize]
        .as_ref()
        .ok_or_else(|| Error::internal(format!("value %{id} was freed before its last use")))
}

fn perform(
    call: &Call,
    symbolic: bool,
    sizes: &Sizes,
    inputs: &[&Var],
) -> Result<SmallVec<[Var; 1]>> {
    if let Some(read) = call.op.downcast::<Read>() {
        return Ok(SmallVec::from_elem(read_state(&read.state)?, 1));
    }
    if let (Some(assign), [value]) = (call.op.downcast::<Assign>(), inputs) {
        assign_state(&assign.state, value)?;
        return Ok(SmallVec::new());
    }
    if let (Some(note), [value]) = (call.op.downcast::<Note>(), inputs) {
        notes::take_down(&note.state, value);
    }
    let op: OpRef = match symbolic {
        true => substitute_op(&call.op, &|symbol| sizes.get(symbol))
            .map_err(|error| error.in_op(call.op.name(), &[]).at(call.loc))?,
        false => call.op.clone(),
    };
    bind_at(op, inputs, call.loc)
}

/// What the symbols of a block stand for in one application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes(SmallVec<[(Dim, Dim); 4]>);

impl Sizes {
    /// The size or the outer symbol that `symbol` stands for.
    pub fn get(&self, symbol: Dim) -> Option<Dim> {
        self.0.iter().find(|(known, _)| *known == symbol).map(|(_, dim)| *dim)
    }

    /// The symbols and what they stand for.
    pub fn iter(&self) -> impl Iterator<Item = (Dim, Dim)> {
        self.0.iter().copied()
    }

    /// Gives sizes that only a run knows, and that blocks inside an op declare for themselves, names of their own:
    /// where the op is inlined, theirs may be taken.
    pub fn rename_inner(&mut self, op: &OpRef) -> Result<()> {
        let mut found = Vec::new();
        op.attrs().symbols(&mut found);
        for symbol in found {
            let number =
                symbol.symbol_name().and_then(|name| name.strip_prefix('_')?.parse::<u32>().ok());
            if number.is_some() && self.get(symbol).is_none() {
                self.0.push((symbol, trace::mint_symbol()?));
            }
        }
        Ok(())
    }

    /// Matches a declared type with the one found, learning what its symbols stand for.
    pub fn unify(&mut self, declared: &Type, found: &Type) -> Result<()> {
        let same_kind = declared.dtype() == found.dtype()
            && declared.rank() == found.rank()
            && declared.lists() == found.lists()
            && declared.is_channel() == found.is_channel();
        if !same_kind {
            return Err(mismatch(declared, found));
        }
        if declared.is_channel() && declared != found {
            return Err(mismatch(declared, found));
        }
        if declared.is_list() {
            // The sizes of elements are their own affair: they may differ from one to the next.
            return Ok(());
        }
        for (&declared_dim, &found_dim) in declared.dims().iter().zip(found.dims()) {
            if declared_dim.symbol_name().is_some() && self.get(declared_dim).is_none() {
                self.0.push((declared_dim, found_dim));
            }
        }
        for (&declared_dim, &found_dim) in declared.dims().iter().zip(found.dims()) {
            let expected = declared_dim.substitute(&|symbol| self.get(symbol))?;
            if expected != found_dim {
                return Err(mismatch(declared, found).note(format!(
                    "the size {declared_dim} should be {expected} here, but is {found_dim}"
                )));
            }
        }
        Ok(())
    }
}

impl FromIterator<(Dim, Dim)> for Sizes {
    fn from_iter<I: IntoIterator<Item = (Dim, Dim)>>(pairs: I) -> Sizes {
        Sizes(pairs.into_iter().collect())
    }
}

#[cold]
fn mismatch(declared: &Type, found: &Type) -> Error {
    Error::shape(format!("expected {declared}, found {found}"))
}
