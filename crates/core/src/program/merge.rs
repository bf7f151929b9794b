//! Merging a startup program with a main program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fluvial_tensor::{Dim, Error, Result};

use super::Program;
use super::bound::renamed_op;
use crate::block::{Block, Call, ValueId};
use crate::op::OpRef;
use crate::structural::Assign;

impl Program {
    /// One program from a startup program, whose main block initialises states, and a main
    /// program. The result initialises each state once, whatever is run how often.
    ///
    /// A state of the same name and type in both is one state. Where the types differ, the names
    /// clash by accident, and the startup program's state gets another name. A state that both
    /// programs initialise keeps the main program's own initialiser.
    pub fn merge(startup: &Program, main: &Program) -> Result<Program> {
        if !startup.inputs.is_empty() {
            return Err(Error::program(format!(
                "a startup program takes no inputs, this one takes {}",
                startup.inputs.join(", ")
            )));
        }
        for block in [&startup.startup, &startup.main, &main.startup] {
            block.check_form()?;
        }
        let renamed = rename_clashes(startup, main);
        let name_of = |name: &Arc<str>| renamed.get(name).unwrap_or(name).clone();

        let mut block = main.startup.clone();
        let initialised = assigned(&main.startup);
        for source in [&startup.startup, &startup.main] {
            append(&mut block, source, &|call| {
                let is_done = |assign: &Assign| initialised.contains(&name_of(&assign.state));
                if call.op.downcast::<Assign>().is_some_and(is_done) {
                    return None;
                }
                Some(renamed_op(call, &name_of).unwrap_or_else(|| call.op.clone()))
            })?;
        }
        let mut states = main.states.clone();
        for (name, decl) in &startup.states {
            states.entry(name_of(name)).or_insert_with(|| decl.clone());
        }
        Ok(Program { states, startup: block, ..main.clone() })
    }
}

fn rename_clashes(startup: &Program, main: &Program) -> BTreeMap<Arc<str>, Arc<str>> {
    let mut renamed = BTreeMap::new();
    for (name, decl) in &startup.states {
        let clashes = main.states.get(name).is_some_and(|other| other.ty != decl.ty);
        if !clashes {
            continue;
        }
        let taken = |candidate: &str| {
            main.states.contains_key(candidate)
                || startup.states.contains_key(candidate)
                || renamed.values().any(|other: &Arc<str>| &**other == candidate)
        };
        let free = (1..).map(|i| format!("{name}_{i}")).find(|candidate| !taken(candidate));
        renamed.insert(name.clone(), free.unwrap_or_default().into());
    }
    renamed
}

fn assigned(block: &Block) -> Vec<Arc<str>> {
    let assigns = block.calls.iter().filter_map(|call| call.op.downcast::<Assign>());
    assigns.map(|assign| assign.state.clone()).collect()
}

/// Appends the calls of `source`, a block without parameters; a call for which `map` gives no op
/// is left out.
fn append(block: &mut Block, source: &Block, map: &dyn Fn(&Call) -> Option<OpRef>) -> Result<()> {
    let source = &with_new_symbols(source, block)?;
    let shift = block.types.len() as ValueId;
    block.types.extend(&source.types);
    for (&id, name) in &source.names {
        if !block.names.values().any(|taken| taken == name) {
            block.names.insert(id + shift, name.clone());
        }
    }
    for call in &source.calls {
        let Some(op) = map(call) else { continue };
        let inputs = call.inputs.iter().map(|&id| id + shift).collect();
        let first_output = call.first_output + shift;
        block.calls.push(Call { op, inputs, first_output, ..call.clone() });
    }
    block.facts = std::sync::OnceLock::new();
    Ok(())
}

/// The block with its own symbols, those of sizes that only a run knows, renamed where `taken`
/// has them too.
fn with_new_symbols(block: &Block, taken: &Block) -> Result<Block> {
    let symbols = |block: &Block| -> BTreeSet<Arc<str>> {
        let dims = block.types.iter().flat_map(|ty| ty.dims().to_vec());
        dims.flat_map(Dim::symbols).filter_map(Dim::symbol_name).collect()
    };
    let (own, theirs) = (symbols(block), symbols(taken));
    let mut renamed: BTreeMap<Arc<str>, Dim> = BTreeMap::new();
    let mut number = 0;
    for name in own.intersection(&theirs) {
        let free = loop {
            let candidate = format!("_{number}");
            number += 1;
            if !own.contains(&*candidate) && !theirs.contains(&*candidate) {
                break candidate;
            }
        };
        renamed.insert(name.clone(), Dim::symbol(&free)?);
    }
    if renamed.is_empty() {
        return Ok(block.clone());
    }
    block.substitute(&|symbol| renamed.get(&symbol.symbol_name()?).copied())
}
