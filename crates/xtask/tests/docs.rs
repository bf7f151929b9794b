//! Documents that quote code quote it as it is.

use xtask::tree;

#[test]
fn the_worked_example_is_the_op_file() {
    let root = tree::root();
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let page = read("docs/ADD_AN_OP.md");
    let quoted =
        page.split("```rs\n").nth(1).and_then(|rest| rest.split("```\n\nWhat each").next());
    assert_eq!(quoted, Some(&*read("crates/ops/src/unary/softsign.rs")));
}
