//! What a program is fed, what is fetched of it, and what it keeps.

use std::collections::HashSet;

use fluvial_core::{DType, Dim, Error, Result, Role, Type, Var};

use super::call::{arguments, is_there};
use super::value::Val;
use super::{Env, Importer};
use crate::fluid::Options;
use crate::fluid::generated::{OpDesc, ProgramDesc, VarDesc};
use crate::fluid::types::{self, Kind};

/// The names of the parameters of a model, in the order in which they lie in a file.
pub fn parameters(program: &ProgramDesc) -> Vec<String> {
    let vars = program.blocks.iter().flat_map(|block| &block.vars);
    let mut names: Vec<String> =
        vars.filter(|var| is_kept(var)).map(|var| var.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn is_kept(var: &VarDesc) -> bool {
    var.persistable && types::kind(var) == Kind::Tensor
}

/// What the lengths of sequences are called.
pub fn lengths_name(name: &str, level: usize) -> String {
    format!("{name}.lengths{level}")
}

/// The inputs of the program with their types: what ops use before anything gives it. What feeds them in the file says
/// their order.
pub fn inputs(importer: &Importer<'_>, options: &Options) -> Result<Vec<(String, Type)>> {
    let mut fed: Vec<(i64, &str)> = Vec::new();
    for op in &importer.program.blocks[0].ops {
        if op.r#type == "feed" {
            let col = op.attrs.iter().find(|attr| attr.name == "col").map_or(0, |attr| attr.i);
            fed.extend(arguments(&op.outputs, "Out").iter().map(|name| (col.into(), &**name)));
        }
    }
    fed.sort_by_key(|&(col, _)| col);
    let mut names: Vec<&str> = fed.into_iter().map(|(_, name)| name).collect();
    let mut given: HashSet<&str> = names.iter().copied().collect();
    used(importer, 0, &mut given, &mut names, 0)?;
    let mut found = Vec::new();
    for name in names {
        let Some(var) = importer.described(0, name) else { continue };
        if var.persistable || types::kind(var) != Kind::Tensor {
            continue;
        }
        let told = |error: Error| error.note(format!("in the variable `{name}`, which is fed"));
        let levels = types::tensor(var).map_or(0, |(_, levels)| levels);
        let ty = match options.types.iter().find(|(known, _)| known == name) {
            Some((_, ty)) => *ty,
            None => declared(var, levels).map_err(told)?,
        };
        found.push((name.to_string(), ty));
        for level in 0..levels {
            let count = match level {
                0 => "batch".to_string(),
                _ => symbol(&format!("{name}_parts{level}")),
            };
            let ty = Type::new(DType::I64, &[Dim::symbol(&count)?])?;
            found.push((lengths_name(name, level), ty));
        }
    }
    for (name, _) in &options.types {
        if found.iter().all(|(known, _)| known != name) {
            let known: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
            return Err(Error::argument(format!("the program has no input `{name}`"))
                .remedy(format!("its inputs are: {}", known.join(", "))));
        }
    }
    Ok(found)
}

/// Variables that a block uses before it gives them.
fn used<'a>(
    importer: &Importer<'a>,
    block: usize,
    given: &mut HashSet<&'a str>,
    found: &mut Vec<&'a str>,
    depth: usize,
) -> Result<()> {
    let Some(desc) = importer.program.blocks.get(block).filter(|_| depth < super::DEPTH) else {
        return Ok(());
    };
    for op in &desc.ops {
        importer.count()?;
        if op.r#type == "feed" || op.r#type.ends_with("_grad") {
            given.extend(op.outputs.iter().flat_map(|slot| &slot.arguments).map(|name| &**name));
            continue;
        }
        for name in op.inputs.iter().flat_map(|slot| &slot.arguments) {
            if is_there(name) && !name.contains("@GRAD") && given.insert(name) {
                let is_outer = block == 0 || !importer.is_local(block, name);
                if is_outer {
                    found.push(name);
                }
            }
        }
        for inner in op.attrs.iter().filter(|attr| attr.r#type == 8) {
            let number = usize::try_from(inner.block_idx).unwrap_or(usize::MAX);
            if number != block {
                used(importer, number, given, found, depth + 1)?;
            }
        }
        given.extend(op.outputs.iter().flat_map(|slot| &slot.arguments).map(|name| &**name));
    }
    Ok(())
}

/// A name as that of a size.
fn symbol(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let plain: String = name.chars().map(plain).collect();
    match plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => plain,
        false => format!("n{plain}"),
    }
}

/// The type that a file says an input has; unknown sizes are symbols, those of batches one.
fn declared(var: &VarDesc, levels: usize) -> Result<Type> {
    let Some((desc, _)) = types::tensor(var) else {
        return Err(Error::shape("the file does not say its type"));
    };
    let mut dims = Vec::new();
    for (i, &size) in desc.dims.iter().enumerate() {
        dims.push(match (usize::try_from(size), i, levels) {
            (Ok(size), ..) => Dim::size(size),
            (_, 0, 0) => Dim::symbol("batch")?,
            (_, 0, _) => Dim::symbol(&symbol(&format!("{}_rows", var.name)))?,
            _ => Dim::symbol(&symbol(&format!("{}_{i}", var.name)))?,
        });
    }
    Type::new(types::dtype(desc.data_type.into())?, &dims)
}

/// The type of a state, whose sizes must be known.
pub fn whole_type(var: &VarDesc) -> Result<Type> {
    let Some((desc, _)) = types::tensor(var) else {
        return Err(Error::shape("the file does not say its type"));
    };
    let size = |&size: &i64| usize::try_from(size).ok().map(Dim::size);
    let dims: Option<Vec<Dim>> = desc.dims.iter().map(size).collect();
    let Some(dims) = dims else {
        return Err(Error::shape(format!("its sizes {:?} are not known", desc.dims))
            .remedy("load the program with its parameters"));
    };
    Type::new(types::dtype(desc.data_type.into())?, &dims)
}

/// Gives inputs their values.
pub fn feed(env: &mut Env<'_>, inputs: &[(String, Type)], vars: &[Var]) {
    let mut i = 0;
    while i < inputs.len() {
        let (name, _) = &inputs[i];
        let mut lengths = Vec::new();
        let at = i;
        i += 1;
        while inputs.get(i).is_some_and(|(next, _)| *next == lengths_name(name, lengths.len())) {
            lengths.push(vars[i].clone());
            i += 1;
        }
        env.set(name, Val::Dense(vars[at].clone(), lengths));
    }
}

/// The variables that persist and that an op uses or writes.
pub fn kept<'a>(importer: &Importer<'a>) -> Vec<&'a VarDesc> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (number, block) in importer.program.blocks.iter().enumerate() {
        let slots = block.ops.iter().flat_map(|op| op.inputs.iter().chain(&op.outputs));
        for name in slots.flat_map(|slot| &slot.arguments) {
            if !seen.insert(name.as_str()) {
                continue;
            }
            if let Some(var) = importer.described(number, name).filter(|var| is_kept(var)) {
                found.push(var);
            }
        }
    }
    found
}

/// What a state is for.
pub fn role(importer: &Importer<'_>, var: &VarDesc, options: &Options) -> Role {
    let is_float = types::tensor(var)
        .and_then(|(desc, _)| types::dtype(desc.data_type.into()).ok())
        .is_some_and(DType::is_float);
    let ops = || importer.program.blocks.iter().flat_map(|block| &block.ops);
    let uses = |op: &OpDesc, slot: &str| arguments(&op.inputs, slot).contains(&var.name);
    let updates = |op: &OpDesc| !arguments(&op.inputs, "Param").is_empty();
    if ops().any(|op| uses(op, "Param")) || var.is_parameter && is_float {
        return Role::Parameter;
    }
    let all = |op: &OpDesc| op.inputs.iter().any(|slot| slot.arguments.contains(&var.name));
    match ops().any(|op| updates(op) && all(op)) {
        true => Role::Optimizer,
        false if options.trainable && is_float => Role::Parameter,
        false => Role::Buffer,
    }
}

/// The names of the outputs.
pub fn fetched(importer: &Importer<'_>, options: &Options) -> Result<Vec<String>> {
    if !options.fetch.is_empty() {
        return Ok(options.fetch.clone());
    }
    let ops = &importer.program.blocks[0].ops;
    let number = |op: &OpDesc, name: &str| {
        op.attrs.iter().find(|attr| attr.name == name).map_or(0, |attr| attr.i)
    };
    let mut fetches: Vec<(i32, &String)> = Vec::new();
    for op in ops.iter().filter(|op| op.r#type.starts_with("fetch")) {
        let names = arguments(&op.inputs, "X").iter();
        fetches.extend(names.map(|name| (number(op, "col"), name)));
    }
    fetches.sort_by_key(|&(col, _)| col);
    if !fetches.is_empty() {
        return Ok(distinct(fetches.into_iter().map(|(_, name)| name)));
    }
    // Of the roles of ops, 256 is that of a loss and 1 that of the way back.
    let losses = ops.iter().filter(|op| number(op, "op_role") & 257 == 256);
    let named = losses.flat_map(|op| &op.outputs).flat_map(|slot| slot.arguments.first());
    let named: Vec<&String> = named.filter(|name| is_there(name)).collect();
    if !named.is_empty() {
        return Ok(distinct(named.into_iter()));
    }
    let read: HashSet<&String> = importer
        .program
        .blocks
        .iter()
        .flat_map(|block| &block.ops)
        .flat_map(|op| &op.inputs)
        .flat_map(|slot| &slot.arguments)
        .collect();
    let is_result = |name: &&String| {
        let var = importer.described(0, name);
        var.is_some_and(|var| !var.persistable && types::kind(var) == Kind::Tensor)
    };
    let mut found: Vec<&String> = Vec::new();
    for op in ops {
        let mut all = op.outputs.iter().flat_map(|slot| &slot.arguments);
        if all.clone().any(|name| read.contains(name)) {
            continue;
        }
        found.extend(all.find(is_result));
    }
    Ok(distinct(found.into_iter()))
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.contains(name) {
            found.push(name.clone());
        }
    }
    found
}
