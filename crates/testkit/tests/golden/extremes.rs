//! The ends of the number ranges against NumPy, SciPy and PyTorch: zeros of both signs, infinities,
//! NaN, subnormal and largest numbers, integers that wrap.

use fluvial_core::{DType, Tensor, Var};
use fluvial_testkit::golden::tensor;
use serde_json::Value as Json;

use super::elementwise::apply;

/// Functions whose zeros may have either sign: those that choose one of two equal numbers, where NumPy
/// leaves it open, too, and `tanh_shrink`, which keeps the sign of a number too small for its cube.
const EITHER_ZERO: [&str; 8] =
    ["maximum", "minimum", "fmax", "fmin", "relu", "relu6", "clip", "tanh_shrink"];

#[test]
fn ends_of_the_ranges() {
    let path = format!("{}/golden/extremes.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the file was made by `make golden`");
    let failures: Vec<String> = text.lines().flat_map(check).collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

fn check(line: &str) -> Vec<String> {
    let case: Json = serde_json::from_str(line).expect("a line of JSON");
    let name = case["function"].as_str().expect("a name");
    let dtype = case["attributes"]["dtype"].as_str().and_then(DType::parse);
    let read = |json: &Json| tensor(json).expect("a tensor").expect("not null");
    let inputs: Vec<Tensor> = case["inputs"].as_array().expect("a list").iter().map(read).collect();
    let want = read(&case["outputs"][0]);
    let vars: Vec<Var> = inputs
        .iter()
        .map(|x| Var::new(dtype.map_or_else(|| x.clone(), |dtype| x.cast(dtype).expect("a cast"))))
        .collect();
    let number = |attribute: &str| case["attributes"][attribute].as_f64();
    let found = match apply(name, &vars.iter().collect::<Vec<_>>(), &number) {
        Ok(found) => found.tensor().expect("a tensor").clone(),
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let mut failures = Vec::new();
    let kept_type = want.dtype() == found.dtype() || dtype == Some(found.dtype());
    if !kept_type {
        failures.push(format!(
            "{name} gives {}, not {}",
            found.dtype().name(),
            want.dtype().name()
        ));
    }
    for i in 0..want.numel() {
        let (got, want) = (exact(&found, i), exact(&want, i));
        if !agree(name, got, want, found.dtype()) {
            let at: Vec<f64> = inputs.iter().map(|x| exact(x, i)).collect();
            failures.push(format!(
                "{name}({at:?}) in {} is {got:?}, not {want:?}",
                found.dtype().name()
            ));
        }
    }
    failures
}

fn exact(x: &Tensor, i: usize) -> f64 {
    x.to_f64s()[i]
}

/// The same kind of number with the same sign. Finite numbers are compared loosely, since the references
/// lose digits near the ends: `accuracy` judges them.
fn agree(name: &str, got: f64, want: f64, dtype: DType) -> bool {
    if got == 0.0 && want == 0.0 {
        let signed = dtype.is_float() && !EITHER_ZERO.contains(&name);
        return !signed || got.is_sign_negative() == want.is_sign_negative();
    }
    let close = || dtype.is_float() && (got - want).abs() <= 2e-6 * want.abs() + 1e-20;
    got == want || got.is_nan() && want.is_nan() || got.is_finite() && want.is_finite() && close()
}
