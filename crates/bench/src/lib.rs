//! Kernels as timed cases. `bench/kernels.py` loads this library beside PyTorch and times both in turns.
//!
//! A case is a name and sizes: `gemm 128 128 128`. Each file has the cases of one group of kernels; a
//! [`Case`] sets its inputs up once and is then run many times.

mod attention;
mod conv;
mod gemm;
mod lazy;
mod peak;
mod rest;
mod tiles;

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;

use fluvial_tensor::{DType, Result, Tensor};

/// What is timed, with its inputs.
pub struct Case {
    run: Box<dyn FnMut() -> Result<Tensor> + Send>,
    exact: Box<dyn Fn() -> Result<Tensor> + Send>,
    flops: f64,
    bytes: f64,
}

impl Case {
    /// `run` is timed; `exact` computes the same in `f64`, by any means, to judge the error.
    pub fn new(
        run: impl FnMut() -> Result<Tensor> + Send + 'static,
        exact: impl Fn() -> Result<Tensor> + Send + 'static,
    ) -> Case {
        Case { run: Box::new(run), exact: Box::new(exact), flops: 0.0, bytes: 0.0 }
    }

    /// One run is so many additions and multiplications, if done as the definition says.
    pub fn computing(self, flops: usize) -> Case {
        Case { flops: flops as f64, ..self }
    }

    /// One run reads and writes so many bytes at least.
    pub fn moving(self, bytes: usize) -> Case {
        Case { bytes: bytes as f64, ..self }
    }
}

/// Makes a case from its sizes.
pub type Make = fn(&[usize]) -> Result<Case>;

/// All cases.
fn cases() -> HashMap<&'static str, Make> {
    let groups = [
        attention::CASES,
        conv::CASES,
        gemm::CASES,
        lazy::CASES,
        peak::CASES,
        rest::CASES,
        tiles::CASES,
    ];
    groups.iter().flat_map(|cases| cases.iter().copied()).collect()
}

static MADE: Mutex<Option<HashMap<String, Case>>> = Mutex::new(None);

fn with_case<R>(text: *const c_char, f: impl FnOnce(&mut Case) -> Result<R>) -> Option<R> {
    // SAFETY: the caller passes a text that ends with a zero and lives during the call.
    let text = unsafe { CStr::from_ptr(text) }.to_str().ok()?.to_string();
    let mut made = MADE.lock().ok()?;
    let made = made.get_or_insert_default();
    if !made.contains_key(&text) {
        let mut words = text.split_whitespace();
        let make = *cases().get(words.next()?)?;
        let sizes: Vec<usize> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        made.insert(text.clone(), make(&sizes).map_err(|error| eprintln!("{error}")).ok()?);
    }
    f(made.get_mut(&text)?).map_err(|error| eprintln!("{error}")).ok()
}

/// The seconds of the fastest of `repetitions` runs; negative if there is no such case.
///
/// # Safety
///
/// `case` is a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_bench(case: *const c_char, repetitions: u32) -> f64 {
    let fastest = with_case(case, |case| {
        let mut fastest = f64::INFINITY;
        for _ in 0..repetitions {
            let start = Instant::now();
            let out = (case.run)()?;
            fastest = fastest.min(start.elapsed().as_secs_f64());
            drop(black_box(out));
        }
        Ok(fastest)
    });
    fastest.unwrap_or(-1.0)
}

/// The root of the mean squared error, in relation to that of the exact result; negative if there is no
/// such case.
///
/// # Safety
///
/// `case` is a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_error(case: *const c_char) -> f64 {
    let error = with_case(case, |case| {
        let (found, exact) = ((case.run)()?.to_f64s(), (case.exact)()?.to_f64s());
        let squares = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>();
        let error = squares(&mut found.iter().zip(&exact).map(|(a, b)| a - b));
        Ok((error / squares(&mut exact.iter().copied())).sqrt())
    });
    error.unwrap_or(-1.0)
}

/// The additions and multiplications of one run; 0 if they do not matter.
///
/// # Safety
///
/// `case` is a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_flops(case: *const c_char) -> f64 {
    with_case(case, |case| Ok(case.flops)).unwrap_or(-1.0)
}

/// The bytes that one run reads and writes; 0 if they do not matter.
///
/// # Safety
///
/// `case` is a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_bytes(case: *const c_char) -> f64 {
    with_case(case, |case| Ok(case.bytes)).unwrap_or(-1.0)
}

/// Sets the number of threads.
#[unsafe(no_mangle)]
pub extern "C" fn fluvial_threads(count: u32) {
    fluvial_kernels::threads::set_count(count as usize);
}

/// Numbers that look random, between -1 and 1, the same in every run.
pub fn numbers(dtype: DType, dims: &[usize]) -> Result<Tensor> {
    fluvial_kernels::uniform(7, dims.iter().sum::<usize>() as u64, dtype, dims, -1.0, 1.0)
}
