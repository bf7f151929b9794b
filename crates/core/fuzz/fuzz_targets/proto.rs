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
    // A checksum would keep all changes from the reader behind it, so what has one is also read without: the fields
    // 11 and 12 at the end.
    let bare = bytes.len().checked_sub(7).filter(|&at| bytes[at..at + 3] == [0x60, 1, 0x5d]);
    let bytes = bare.map_or(bytes, |at| &bytes[..at]);
    let Ok(program) = Program::from_bytes(bytes, &REGISTRY) else { return };
    let written = program.to_bytes();
    let again = Program::from_bytes(&written, &REGISTRY).expect("what is written can be read");
    assert_eq!(again.to_bytes(), written);
});
