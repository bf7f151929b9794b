//! Tables of text.
#![no_main]

#[path = "../../tests/common/exercise.rs"]
mod exercise;

use fluvial_data::formats::Settings;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    exercise::dataset("csv", bytes, &Settings::new());
    exercise::dataset("lines", bytes, &Settings::new());
});
