//! Branches and loops.

use fluvial_core::{DType, Dim, Result, Type, Var, outline};
use fluvial_ops as ops;

use super::node::{Node, front};
use super::table::Entry;
use super::value::Val;

pub const OPS: &[Entry] = &[
    Entry::many("If", 1, branch).never_folds().refuses("branches that give different types"),
    Entry::many("Loop", 1, repeat).never_folds().refuses("carried values that change their type"),
    Entry::many("Scan", 8, scan).never_folds().refuses("the form of op set 8"),
];

fn vars(vals: &[Val]) -> Result<Vec<Var>> {
    vals.iter().map(Val::var).collect()
}

fn scalar(x: &Var) -> Result<Var> {
    if x.rank() == 0 { Ok(x.clone()) } else { ops::reshape(x, &[]) }
}

fn branch(n: &Node<'_>) -> Result<Vec<Val>> {
    let (then, otherwise) = (n.graph("then_branch")?, n.graph("else_branch")?);
    let run = |graph| n.importer.subgraph(graph, Vec::new(), n.env);
    if let Some(holds) = n.val(0)?.tensor().filter(|tensor| tensor.numel() == 1) {
        let holds = holds.to_f64s().first().is_some_and(|&number| number != 0.0);
        return run(if holds { then } else { otherwise });
    }
    let holds = scalar(&n.var(0)?)?;
    let found = ops::cond(&holds, || vars(&run(then)?), || vars(&run(otherwise)?))?;
    Ok(found.into_iter().map(Val::from).collect())
}

/// A loop carries its number, whether it goes on, its values, and a list for each stacked output.
fn repeat(n: &Node<'_>) -> Result<Vec<Val>> {
    let body = n.graph("body")?;
    let most = match n.opt(0)? {
        Some(most) => Some(scalar(&ops::cast(&most, DType::I64)?)?),
        None => None,
    };
    let goes_on = match n.opt(1)? {
        Some(holds) => scalar(&holds)?,
        None => Var::scalar(true),
    };
    let carried = |i: usize| match (n.val(i)?, body.input.get(i)) {
        // Only the body says what an empty sequence will hold.
        (Val::List(items), Some(info)) if items.is_empty() => {
            ops::list_new(n.importer.element_type(info)?)
        }
        (val, _) => val.var(),
    };
    let first = (2..n.inputs.len()).map(carried).collect::<Result<Vec<Var>>>()?;
    let n_carried = first.len();
    let trip = |number: &Var, holds: &Var, carried: &[Var]| {
        let inputs = [number, holds].into_iter().chain(carried).cloned().map(Val::Var);
        let found = vars(&n.importer.subgraph(body, inputs.collect(), n.env)?)?;
        if found.len() < n_carried + 1 {
            return Err(n.refuse("its body gives fewer values than it carries"));
        }
        Ok(found)
    };
    let mut types = vec![Type::scalar(DType::I64), Type::scalar(DType::Bool)];
    types.extend(first.iter().map(Var::ty));
    let outs = outline(&types, |values| trip(&values[0], &values[1], &values[2..]))?;
    let stacked = outs.get(n_carried + 1..).unwrap_or(&[]);
    let lists = stacked.iter().map(|&ty| ops::list_new(ty)).collect::<Result<Vec<_>>>()?;
    let (zero, one) = (Var::scalar(0i64), Var::scalar(1i64));
    let init: Vec<&Var> = [&zero, &goes_on].into_iter().chain(&first).chain(&lists).collect();
    let last = ops::while_loop(
        &init,
        |values| match &most {
            Some(most) => ops::logical_and(&values[1], &ops::lt(&values[0], most)?),
            None => Ok(values[1].clone()),
        },
        |values| {
            let (carried, lists) = values[2..].split_at(n_carried);
            let found = trip(&values[0], &values[1], carried)?;
            let mut next = vec![ops::add(&values[0], &one)?, scalar(&found[0])?];
            for (new, old) in found[1..=n_carried].iter().zip(carried) {
                next.push(match old.ty().is_list() {
                    true => new.clone(),
                    false => crate::fit::assumed(new, &old.dims())?,
                });
            }
            for (list, element) in lists.iter().zip(&found[n_carried + 1..]) {
                next.push(ops::list_push(list, element)?);
            }
            Ok(next)
        },
    )?;
    let mut found: Vec<Val> = last[2..2 + n_carried].iter().cloned().map(Val::from).collect();
    if !lists.is_empty() {
        let len = match last[0].tensor() {
            Ok(count) => Dim::size(count.item::<i64>()?.max(0) as usize),
            Err(_) => ops::of_size(&last[0])?.ty().dim(0),
        };
        for list in &last[2 + n_carried..] {
            found.push(ops::list_stack(list, len, true)?.into());
        }
    }
    Ok(found)
}

fn scan(n: &Node<'_>) -> Result<Vec<Val>> {
    if n.opset < 9 {
        return Err(n.refuse("the form of op set 8, which has a batch axis"));
    }
    let body = n.graph("body")?;
    let n_scanned = usize::try_from(n.int("num_scan_inputs", 0)).unwrap_or(usize::MAX);
    let Some(n_carried) = n.inputs.len().checked_sub(n_scanned) else {
        return Err(n.refuse("`num_scan_inputs` is more than there are"));
    };
    let all = n.rest(0)?;
    let (init, xs) = all.split_at(n_carried);
    let at = |name: &str, i: usize| n.ints(name).and_then(|all| all.get(i).copied()).unwrap_or(0);
    let mut turned = Vec::new();
    for (i, x) in xs.iter().enumerate() {
        let axis = front(at("scan_input_axes", i), x.rank())?;
        let x = ops::movedim(x, &[axis as i64], &[0])?;
        turned.push(match at("scan_input_directions", i) {
            0 => x,
            _ => ops::flip(&x, &[0])?,
        });
    }
    let step = |carried: &[Var], slices: &[Var]| {
        let inputs = carried.iter().chain(slices).cloned().map(Val::Var).collect();
        let mut found = vars(&n.importer.subgraph(body, inputs, n.env)?)?;
        if found.len() < n_carried {
            return Err(n.refuse("its body gives fewer values than it carries"));
        }
        let outs = found.split_off(n_carried);
        Ok((found, outs))
    };
    let init: Vec<&Var> = init.iter().collect();
    let (last, outs) = ops::scan(&init, &turned.iter().collect::<Vec<_>>(), step)?;
    let mut found: Vec<Val> = last.into_iter().map(Val::from).collect();
    for (i, mut out) in outs.into_iter().enumerate() {
        if at("scan_output_directions", i) != 0 {
            out = ops::flip(&out, &[0])?;
        }
        let axis = front(at("scan_output_axes", i), out.rank())?;
        found.push(ops::movedim(&out, &[0], &[axis as i64])?.into());
    }
    Ok(found)
}
