//! The repository keeps its own rules.

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
