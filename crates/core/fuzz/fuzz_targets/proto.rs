//! The binary form: what is read is written as what reads back the same.
#![no_main]

#[allow(dead_code)]
#[path = "../../tests/programs/ops.rs"]
mod ops;

use std::sync::LazyLock;

use fluvial_core::{Program, Registry};
use libfuzzer_sys::fuzz_target;

static REGISTRY: LazyLock<Registry> = LazyLock::new(ops::registry);

fuzz_target!(|bytes: &[u8]| {
    let Ok(program) = Program::from_bytes(bytes, &REGISTRY) else { return };
    let written = program.to_bytes();
    let again = Program::from_bytes(&written, &REGISTRY).expect("what is written can be read");
    assert_eq!(again.to_bytes(), written);
});
