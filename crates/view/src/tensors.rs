//! Files of tensors: what is in them, and how their numbers are spread.

use fluvial::core::Tensor;
use serde_json::{Value as Json, json};

/// Bars of a small picture.
const BARS: usize = 40;

/// Of larger tensors, so many numbers evenly spread are looked at.
const MOST: usize = 1 << 20;

/// The tensors of a file, one by one.
pub fn about(tensors: &[(String, Tensor)]) -> Json {
    tensors.iter().map(|(name, tensor)| one(name, tensor)).collect()
}

fn one(name: &str, tensor: &Tensor) -> Json {
    let ty = tensor.ty();
    let bytes = tensor.numel() * tensor.dtype().size();
    let each = tensor.numel().div_ceil(MOST).max(1);
    let all = tensor.to_f64s();
    let numbers: Vec<f64> = all.iter().copied().step_by(each).collect();
    let finite: Vec<f64> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
    let n = finite.len() as f64;
    let least = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = finite.iter().sum::<f64>() / n;
    let deviation = (finite.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
    let mut bars = vec![0u64; BARS];
    for x in &finite {
        let place = (x - least) / (largest - least) * BARS as f64;
        // Where all are the same, the first bar has them.
        bars[(place as usize).min(BARS - 1)] += 1;
    }
    let number = |x: f64| if x.is_finite() { json!(x) } else { Json::Null };
    json!({
        "name": name,
        "type": ty.to_string(),
        "bytes": bytes,
        "min": number(least),
        "max": number(largest),
        "mean": number(mean),
        "deviation": number(deviation),
        "not_finite": numbers.len() - finite.len(),
        "zeros": finite.iter().filter(|x| **x == 0.0).count(),
        "looked_at": numbers.len(),
        "n": all.len(),
        "bars": bars,
    })
}
