use fluvial_core::{DType, Dim, Result, Tensor, Type, Var};
use fluvial_ops::*;
use fluvial_testkit::check::Tolerance;
use fluvial_testkit::{Golden, Modes};

/// Decompositions lose digits where a short computation loses none.
fn golden(function: &'static str) -> Golden {
    Golden::new("linalg", function)
        .within(Tolerance { relative: 1e-9, absolute: 1e-10 })
        .f32_within(Tolerance { relative: 2e-3, absolute: 2e-3 })
}

#[test]
fn einsums() {
    Golden::new("linalg", "einsum").check(20, |c| Ok(vec![einsum(c.text("equation"), &c.all())?]));
}

#[test]
fn products() {
    Golden::new("linalg", "outer").check(5, |c| Ok(vec![outer(c.x(0), c.x(1))?]));
    Golden::new("linalg", "dot").check(5, |c| Ok(vec![dot(c.x(0), c.x(1))?]));
    Golden::new("linalg", "vecdot").check(5, |c| Ok(vec![vecdot(c.x(0), c.x(1), c.int("axis"))?]));
    Golden::new("linalg", "tensordot")
        .check(5, |c| Ok(vec![tensordot(c.x(0), c.x(1), &c.ints("a_axes"), &c.ints("b_axes"))?]));
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

#[test]
fn einsum_of_symbolic_sizes() {
    let cases: [(&str, &[&str]); 6] = [
        ("bij,bjk->bik", &["f64[b, 2, n]", "f64[b, n, 3]"]),
        ("...ij,jk->...ik", &["f64[b, t, 2, n]", "f64[n, 3]"]),
        ("nii->ni", &["f64[b, n, n]"]),
        ("nn", &["f64[n, n]"]),
        ("i,j,k->kij", &["f64[b]", "f64[n]", "f64[2]"]),
        ("bi->", &["f64[b, n]"]),
    ];
    for (equation, types) in cases {
        let types: Vec<Type> = types.iter().map(|text| Type::parse(text).unwrap()).collect();
        let sizes = |name: Dim| match name.to_string().as_str() {
            "b" => Some(Dim::size(2)),
            "t" => Some(Dim::size(1)),
            _ => Some(Dim::size(3)),
        };
        let inputs: Vec<Tensor> = types
            .iter()
            .map(|ty| {
                let sizes = ty.substitute(&sizes).unwrap().sizes().unwrap();
                let count: usize = sizes.iter().product();
                let elements: Vec<f64> = (0..count).map(|i| (i as f64 * 0.7).sin()).collect();
                Tensor::from_vec(elements, &sizes).unwrap()
            })
            .collect();
        let f = |x: &[Var]| Ok(vec![einsum(equation, &x.iter().collect::<Vec<_>>())?]);
        Modes::of(f).types(&types).check(&inputs);
    }
}

#[test]
fn faults_of_equations() {
    let fault = |equation: &str, shapes: &[&[usize]]| {
        let operands: Vec<Var> =
            shapes.iter().map(|dims| Tensor::zeros(DType::F64, dims).unwrap().into()).collect();
        let error = einsum(equation, &operands.iter().collect::<Vec<_>>()).unwrap_err();
        assert!(error.loc().is_some(), "{error}");
        error.message().to_string()
    };
    assert_eq!(fault("ij", &[&[2]]), "`ij` has 2 indices, its operand 1 axes");
    assert_eq!(fault("i,j", &[&[2]]), "`i,j` has indices for 2 operands, 1 were given");
    assert_eq!(fault("i,i->", &[&[2], &[3]]), "`i` has size 3 in operand 1, and 2 before");
    assert_eq!(fault("ii", &[&[2, 3]]), "`i` has the sizes 2 and 3 in one operand");
    assert_eq!(fault("i->j", &[&[2]]), "`j` is in no operand");
    assert_eq!(fault("i->ii", &[&[2]]), "`i` is twice in the result");
    assert_eq!(fault("i?", &[&[2, 2]]), "`?` is not an index");
    assert_eq!(
        fault("...,...", &[&[2], &[3]]),
        "axis -1 under the ellipsis has size 3 in operand 1, and 2 before"
    );
}
