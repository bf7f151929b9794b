//! `hsigmoid`: a loss for many classes that are the leaves of a tree.

use crate::prelude::*;
use crate::shape::derived::judged;
use crate::{
    bitwise_and, dim_size, gather, ge, iota, maximum, reshape, right_shift, softplus, sum, where_,
};

/// The loss of a hierarchical softmax, `[batch, 1]`: a class is reached through a tree, at each node of which a
/// logistic function decides. `x` is `[batch, width]`, `label` holds a class for each row, `weight` is `[nodes, width]`
/// and `bias`, if given, has an element for each node.
///
/// Without `path_table` the tree is the complete binary one, which has one node less than `num_classes`. With it and
/// `path_code`, `i64[batch, steps]`, they are the nodes on the way to the class, filled up with -1, and where each
/// decision goes (0 or 1).
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (x, weight) = (Var::of(&[0.0], &[1, 1])?, Var::of(&[0.0; 3], &[3, 1])?);
/// let loss = hsigmoid(&x, &Var::of(&[2i64], &[1])?, &weight, None, None, None, 4)?;
/// // Two decisions with probability 1/2.
/// assert!((loss.to_vec::<f64>()?[0] - 4f64.ln()).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn hsigmoid(
    x: &Var,
    label: &Var,
    weight: &Var,
    bias: Option<&Var>,
    path_table: Option<&Var>,
    path_code: Option<&Var>,
    num_classes: usize,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let custom = path_table.zip(path_code);
    let mut all = vec![x, label, weight];
    all.extend(bias);
    let batch = judged("hsigmoid", &all, |types| {
        let (&[batch, width], &[nodes, columns]) = (types[0].dims(), types[2].dims()) else {
            return Err(Error::shape("expected [batch, width] and weights [nodes, width]"));
        };
        let wanted = Dim::size(num_classes.saturating_sub(1));
        if columns != width || !types[0].is_float() || (custom.is_none() && nodes != wanted) {
            return Err(Error::shape(format!(
                "the weights {} do not fit {} and {num_classes} classes",
                types[2], types[0]
            ))
            .remedy("there is one row for each node: one less than there are classes"));
        }
        if types[1].dtype() != DType::I64 || count_of(types[1].dims()) != Some(batch) {
            return Err(Error::shape(format!(
                "expected a label (i64) for each of {batch} rows, found {}",
                types[1]
            )));
        }
        if bias.is_some() && count_of(types[3].dims()) != Some(nodes) {
            return Err(Error::shape(format!("the bias is {}, not one number a node", types[3])));
        }
        match path_table.is_some() == path_code.is_some() && (custom.is_some() || num_classes > 1) {
            true => Ok(batch),
            false => Err(Error::argument(
                "a tree has at least two classes, or is given by `path_table` and `path_code`",
            )),
        }
    })?;
    let (node, code, is_used) = match custom {
        Some((table, code)) => {
            let is_used = ge(table, &Var::scalar(0i64))?;
            (maximum(table, &Var::scalar(0i64))?, code.clone(), is_used)
        }
        None => complete_tree(&reshape(label, &[batch, Dim::size(1)])?, num_classes)?,
    };
    let line = reshape(x, &[batch, Dim::size(1), x.ty().dim(1)])?;
    let mut scores = sum(&mul(&gather(weight, &node, 0)?, &line)?, &[2], false)?;
    if let Some(bias) = bias {
        scores = add(&scores, &gather(&reshape(bias, &[weight.ty().dim(0)])?, &node, 0)?)?;
    }
    let goes = mul(&scores, &cast(&code, scores.dtype())?)?;
    let losses = sub(&softplus(&scores, 1.0, 40.0)?, &goes)?;
    sum(&where_(&is_used, &losses, &zeros_like(&losses)?)?, &[1], true)
}

/// The nodes on the way to each class, where each decision goes, and which of them there are. The bits of
/// `label + num_classes`, from the first behind the leading one, are the way from the root; node `i` is the one
/// whose beginning is the number `i + 1`.
fn complete_tree(label: &Var, num_classes: usize) -> Result<(Var, Var, Var)> {
    let depth = (2 * num_classes - 1).ilog2() as usize;
    let classes = Dim::size(num_classes);
    // A label that is not a class is refused here.
    let numbers = add(&iota(classes, DType::I64)?, &dim_size(classes, DType::I64)?)?;
    let number = gather(&numbers, label, 0)?;
    let bits = iota(Dim::size(depth), DType::I64)?;
    let one = Var::scalar(1i64);
    let node = right_shift(&number, &add(&bits, &one)?)? - &one;
    let is_used = ge(&node, &Var::scalar(0i64))?;
    let code = bitwise_and(&right_shift(&number, &bits)?, &one)?;
    Ok((maximum(&node, &Var::scalar(0i64))?, code, is_used))
}
