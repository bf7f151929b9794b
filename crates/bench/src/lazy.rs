//! Expressions composed at compile time, beside a hand-written loop and the scalar machine.

use fluvial_kernels::{Body, Expression, Lazy, lazy, uniform};
use fluvial_tensor::{DType, Error, Result, Tensor};

use crate::{Case, Make};

/// The cases.
pub const CASES: &[(&str, Make)] = &[
    ("lazy_tanh", |sizes| case(sizes, |x, y| eval((lazy(x) * lazy(y) + 1.0).tanh(), x))),
    ("lazy_chain", |sizes| {
        case(sizes, |x, y| {
            let (a, b) = (lazy(x), lazy(y));
            eval((((((a * b + 1.0) * a - b) * 0.5 + a) * b - 0.25) * a + b) * 1.5 - a, x)
        })
    }),
    ("machine_chain", |sizes| {
        case(sizes, |x, y| {
            let body = Body::binary(|a, b| {
                (((((a * b + 1.0) * a - b) * 0.5 + a) * b - 0.25) * a + b) * 1.5 - a
            });
            let mut out = Tensor::empty(x.dtype(), x.dims())?;
            body.run(&[x, y], &[], x.dtype(), &mut out)?;
            Ok(out)
        })
    }),
    ("hand_chain", |sizes| case(sizes, by_hand)),
    ("lazy_distance", |sizes| {
        case(sizes, |x, y| {
            let difference = lazy(x) - lazy(y);
            (difference * difference).sum()
        })
    }),
];

fn eval<E: Expression>(expression: Lazy<E>, x: &Tensor) -> Result<Tensor> {
    let mut out = Tensor::empty(x.dtype(), x.dims())?;
    expression.eval_into(&mut out)?;
    Ok(out)
}

/// The chain as a loop, on one thread and with the instructions that every machine has.
fn by_hand(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (Some(a), Some(b)) = (x.as_slice::<f32>(), y.as_slice::<f32>()) else {
        let (a, b) = (x.cast(DType::F32)?, y.cast(DType::F32)?);
        return by_hand(&a, &b);
    };
    let mut out = Tensor::empty(DType::F32, x.dims())?;
    for ((out, &a), &b) in out.as_mut_slice::<f32>()?.iter_mut().zip(a).zip(b) {
        *out = (((((a * b + 1.0) * a - b) * 0.5 + a) * b - 0.25) * a + b) * 1.5 - a;
    }
    Ok(out)
}

/// `n`.
fn case(sizes: &[usize], run: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Case> {
    let &[n] = sizes else { return Err(Error::argument("the size is n")) };
    let draw = |stream| uniform(7, stream, DType::F32, &[n], -1.0, 1.0);
    let (x, y) = (draw(1)?, draw(2)?);
    let (wide_x, wide_y) = (x.cast(DType::F64)?, y.cast(DType::F64)?);
    let bytes = 4 * (2 * n + run(&x, &y)?.numel());
    Ok(Case::new(move || run(&x, &y), move || run(&wide_x, &wide_y)).moving(bytes))
}
