//! Tests of the language: tables of expressions and their values, a comparison with the ops, and any text at all.

mod compare;
mod faults;
mod fuzz;
mod values;

use std::collections::BTreeMap;

use fluvial_core::{DType, List, Tensor, Type, Value};

use super::Context;

/// A few values and gradients by name.
pub struct Names {
    values: BTreeMap<String, Value>,
    gradients: BTreeMap<String, Value>,
}

impl Context for Names {
    fn value(&self, name: &str) -> Option<Value> {
        self.values.get(name).cloned()
    }

    fn gradient(&self, name: &str) -> Option<Value> {
        self.gradients.get(name).cloned()
    }

    fn names(&self) -> Vec<String> {
        self.values.keys().cloned().collect()
    }
}

/// What the tests look at.
pub fn names() -> Names {
    let of = |dtype, elements: &[f64], dims: &[usize]| {
        Value::from(Tensor::from_f64s(dtype, elements, dims).unwrap())
    };
    let ramp: Vec<f64> = (0..24).map(f64::from).collect();
    let scalars = (0..3).map(|i| Value::from(Tensor::scalar(f64::from(i) as f32)));
    let list = List::from_bottom(Type::scalar(DType::F32), scalars).unwrap();
    let values = [
        ("loss", of(DType::F32, &[0.25], &[])),
        ("step", of(DType::I64, &[300.0], &[])),
        ("h", of(DType::F32, &[1.0, -2.0, 3.0, -4.0, 5.0, -6.0], &[2, 3])),
        ("bad", of(DType::F32, &[1.0, f64::NAN, f64::INFINITY], &[3])),
        ("cube", of(DType::F64, &ramp, &[2, 3, 4])),
        ("ids", of(DType::I64, &[2.0, 0.0], &[2])),
        ("bytes", of(DType::U8, &[1.0, 255.0], &[2])),
        ("small", of(DType::BF16, &[1.0, 0.5], &[2])),
        ("mask", of(DType::Bool, &[1.0, 0.0, 1.0], &[3])),
        ("fc1.weight", of(DType::F32, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2])),
        ("layers.0.bias", of(DType::F32, &[7.0], &[1])),
        ("odd name", of(DType::I64, &[9.0], &[])),
        ("%h2", of(DType::I64, &[5.0], &[])),
        ("7", of(DType::I64, &[70.0], &[])),
        ("xs", list.into()),
        ("wide", of(DType::F32, &vec![1.0; 20_000], &[20_000])),
    ];
    let gradients = [("fc1.weight", of(DType::F32, &[0.0, 3.0, 4.0, 0.0, 0.0, 0.0], &[3, 2]))];
    Names {
        values: values.map(|(name, value)| (name.to_string(), value)).into(),
        gradients: gradients.map(|(name, value)| (name.to_string(), value)).into(),
    }
}
