//! Products and decompositions of matrices.

use fluvial_core::{Dim, Error, Result, Var};
use fluvial_ops as ops;

use super::call::Call;
use super::table::Entry;
use crate::fit;

pub const OPS: &[Entry] = &[
    Entry::one("addmm", |c| {
        let (alpha, beta) = (c.float("Alpha", 1.0), c.float("Beta", 1.0));
        let product = (&ops::matmul(&c.var("X")?, &c.var("Y")?)? * alpha).check()?;
        ops::add(&(&c.var("Input")? * beta).check()?, &product)
    }),
    Entry::one("bilinear_tensor_product", |c| {
        let (x, y, weight) = (c.var("X")?, c.var("Y")?, c.var("Weight")?);
        let found = ops::einsum("bi,kij,bj->bk", &[&x, &weight, &y])?;
        match c.opt("Bias")? {
            Some(bias) => ops::add(&found, &bias),
            None => Ok(found),
        }
    }),
    Entry::one("bmm", |c| product(&c.var("X")?, &c.var("Y")?)),
    Entry::one("cholesky", |c| ops::cholesky(&c.var("X")?, c.flag("upper", false))),
    Entry::one("cos_sim", |c| ops::cosine_similarity(&c.var("X")?, &c.var("Y")?, 1, 1e-12)),
    Entry::one("determinant", |c| ops::det(&c.var("Input")?)),
    Entry::one("dot", |c| {
        ops::sum(&ops::mul(&c.var("X")?, &c.var("Y")?)?, &[-1], c.var("X")?.rank() > 1)
    }),
    Entry::one("einsum", |c| {
        let operands = c.vars("Operands")?;
        ops::einsum(&c.text("equation", ""), &operands.iter().collect::<Vec<_>>())
    }),
    Entry::one("fc", fc),
    Entry::to("inverse", "Output", |c| ops::inverse(&c.var("Input")?)),
    Entry::one("kron", |c| ops::kron(&c.var("X")?, &c.var("Y")?)),
    Entry::one("matmul", |c| {
        let found = matmul(c, "transpose_X", "transpose_Y")?;
        match c.float("alpha", 1.0) {
            1.0 => Ok(found),
            alpha => (&found * alpha).check(),
        }
    }),
    Entry::one("matmul_v2", |c| matmul(c, "trans_x", "trans_y")),
    Entry::one("mul", mul),
    Entry::one("mv", |c| ops::matmul(&c.var("X")?, &c.var("Vec")?)),
    Entry::one("solve", |c| ops::solve(&c.var("X")?, &c.var("Y")?)),
    Entry::one("trace", |c| {
        let (a, b) = (c.int("axis1", 0), c.int("axis2", 1));
        ops::sum(&ops::diagonal(&c.var("Input")?, c.int("offset", 0), a, b)?, &[-1], false)
    }),
];

/// A product whose inner sizes only the run may know to be equal.
fn product(a: &Var, b: &Var) -> Result<Var> {
    let (left, right) = (a.dims(), b.dims());
    if left.is_empty() || right.is_empty() {
        return Err(Error::shape(format!("{} and {} have no product", a.ty(), b.ty())));
    }
    let mut wanted = right.to_vec();
    let at = right.len().saturating_sub(2);
    if left[left.len() - 1].is_symbolic() || right[at].is_symbolic() {
        wanted[at] = left[left.len() - 1];
    }
    ops::matmul(a, &fit::assumed(b, &wanted)?)
}

fn matmul(c: &Call<'_>, left: &str, right: &str) -> Result<Var> {
    let turned = |x: Var, name: &str| match c.flag(name, false) && x.rank() > 1 {
        true => ops::transpose(&x, -1, -2),
        false => Ok(x),
    };
    product(&turned(c.var("X")?, left)?, &turned(c.var("Y")?, right)?)
}

/// The axes up to one are rows, the others columns.
fn flat(x: &Var, columns: usize) -> Result<(Var, Vec<Dim>, Vec<Dim>)> {
    let dims = x.dims();
    if columns == 0 || columns >= dims.len() {
        return Err(Error::shape(format!("{} has no columns from axis {columns} on", x.ty())));
    }
    let (rows, rest) = (dims[..columns].to_vec(), dims[columns..].to_vec());
    match dims.len() {
        2 => Ok((x.clone(), rows, rest)),
        _ => Ok((ops::reshape(x, &[fit::count(&rows)?, fit::count(&rest)?])?, rows, rest)),
    }
}

fn mul(c: &Call<'_>) -> Result<Var> {
    let (x, y) = (c.var("X")?, c.var("Y")?);
    let (left, rows, _) = flat(&x, c.count("x_num_col_dims", 1)?)?;
    let (right, _, columns) = flat(&y, c.count("y_num_col_dims", 1)?)?;
    let found = product(&left, &right)?;
    let dims: Vec<Dim> = rows.into_iter().chain(columns).collect();
    if dims.len() == 2 { Ok(found) } else { ops::reshape(&found, &dims) }
}

fn fc(c: &Call<'_>) -> Result<Var> {
    let (x, weight) = (c.var("Input")?, c.var("W")?);
    let (left, mut dims, _) = flat(&x, c.count("in_num_col_dims", 1)?)?;
    let mut found = product(&left, &weight)?;
    if let Some(bias) = c.opt("Bias")? {
        found = ops::add(&found, &ops::flatten(&bias, 0, -1)?)?;
    }
    match c.text("activation_type", "").as_str() {
        "" => {}
        "relu" => found = ops::relu(&found)?,
        other => return Err(c.refuse(format!("the activation `{other}`"))),
    }
    dims.extend(weight.dims().last());
    ops::reshape(&found, &dims)
}
