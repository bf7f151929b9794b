//! The repository keeps its own rules.

use std::io::Write;
use std::process::{Command, Stdio};

use xtask::{
    codegen, tidy,
    tree::{self, Source},
};

fn repository() -> Vec<Source> {
    tree::read(&tree::root()).unwrap()
}

fn check(rule: fn(&[Source]) -> Vec<String>) {
    let faults = rule(&repository());
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn crates_keep_their_order() {
    check(tidy::layers);
}

#[test]
fn unsafe_code_is_confined() {
    check(tidy::unsafe_code);
}

#[test]
fn files_are_short() {
    check(tidy::file_length);
}

#[test]
fn no_code_is_unfinished() {
    check(tidy::unfinished_code);
}

#[test]
fn no_path_of_a_machine() {
    check(tidy::machine_paths);
}

#[test]
fn crates_start_with_docs() {
    check(tidy::crate_docs);
}

#[test]
fn generated_files_are_fresh() {
    codegen::check(&repository()).unwrap();
}

#[test]
fn generated_code_is_formatted() {
    if Command::new("rustfmt").arg("--version").output().is_err() {
        println!("not checked: rustfmt is not installed");
        return;
    }
    let files = codegen::generate(&repository()).unwrap();
    // The functions for Python and the constructors of layers are glue in long lines, and the messages of ONNX are as
    // the generator wraps them: rustfmt skips these.
    let skipped = ["crates/py/", "crates/fluvial/src/nn/layers/", "crates/bridge/"];
    let is_skipped = |path: &str| skipped.iter().any(|folder| path.starts_with(folder));
    let formatted = |path: &str| path.ends_with(".rs") && !is_skipped(path);
    for file in files.iter().filter(|file| formatted(&file.path)) {
        let mut rustfmt = Command::new("rustfmt");
        rustfmt.args(["--edition", "2024", "--config-path"]).arg(tree::root());
        let mut child = rustfmt.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(file.text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", file.path);
        let text = String::from_utf8(output.stdout).unwrap();
        let differing = text.lines().zip(file.text.lines()).find(|(a, b)| a != b);
        assert!(text == file.text, "{}: {differing:?}", file.path);
    }
}
