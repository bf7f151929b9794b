//! Record files, ours and both dialects of Fluid.
#![no_main]

#[path = "../../tests/common/exercise.rs"]
mod exercise;

use fluvial_data::formats::{Setting, Settings};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    exercise::dataset("records", bytes, &Settings::new());
    let split = Settings::from([("split".into(), Setting::Bool(true))]);
    exercise::dataset("records", bytes, &split);
});
