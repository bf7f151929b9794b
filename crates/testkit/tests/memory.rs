//! What a gradient rule does not keep is freed at once. It looks at the memory of the process, so
//! this test is alone in its file.

use fluvial_core::{Result, Tensor, Var, no_grad};
use fluvial_ops::{exp, matmul, relu, sin, sum};
use fluvial_tensor::memory::stats;

const N: usize = 1 << 16;
const BYTES: u64 = (N * 8) as u64;

/// How many tensors of `N` doubles are alive beyond those before.
fn tensors_since(before: u64) -> u64 {
    let live = stats().live_bytes - before;
    assert_eq!(live % BYTES, 0, "only tensors of one size are made here");
    live / BYTES
}

#[track_caller]
fn check(what: &str, expected: u64, f: impl FnOnce(&Var) -> Result<Var>) {
    let x = Var::new(Tensor::full(&[N], 0.5f64).unwrap()).track().unwrap();
    let before = stats().live_bytes;
    let y = f(&x).unwrap().check().unwrap();
    assert_eq!(tensors_since(before), expected, "{what}");
    drop(y);
}

#[test]
fn what_a_rule_does_not_keep_is_freed() {
    // The result itself is always alive, the input `x` is counted before.
    check("a sum keeps nothing", 1, |x| Ok(((x + 1.0) + 2.0) + 3.0));
    check("exp keeps its output", 1, |x| exp(x));
    check("exp keeps no input", 2, |x| exp(&(x + 1.0)).map(|y| y + 1.0));
    check("sin keeps its input", 2, |x| sin(&(x + 1.0)));
    check("relu keeps its output", 1, |x| relu(&(x + 1.0)));
    check("a product by a number keeps the number", 1, |x| Ok((x * 2.0) * 3.0));
    let other = Var::new(Tensor::full(&[N], 2.0f64).unwrap());
    check("a product keeps the other input only", 1, |x| Ok((x + 1.0) * &other));
    check("a product of tracked values keeps both", 3, |x| Ok((x + 1.0) * (x + 2.0)));
    check("a quotient keeps divisor and result", 2, |x| Ok((x + 1.0) / (x + 2.0)));

    // The sum is a scalar and lies elsewhere.
    check("a sum over axes keeps nothing", 0, |x| sum(&(x + 1.0), &[], false));
    check("nothing is kept without gradients", 0, |x| {
        let _no_grad = no_grad();
        sum(&exp(&sin(x)?)?, &[], false)
    });
    check("a detached value keeps no history", 1, |x| Ok(exp(&sin(x)?)?.detach()));

    // The backward pass frees what it has passed.
    check("a walked tape keeps nothing", 1, |x| {
        let y = sum(&exp(&sin(&(x + 1.0))?)?, &[], false)?;
        y.backward()?;
        Ok(x.grad().expect("backward reached the leaf"))
    });

    let before = stats().live_bytes;
    let square = |value: f64| Var::new(Tensor::full(&[1 << 8, 1 << 8], value).unwrap());
    let (a, b) = (square(0.5).track().unwrap(), square(0.25));
    let product = matmul(&(a + 1.0), &b).unwrap();
    // `b` and the product; `a` is dropped, and its sum is not kept since `b` wants no gradient.
    assert_eq!(tensors_since(before), 2, "matmul keeps the other input only");
    drop((product, b));
    assert_eq!(tensors_since(before), 0, "everything is freed at the end");
}
