//! `.npz` files, as tensors and as samples.
#![no_main]

#[path = "../../tests/common/exercise.rs"]
mod exercise;

use fluvial_data::formats::Settings;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    exercise::all_npz(bytes);
    exercise::dataset("npz", bytes, &Settings::new());
});
