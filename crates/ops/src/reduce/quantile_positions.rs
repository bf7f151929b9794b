//! `quantile_positions`: between which sorted elements quantiles lie.

use super::quantile::QuantileRule;
use crate::prelude::*;

/// The positions of two neighbours among `size` sorted elements between which each of the quantiles
/// lies, both `i64`, and how far it is on the way from the first to the second.
#[track_caller]
pub(super) fn quantile_positions(
    q: &[f64],
    size: Dim,
    method: QuantileRule,
    dtype: DType,
) -> Result<(Var, Var, Var)> {
    let op = QuantilePositions { q: q.to_vec(), size, method, dtype };
    let mut outputs = bind(op, &[])?;
    match (outputs.pop(), outputs.pop(), outputs.pop()) {
        (Some(share), Some(high), Some(low)) => Ok((low, high, share)),
        _ => Err(Error::internal("`quantile_positions` has three outputs")),
    }
}

attributes! {
    /// The op under `quantile` and `median`: between which sorted elements quantiles lie.
    pub struct QuantilePositions = "quantile_positions" {
        /// The shares of elements below the quantiles.
        pub q: Vec<f64>,
        /// The number of elements.
        pub size: Dim,
        /// How a quantile between two elements is found.
        pub method: QuantileRule,
        /// The element type of the distances.
        pub dtype: DType,
    }
}

impl QuantilePositions {
    /// The position of a quantile, which may lie between two elements.
    fn position(&self, q: f64, n: f64) -> f64 {
        // Where the ranks of the first and the last element lie, as Hyndman and Fan count them.
        let between = |alpha: f64, beta: f64| n * q + alpha + q * (1.0 - alpha - beta) - 1.0;
        let linear = (n - 1.0) * q;
        let inverted = n * q - 1.0;
        match self.method {
            QuantileRule::Linear => linear,
            QuantileRule::Lower => linear.floor(),
            QuantileRule::Higher => linear.ceil(),
            QuantileRule::Midpoint => 0.5 * (linear.floor() + linear.ceil()),
            QuantileRule::Nearest => linear.round_ties_even(),
            QuantileRule::InvertedCdf => inverted.ceil(),
            QuantileRule::AveragedInvertedCdf if inverted.fract() == 0.0 => inverted + 0.5,
            QuantileRule::AveragedInvertedCdf => inverted.ceil(),
            QuantileRule::InterpolatedInvertedCdf => between(0.0, 1.0),
            QuantileRule::Hazen => between(0.5, 0.5),
            QuantileRule::Weibull => between(0.0, 0.0),
            QuantileRule::MedianUnbiased => between(1.0 / 3.0, 1.0 / 3.0),
            QuantileRule::NormalUnbiased => between(3.0 / 8.0, 3.0 / 8.0),
        }
    }
}

impl Op for QuantilePositions {
    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn infer(&self, _: &[&Type]) -> Result<Types> {
        if !self.dtype.is_float() {
            return Err(Error::dtype(format!("shares are floats, not {}", self.dtype)));
        }
        if self.size == Dim::size(0) {
            return Err(Error::shape("there is no quantile of no elements"));
        }
        let of = |dtype| Type::of(dtype, &[self.q.len()]);
        Ok(smallvec![of(DType::I64)?, of(DType::I64)?, of(self.dtype)?])
    }

    fn eval(&self, _: &[&Value], _: &[Type]) -> Result<Values> {
        let n = known_size(self.size)?;
        if n == 0 {
            return Err(Error::shape("there is no quantile of no elements"));
        }
        let last = (n - 1) as f64;
        let at: Vec<f64> =
            self.q.iter().map(|&q| self.position(q, n as f64).clamp(0.0, last)).collect();
        let whole = |round: fn(f64) -> f64| -> Result<Value> {
            let positions: Vec<i64> = at.iter().map(|&at| round(at) as i64).collect();
            Ok(Tensor::from_vec(positions, &[at.len()])?.into())
        };
        let shares: Vec<f64> = at.iter().map(|&at| at - at.floor()).collect();
        let shares = Tensor::from_f64s(self.dtype, &shares, &[at.len()])?;
        Ok(smallvec![whole(f64::floor)?, whole(f64::ceil)?, shares.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        self.size.is_symbolic().then_some(Fault::of(ErrorKind::Shape))
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(QuantilePositions::NAME, QuantilePositions::build, || {
    let of = |q: &[f64], size, method| QuantilePositions {
        q: q.to_vec(),
        size: Dim::size(size),
        method,
        dtype: DType::F64,
    };
    vec![
        Sample::new(of(&[0.0, 0.25, 1.0], 4, QuantileRule::Linear), []).gives([
            i64s(&[0, 0, 3], &[3]),
            i64s(&[0, 1, 3], &[3]),
            f64s(&[0.0, 0.75, 0.0], &[3]),
        ]),
        Sample::new(of(&[0.5], 4, QuantileRule::Nearest), []).gives([
            i64s(&[2], &[1]),
            i64s(&[2], &[1]),
            f64s(&[0.0], &[1]),
        ]),
        Sample::new(of(&[0.5], 4, QuantileRule::AveragedInvertedCdf), []).gives([
            i64s(&[1], &[1]),
            i64s(&[2], &[1]),
            f64s(&[0.5], &[1]),
        ]),
        Sample::new(of(&[0.5], 0, QuantileRule::Linear), []).refused("no elements"),
    ]
});
