//! `docs/onnx_ops.md` lists what can be read and written: `UPDATE_EXPECT=1 cargo test -p fluvial-bridge --test docs`
//! writes it.

use std::fmt::Write;

use expect_test::expect_file;
use fluvial_bridge::onnx::{exported, supported};

#[test]
fn the_list_of_ops_is_fresh() {
    let mut text = String::from(
        "# Ops of ONNX\n\nThis page is generated from the tables in `crates/bridge`.\n\n## Read\n\n\
         | op | since op set | refused |\n|---|---|---|\n",
    );
    for op in supported() {
        let domain = if op.domain.is_empty() { String::new() } else { format!("{}.", op.domain) };
        writeln!(text, "| `{domain}{}` | {} | {} |", op.name, op.since, op.refuses).unwrap();
    }
    let names: Vec<String> = exported().iter().map(|name| format!("`{name}`")).collect();
    write!(text, "\n## Written\n\nThese ops of ours can be written: {}.\n", names.join(", "))
        .unwrap();
    expect_file!["../../../docs/onnx_ops.md"].assert_eq(&text);
}
