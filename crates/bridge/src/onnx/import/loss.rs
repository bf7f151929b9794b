//! Losses.

use fluvial_core::{DType, Result, Var};
use fluvial_ops::{self as ops, NllLossOptions, Reduction};

use super::node::Node;
use super::table::Entry;

pub const OPS: &[Entry] = &[
    Entry::one("NegativeLogLikelihoodLoss", 12, |n| loss(n, &n.var(0)?)),
    Entry::many("SoftmaxCrossEntropyLoss", 12, |n| {
        let logarithms = ops::log_softmax(&n.var(0)?, 1)?;
        Ok(vec![loss(n, &logarithms)?.into(), logarithms.into()])
    }),
];

fn loss(n: &Node<'_>, logarithms: &Var) -> Result<Var> {
    let (target, weight) = (ops::cast(&n.var(1)?, DType::I64)?, n.opt(2)?);
    let reduction = match n.string("reduction", "mean").as_str() {
        "mean" => Reduction::Mean,
        "sum" => Reduction::Sum,
        "none" => Reduction::None,
        other => return Err(n.refuse(format!("`{other}` is not a reduction"))),
    };
    let options = NllLossOptions::default()
        .reduction(reduction)
        .ignore_index(n.opt_int("ignore_index").unwrap_or(i64::MIN));
    ops::nll_loss(logarithms, &target, weight.as_ref(), options)
}
