//! Branches, loops, and what is there for the executor.

use std::collections::{HashMap, HashSet};

use fluvial_core::{Dim, Error, Result, Type, Var, outline};
use fluvial_ops::{self as ops, PrintOptions};

use super::arithmetic::out;
use super::call::{Call, arguments, is_there};
use super::table::{Entry, Outs};
use super::value::{Rows, Val, condition, like, scalar};
use crate::fit;

pub const OPS: &[Entry] = &[
    Entry::many("assert", |c| {
        let values = c.vars("Data")?;
        let holds = condition(&c.var("Cond")?)?;
        ops::assert_(
            &holds,
            "an assertion of the program fails",
            &values.iter().collect::<Vec<_>>(),
        )?;
        Ok(Vec::new())
    })
    .never_folds(),
    Entry::block("conditional_block", conditional_block)
        .refuses("a variable that a branch writes and that has other sizes outside of it"),
    Entry::block("conditional_block_infer", conditional_block),
    Entry::many("delete_var", |_| Ok(Vec::new())),
    Entry::many("depend", |c| out(c.val("X")?.clone())).never_folds(),
    Entry::many("feed", |_| Ok(Vec::new())).never_folds(),
    Entry::many("fetch", |_| Ok(Vec::new())).never_folds(),
    Entry::many("fetch_v2", |_| Ok(Vec::new())).never_folds(),
    Entry::many("memcpy", |c| out(c.val("X")?.clone())).never_folds(),
    Entry::many("memcpy_d2h", |c| out(c.val("X")?.clone())).never_folds(),
    Entry::many("memcpy_h2d", |c| out(c.val("X")?.clone())).never_folds(),
    Entry::many("merge_lod_tensor", merge).never_folds(),
    Entry::many("merge_lod_tensor_infer", merge).never_folds(),
    Entry::many("print", |c| {
        let x = c.var("In")?;
        let count = |name: &str| usize::try_from(c.int(name, -1)).ok();
        let options = PrintOptions {
            first_n: count("first_n"),
            summarize: count("summarize"),
            ..Default::default()
        };
        let phase = c.text("print_phase", "BOTH").to_ascii_uppercase();
        let is_forward = c.flag("is_forward", true);
        let is_said = phase == "BOTH" || (phase == "FORWARD") == is_forward;
        let printed = match is_said {
            true => ops::print_with(&x, &c.text("message", ""), options)?,
            false => x,
        };
        out(Val::Dense(printed, c.val("In")?.lengths().to_vec()))
    })
    .never_folds(),
    Entry::block("recurrent", recurrent),
    Entry::many("rnn_memory_helper", |c| out(c.val("X")?.clone())),
    Entry::many("select_input", select_input).never_folds(),
    Entry::many("select_output", |c| {
        let (x, mask) = (c.var("X")?, scalar(&c.var("Mask")?)?);
        let zero = x.literal(0.0);
        let chosen = |i: usize| -> Result<Val> {
            let is_it = ops::eq(&mask, &mask.literal(i as f64))?;
            Ok(Val::new(ops::where_(&is_it, &x, &zero)?))
        };
        let all = (0..c.outputs("Out").len()).map(chosen).collect::<Result<Vec<Val>>>()?;
        Ok(vec![("Out", all)])
    })
    .never_folds(),
    Entry::many("split_lod_tensor", |c| {
        let mask = rows_of(&c.var("Mask")?)?;
        let x = c.val("X")?;
        if !x.lengths().is_empty() {
            return Err(c.refuse("sequences that a mask splits"));
        }
        let x = x.var()?;
        let mut dims = x.dims().to_vec();
        dims[0] = mask.dims()[0];
        let (yes, no) = ops::split_rows(&mask, &fit::assumed(&x, &dims)?)?;
        Ok(vec![("OutTrue", vec![yes.into()]), ("OutFalse", vec![no.into()])])
    })
    .never_folds()
    .refuses("sequences"),
    Entry::block("while", repeat).refuses("variables that change their type"),
];

fn rows_of(mask: &Var) -> Result<Var> {
    let mask = ops::flatten(mask, 0, -1)?;
    if mask.dtype().is_bool() { Ok(mask) } else { ops::ne(&mask, &mask.literal(0.0)) }
}

/// Rows in the order that a mask says; a side that was not computed has none.
fn merge(c: &Call<'_>) -> Result<Outs> {
    let mask = rows_of(&c.var("Mask")?)?;
    let (yes, no) = (c.opt("InTrue")?, c.opt("InFalse")?);
    let zeros = |like: &Var, mask: &Var| -> Result<Var> {
        let mut dims = like.dims().to_vec();
        dims[0] = mask.dims()[0];
        let (rows, _) = ops::split_rows(mask, &ops::zeros(&dims, like.dtype())?)?;
        Ok(rows)
    };
    let (yes, no) = match (yes, no) {
        (Some(yes), Some(no)) => (yes, no),
        (Some(yes), None) => {
            let no = zeros(&yes, &ops::logical_not(&mask)?)?;
            (yes, no)
        }
        (None, Some(no)) => (zeros(&no, &mask)?, no),
        (None, None) => return Err(c.refuse("neither side has a value")),
    };
    out(ops::merge_rows(&mask, &yes, &no)?)
}

fn select_input(c: &Call<'_>) -> Result<Outs> {
    let mask = scalar(&c.var("Mask")?)?;
    let vals = c.inputs.get("X").cloned().unwrap_or_default();
    let mut chosen: Option<Val> = None;
    for (i, val) in vals.into_iter().enumerate() {
        let Some(val) = val else { continue };
        chosen = Some(match chosen {
            None => val,
            Some(others) => {
                let is_it = ops::eq(&mask, &mask.literal(i as f64))?;
                let form = Form::of(&val);
                let (mine, other) = (form.parts(&val)?, form.fitted(&others, &val)?);
                form.val(ops::cond(&is_it, || Ok(mine), || Ok(other))?)
            }
        });
    }
    out(chosen.ok_or_else(|| c.refuse("none of its inputs has a value"))?)
}

/// Of what values a variable is made where blocks hand it on.
#[derive(Clone)]
enum Form {
    Dense(usize),
    Array,
    Rows(Dim),
}

impl Form {
    fn of(val: &Val) -> Form {
        match val {
            Val::Dense(_, lengths) => Form::Dense(lengths.len()),
            Val::Sizes(_) => Form::Dense(0),
            Val::Array(_) => Form::Array,
            Val::Rows(rows) => Form::Rows(rows.height),
        }
    }

    fn parts(&self, val: &Val) -> Result<Vec<Var>> {
        match (self, val) {
            (Form::Rows(_), Val::Rows(rows)) => Ok(vec![rows.index.clone(), rows.values.clone()]),
            (Form::Dense(count), val) if val.lengths().len() == *count => {
                let var = val.var()?;
                Ok([var].into_iter().chain(val.lengths().iter().cloned()).collect())
            }
            (Form::Array, Val::Array(Some(list))) => Ok(vec![list.clone()]),
            _ => Err(Error::dtype(format!(
                "a variable has another kind of value behind a block than before it: {}",
                val.shown()
            ))),
        }
    }

    /// The parts in the types of another value.
    fn fitted(&self, val: &Val, other: &Val) -> Result<Vec<Var>> {
        let (parts, wanted) = (self.parts(val)?, self.parts(other)?);
        let fit = |(part, wanted): (&Var, &Var)| match wanted.ty().is_list() {
            true => Ok(part.clone()),
            false => ops::cast(&like(part, &wanted.dims())?, wanted.dtype()),
        };
        parts.iter().zip(&wanted).map(fit).collect()
    }

    fn count(&self) -> usize {
        match self {
            Form::Dense(count) => 1 + count,
            Form::Array => 1,
            Form::Rows(_) => 2,
        }
    }

    fn val(&self, parts: Vec<Var>) -> Val {
        let mut parts = parts.into_iter();
        match (self, parts.next()) {
            (Form::Array, list) => Val::Array(list),
            (Form::Dense(_), Some(var)) => Val::Dense(var, parts.collect()),
            (Form::Rows(height), Some(index)) => match parts.next() {
                Some(values) => Val::Rows(Rows { index, values, height: *height }),
                None => Val::new(index),
            },
            (_, None) => Val::Array(None),
        }
    }
}

/// The outer variables that a block writes, in the order of their names.
fn written(c: &Call<'_>, block: i64) -> Result<Vec<String>> {
    let mut found = HashSet::new();
    fn walk(c: &Call<'_>, block: i64, found: &mut HashSet<String>, depth: usize) -> Result<()> {
        if depth > super::DEPTH {
            return Err(Error::program("blocks lie too deep in each other"));
        }
        let number = usize::try_from(block).unwrap_or(usize::MAX);
        let mut own = HashSet::new();
        for op in &c.importer.block_of(block)?.ops {
            c.importer.count()?;
            own.extend(op.outputs.iter().flat_map(|slot| &slot.arguments).cloned());
            for inner in op.attrs.iter().filter(|attr| attr.r#type == 8) {
                if i64::from(inner.block_idx) != block {
                    walk(c, inner.block_idx.into(), &mut own, depth + 1)?;
                }
            }
        }
        found.extend(own.into_iter().filter(|name| !c.importer.is_local(number, name)));
        Ok(())
    }
    walk(c, block, &mut found, 0)?;
    let mut found: Vec<String> = found.into_iter().filter(|name| is_there(name)).collect();
    found.sort_unstable();
    Ok(found)
}

/// The values that an op was given, by the names of their variables.
fn given(c: &Call<'_>) -> Vec<(String, Val)> {
    let mut all = Vec::new();
    for slot in &c.proto.inputs {
        let vals = c.inputs.get(&slot.parameter).into_iter().flatten();
        for (name, val) in slot.arguments.iter().zip(vals) {
            if let Some(val) = val {
                all.push((name.clone(), val.clone()));
            }
        }
    }
    all
}

/// What variables hold behind a block that was run.
struct Left {
    names: Vec<String>,
    forms: Vec<Form>,
    parts: Vec<Var>,
}

impl Left {
    /// Of these variables, those that have a value.
    fn of(values: &HashMap<String, Val>, names: &[String]) -> Result<Left> {
        let mut left = Left { names: Vec::new(), forms: Vec::new(), parts: Vec::new() };
        for name in names {
            let Some(val) = values.get(name) else { continue };
            if let Val::Array(None) = val {
                continue;
            }
            let form = Form::of(val);
            left.parts.extend(form.parts(val)?);
            left.names.push(name.clone());
            left.forms.push(form);
        }
        Ok(left)
    }
}

/// Names with the values that parts are.
fn vals(names: &[String], forms: &[Form], parts: &[Var]) -> Vec<(String, Val)> {
    let mut at = 0;
    let mut found = Vec::new();
    for (name, form) in names.iter().zip(forms) {
        let end = at + form.count();
        found.push((name.clone(), form.val(parts[at..end].to_vec())));
        at = end;
    }
    found
}

/// A value of that type that says nothing.
fn blank(ty: &Type) -> Result<Var> {
    match ty.element() {
        Some(element) => ops::list_new(element),
        None => ops::zeros(ty.dims(), ty.dtype()),
    }
}

fn conditional_block(c: &Call<'_>) -> Result<Vec<(String, Val)>> {
    let block = c.int("sub_block", -1);
    let names = written(c, block)?;
    let run = || c.importer.inside(block, given(c), c.env);
    if !c.flag("is_scalar_condition", false) {
        if let Some(name) = names.iter().find(|name| c.importer.is_state(name)) {
            return Err(c.refuse(format!("`{name}`, which persists, is written for some rows")));
        }
        // Rows of a mask: of none, the block makes none.
        let values = run()?;
        let found = names.iter().filter_map(|name| Some((name.clone(), values.get(name)?.clone())));
        return Ok(found.collect());
    }
    let holds = c.vals("Cond").first().map(|val| val.var()).transpose()?;
    let holds = condition(&holds.ok_or_else(|| c.refuse("it has no condition"))?)?;
    if let Ok(known) = holds.tensor() {
        let values = if known.item::<bool>()? { run()? } else { HashMap::new() };
        let found = names.iter().filter_map(|name| Some((name.clone(), values.get(name)?.clone())));
        return Ok(found.collect());
    }
    let mut seen = None;
    let types = outline(&[], |_| {
        let left = Left::of(&run()?, &names)?;
        seen = Some((left.names, left.forms));
        Ok(left.parts)
    })?;
    let (names, forms) = seen.unwrap_or_default();
    let mut before = Vec::new();
    let mut at = 0;
    for (name, form) in names.iter().zip(&forms) {
        let wanted = &types[at..at + form.count()];
        at += form.count();
        let old = c.env.get(name).filter(|val| !matches!(val, Val::Array(None)));
        match old {
            Some(val) => {
                for (part, ty) in form.parts(val)?.iter().zip(wanted) {
                    before.push(match ty.is_list() {
                        true => part.clone(),
                        false => ops::cast(&like(part, ty.dims())?, ty.dtype())?,
                    });
                }
            }
            None => {
                for ty in wanted {
                    before.push(blank(ty)?);
                }
            }
        }
    }
    let taken = || -> Result<Vec<Var>> { Ok(Left::of(&run()?, &names)?.parts) };
    let parts = ops::cond(&holds, taken, || Ok(before))?;
    Ok(vals(&names, &forms, &parts))
}

/// A loop carries the outer variables that its block writes. Those without a value begin as zeros.
fn repeat(c: &Call<'_>) -> Result<Vec<(String, Val)>> {
    let block = c.int("sub_block", -1);
    let Some(going) = arguments(&c.proto.inputs, "Condition").first() else {
        return Err(c.refuse("it has no condition"));
    };
    let all = written(c, block)?;
    if !all.contains(going) {
        return Err(c.refuse(format!("its block never writes the condition `{going}`")));
    }
    let outside: HashMap<String, Val> = given(c).into_iter().collect();
    let now = |name: &String| outside.get(name).or_else(|| c.env.get(name)).cloned();
    let mut values: HashMap<String, Val> = HashMap::new();
    for name in &all {
        if let Some(val) = now(name) {
            values.insert(name.clone(), val);
        }
    }
    let captured = || outside.iter().map(|(name, val)| (name.clone(), val.clone()));
    let first = Left::of(&values, &all)?;
    let types: Vec<Type> = first.parts.iter().map(Var::ty).collect();
    let run = |names: &[String], forms: &[Form], parts: &[Var]| {
        let mut inputs: Vec<(String, Val)> = captured().collect();
        inputs.extend(vals(names, forms, parts));
        c.importer.inside(block, inputs, c.env)
    };
    let mut seen = None;
    let outer = outline(&types, |parts| {
        let left = Left::of(&run(&first.names, &first.forms, parts)?, &all)?;
        seen = Some((left.names, left.forms));
        Ok(left.parts)
    })?;
    let (names, forms) = seen.unwrap_or_default();
    let mut init = Vec::new();
    let mut at = 0;
    for (name, form) in names.iter().zip(&forms) {
        let wanted = &outer[at..at + form.count()];
        at += form.count();
        match values.get(name).filter(|val| !matches!(val, Val::Array(None))) {
            Some(val) => init.extend(form.parts(val)?),
            None => {
                for ty in wanted {
                    init.push(blank(ty)?);
                }
            }
        }
    }
    let place: usize = names
        .iter()
        .zip(&forms)
        .take_while(|(name, _)| *name != going)
        .map(|(_, form)| form.count())
        .sum();
    let last = ops::while_loop(
        &init.iter().collect::<Vec<_>>(),
        |parts| condition(&parts[place]),
        |parts| {
            let left = Left::of(&run(&names, &forms, parts)?, &names)?;
            if left.parts.len() != parts.len() {
                return Err(c.refuse("its block leaves variables without a value"));
            }
            let fit = |(new, old): (&Var, &Var)| match old.ty().is_list() {
                true => Ok(new.clone()),
                false => ops::cast(&like(new, &old.dims())?, old.dtype()),
            };
            left.parts.iter().zip(parts).map(fit).collect()
        },
    )?;
    Ok(vals(&names, &forms, &last))
}

/// A loop over the first axis of inputs, whose slices have the same names inside.
fn recurrent(c: &Call<'_>) -> Result<Vec<(String, Val)>> {
    let block = c.int("sub_block", -1);
    let (before, after) = (c.texts("ex_states"), c.texts("states"));
    let (xs, init) = (c.vars("inputs")?, c.vars("initial_states")?);
    if before.len() != after.len() || before.len() != init.len() {
        return Err(c.refuse("as many states are needed before and behind a step as at first"));
    }
    let names = arguments(&c.proto.inputs, "inputs");
    let results = arguments(&c.proto.outputs, "outputs");
    let reverse = c.flag("reverse", false);
    let turned = |x: Var| if reverse { ops::flip(&x, &[0]) } else { Ok(x) };
    let xs = xs.into_iter().map(turned).collect::<Result<Vec<Var>>>()?;
    let step = |carried: &[Var], slices: &[Var]| {
        let mut inputs = given(c);
        inputs.extend(names.iter().cloned().zip(slices.iter().cloned().map(Val::new)));
        inputs.extend(before.iter().cloned().zip(carried.iter().cloned().map(Val::new)));
        let values = c.importer.inside(block, inputs, c.env)?;
        let get = |name: &String| match values.get(name) {
            Some(val) => val.var(),
            None => Err(c.refuse(format!("its block does not give `{name}`"))),
        };
        let next = after.iter().map(get).collect::<Result<Vec<Var>>>()?;
        let next = next.iter().zip(carried).map(|(new, old)| like(new, &old.dims()));
        let next = next.collect::<Result<Vec<Var>>>()?;
        Ok((next, results.iter().map(get).collect::<Result<Vec<Var>>>()?))
    };
    let (_, outs) =
        ops::scan(&init.iter().collect::<Vec<_>>(), &xs.iter().collect::<Vec<_>>(), step)?;
    let outs = outs.into_iter().map(turned).collect::<Result<Vec<Var>>>()?;
    Ok(results.iter().cloned().zip(outs.into_iter().map(Val::new)).collect())
}
