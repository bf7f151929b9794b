//! Elementwise functions at many points against mpmath: within 2 units in the last place in `f32`, and
//! within few in `f64`.

use std::collections::HashMap;

use fluvial_core::{Tensor, Var};
use serde_json::Value as Json;

use super::elementwise::apply;

/// The units in the last place that `f64` may lack in functions that the standard library has not.
const F64_ULPS: f64 = 8.0;
const F32_ULPS: f64 = 2.0;

/// Functions with zeros at which digits cancel however they are computed: there, units are those of
/// this function of the inputs, if it is larger than the result.
const ILL_CONDITIONED: &[IllConditioned] = &[
    ("lgamma", |x| if x[0] < 0.0 { 1.0 } else { 0.0 }, "zeros between negative whole numbers"),
    ("digamma", |x| if x[0] < 0.0 { 1.0 } else { 0.0 }, "zeros between negative whole numbers"),
    ("logaddexp", |x| x[0].abs().max(x[1].abs()), "zero where exp(a) + exp(b) is 1"),
];

/// A function, the size that its digits belong to, and the reason.
type IllConditioned = (&'static str, fn(&[f64]) -> f64, &'static str);

/// Numbers of one type, with what the comparison needs.
trait Number: Copy + 'static {
    fn read(bytes: &[u8]) -> Vec<Self>;
    fn tensor(numbers: &[Self]) -> Tensor;
    fn wide(self) -> f64;
    /// The distance from this size to the next number.
    fn ulp(size: f64) -> f64;
}

/// Implements [`Number`] for a type.
macro_rules! number {
    ($T:ident) => {
        impl Number for $T {
            fn read(bytes: &[u8]) -> Vec<$T> {
                let (chunks, _) = bytes.as_chunks();
                chunks.iter().map(|&chunk| $T::from_le_bytes(chunk)).collect()
            }
            fn tensor(numbers: &[$T]) -> Tensor {
                Tensor::from_slice(numbers, &[numbers.len()]).expect("one axis")
            }
            fn wide(self) -> f64 {
                f64::from(self)
            }
            fn ulp(size: f64) -> f64 {
                let size = size.abs().min(f64::from($T::MAX)) as $T;
                match size == $T::MAX {
                    true => f64::from(size - size.next_down()),
                    false => f64::from(size.next_up() - size),
                }
            }
        }
    };
}

number!(f32);
number!(f64);

#[test]
fn within_two_units_in_f32() {
    check::<f32>("accuracy_f32", F32_ULPS);
}

#[test]
fn within_few_units_in_f64() {
    check::<f64>("accuracy_f64", F64_ULPS);
}

#[track_caller]
fn check<T: Number>(area: &str, ulps: f64) {
    let path = format!("{}/golden/{area}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the file was made by `make golden`");
    let mut lines = text.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    let sets = lines.next().expect("the points come first");
    let sets = sets["points"].as_object().expect("points by name");
    let sets: HashMap<&str, Vec<T>> =
        sets.iter().map(|(name, text)| (name.as_str(), T::read(&base64(text)))).collect();
    let failures: Vec<String> = lines.filter_map(|line| worst(&line, &sets, ulps)).collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// The point at which the function fails worst, if it does.
fn worst<T: Number>(line: &Json, sets: &HashMap<&str, Vec<T>>, ulps: f64) -> Option<String> {
    let name = line["function"].as_str().expect("a name");
    let of_set = |set: &Json| &sets[set.as_str().expect("a name")];
    let inputs: Vec<&Vec<T>> =
        line["inputs"].as_array().expect("a list").iter().map(of_set).collect();
    let want = T::read(&base64(&line["outputs"]));
    let vars: Vec<Var> = inputs.iter().map(|x| Var::new(T::tensor(x))).collect();
    let number = |attribute: &str| line["attributes"][attribute].as_f64();
    let found = apply(name, &vars.iter().collect::<Vec<_>>(), &number).expect("a value");
    let found = found.tensor().expect("a tensor").to_f64s();
    assert_eq!(found.len(), want.len(), "{name}");
    let floor = ILL_CONDITIONED.iter().find(|row| row.0 == name).map(|row| row.1);
    let mut worst = (ulps, None);
    for i in 0..want.len() {
        let at: Vec<f64> = inputs.iter().map(|x| x[i].wide()).collect();
        let (got, want) = (found[i], want[i].wide());
        let size = floor.map_or(want.abs(), |floor| want.abs().max(floor(&at)));
        let off = match got == want || got.is_nan() && want.is_nan() {
            true => 0.0,
            false if got.is_finite() && want.is_finite() => (got - want).abs() / T::ulp(size),
            false => f64::INFINITY,
        };
        if off > worst.0 {
            let text = format!("{name} {}: at {at:?} {got:e}, not {want:e}", line["attributes"]);
            worst = (off, Some(text));
        }
    }
    worst.1.map(|text| format!("{text}: {:.1} units", worst.0))
}

/// The bytes of a text in base64.
fn base64(text: &Json) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let text = text.as_str().expect("base64").trim_end_matches('=');
    let (mut bytes, mut bits, mut n_bits) = (Vec::new(), 0u32, 0);
    for byte in text.bytes() {
        bits = bits << 6 | u32::from(digit(byte));
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits) as u8);
        }
    }
    bytes
}
