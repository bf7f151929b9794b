//! Random programs as C give what the executor gives.

mod common;

use common::{SANITIZED, agrees};
use fluvial_core::{State, Tensor};
use fluvial_export::{Options, Size};
use fluvial_runtime::Executor;
use fluvial_testkit::random::Case;

/// How programs are compiled: quickly, or with all that the compiler can do.
const QUICK: &[&str] = &["-O1"];
const FAST: &[&str] = &["-O3", "-march=native", "-fopenmp-simd", "-DFL_SIMD"];
const PARALLEL: &[&str] = &["-O2", "-fopenmp"];

/// So many are compiled; `FLUVIAL_EXPORT_CASES` asks for more.
fn n_cases(usual: u64) -> u64 {
    std::env::var("FLUVIAL_EXPORT_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Checks the cases from a seed on; every second one has sizes that are inputs. Gives how many could be exported.
fn check(first: u64, count: u64, flags: &[&str]) -> u64 {
    let mut exported = 0;
    for seed in first..first + count {
        let case = Case::random(seed);
        let program = case.program().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let names: Vec<String> = (0..case.inputs.len()).map(|i| format!("x{i}")).collect();
        let feeds: Vec<(&str, Tensor)> =
            names.iter().map(String::as_str).zip(case.inputs.iter().cloned()).collect();
        let executor = Executor::new(&program, State::new()).unwrap();
        let Ok(expected) = executor.run(&feeds) else { continue };
        let is_bound = seed % 2 == 1;
        let known = |(symbol, size): &(fluvial_core::Dim, fluvial_core::Dim)| {
            Some((symbol.symbol_name()?.to_string(), size.value()?))
        };
        let sizes: Vec<(String, usize)> = case.sizes.iter().filter_map(known).collect();
        let size = |(name, number): &(String, usize)| Size {
            name: name.clone(),
            number: if is_bound { number + 2 } else { *number },
            is_bound,
        };
        let options = Options { sizes: sizes.iter().map(size).collect(), ..Options::default() };
        let given: Vec<String> = match is_bound {
            true => sizes.iter().map(|(name, number)| format!("{name}={number}")).collect(),
            false => Vec::new(),
        };
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let inputs: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, x)| (*name, x)).collect();
        match agrees(&program, &options, flags, &inputs, &expected, &given) {
            Ok(()) => exported += 1,
            Err(failure) if failure.to_string().contains("cannot be exported") => {}
            Err(failure) if is_bound && failure.to_string().contains("is not known") => {}
            Err(failure) => panic!("seed {seed}: {failure}\nsizes {:?}\n{program:#}", case.sizes),
        }
    }
    exported
}

#[test]
fn they_give_the_same() {
    let count = n_cases(60);
    let exported = check(0, count, QUICK);
    assert!(exported * 10 >= count * 9, "only {exported} of {count} were exported");
}

#[test]
fn they_give_the_same_with_all_optimisations() {
    check(5000, n_cases(60) / 6, FAST);
}

#[test]
fn they_give_the_same_on_several_cores() {
    check(7000, n_cases(60) / 6, PARALLEL);
}

#[test]
fn they_touch_no_memory_but_their_own() {
    check(9000, n_cases(60) / 4, SANITIZED);
}
