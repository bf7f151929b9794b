//! Updates of optimizers and gradients, of the domain `ai.onnx.preview.training`.

use fluvial_core::{DType, Result, Var, grad};
use fluvial_ops as ops;

use super::node::Node;
use super::table::Entry;
use super::value::Val;

const DOMAIN: &str = "ai.onnx.preview.training";

pub const OPS: &[Entry] = &[
    Entry::many("Adagrad", 1, |n| {
        let (decay, epsilon) = (n.float("decay_factor", 0.0), n.float("epsilon", 1e-6));
        updated(n, 1, |r, t, x, g, past| {
            let slower = (&ops::cast(t, x.dtype())? * decay + 1.0).check()?;
            let rate = ops::div(r, &slower)?;
            let squares = ops::add(&past[0], &ops::mul(g, g)?)?;
            let root = (&ops::sqrt(&squares)? + epsilon).check()?;
            let step = ops::mul(&rate, &ops::div(g, &root)?)?;
            Ok(vec![ops::sub(x, &step)?, squares])
        })
    })
    .of(DOMAIN),
    Entry::many("Adam", 1, |n| {
        let (alpha, beta) = (n.float("alpha", 0.9), n.float("beta", 0.999));
        let epsilon = n.float("epsilon", 1e-6);
        let less = n.float("norm_coefficient_post", 0.0);
        updated(n, 2, |r, t, x, g, past| {
            let mixed = |old: &Var, new: &Var, share: f64| {
                ops::add(&(old * share).check()?, &(new * (1.0 - share)).check()?)
            };
            let mean = mixed(&past[0], g, alpha)?;
            let squares = mixed(&past[1], &ops::mul(g, g)?, beta)?;
            let t_wide = ops::cast(t, x.dtype())?;
            let rest = |share: f64| (1.0 - &ops::pow(&x.literal(share), &t_wide)?).check();
            let scaled = ops::div(&ops::mul(r, &ops::sqrt(&rest(beta)?)?)?, &rest(alpha)?)?;
            let rate = ops::where_(&ops::gt(t, &t.literal(0.0))?, &scaled, r)?;
            let root = (&ops::sqrt(&squares)? + epsilon).check()?;
            let new = ops::sub(x, &ops::mul(&rate, &ops::div(&mean, &root)?)?)?;
            Ok(vec![(&new * (1.0 - less)).check()?, mean, squares])
        })
    })
    .of(DOMAIN),
    Entry::many("Gradient", 1, gradient)
        .of(DOMAIN)
        .never_folds()
        .refuses("inputs that are other values than those of the graph"),
    Entry::many("Momentum", 1, |n| {
        let (alpha, beta) = (n.float("alpha", 0.0), n.float("beta", 0.0));
        let is_nesterov = n.string("mode", "standard") == "nesterov";
        updated(n, 1, |r, t, x, g, past| {
            let is_later = ops::gt(t, &t.literal(0.0))?;
            let share = ops::where_(&is_later, &x.literal(beta), &x.literal(1.0))?;
            let speed = ops::add(&(&past[0] * alpha).check()?, &ops::mul(&share, g)?)?;
            let step = match is_nesterov {
                true => ops::add(g, &(&speed * alpha).check()?)?,
                false => speed.clone(),
            };
            Ok(vec![ops::sub(x, &ops::mul(r, &step)?)?, speed])
        })
    })
    .of(DOMAIN),
];

/// The rate, the number of updates, a parameter, its gradient, what is remembered of it; to the new parameter and what is
/// remembered now.
type Rule<'a> = &'a dyn Fn(&Var, &Var, &Var, &Var, &[Var]) -> Result<Vec<Var>>;

/// Updates all parameters; inputs and outputs are grouped by kind.
fn updated(
    n: &Node<'_>,
    n_kept: usize,
    rule: impl Fn(&Var, &Var, &Var, &Var, &[Var]) -> Result<Vec<Var>>,
) -> Result<Vec<Val>> {
    let rule: Rule<'_> = &rule;
    let (rate, number) = (n.var(0)?, ops::cast(&n.var(1)?, DType::I64)?);
    let penalty = n.float("norm_coefficient", 0.0);
    let count = n.inputs.len().saturating_sub(2) / (n_kept + 2);
    let mut kinds: Vec<Vec<Val>> = vec![Vec::new(); n_kept + 1];
    for i in 0..count {
        let at = |kind: usize| n.var(2 + kind * count + i);
        let x = at(0)?;
        let gradient = ops::add(&(&x * penalty).check()?, &at(1)?)?;
        let past = (0..n_kept).map(|kind| at(kind + 2)).collect::<Result<Vec<Var>>>()?;
        for (kind, new) in kinds.iter_mut().zip(rule(&rate, &number, &x, &gradient, &past)?) {
            kind.push(new.into());
        }
    }
    Ok(kinds.into_iter().flatten().collect())
}

/// The slopes of a value of the graph with respect to others.
fn gradient(n: &Node<'_>) -> Result<Vec<Val>> {
    let names = [n.strings("xs"), n.strings("zs")].map(Option::unwrap_or_default).concat();
    if names.iter().ne(&n.proto.input) {
        return Err(n.refuse("its inputs are not the values that `xs` and `zs` name"));
    }
    let y = n.string("y", "");
    let y = n.env.get(&y).ok_or_else(|| n.refuse(format!("the graph has no `{y}` before it")))?;
    let wrt = (0..n.strings("xs").map_or(0, |xs| xs.len()))
        .map(|i| n.var(i))
        .collect::<Result<Vec<Var>>>()?;
    let found = grad(&[&y.var()?], &wrt.iter().collect::<Vec<_>>())?;
    Ok(found.into_iter().map(Val::from).collect())
}
