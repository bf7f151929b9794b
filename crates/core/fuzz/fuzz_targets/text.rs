//! The text form: what is read is printed as what reads back the same.
#![no_main]

#[allow(dead_code)]
#[path = "../../tests/programs/ops.rs"]
mod ops;

use std::sync::LazyLock;

use fluvial_core::{Program, Registry};
use libfuzzer_sys::fuzz_target;

static REGISTRY: LazyLock<Registry> = LazyLock::new(ops::registry);

fuzz_target!(|text: &str| {
    let Ok(program) = Program::parse(text, &REGISTRY) else { return };
    let printed = program.to_string();
    let again = Program::parse(&printed, &REGISTRY).expect("what is printed can be read");
    assert_eq!(again.to_string(), printed);
});
