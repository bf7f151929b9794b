//! Expressions give the bits of the ops that they stand for.

use fluvial_core::{DType, Result, Tensor, Value, Var};
use fluvial_ops as ops;

use crate::expr::{Context, parse};

struct Pair(Var, Var);

impl Context for Pair {
    fn value(&self, name: &str) -> Option<Value> {
        let var = match name {
            "a" => &self.0,
            "b" => &self.1,
            _ => return None,
        };
        var.value().ok().cloned()
    }

    fn gradient(&self, _: &str) -> Option<Value> {
        None
    }

    fn names(&self) -> Vec<String> {
        vec!["a".into(), "b".into()]
    }
}

type Case = (&'static str, fn(&Var, &Var) -> Result<Var>);

const CASES: &[Case] = &[
    ("a + b", ops::add),
    ("a - b", ops::sub),
    ("a * b", ops::mul),
    ("a / b", ops::div),
    ("a // b", ops::floor_div),
    ("a % b", ops::remainder),
    ("a ** b", ops::pow),
    ("a @ b.T", |a, b| ops::matmul(a, &ops::transpose(b, -2, -1)?)),
    ("a < b", ops::lt),
    ("a <= b", ops::le),
    ("a > b", ops::gt),
    ("a >= b", ops::ge),
    ("a == b", ops::eq),
    ("a != b", ops::ne),
    ("-a", |a, _| ops::neg(a)),
    ("tanh(a) + sigmoid(b)", |a, b| ops::add(&ops::tanh(a)?, &ops::sigmoid(b)?)),
    ("a.exp().log1p()", |a, _| ops::log1p(&ops::exp(a)?)),
    ("sum(a)", |a, _| ops::sum(a, &[], false)),
    ("a.mean(0)", |a, _| ops::mean(a, &[0], false)),
    ("max(a, axis=-1, keepdims=true)", |a, _| ops::max(a, &[-1], true)),
    ("std(a, axis=1)", |a, _| ops::std(a, &[1], false, 0.0)),
    ("norm(a - b)", |a, b| ops::norm(&ops::sub(a, b)?, 2.0, &[], false)),
    ("softmax(a, 0)", |a, _| ops::softmax(a, 0)),
    ("cumsum(a)", |a, _| ops::cumsum(a, -1)),
    ("argmax(a, 1)", |a, _| ops::argmax(a, 1, false)),
    ("where(a > b, a, b)", |a, b| ops::where_(&ops::gt(a, b)?, a, b)),
    ("a * 2", |a, _| ops::mul(a, &a.literal(2.0))),
    ("0.5 - a", |a, _| ops::sub(&a.literal(0.5), a)),
    ("a[1:, ::2]", |a, _| {
        ops::getitem(a, &[ops::Index::steps(Some(1), None, 1), ops::Index::steps(None, None, 2)])
    }),
];

#[test]
fn expressions_are_the_ops_they_name() {
    let numbers = |seed: u64, dtype| {
        let mut state = seed;
        let elements: Vec<f64> = (0..15)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((state >> 33) % 1000) as f64 / 100.0 - 4.0
            })
            .collect();
        Var::new(Tensor::from_f64s(dtype, &elements, &[3, 5]).unwrap())
    };
    let mut n_values = 0;
    for x in DType::ALL {
        for y in [DType::Bool, DType::I64, DType::BF16, DType::F32, DType::F64] {
            let pair = Pair(numbers(1, x), numbers(2, y));
            for (text, op) in CASES {
                let found = parse(text).unwrap().eval(&pair);
                match (op(&pair.0, &pair.1), found) {
                    (Ok(expected), Ok(found)) => {
                        let same = expected.value().unwrap().bitwise_eq(&found);
                        assert!(same, "{text} of {x} and {y}");
                        n_values += 1;
                    }
                    (Err(expected), Err(found)) => assert_eq!(expected.kind(), found.kind()),
                    (expected, found) => panic!("{text} of {x} and {y}: {expected:?}, {found:?}"),
                }
            }
        }
    }
    assert!(n_values > 900, "{n_values}");
}
