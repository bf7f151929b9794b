//! Another size: bilinear, with a wider filter where the image gets smaller, so that no pixel is passed over.

use fluvial_tensor::{DType, Result, Tensor, memory};

/// The image with so many rows and columns.
pub(super) fn resize(image: &Tensor, height: usize, width: usize, nearest: bool) -> Result<Tensor> {
    let (rows, columns) = (image.dims()[0], image.dims()[1]);
    if (rows, columns) == (height, width) {
        return Ok(image.clone());
    }
    let n_channels: usize = image.dims()[2..].iter().product();
    let mut sizes = image.dims().to_vec();
    (sizes[0], sizes[1]) = (height, width);
    let wide = image.cast(DType::F32)?.contiguous()?;
    let pixels = wide.to_vec::<f32>()?;
    let (down, across) = (taps(rows, height, nearest), taps(columns, width, nearest));
    // Columns first, for as many rows as there are, then rows.
    let mut narrow = memory::filled(0.0_f32, rows * width * n_channels)?;
    for row in 0..rows {
        let from = &pixels[row * columns * n_channels..][..columns * n_channels];
        let to = &mut narrow[row * width * n_channels..][..width * n_channels];
        for (tap, to) in across.iter().zip(to.chunks_exact_mut(n_channels.max(1))) {
            let from = from[tap.first * n_channels..].chunks_exact(n_channels.max(1));
            for (weight, from) in tap.weights.iter().zip(from) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to += weight * from);
            }
        }
    }
    let line = width * n_channels;
    let mut out = memory::filled(0.0_f32, height * line)?;
    for (tap, to) in down.iter().zip(out.chunks_exact_mut(line.max(1))) {
        let from = narrow[tap.first * line..].chunks_exact(line.max(1));
        for (weight, from) in tap.weights.iter().zip(from) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += weight * from);
        }
    }
    stored(out, &sizes, image.dtype())
}

/// The numbers as elements of a type: those of `u8` rounded, and cut to its range.
pub(super) fn stored(mut numbers: Vec<f32>, sizes: &[usize], dtype: DType) -> Result<Tensor> {
    if dtype == DType::U8 {
        numbers.iter_mut().for_each(|x| *x = x.round().clamp(0.0, 255.0));
    }
    Tensor::from_vec(numbers, sizes)?.cast(dtype)
}

/// What an element of the result is made of: elements from `first` on, with these weights.
struct Tap {
    first: usize,
    weights: Vec<f32>,
}

fn taps(from: usize, to: usize, nearest: bool) -> Vec<Tap> {
    let scale = from as f64 / to as f64;
    let reach = scale.max(1.0);
    let tap = |i: usize| {
        let centre = (i as f64 + 0.5) * scale;
        if nearest {
            return Tap { first: (centre as usize).min(from - 1), weights: vec![1.0] };
        }
        let first = ((centre - reach + 0.5).max(0.0) as usize).min(from - 1);
        let end = ((centre + reach + 0.5) as usize).clamp(first + 1, from);
        let weight = |j: usize| (1.0 - ((j as f64 + 0.5 - centre) / reach).abs()).max(0.0);
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        Tap { first, weights: weights.iter().map(|weight| (weight / sum) as f32).collect() }
    };
    (0..to).map(tap).collect()
}
