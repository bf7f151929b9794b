use fluvial_core::{Result, Var};
use fluvial_ops::*;
use fluvial_testkit::Golden;
use fluvial_testkit::check::Tolerance;

/// Decompositions lose digits where a short computation loses none.
fn golden(function: &'static str) -> Golden {
    Golden::new("linalg", function)
        .within(Tolerance { relative: 1e-9, absolute: 1e-10 })
        .f32_within(Tolerance { relative: 2e-3, absolute: 2e-3 })
}

#[test]
fn einsums() {
    Golden::new("linalg", "einsum")
        .check(20, |c| Ok(vec![einsum(c.text("equation"), &c.all())?]));
}

#[test]
fn products() {
    Golden::new("linalg", "outer").check(5, |c| Ok(vec![outer(c.x(0), c.x(1))?]));
    Golden::new("linalg", "dot").check(5, |c| Ok(vec![dot(c.x(0), c.x(1))?]));
    Golden::new("linalg", "vecdot")
        .check(5, |c| Ok(vec![vecdot(c.x(0), c.x(1), c.int("axis"))?]));
    Golden::new("linalg", "tensordot").check(5, |c| {
        Ok(vec![tensordot(c.x(0), c.x(1), &c.ints("a_axes"), &c.ints("b_axes"))?])
    });
    Golden::new("linalg", "trace").check(5, |c| Ok(vec![trace(c.x(0))?]));
    Golden::new("linalg", "kron").check(5, |c| Ok(vec![kron(c.x(0), c.x(1))?]));
}

#[test]
fn roots() {
    golden("cholesky").check(10, |c| {
        let x = c.x(0);
        let turned = transpose(x, -2, -1)?;
        Ok(vec![cholesky(&matmul(x, &turned)?, c.flag("upper"))?])
    });
}

#[test]
fn equations() {
    golden("solve").check(7, |c| Ok(vec![solve(c.x(0), c.x(1))?]));
    golden("triangular_solve").check(20, |c| {
        let (upper, transpose, unit) = (c.flag("upper"), c.flag("transpose"), c.flag("unit"));
        Ok(vec![triangular_solve(c.x(0), c.x(1), upper, transpose, unit)?])
    });
    golden("inverse").check(6, |c| Ok(vec![inverse(c.x(0))?]));
    golden("lstsq").check(5, |c| Ok(vec![lstsq(c.x(0), c.x(1))?]));
    golden("pinv").check(6, |c| Ok(vec![pinv(c.x(0), 1e-6)?]));
}

#[test]
fn determinants() {
    golden("det").check(6, |c| Ok(vec![det(c.x(0))?]));
    golden("slogdet").check(6, |c| pair(slogdet(c.x(0))));
}

#[test]
fn decompositions() {
    golden("qr").check(10, |c| pair(qr(c.x(0))));
    golden("eigh").check(6, |c| pair(eigh(c.x(0))));
    golden("svd").check(10, |c| svd(c.x(0)).map(|(u, s, vh)| vec![u, s, vh]));
    golden("svd_values").check(10, |c| svd(c.x(0)).map(|(_, s, _)| vec![s]));
}

#[test]
fn norms() {
    golden("matrix_norm")
        .check(16, |c| Ok(vec![matrix_norm(c.x(0), c.text("order").parse()?, false)?]));
}

fn pair(both: Result<(Var, Var)>) -> Result<Vec<Var>> {
    both.map(|(a, b)| vec![a, b])
}
