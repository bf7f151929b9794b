//! Gradient ops: each belongs to an op that ran before it, and gives the products of cotangents with that op's own
//! derivatives, by our reverse rules.

use std::collections::HashMap;

use fluvial_core::{Error, GradOptions, Result, Var, vjp};
use fluvial_ops as ops;

use super::call::{Inputs, arguments, is_there};
use super::value::{Val, like};
use super::{Env, Importer, Written};
use crate::fluid::generated::OpDesc;

const SUFFIX: &str = "@GRAD";

/// An op that ran.
pub struct Record<'a> {
    pub op: &'a OpDesc,
    /// What it was given; gradients stop there.
    pub inputs: Inputs,
    pub outs: HashMap<String, Vec<Option<Val>>>,
}

impl Record<'_> {
    /// Whether a gradient op belongs to it: it names the same variables.
    fn is_of(&self, gradient: &OpDesc) -> bool {
        let fits = |slot: &str, names: &[String]| {
            let own = match arguments(&self.op.inputs, slot) {
                [] => arguments(&self.op.outputs, slot),
                own => own,
            };
            own.is_empty() || own == names
        };
        let follows = |slot: &str, names: &[String]| {
            let own = arguments(&self.op.outputs, slot);
            let named = names.iter().filter(|name| is_there(name));
            names.len() <= own.len() && named.into_iter().all(|name| place(own, name).is_some())
        };
        gradient.inputs.iter().all(|slot| match slot.parameter.strip_suffix(SUFFIX) {
            Some(output) => slot.arguments.is_empty() || follows(output, &slot.arguments),
            None => fits(&slot.parameter, &slot.arguments),
        })
    }
}

/// The place of the variable that a gradient belongs to.
fn place(own: &[String], gradient: &str) -> Option<usize> {
    let base = gradient.split(SUFFIX).next().unwrap_or_default();
    own.iter().position(|name| name == base)
}

fn find<'e>(env: &'e Env<'_>, op: &OpDesc, name: &str) -> Option<&'e Record<'e>> {
    let own = env.records.iter().rev().find(|record| record.op.r#type == name && record.is_of(op));
    match own {
        // A record lives as long as its environment.
        Some(record) => Some(record),
        None => find(env.outer?, op, name),
    }
}

/// What a gradient op writes.
pub fn written(
    importer: &Importer<'_>,
    op: &OpDesc,
    inputs: Inputs,
    env: &Env<'_>,
) -> Result<Written> {
    let name = op.r#type.strip_suffix("_grad").unwrap_or_default();
    if name.ends_with("_grad") || name.ends_with("_double") {
        return Err(Error::argument(format!("the Fluid op {} is not supported", op.r#type))
            .remedy("load the forward program, and take second derivatives of it with `fl.grad`"));
    }
    let Some(record) = find(env, op, name) else {
        let what = format!("no op {name} before it has the variables that {} names", op.r#type);
        return Err(Error::program(what));
    };
    let (mut outputs, mut seeds) = (Vec::new(), Vec::new());
    for slot in &op.inputs {
        let Some(output) = slot.parameter.strip_suffix(SUFFIX) else { continue };
        let given = inputs.get(&slot.parameter).into_iter().flatten();
        let own = arguments(&record.op.outputs, output);
        let found = record.outs.get(output).map(|vals| &vals[..]).unwrap_or_default();
        for (name, seed) in slot.arguments.iter().zip(given) {
            let out = place(own, name).and_then(|i| found.get(i)).and_then(Option::as_ref);
            let (Some(out), Some(seed)) = (out, seed) else { continue };
            let out = out.var()?;
            if !out.is_symbolic() {
                continue;
            }
            let seed = seed.var()?;
            seeds.push(Some(if out.ty().is_list() { seed } else { fitted(&seed, &out)? }));
            outputs.push(out);
        }
    }
    let mut wanted: Vec<(String, Var)> = Vec::new();
    for slot in &op.outputs {
        let Some(input) = slot.parameter.strip_suffix(SUFFIX) else { continue };
        let given = record.inputs.get(input).into_iter().flatten();
        for (name, val) in slot.arguments.iter().zip(given) {
            if let (true, Some(val)) = (is_there(name), val) {
                wanted.push((name.clone(), val.var()?));
            }
        }
    }
    let wrt: Vec<&Var> =
        wanted.iter().map(|(_, var)| var).filter(|var| var.is_symbolic()).collect();
    let options = GradOptions { create_graph: false, retain_graph: true };
    let seeds: Vec<Option<&Var>> = seeds.iter().map(Option::as_ref).collect();
    let found = vjp(&outputs.iter().collect::<Vec<_>>(), &seeds, &wrt, options)?;
    let mut found = found.into_iter();
    let mut values = Vec::new();
    for (name, var) in &wanted {
        let gradient = if var.is_symbolic() { found.next().flatten() } else { None };
        let val = match gradient {
            Some(gradient) if var.ty().is_list() => Val::Array(Some(gradient)),
            Some(gradient) => Val::new(gradient),
            None if var.ty().is_list() => Val::Array(None),
            None => Val::new(ops::zeros_like(var)?),
        };
        values.push((name.clone(), val));
    }
    values.extend(turned_back(importer, op, record)?);
    Ok(Written { inputs, values })
}

/// Counters that a block of gradients counts back, which is never run: they are what they were before the loop.
fn turned_back(
    importer: &Importer<'_>,
    op: &OpDesc,
    record: &Record<'_>,
) -> Result<Vec<(String, Val)>> {
    let mut found = Vec::new();
    for attr in op.attrs.iter().filter(|attr| attr.r#type == 8) {
        let block = importer.block_of(attr.block_idx.into())?;
        for counted in block.ops.iter().filter(|op| op.r#type == "increment") {
            for name in arguments(&counted.outputs, "Out") {
                for slot in &record.op.inputs {
                    let place = slot.arguments.iter().position(|given| given == name);
                    let vals = record.inputs.get(&slot.parameter);
                    let val = place.and_then(|i| vals?.get(i)?.clone());
                    found.extend(val.map(|val| (name.clone(), val)));
                }
            }
        }
    }
    Ok(found)
}

/// A cotangent in the sizes and type of its value.
fn fitted(seed: &Var, out: &Var) -> Result<Var> {
    let seed = ops::cast(&like(seed, &out.dims())?, out.dtype())?;
    Ok(seed)
}
