//! The colours of images.

use fluvial_tensor::{DType, Result, Tensor};

use super::resample::stored;
use crate::reader::each::scaled;

/// How much red, green and blue count for brightness.
const GREY: [f32; 3] = [0.299, 0.587, 0.114];

/// The image with its brightness, contrast and saturation times factors, and its hue turned by a part of the
/// circle, in this order. Elements of floats lie between 0 and 1, and stay there.
pub(super) fn changed(image: &Tensor, factors: [f32; 3], turn: f32) -> Result<Tensor> {
    let [brightness, contrast, saturation] = factors;
    let most = if image.dtype() == DType::U8 { 255.0 } else { 1.0 };
    let n_channels = image.dims().get(2).copied().unwrap_or(1);
    let mut pixels = image.cast(DType::F32)?.contiguous()?.to_vec::<f32>()?;
    // The fourth channel is alpha.
    let n_colours = if n_channels == 4 { 3 } else { n_channels };
    let chunk = n_channels.max(1);
    let mut each = |change: &mut dyn FnMut(&mut [f32])| {
        for pixel in pixels.chunks_exact_mut(chunk) {
            change(&mut pixel[..n_colours]);
            pixel[..n_colours].iter_mut().for_each(|x| *x = x.clamp(0.0, most));
        }
    };
    if brightness != 1.0 {
        each(&mut |pixel| pixel.iter_mut().for_each(|x| *x *= brightness));
    }
    if contrast != 1.0 {
        let (mut sum, mut n) = (0.0_f64, 0_u64);
        each(&mut |pixel| (sum, n) = (sum + f64::from(grey(pixel)), n + 1));
        let mean = (sum / n.max(1) as f64) as f32;
        each(&mut |pixel| pixel.iter_mut().for_each(|x| *x = mean + contrast * (*x - mean)));
    }
    if saturation != 1.0 && n_colours == 3 {
        each(&mut |pixel| {
            let grey = grey(pixel);
            pixel.iter_mut().for_each(|x| *x = grey + saturation * (*x - grey));
        });
    }
    if turn != 0.0 && n_colours == 3 {
        each(&mut |pixel| turned(pixel, turn));
    }
    stored(pixels, image.dims(), image.dtype())
}

fn grey(pixel: &[f32]) -> f32 {
    match pixel {
        [r, g, b] => GREY[0] * r + GREY[1] * g + GREY[2] * b,
        _ => pixel.iter().sum::<f32>() / pixel.len().max(1) as f32,
    }
}

/// Turns the hue of red, green and blue by a part of the circle.
fn turned(pixel: &mut [f32], turn: f32) {
    let (r, g, b) = (pixel[0], pixel[1], pixel[2]);
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let chroma = most - least;
    if chroma == 0.0 {
        return;
    }
    let sixth = if most == r {
        (g - b) / chroma
    } else if most == g {
        (b - r) / chroma + 2.0
    } else {
        (r - g) / chroma + 4.0
    };
    let hue = (sixth + 6.0 * turn).rem_euclid(6.0);
    for (x, offset) in pixel.iter_mut().zip([5.0, 3.0, 1.0]) {
        let k = (offset + hue).rem_euclid(6.0);
        *x = most - chroma * k.min(4.0 - k).clamp(0.0, 1.0);
    }
}

/// Each channel less its mean, divided by its deviation. Integers become `f32`.
pub(super) fn normalized(image: &Tensor, mean: &[f64], std: &[f64]) -> Result<Tensor> {
    let dtype = scaled(image.dtype());
    let n_channels = image.dims().get(2).copied().unwrap_or(1);
    let of = |all: &[f64], channel: usize| all[if all.len() == 1 { 0 } else { channel }];
    let steps: Vec<(f64, f64)> = (0..n_channels).map(|c| (of(mean, c), of(std, c))).collect();
    let image = image.contiguous()?;
    if dtype == DType::F64 {
        let mut numbers = image.to_vec::<f64>()?;
        for pixel in numbers.chunks_exact_mut(n_channels.max(1)) {
            pixel.iter_mut().zip(&steps).for_each(|(x, (mean, std))| *x = (*x - mean) / std);
        }
        return Tensor::from_vec(numbers, image.dims());
    }
    let mut numbers = image.cast(DType::F32)?.to_vec::<f32>()?;
    for pixel in numbers.chunks_exact_mut(n_channels.max(1)) {
        let steps = pixel.iter_mut().zip(&steps);
        steps.for_each(|(x, &(mean, std))| *x = (*x - mean as f32) / std as f32);
    }
    Tensor::from_vec(numbers, image.dims())?.cast(dtype)
}
