//! Comparisons of values that say what they compared, and with what outcome.

use std::fmt;

use fluvial_core::{Complex, DType, Error, List, Result, Tensor, Type, Value};

/// Why a check failed. It carries its context from the inside out: `in a program: value 0: …`.
pub struct Failure(String);

/// What a check returns.
pub type Check<T = ()> = std::result::Result<T, Failure>;

impl Failure {
    /// A failure with this text.
    pub fn new(text: impl Into<String>) -> Failure {
        Failure(text.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure(format!("unexpected error: {error}"))
    }
}

/// Adds what was being done to a failure or an error.
pub trait Context<T> {
    /// The same outcome, a failure with `what` before its text.
    fn context(self, what: impl fmt::Display) -> Check<T>;
}

impl<T, E: Into<Failure>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Check<T> {
        self.map_err(|error| Failure(format!("{what}: {}", error.into().0)))
    }
}

/// Fails with the text of `otherwise` unless `holds`.
pub fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(Failure(otherwise())) }
}

/// How far two numbers may lie apart.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// In relation to the larger of the two.
    pub relative: f64,
    /// At least.
    pub absolute: f64,
}

impl Tolerance {
    /// Equal numbers; zeros of either sign are equal, and so are all NaN.
    pub const EXACT: Tolerance = Tolerance { relative: 0.0, absolute: 0.0 };

    /// A tolerance that is the same for small and for large numbers.
    pub const fn of(both: f64) -> Tolerance {
        Tolerance { relative: both, absolute: both }
    }

    /// What rounding may do to a short computation in this dtype.
    pub fn of_dtype(dtype: DType) -> Tolerance {
        match dtype {
            DType::F64 | DType::C128 => Tolerance { relative: 1e-12, absolute: 1e-13 },
            DType::F32 | DType::C64 => Tolerance { relative: 1e-5, absolute: 2e-6 },
            DType::F16 => Tolerance { relative: 4e-3, absolute: 2e-3 },
            DType::BF16 => Tolerance { relative: 3e-2, absolute: 2e-2 },
            _ => Tolerance::EXACT,
        }
    }

    /// Whether the numbers are close enough.
    pub fn accepts(&self, a: f64, b: f64) -> bool {
        let distance = (a - b).abs();
        a == b
            || (a.is_nan() && b.is_nan())
            || distance <= self.absolute
            || distance <= self.relative * a.abs().max(b.abs())
    }
}

/// Checks that both values have the same type and the same bits.
pub fn same_bits(found: &Value, expected: &Value) -> Check {
    ensure(found.ty() == expected.ty() && found.bitwise_eq(expected), || {
        differ("the bits", found, expected)
    })
}

/// Checks that both values have the same type and numbers within the tolerance.
pub fn close(found: &Value, expected: &Value, tolerance: Tolerance) -> Check {
    let same_shape = found.ty() == expected.ty() && same_lengths(found, expected);
    let close = same_shape
        && flatten(found).into_iter().zip(flatten(expected)).all(|(a, b)| tolerance.accepts(a, b));
    ensure(close, || differ(&format!("more than {tolerance:?}"), found, expected))
}

/// Checks every pair of values with `check`.
pub fn all(found: &[Value], expected: &[Value], check: impl Fn(&Value, &Value) -> Check) -> Check {
    ensure(found.len() == expected.len(), || {
        format!("{} values, expected {}", found.len(), expected.len())
    })?;
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        check(found, expected).context(format!("value {i}"))?;
    }
    Ok(())
}

fn differ(how: &str, found: &Value, expected: &Value) -> String {
    format!("differs in {how}\n  found    {}\n  expected {}", show(found), show(expected))
}

fn same_lengths(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tensor(_) | Value::Device(_), Value::Tensor(_) | Value::Device(_)) => {
            a.ty().dims() == b.ty().dims()
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(x, y)| same_lengths(x, y))
        }
        _ => false,
    }
}

/// The value in full.
pub fn show(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => format!("{} {:?}", tensor.ty(), flatten(value)),
        Value::List(list) => {
            let items: Vec<String> = list.iter().map(show).collect();
            format!("{} from the top: [{}]", value.ty(), items.join(", "))
        }
        Value::Device(here) => format!("{here:?} {:?}", flatten(value)),
        Value::Channel(channel) => format!("{channel:?}"),
    }
}

/// Whether numbers of this type have gradients.
pub fn has_gradient(ty: &Type) -> bool {
    ty.is_inexact() && !ty.dtype().is_stored()
}

/// All numbers of a value: row-major, lists from the top down; of a complex number both parts.
pub fn flatten(value: &Value) -> Vec<f64> {
    match value {
        Value::Tensor(tensor) if tensor.dtype().is_complex() => {
            let wide = tensor.cast(DType::C128).and_then(|wide| wide.to_vec::<Complex<f64>>());
            wide.unwrap_or_default().into_iter().flat_map(|z| [z.re, z.im]).collect()
        }
        Value::Tensor(tensor) => tensor.to_f64s(),
        Value::List(list) => list.iter().flat_map(flatten).collect(),
        Value::Device(here) => here.host().map_or(Vec::new(), |x| flatten(&x.clone().into())),
        Value::Channel(_) => Vec::new(),
    }
}

/// A value like `template` with these numbers, in the order of [`flatten`].
pub fn unflatten(template: &Value, numbers: &mut impl Iterator<Item = f64>) -> Result<Value> {
    match template {
        Value::Tensor(tensor) if tensor.dtype().is_complex() => {
            let parts: Vec<f64> = numbers.take(2 * tensor.numel()).collect();
            let own = parts.chunks_exact(2).map(|z| Complex::new(z[0], z[1])).collect();
            Tensor::from_vec(own, tensor.dims())?.cast(tensor.dtype()).map(Value::Tensor)
        }
        Value::Tensor(tensor) => {
            let own: Vec<f64> = numbers.take(tensor.numel()).collect();
            Tensor::from_f64s(tensor.dtype(), &own, tensor.dims()).map(Value::Tensor)
        }
        Value::List(list) => map_list(list, &mut |item| unflatten(item, numbers)),
        Value::Device(here) => unflatten(&here.host()?.clone().into(), numbers),
        Value::Channel(_) => Ok(template.clone()),
    }
}

/// The value with `f` applied to each of its tensors.
pub fn map_tensors(value: &Value, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Value> {
    match value {
        Value::Tensor(tensor) => f(tensor).map(Value::Tensor),
        Value::List(list) => map_list(list, &mut |item| map_tensors(item, f)),
        Value::Device(here) => f(here.host()?).map(Value::Tensor),
        Value::Channel(_) => Ok(value.clone()),
    }
}

fn map_list(list: &List, f: &mut dyn FnMut(&Value) -> Result<Value>) -> Result<Value> {
    let items = list.iter().map(f).collect::<Result<Vec<_>>>()?;
    let element = items.first().map_or(list.element(), Value::ty);
    List::from_bottom(element, items.into_iter().rev()).map(Value::List)
}
