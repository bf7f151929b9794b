//! `docs/onnx_ops.md` and `docs/fluid_program_ops.md` list what can be read and written: `UPDATE_EXPECT=1 cargo test -p
//! fluvial-bridge --test docs` writes them.

use std::fmt::Write;

use expect_test::expect_file;
use fluvial_bridge::fluid;
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

#[test]
fn the_list_of_fluid_s_ops_is_fresh() {
    let all = fluid::supported();
    let mut text = format!(
        "# Ops of Fluid's programs\n\nThis page is generated from the tables in `crates/bridge`. These {} ops are read, and \
         with each one its gradient op.\n\n| op | refused |\n|---|---|\n",
        all.len()
    );
    for (name, refuses) in all {
        writeln!(text, "| `{name}` | {refuses} |").unwrap();
    }
    expect_file!["../../../docs/fluid_program_ops.md"].assert_eq(&text);
}
