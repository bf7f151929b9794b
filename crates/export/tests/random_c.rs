//! Random programs as C give what the executor gives.

#[path = "common/batch.rs"]
mod batch;
mod common;

use batch::{Compiled, together};
use common::{SANITIZED, agrees, is_narrow};
use fluvial_core::{Dim, Error, ErrorKind, Result, State, Tensor};
use fluvial_export::{Language, Options, Size, export};
use fluvial_runtime::Executor;
use fluvial_testkit::random::Case;

/// How programs are compiled.
const USUAL: &[&str] = &["-O2"];
const FAST: &[&str] = &["-O3", "-march=native", "-fopenmp-simd", "-DFL_SIMD"];
const PARALLEL: &[&str] = &["-O2", "-fopenmp"];
/// So many are linked and run together.
const TOGETHER: u64 = 50;

/// So many are compiled; `FLUVIAL_EXPORT_CASES` asks for more.
fn n_cases(usual: u64) -> u64 {
    std::env::var("FLUVIAL_EXPORT_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The program of a seed as C, with what it is given and must give; every second one has sizes that are inputs.
/// Nothing, if it does not run, or if it is refused.
fn case(seed: u64) -> Option<(Compiled, Options)> {
    let case = Case::random(seed);
    let program = case.program().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let names: Vec<String> = (0..case.inputs.len()).map(|i| format!("x{i}")).collect();
    let inputs: Vec<(String, Tensor)> = names.into_iter().zip(case.inputs).collect();
    let feeds: Vec<(&str, Tensor)> = inputs.iter().map(|(name, x)| (&**name, x.clone())).collect();
    let executor = Executor::new(&program, State::new()).unwrap();
    let expected = executor.run(&feeds).ok()?;
    let is_bound = seed % 2 == 1;
    let known =
        |(symbol, size): &(Dim, Dim)| Some((symbol.symbol_name()?.to_string(), size.value()?));
    let sizes: Vec<(String, usize)> = case.sizes.iter().filter_map(known).collect();
    let size = |(name, number): &(String, usize)| Size {
        name: name.clone(),
        number: if is_bound { number + 2 } else { *number },
        is_bound,
    };
    let name = format!("p{seed}");
    let options = Options {
        name: name.clone(),
        sizes: sizes.iter().map(size).collect(),
        ..Options::default()
    };
    match export(&program, &State::new(), &options) {
        Ok(exported) => {
            let sizes = if is_bound { sizes } else { Vec::new() };
            let moved = moved(&executor, &feeds, &expected, is_narrow(&program));
            Some((Compiled { name, exported, inputs, sizes, expected, moved, program }, options))
        }
        Err(error) if error.kind() == ErrorKind::Internal => panic!("seed {seed}: {error}"),
        Err(_) => None,
    }
}

/// How far results move if the last digits of the inputs are others: an inverse of a matrix that is nearly singular has
/// fewer digits than its elements. Integers do not move.
fn moved(
    executor: &Executor,
    feeds: &[(&str, Tensor)],
    expected: &[Tensor],
    is_narrow: bool,
) -> Vec<f64> {
    // What is near one on the way is rounded there, however small the result.
    let (by, rounded) = if is_narrow { (2e-7, 5e-7) } else { (1e-15, 0.0) };
    let other = |x: &Tensor| match x.dtype().is_float() {
        true => Tensor::from_f64s(
            x.dtype(),
            &x.to_f64s().iter().map(|x| x * (1.0 + by)).collect::<Vec<_>>(),
            x.dims(),
        ),
        false => Ok(x.clone()),
    };
    let feeds = feeds.iter().map(|(name, x)| Ok((*name, other(x)?))).collect::<Result<Vec<_>>>();
    let Ok(found) = feeds.and_then(|feeds| executor.run(&feeds)) else {
        return vec![rounded; expected.len()];
    };
    let apart = |(a, b): (&Tensor, &Tensor)| match a.dtype().is_float() {
        true => {
            let both = a.to_f64s().into_iter().zip(b.to_f64s());
            both.map(|(a, b)| (a - b).abs()).filter(|x| x.is_finite()).fold(0.0, f64::max) * 4.0
                + rounded
        }
        false => 0.0,
    };
    found.iter().zip(expected).map(apart).collect()
}

/// Checks the cases from a seed on, and that most of them can be exported.
fn check(first: u64, count: u64, flags: &[&str]) {
    let (mut exported, mut faults) = (0, Vec::new());
    for start in (first..first + count).step_by(TOGETHER as usize) {
        let seeds = start..(start + TOGETHER).min(first + count);
        let cases: Vec<Compiled> = seeds.filter_map(|seed| Some(case(seed)?.0)).collect();
        exported += cases.len() as u64;
        faults.extend(together(&cases, flags).unwrap_or_else(|failure| panic!("{failure}")));
    }
    // Of a singular matrix, the program does not say what these give in the directions that it leaves free.
    let is_free = |fault: &Error| {
        let text = fault.to_string();
        [" qr(", " svd(", " eigh("].iter().any(|op| text.contains(op))
    };
    let n_faults = faults.len();
    faults.retain(|fault| !is_free(fault));
    assert!((n_faults - faults.len()) as u64 * 100 <= count.max(100), "decompositions differ");
    let told: Vec<String> = faults.iter().take(8).map(|fault| fault.to_string()).collect();
    assert!(told.is_empty(), "{} faults\n{}", faults.len(), told.join("\n"));
    println!("{exported} of {count} programs, compiled with {}", flags.join(" "));
    // What is left out has complex numbers, or floats of 8 bits.
    assert!(exported * 5 >= count * 4, "only {exported} of {count} were exported");
}

#[test]
fn they_give_the_same() {
    check(0, n_cases(40), USUAL);
}

#[test]
fn they_give_the_same_with_all_optimisations() {
    check(0, n_cases(10), FAST);
}

#[test]
fn they_give_the_same_on_several_cores() {
    check(7000, n_cases(80) / 8, PARALLEL);
}

/// As users run them: each with a program of its own around it.
#[test]
fn they_read_and_write_files() {
    for (case, options) in (300..308).filter_map(case) {
        let options = Options { name: "model".into(), ..options };
        let inputs: Vec<(&str, &Tensor)> =
            case.inputs.iter().map(|(name, x)| (&**name, x)).collect();
        let given: Vec<String> =
            case.sizes.iter().map(|(name, number)| format!("{name}={number}")).collect();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        agrees(&case.program, &options, USUAL, &inputs, &case.expected, &given)
            .unwrap_or_else(|failure| panic!("{}: {failure}", case.name));
    }
}

/// On threads of a header.
#[test]
fn they_give_the_same_as_cuda() {
    let mut exported = 0;
    for (case, options) in (600..600 + n_cases(40) / 4).filter_map(case) {
        let options = Options { name: "model".into(), language: Language::Cuda, ..options };
        if export(&case.program, &State::new(), &options).is_err() {
            continue;
        }
        exported += 1;
        let inputs: Vec<(&str, &Tensor)> =
            case.inputs.iter().map(|(name, x)| (&**name, x)).collect();
        let given: Vec<String> =
            case.sizes.iter().map(|(name, number)| format!("{name}={number}")).collect();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        agrees(&case.program, &options, &["-O0"], &inputs, &case.expected, &given)
            .unwrap_or_else(|failure| panic!("{}: {failure}", case.name));
    }
    assert!(exported > 0);
}

#[test]
fn they_touch_no_memory_but_their_own() {
    check(9000, n_cases(60) / 4, SANITIZED);
}
