//! Windows, Fourier transforms and images.

use fluvial_core::{DType, Dim, Result, Tensor, Var};
use fluvial_ops::{self as ops, FoldOptions, PadOptions};

use super::node::{Node, front};
use super::table::Entry;
use super::window::sizes;

pub const OPS: &[Entry] = &[
    Entry::one("AffineGrid", 20, affine_grid).refuses("sizes that only the run knows"),
    Entry::one("BlackmanWindow", 17, |n| window(n, [0.42, -0.5, 0.08])),
    Entry::one("Col2Im", 18, col2im).refuses("more than three spatial axes"),
    Entry::one("DFT", 17, dft).refuses("lengths that only the run knows"),
    Entry::one("HammingWindow", 17, |n| window(n, [25.0 / 46.0, -21.0 / 46.0, 0.0])),
    Entry::one("HannWindow", 17, |n| window(n, [0.5, -0.5, 0.0])),
    Entry::one("MelWeightMatrix", 17, mel_weights),
    Entry::one("STFT", 17, stft).refuses("lengths that only the run knows"),
];

/// A sum of cosines.
fn window(n: &Node<'_>, parts: [f64; 3]) -> Result<Var> {
    if n.val(0)?.tensor().is_none() {
        return open_window(n, parts);
    }
    let size = n.known_number(0)?.unwrap_or(0.0);
    if !(0.0..1e8).contains(&size) {
        return Err(n.refuse("its size is out of range"));
    }
    let whole = if n.flag("periodic", true) { size } else { size - 1.0 };
    let at = |i: usize| {
        let angle = 2.0 * std::f64::consts::PI * i as f64 / whole.max(1.0);
        parts[0] + parts[1] * angle.cos() + parts[2] * (2.0 * angle).cos()
    };
    let values: Vec<f64> = (0..size as usize).map(at).collect();
    let dtype = n.dtype("output_datatype")?.unwrap_or(DType::F32);
    ops::cast(&Var::of(&values, &[values.len()])?, dtype)
}

/// A window whose length only the run knows.
fn open_window(n: &Node<'_>, parts: [f64; 3]) -> Result<Var> {
    let size = ops::of_size(&ops::cast(&n.var(0)?, DType::I64)?)?.ty().dim(0);
    let whole = ops::dim_size(size, DType::F64)?;
    let less = if n.flag("periodic", true) { 0.0 } else { 1.0 };
    let whole = ops::maximum(&(&whole - less).check()?, &Var::scalar(1.0f64))?;
    let turns = ops::div(&ops::iota(size, DType::F64)?, &whole)?;
    let angle = (&turns * (2.0 * std::f64::consts::PI)).check()?;
    let first = (&ops::cos(&angle)? * parts[1] + parts[0]).check()?;
    let second = (&ops::cos(&(&angle * 2.0).check()?)? * parts[2]).check()?;
    let dtype = n.dtype("output_datatype")?.unwrap_or(DType::F32);
    ops::cast(&ops::add(&first, &second)?, dtype)
}

fn mel_weights(n: &Node<'_>) -> Result<Var> {
    let number = |i: usize| -> Result<f64> {
        n.known_number(i)?.ok_or_else(|| n.refuse(format!("its input {i} is missing")))
    };
    let (bands, length) = (number(0)?.max(0.0) as usize, number(1)?.max(0.0) as usize);
    let (rate, low, high) = (number(2)?, number(3)?, number(4)?);
    let spectrum = length / 2 + 1;
    if bands > 1 << 16 || spectrum > 1 << 24 || rate <= 0.0 {
        return Err(n.refuse("its sizes are out of range"));
    }
    let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
    let (first, last) = (mel(low), mel(high));
    let step = (last - first) / (bands as f64 + 2.0);
    let bins: Vec<i64> = (0..bands + 2)
        .map(|i| {
            let hertz = 700.0 * (10f64.powf((first + step * i as f64) / 2595.0) - 1.0);
            ((length as f64 + 1.0) * hertz / rate).floor() as i64
        })
        .collect();
    let mut all = fluvial_core::memory::filled(0.0f64, spectrum * bands)?;
    for band in 0..bands {
        let (lower, centre, upper) = (bins[band], bins[band + 1], bins[band + 2]);
        let mut put = |bin: i64, value: f64| {
            if (0..spectrum as i64).contains(&bin) {
                all[bin as usize * bands + band] = value;
            }
        };
        if centre == lower {
            put(centre, 1.0);
        }
        for bin in lower..=centre {
            if centre != lower {
                put(bin, (bin - lower) as f64 / (centre - lower) as f64);
            }
        }
        for bin in centre..upper {
            if upper != centre {
                put(bin, (upper - bin) as f64 / (upper - centre) as f64);
            }
        }
    }
    let dtype = n.dtype("output_datatype")?.unwrap_or(DType::F32);
    ops::cast(&Var::of(&all, &[spectrum, bands])?, dtype)
}

/// The matrices of a transform of `length` elements to `count`: cosines and sines.
fn waves(length: usize, count: usize, sign: f64, dtype: DType) -> Result<[Var; 2]> {
    if length.checked_mul(count).is_none_or(|all| all > 1 << 26) {
        return Err(fluvial_core::Error::memory("the transform is too long"));
    }
    let table = |f: fn(f64) -> f64| -> Result<Var> {
        let mut all = fluvial_core::memory::reserved(length * count)?;
        for i in 0..length {
            for k in 0..count {
                let turn = (i * k % length.max(1)) as f64 / length as f64;
                all.push(f(sign * 2.0 * std::f64::consts::PI * turn));
            }
        }
        ops::cast(&Var::new(Tensor::from_vec(all, &[length, count])?), dtype)
    };
    Ok([table(f64::cos)?, table(f64::sin)?])
}

fn dft(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let rank = x.rank();
    let axis = match n.opset < 20 {
        true => n.int("axis", 1),
        false => n.known_ints(2)?.and_then(|axis| axis.first().copied()).unwrap_or(-2),
    };
    let axis = front(axis, rank)?;
    if axis + 1 == rank {
        return Err(n.refuse("the last axis holds real and imaginary parts"));
    }
    let (inverse, onesided) = (n.flag("inverse", false), n.flag("onesided", false));
    let size = x.dims()[axis].value().ok_or_else(|| n.refuse("the size of the axis is open"))?;
    let length = match n.known_ints(1)?.and_then(|length| length.first().copied()) {
        Some(length) => usize::try_from(length).map_err(|_| n.refuse("a negative length"))?,
        None if inverse && onesided => 2 * size.saturating_sub(1),
        None => size,
    };
    let last = ops::movedim(&x, &[axis as i64], &[-2])?;
    let found = transformed(&last, length, inverse, onesided)?;
    ops::movedim(&found, &[-2], &[axis as i64])
}

/// The transform of `[.., length, 1 or 2]` along the axis before the last.
fn transformed(x: &Var, length: usize, inverse: bool, onesided: bool) -> Result<Var> {
    let parts = ops::unbind(x, -1)?;
    let dtype = x.dtype();
    let size = parts[0].dims().last().and_then(|dim| dim.value()).unwrap_or(0);
    let wanted = if inverse && onesided { length / 2 + 1 } else { length };
    // Elements that are missing are zeros, those too many are cut off.
    let fitted = |x: &Var| match wanted as i64 - size as i64 {
        0 => Ok(x.clone()),
        more => ops::pad(x, &[0], &[more], PadOptions::default()),
    };
    let real = fitted(&parts[0])?;
    let imaginary = parts.get(1).map(fitted).transpose()?;
    if inverse && onesided {
        return inverse_real(&real, imaginary.as_ref(), length);
    }
    let count = if onesided { length / 2 + 1 } else { length };
    let sign = if inverse { 1.0 } else { -1.0 };
    let [cos, sin] = waves(length, count, sign, dtype)?;
    let mut out_real = ops::matmul(&real, &cos)?;
    let mut out_imaginary = ops::matmul(&real, &sin)?;
    if let Some(imaginary) = &imaginary {
        out_real = ops::sub(&out_real, &ops::matmul(imaginary, &sin)?)?;
        out_imaginary = ops::add(&out_imaginary, &ops::matmul(imaginary, &cos)?)?;
    }
    let both = ops::stack(&[&out_real, &out_imaginary], -1)?;
    if inverse { (&both / length as f64).check() } else { Ok(both) }
}

/// A real signal of the first half of its frequencies.
fn inverse_real(real: &Var, imaginary: Option<&Var>, length: usize) -> Result<Var> {
    let count = length / 2 + 1;
    // All frequencies but the first, and the middle one, stand for two.
    let weights: Vec<f64> = (0..count)
        .map(|k| if k == 0 || 2 * k == length { 1.0 } else { 2.0 } / length.max(1) as f64)
        .collect();
    let weights = ops::cast(&Var::of(&weights, &[count])?, real.dtype())?;
    let [cos, sin] = waves(length, count, 1.0, real.dtype())?;
    let turned = |x: &Var| ops::transpose(x, 0, 1);
    let mut signal = ops::matmul(&ops::mul(real, &weights)?, &turned(&cos)?)?;
    if let Some(imaginary) = imaginary {
        let part = ops::matmul(&ops::mul(imaginary, &weights)?, &turned(&sin)?)?;
        signal = ops::sub(&signal, &part)?;
    }
    ops::unsqueeze(&signal, -1)
}

fn stft(n: &Node<'_>) -> Result<Var> {
    let mut x = n.var(0)?;
    if x.rank() == 2 {
        x = ops::unsqueeze(&x, 2)?;
    }
    let step = n.known_number(1)?.unwrap_or(0.0) as usize;
    let window = n.opt(2)?;
    let length = match (n.known_number(3)?, &window) {
        (Some(length), _) => length as usize,
        (None, Some(window)) => window.dims()[0].value().unwrap_or(0),
        (None, None) => x.dims()[1].value().unwrap_or(0),
    };
    if step == 0 || length == 0 || x.rank() != 3 {
        return Err(n.refuse("its step, length or signal does not fit"));
    }
    let is_complex = x.dims()[2] == Dim::size(2);
    // [batch, frames, parts, length]
    let frames = ops::unfold_axis(&x, 1, length, step)?;
    let frames = match frames.rank() == 4 && frames.dims()[3] == Dim::size(length) {
        true => frames,
        false => ops::movedim(&frames, &[2], &[-1])?,
    };
    let frames = match &window {
        Some(window) => ops::mul(&frames, window)?,
        None => frames,
    };
    let parts = ops::permute(&frames, &[0, 1, 3, 2])?;
    transformed(&parts, length, false, n.flag("onesided", true) && !is_complex)
}

fn affine_grid(n: &Node<'_>) -> Result<Var> {
    let theta = n.var(0)?;
    let size = n.known_ints(1)?.ok_or_else(|| n.refuse("it has no size"))?;
    let spatial: Option<Vec<usize>> =
        size.iter().skip(2).map(|&size| usize::try_from(size).ok()).collect();
    let spatial = spatial.filter(|sizes| (2..=3).contains(&sizes.len()));
    let spatial =
        spatial.ok_or_else(|| n.refuse("its size does not have two or three spatial axes"))?;
    let count: usize = spatial.iter().product();
    if count > 1 << 26 {
        return Err(n.refuse("its size is out of range"));
    }
    let aligned = n.flag("align_corners", false);
    let at = |i: usize, size: usize| match aligned {
        true if size > 1 => -1.0 + 2.0 * i as f64 / (size - 1) as f64,
        true => -1.0,
        false => (2.0 * i as f64 + 1.0) / size as f64 - 1.0,
    };
    let width = spatial.len() + 1;
    let mut all: Vec<f64> = Vec::new();
    for flat in 0..count {
        let mut left = flat;
        // The last axis is the first coordinate.
        for &size in spatial.iter().rev() {
            all.push(at(left % size, size));
            left /= size;
        }
        all.push(1.0);
    }
    let points = ops::cast(&Var::of(&all, &[count, width])?, theta.dtype())?;
    let grid = ops::matmul(&points, &ops::transpose(&theta, 1, 2)?)?;
    let mut dims = vec![theta.dims()[0]];
    dims.extend(spatial.iter().map(|&size| Dim::size(size)));
    dims.push(Dim::size(width - 1));
    ops::reshape(&grid, &dims)
}

fn col2im(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let usizes = |i: usize| -> Result<Vec<usize>> {
        let ints = n.known_ints(i)?.unwrap_or_default();
        let found: Option<Vec<usize>> =
            ints.iter().map(|&int| usize::try_from(int).ok().filter(|&x| x < 1 << 24)).collect();
        found.ok_or_else(|| n.refuse("a size is out of range"))
    };
    let (image, kernel) = (usizes(1)?, usizes(2)?);
    let axes = image.len();
    let each = |name: &str, default: usize| Ok(sizes(n, name)?.unwrap_or(vec![default; axes]));
    let pads = sizes(n, "pads")?.unwrap_or(vec![0; 2 * axes]);
    if kernel.len() != axes || pads.len() != 2 * axes {
        return Err(n.refuse("its sizes have different numbers of axes"));
    }
    // Padding that differs between the sides is cut off afterwards.
    let whole: Vec<usize> = (0..axes).map(|i| image[i] + pads[i] + pads[axes + i]).collect();
    let options =
        FoldOptions::default().stride(each("strides", 1)?).dilation(each("dilations", 1)?);
    let mut folded = ops::fold(&x, whole.into(), kernel.into(), options)?;
    for i in 0..axes {
        folded = ops::narrow(&folded, i as i64 + 2, Dim::size(pads[i]), Dim::size(image[i]))?;
    }
    Ok(folded)
}
