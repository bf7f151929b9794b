use fluvial_ops::{add, div, matmul};
use fluvial_testkit::Golden;

#[test]
fn structural() {
    Golden::new("core", "add").check(3, |c| Ok(vec![add(c.x(0), c.x(1))?]));
    Golden::new("core", "div").check(3, |c| Ok(vec![div(c.x(0), c.x(1))?]));
}

#[test]
fn matrix_products() {
    Golden::new("core", "matmul").check(5, |c| Ok(vec![matmul(c.x(0), c.x(1))?]));
}

#[test]
fn a_wrong_function_is_found() {
    let check =
        || Golden::new("core", "add").check(3, |c| Ok(vec![add(c.x(0), &(c.x(1) * 1.000001))?]));
    let fault = std::panic::catch_unwind(check).expect_err("the numbers differ");
    let text = fault.downcast_ref::<String>().expect("a text");
    assert!(text.contains("output 0"), "{text}");
}
