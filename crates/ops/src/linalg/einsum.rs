//! `einsum`: sums of products, by the names of axes.

use super::einsum_spec::{Label, Spec, name};
use super::matmul;
use crate::prelude::*;
use crate::{diagonal, permute, reshape, sum};

/// Sums of products, as an equation of indices says: `ij,jk->ik` is the matrix product.
///
/// Each operand's indices name its axes, in order. Operands are multiplied along axes of the same
/// name and summed over the names that are not in the result. A name that stands twice in one
/// operand is its diagonal; `...` stands for further axes, which are broadcast. Without an arrow,
/// the result has the axes under ellipses and then each name that occurs once, in alphabetical
/// order. Axes of size one are broadcast.
///
/// Operands are taken from left to right, two at a time.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let a = Var::of(&[1.0, 2.0, 3.0, 4.0], &[2, 2])?;
/// let b = Var::of(&[1.0, 10.0], &[2])?;
/// assert_eq!(einsum("ij,j->i", &[&a, &b])?.to_vec::<f64>()?, [21.0, 43.0]);
/// assert_eq!(einsum("ii", &[&a])?.item::<f64>()?, 5.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn einsum(equation: &str, operands: &[&Var]) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let precision = autocast::low();
    let operands = precision.all(operands)?;
    let operands = &operands.iter().collect::<Vec<_>>()[..];
    let mut types = Vec::new();
    for operand in operands {
        types.push((*operand).clone().check()?.ty());
    }
    let refs: Vec<&Type> = types.iter().collect();
    compute(equation, operands, &types).map_err(|error| match error.op_text() {
        None => error.in_op("einsum", &refs).at(loc),
        Some(_) => error,
    })
}

/// A value whose axes have names.
struct Term {
    value: Var,
    labels: Vec<Label>,
}

fn compute(equation: &str, operands: &[&Var], types: &[Type]) -> Result<Var> {
    if types.iter().any(|ty| ty.is_list() || ty.dtype().is_bool()) {
        return Err(Error::dtype("only tensors of numbers are multiplied").remedy("cast first"));
    }
    let ranks: Vec<usize> = types.iter().map(Type::rank).collect();
    let spec = Spec::read(equation, &ranks)?;
    let mut terms = Vec::new();
    for (operand, labels) in operands.iter().zip(&spec.inputs) {
        terms.push(Term::new(operand, labels)?);
    }
    let sizes = common_sizes(&terms)?;
    let mut terms =
        terms.into_iter().map(|term| term.without_ones(&sizes)).collect::<Result<Vec<_>>>()?;
    let mut product = terms.remove(0);
    while !terms.is_empty() {
        let factor = terms.remove(0);
        let later: Vec<Label> =
            terms.iter().flat_map(|term| &term.labels).chain(&spec.output).copied().collect();
        let kept = |other: &[Label]| [other, &later].concat();
        let (left, right) = (kept(&factor.labels), kept(&product.labels));
        product = product.summed_to(&left)?.times(factor.summed_to(&right)?, &later)?;
    }
    product.summed_to(&spec.output)?.ordered(&spec.output)
}

/// The size of each index; a one gives way to another size.
fn common_sizes(terms: &[Term]) -> Result<Vec<(Label, Dim)>> {
    let mut sizes: Vec<(Label, Dim)> = Vec::new();
    for (i, term) in terms.iter().enumerate() {
        for (&label, dim) in term.labels.iter().zip(term.value.dims()) {
            match sizes.iter_mut().find(|(known, _)| *known == label) {
                None => sizes.push((label, dim)),
                Some((_, known)) if *known == Dim::size(1) => *known = dim,
                Some((_, known)) if *known == dim || dim == Dim::size(1) => {}
                Some((_, known)) => {
                    return Err(Error::shape(format!(
                        "{} has size {dim} in operand {i}, and {known} before",
                        name(label)
                    )));
                }
            }
        }
    }
    Ok(sizes)
}

impl Term {
    /// The operand with each of its names once: repeated ones are diagonals.
    fn new(operand: &Var, labels: &[Label]) -> Result<Term> {
        let mut term = Term { value: operand.clone(), labels: labels.to_vec() };
        let repeated = |labels: &[Label]| {
            (0..labels.len()).find_map(|i| {
                labels[..i].iter().position(|&earlier| earlier == labels[i]).map(|first| (first, i))
            })
        };
        while let Some((first, second)) = repeated(&term.labels) {
            term = term.diagonal(first, second)?;
        }
        Ok(term)
    }

    fn diagonal(self, first: usize, second: usize) -> Result<Term> {
        let dims = self.value.dims();
        let (size, label) = (dims[first], self.labels[first]);
        if size != dims[second] {
            return Err(Error::shape(format!(
                "{} has the sizes {size} and {} in one operand",
                name(label),
                dims[second]
            )));
        }
        let mut labels = self.labels.clone();
        labels.remove(second);
        labels.remove(first);
        labels.push(label);
        let value = diagonal(&self.value, 0, first as i64, second as i64)?;
        Ok(Term { value, labels })
    }

    /// Without the axes of size one that are larger elsewhere.
    fn without_ones(self, sizes: &[(Label, Dim)]) -> Result<Term> {
        let one = Dim::size(1);
        let stays = |(label, dim): &(Label, Dim)| {
            *dim != one || sizes.iter().any(|(known, size)| known == label && *size == one)
        };
        let axes = self.labels.iter().copied().zip(self.value.dims());
        let (labels, dims): (Vec<Label>, Vec<Dim>) = axes.filter(stays).unzip();
        match labels.len() == self.labels.len() {
            true => Ok(self),
            false => Ok(Term { value: reshape(&self.value, &dims)?, labels }),
        }
    }

    /// Summed over the names that are not among `kept`.
    fn summed_to(self, kept: &[Label]) -> Result<Term> {
        let gone: Vec<i64> = (0..self.labels.len())
            .filter(|&i| !kept.contains(&self.labels[i]))
            .map(|i| i as i64)
            .collect();
        if gone.is_empty() {
            return Ok(self);
        }
        let labels = self.labels.iter().copied().filter(|label| kept.contains(label)).collect();
        Ok(Term { value: sum(&self.value, &gone, false)?, labels })
    }

    /// The product, summed over the names of both that are not used later.
    fn times(self, other: Term, later: &[Label]) -> Result<Term> {
        let shared = |label: &&Label| other.labels.contains(label);
        let part = |labels: &[Label], which: &dyn Fn(&&Label) -> bool| -> Vec<Label> {
            labels.iter().filter(which).copied().collect()
        };
        let both = part(&self.labels, &shared);
        let batch = part(&both, &|label| later.contains(label));
        let inner = part(&both, &|label| !later.contains(label));
        let left = part(&self.labels, &|label| !both.contains(label));
        let right = part(&other.labels, &|label| !both.contains(label));

        let a = self.ordered(&[&*batch, &left, &inner].concat())?;
        let b = other.ordered(&[&*batch, &inner, &right].concat())?;
        let (a_dims, b_dims) = (a.dims(), b.dims());
        let (batch_dims, left_dims) =
            (&a_dims[..batch.len()], &a_dims[batch.len()..][..left.len()]);
        let right_dims = &b_dims[b_dims.len() - right.len()..];
        let ones = |count: usize| vec![Dim::size(1); count];
        let dims = [batch_dims, left_dims, right_dims].concat();
        let labels = [batch, left.clone(), right.clone()].concat();
        if inner.is_empty() {
            let a = reshape(&a, &[batch_dims, left_dims, &ones(right.len())].concat())?;
            let b = reshape(&b, &[batch_dims, &ones(left.len()), right_dims].concat())?;
            return Ok(Term { value: mul(&a, &b)?, labels });
        }
        let inner_dims = &a_dims[a_dims.len() - inner.len()..];
        let (m, k, n) = (count(left_dims)?, count(inner_dims)?, count(right_dims)?);
        let a = reshape(&a, &[batch_dims, &[m, k]].concat())?;
        let b = reshape(&b, &[batch_dims, &[k, n]].concat())?;
        Ok(Term { value: reshape(&matmul(&a, &b)?, &dims)?, labels })
    }

    /// The value with its axes in this order.
    fn ordered(self, order: &[Label]) -> Result<Var> {
        if self.labels == order {
            return Ok(self.value);
        }
        let place = |label: &Label| {
            let place = self.labels.iter().position(|own| own == label);
            place.map(|i| i as i64).ok_or_else(|| Error::internal("every index has its axis"))
        };
        permute(&self.value, &order.iter().map(place).collect::<Result<Vec<_>>>()?)
    }
}

fn count(dims: &[Dim]) -> Result<Dim> {
    dims.iter().try_fold(Dim::size(1), |all, &dim| all.mul(dim))
}
