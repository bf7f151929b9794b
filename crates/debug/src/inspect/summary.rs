//! A line about a value.

use std::fmt;

use fluvial_core::{Type, Value};
use fluvial_tensor::dispatch;

use super::pages::text;
use super::{Stats, hash, short};

/// What a person wants to know of a value first.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The type.
    pub ty: Type,
    /// For a list, how many elements it has.
    pub listed: Option<usize>,
    /// The number, if it is only one.
    pub number: Option<String>,
    /// About its elements; none if there was no memory to look at them.
    pub stats: Option<Stats>,
    /// See [`hash`].
    pub hash: u64,
}

impl Summary {
    /// Looks at all elements.
    pub fn of(value: &Value) -> Summary {
        let (listed, number) = match value {
            Value::List(list) => (Some(list.len()), None),
            Value::Tensor(tensor) if tensor.rank() == 0 => {
                let number = dispatch!(tensor.dtype(), T => tensor.item::<T>().ok().map(text));
                (None, number)
            }
            Value::Tensor(_) | Value::Device(_) | Value::Channel(_) => (None, None),
        };
        Summary { ty: value.ty(), listed, number, stats: Stats::of(value).ok(), hash: hash(value) }
    }
}

/// One line: `f32[64, 128] mean=0.01 sd=0.98 min=-3.1 max=3.2 nan=0 inf=0 #a91c`.
pub fn line(value: &Value) -> String {
    Summary::of(value).to_string()
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = &self.number {
            return f.write_str(number);
        }
        match (self.listed, self.ty.element()) {
            (Some(len), Some(element)) => write!(f, "list of {len} {element}")?,
            _ => write!(f, "{}", self.ty)?,
        }
        match &self.stats {
            Some(stats) if stats.count == 0 => return f.write_str(" empty"),
            Some(stats) if self.ty.dtype().is_bool() => {
                write!(f, " true={} false={}", stats.nonzero, stats.count - stats.nonzero)?;
            }
            Some(stats) => {
                if stats.finite() > 0 {
                    write!(f, " mean={} sd={}", short(stats.mean), short(stats.sd))?;
                    write!(f, " min={} max={}", short(stats.min), short(stats.max))?;
                }
                if self.ty.dtype().is_float() {
                    write!(f, " nan={} inf={}", stats.nan, stats.inf)?;
                }
            }
            None => {}
        }
        write!(f, " #{:04x}", self.hash >> 48)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use fluvial_core::{DType, List, Tensor};

    use super::*;

    fn check(value: impl Into<Value>, expected: Expect) {
        expected.assert_eq(&line(&value.into()));
    }

    #[test]
    fn lines() {
        let of = |dtype, elements: &[f64]| {
            Tensor::from_f64s(dtype, elements, &[elements.len()]).unwrap()
        };
        check(
            of(DType::F32, &[1.0, 2.0, 3.0, 4.5]),
            expect!["f32[4] mean=2.625 sd=1.293 min=1 max=4.5 nan=0 inf=0 #b928"],
        );
        check(
            of(DType::F32, &[1.0, f64::NAN, f64::INFINITY]),
            expect!["f32[3] mean=1 sd=0 min=1 max=1 nan=1 inf=1 #15cd"],
        );
        check(of(DType::F32, &[f64::NAN]), expect!["f32[1] nan=1 inf=0 #8dd0"]);
        check(
            of(DType::F64, &[1.5e308, 1.7e308]),
            expect!["f64[2] mean=1.6e308 sd=1e307 min=1.5e308 max=1.7e308 nan=0 inf=0 #2508"],
        );
        check(
            of(DType::I64, &[1.0, 2.0, -7.0]),
            expect!["i64[3] mean=-1.333 sd=4.028 min=-7 max=2 #4313"],
        );
        check(of(DType::Bool, &[1.0, 0.0, 1.0]), expect!["bool[3] true=2 false=1 #84c3"]);
        check(Tensor::zeros(DType::F32, &[0, 3]).unwrap(), expect!["f32[0, 3] empty"]);
        check(Tensor::scalar(0.25f32), expect!["0.25"]);
        check(Tensor::scalar(7i64), expect!["7"]);
        check(Tensor::scalar(false), expect!["false"]);
        check(Tensor::scalar(f32::NAN), expect!["NaN"]);
        let pair = Type::of(DType::F32, &[2]).unwrap();
        let values = (0..5).map(|i| Value::from(of(DType::F32, &[f64::from(i), 0.0])));
        check(
            List::from_bottom(pair, values).unwrap(),
            expect!["list of 5 f32[2] mean=1 sd=1.414 min=0 max=4 nan=0 inf=0 #efc1"],
        );
        check(List::new(pair).unwrap(), expect!["list of 0 f32[2] empty"]);
    }
}
