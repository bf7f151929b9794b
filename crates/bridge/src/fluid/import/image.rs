//! Convolutions, pools and resizing.

use fluvial_core::{DType, Dim, Result, Var};
use fluvial_ops::{
    self as ops, AvgPoolOptions, ConvOptions, ConvTransposeOptions, FoldOptions, GridPadding,
    GridSampleOptions, GridSampling, InterpolateOptions, Interpolation, MaxPoolOptions, PadOptions,
    UnfoldOptions,
};

use super::call::Call;
use super::shape::channels_first;
use super::table::{Entry, Outs};
use super::value::Val;

pub const OPS: &[Entry] = &[
    Entry::one("affine_channel", |c| {
        channels_first(c, "data_layout", |x| {
            let mut dims = vec![Dim::size(1); x.rank()];
            dims[1] = Dim::REST;
            let (scale, bias) = (c.var("Scale")?, c.var("Bias")?);
            let scaled = ops::mul(x, &ops::reshape(&scale, &dims)?)?;
            ops::add(&scaled, &ops::reshape(&bias, &dims)?)
        })
    }),
    Entry::one("bicubic_interp", |c| resized(c, Interpolation::Bicubic)).refuses(RESIZE),
    Entry::one("bicubic_interp_v2", |c| resized(c, Interpolation::Bicubic)).refuses(RESIZE),
    Entry::one("bilinear_interp", |c| resized(c, Interpolation::Bilinear)).refuses(RESIZE),
    Entry::one("bilinear_interp_v2", |c| resized(c, Interpolation::Bilinear)).refuses(RESIZE),
    Entry::to("conv2d", "Output", conv),
    Entry::to("conv2d_transpose", "Output", conv_transpose).refuses(TRANSPOSE),
    Entry::to("conv3d", "Output", conv),
    Entry::to("conv3d_transpose", "Output", conv_transpose).refuses(TRANSPOSE),
    Entry::to("depthwise_conv2d", "Output", conv),
    Entry::to("depthwise_conv2d_transpose", "Output", conv_transpose).refuses(TRANSPOSE),
    Entry::to("fold", "Y", |c| {
        let (mut pads, sizes) =
            (c.ints("paddings").unwrap_or(vec![0; 2]), each(c, "output_sizes")?);
        pads.truncate(2);
        let options = FoldOptions::default()
            .stride(each(c, "strides")?)
            .dilation(each(c, "dilations")?)
            .padding(natural(c, pads)?);
        ops::fold(&c.var("X")?, sizes.into(), each(c, "kernel_sizes")?.into(), options)
    }),
    Entry::to("grid_sampler", "Output", |c| {
        let mode = match c.text("mode", "bilinear").as_str() {
            "nearest" => GridSampling::Nearest,
            _ => GridSampling::Bilinear,
        };
        let padding = match c.text("padding_mode", "zeros").as_str() {
            "border" => GridPadding::Border,
            "reflection" => GridPadding::Reflection,
            _ => GridPadding::Zeros,
        };
        let options = GridSampleOptions::default()
            .mode(mode)
            .padding_mode(padding)
            .align_corners(c.flag("align_corners", true));
        ops::grid_sample(&c.var("X")?, &c.var("Grid")?, options)
    }),
    Entry::one("linear_interp", |c| resized(c, Interpolation::Linear)).refuses(RESIZE),
    Entry::one("linear_interp_v2", |c| resized(c, Interpolation::Linear)).refuses(RESIZE),
    Entry::many("max_pool2d_with_index", with_index),
    Entry::many("max_pool3d_with_index", with_index),
    Entry::one("nearest_interp", |c| resized(c, Interpolation::Nearest)).refuses(RESIZE),
    Entry::one("nearest_interp_v2", |c| resized(c, Interpolation::Nearest)).refuses(RESIZE),
    Entry::one("pool2d", pool),
    Entry::one("pool3d", pool),
    Entry::one("trilinear_interp", |c| resized(c, Interpolation::Trilinear)).refuses(RESIZE),
    Entry::one("trilinear_interp_v2", |c| resized(c, Interpolation::Trilinear)).refuses(RESIZE),
    Entry::to("unfold", "Y", |c| {
        let (mut pads, kernel) =
            (c.ints("paddings").unwrap_or(vec![0; 2]), each(c, "kernel_sizes")?);
        pads.truncate(2);
        let options = UnfoldOptions::default()
            .stride(each(c, "strides")?)
            .dilation(each(c, "dilations")?)
            .padding(natural(c, pads)?);
        ops::unfold(&c.var("X")?, kernel.into(), options)
    }),
];

const RESIZE: &str = "sizes that only the run knows; `align_mode` 1 without `align_corners`";
const TRANSPOSE: &str = "padding that differs between the two ends of an axis";

fn natural(c: &Call<'_>, ints: Vec<i64>) -> Result<Vec<usize>> {
    let sizes: Option<Vec<usize>> = ints.iter().map(|&int| usize::try_from(int).ok()).collect();
    sizes.ok_or_else(|| c.refuse(format!("{ints:?} are not sizes")))
}

/// The numbers of an attribute, one for each spatial axis.
fn each(c: &Call<'_>, name: &str) -> Result<Vec<usize>> {
    natural(c, c.ints(name).unwrap_or(vec![1; 2]))
}

/// Padding in front of and behind each axis.
fn pads(
    c: &Call<'_>,
    dims: &[Dim],
    kernel: &[usize],
    stride: &[usize],
    dilation: &[usize],
) -> Result<(Vec<usize>, Vec<usize>)> {
    let axes = kernel.len();
    match c.text("padding_algorithm", "EXPLICIT").as_str() {
        "VALID" => return Ok((vec![0; axes], vec![0; axes])),
        "SAME" => {
            let (mut before, mut after) = (Vec::new(), Vec::new());
            for i in 0..axes {
                let Some(size) = dims[i + 2].value() else {
                    return Err(c.refuse("the padding SAME of a size that only the run knows"));
                };
                let out = size.div_ceil(stride[i]);
                // With this algorithm kernels have no holes.
                let need = (out.max(1) - 1) * stride[i] + kernel[i];
                let total = need.saturating_sub(size);
                before.push(total / 2);
                after.push(total - total / 2);
            }
            let _ = dilation;
            return Ok((before, after));
        }
        _ => {}
    }
    let pads = natural(c, c.ints("paddings").unwrap_or(vec![0; axes]))?;
    match pads.len() {
        len if len == axes => Ok((pads.clone(), pads)),
        len if len == 2 * axes => {
            let before = pads.iter().step_by(2).copied().collect();
            Ok((before, pads.iter().skip(1).step_by(2).copied().collect()))
        }
        _ => Err(c.refuse("`paddings` has another number of axes")),
    }
}

fn padded(x: &Var, before: &[usize], after: &[usize], value: f64) -> Result<Var> {
    let signed = |sizes: &[usize]| sizes.iter().map(|&size| size as i64).collect::<Vec<_>>();
    ops::pad(x, &signed(before), &signed(after), PadOptions::default().value(value))
}

fn kernel_of(c: &Call<'_>, weight: &Var) -> Result<Vec<usize>> {
    let kernel: Option<Vec<usize>> = weight.dims().iter().skip(2).map(|dim| dim.value()).collect();
    let kernel = kernel.filter(|kernel| (1..=3).contains(&kernel.len()));
    kernel.ok_or_else(|| {
        c.refuse(format!("the filter {} does not have one to three axes", weight.ty()))
    })
}

fn conv(c: &Call<'_>) -> Result<Var> {
    channels_first(c, "data_format", |x| {
        let weight = c.var("Filter")?;
        let kernel = kernel_of(c, &weight)?;
        let spread = |name: &str| natural(c, c.ints(name).unwrap_or(vec![1; kernel.len()]));
        let (stride, dilation) = (spread("strides")?, spread("dilations")?);
        if x.rank() != kernel.len() + 2 || stride.len() != kernel.len() {
            return Err(c.refuse("its attributes have another number of axes"));
        }
        let (before, after) = pads(c, &x.dims(), &kernel, &stride, &dilation)?;
        let options = ConvOptions::default()
            .stride(stride)
            .dilation(dilation)
            .groups(c.count("groups", 1)?.max(1));
        let (x, options) = match before == after {
            true => (x.clone(), options.padding(before)),
            false => (padded(x, &before, &after, 0.0)?, options),
        };
        let found = match kernel.len() {
            1 => ops::conv1d(&x, &weight, None, options)?,
            2 => ops::conv2d(&x, &weight, None, options)?,
            _ => ops::conv3d(&x, &weight, None, options)?,
        };
        biased(c, found)
    })
}

fn biased(c: &Call<'_>, found: Var) -> Result<Var> {
    let Some(bias) = c.opt("Bias")? else { return Ok(found) };
    let mut dims = vec![Dim::size(1); found.rank()];
    dims[1] = Dim::REST;
    ops::add(&found, &ops::reshape(&bias, &dims)?)
}

fn conv_transpose(c: &Call<'_>) -> Result<Var> {
    channels_first(c, "data_format", |x| {
        let weight = c.var("Filter")?;
        let kernel = kernel_of(c, &weight)?;
        let axes = kernel.len();
        let spread = |name: &str| natural(c, c.ints(name).unwrap_or(vec![1; axes]));
        let (stride, dilation) = (spread("strides")?, spread("dilations")?);
        let (before, after) = pads(c, &x.dims(), &kernel, &stride, &dilation)?;
        if before != after {
            return Err(c.refuse(TRANSPOSE));
        }
        let mut more = match c.ints("output_padding") {
            Some(more) => natural(c, more)?,
            None => vec![0; axes],
        };
        if let Some(sizes) = c.ints("output_size") {
            for (i, &size) in natural(c, sizes)?.iter().enumerate().take(axes) {
                let Some(own) = x.dims()[i + 2].value() else {
                    return Err(c.refuse("`output_size` for a size that only the run knows"));
                };
                let full = (own.max(1) - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1;
                more[i] = (size + 2 * before[i]).saturating_sub(full);
            }
        }
        let options = ConvTransposeOptions::default()
            .stride(stride)
            .dilation(dilation)
            .padding(before)
            .output_padding(more)
            .groups(c.count("groups", 1)?.max(1));
        let found = match axes {
            1 => ops::conv_transpose1d(x, &weight, None, options)?,
            2 => ops::conv_transpose2d(x, &weight, None, options)?,
            _ => ops::conv_transpose3d(x, &weight, None, options)?,
        };
        biased(c, found)
    })
}

fn pool(c: &Call<'_>) -> Result<Var> {
    let is_max = match c.text("pooling_type", "max").as_str() {
        "max" => true,
        "avg" => false,
        other => return Err(c.refuse(format!("`{other}` is not a pool"))),
    };
    channels_first(c, "data_format", |x| {
        let axes = x.rank().saturating_sub(2);
        let spatial: Vec<i64> = (2..x.rank() as i64).collect();
        let kernel = natural(c, c.ints("ksize").unwrap_or_default())?;
        if c.flag("global_pooling", false) {
            return if is_max { ops::max(x, &spatial, true) } else { ops::mean(x, &spatial, true) };
        }
        if c.flag("adaptive", false) {
            return match (is_max, axes) {
                (true, 2) => ops::adaptive_max_pool2d(x, kernel.into()),
                (false, 2) => ops::adaptive_avg_pool2d(x, kernel.into()),
                (true, 3) => ops::adaptive_max_pool3d(x, kernel.into()),
                (false, 3) => ops::adaptive_avg_pool3d(x, kernel.into()),
                _ => Err(c.refuse(format!("{} does not have two or three spatial axes", x.ty()))),
            };
        }
        let stride = natural(c, c.ints("strides").unwrap_or(vec![1; axes]))?;
        if kernel.len() != axes || stride.len() != axes {
            return Err(c.refuse("its attributes have another number of axes"));
        }
        let (before, after) = pads(c, &x.dims(), &kernel, &stride, &vec![1; axes])?;
        let ceil = c.flag("ceil_mode", false);
        if is_max {
            let options = MaxPoolOptions::default().stride(stride).ceil_mode(ceil);
            let (x, options) = match before == after {
                true => (x.clone(), options.padding(before)),
                false => (padded(x, &before, &after, f64::NEG_INFINITY)?, options),
            };
            return match axes {
                2 => ops::max_pool2d(&x, kernel.into(), options),
                3 => ops::max_pool3d(&x, kernel.into(), options),
                _ => Err(c.refuse(format!("{} does not have two or three spatial axes", x.ty()))),
            };
        }
        let exclusive = c.flag("exclusive", true);
        let options = AvgPoolOptions::default().stride(stride).ceil_mode(ceil);
        let apply = |x: &Var, options: AvgPoolOptions| match axes {
            2 => ops::avg_pool2d(x, kernel.clone().into(), options),
            3 => ops::avg_pool3d(x, kernel.clone().into(), options),
            _ => Err(c.refuse(format!("{} does not have two or three spatial axes", x.ty()))),
        };
        if before == after {
            return apply(x, options.padding(before).count_include_pad(!exclusive));
        }
        let means = apply(&padded(x, &before, &after, 0.0)?, options.clone())?;
        if !exclusive {
            return Ok(means);
        }
        let mut one = vec![Dim::size(1); 2];
        one.extend(&x.dims()[2..]);
        let counted = padded(&ops::ones(&one, x.dtype())?, &before, &after, 0.0)?;
        ops::div(&means, &apply(&counted, options)?)
    })
}

fn with_index(c: &Call<'_>) -> Result<Outs> {
    let x = c.var("X")?;
    if c.flag("adaptive", false) {
        return Err(c.refuse("`adaptive`"));
    }
    let axes = x.rank().saturating_sub(2);
    let (mut kernel, mut stride) = (each(c, "ksize")?, each(c, "strides")?);
    let mut padding = natural(c, c.ints("paddings").unwrap_or(vec![0; axes]))?;
    if c.flag("global_pooling", false) {
        let sizes: Option<Vec<usize>> = x.dims()[2..].iter().map(|dim| dim.value()).collect();
        kernel = sizes.ok_or_else(|| c.refuse("a size that only the run knows"))?;
        (stride, padding) = (kernel.clone(), vec![0; axes]);
    }
    let options = MaxPoolOptions::default().stride(stride).padding(padding);
    let (found, places) = match axes {
        2 => ops::max_pool2d_with_indices(&x, kernel.into(), options)?,
        _ => ops::max_pool3d_with_indices(&x, kernel.into(), options)?,
    };
    let places = ops::cast(&places, DType::I32)?;
    Ok(vec![("Out", vec![found.into()]), ("Mask", vec![Val::new(places)])])
}

fn resized(c: &Call<'_>, mode: Interpolation) -> Result<Var> {
    channels_first(c, "data_layout", |x| {
        let axes = x.rank().saturating_sub(2);
        let align = c.flag("align_corners", true);
        let is_line = !matches!(mode, Interpolation::Nearest | Interpolation::Bicubic);
        if !align && is_line && c.int("align_mode", 1) == 1 {
            return Err(c.refuse("`align_mode` 1 without `align_corners`"));
        }
        if align && matches!(mode, Interpolation::Nearest) {
            return Err(c.refuse("`align_corners` of the nearest element"));
        }
        let names = &["out_d", "out_h", "out_w"][3usize.saturating_sub(axes)..];
        let mut sizes: Vec<i64> = names.iter().map(|name| c.int(name, -1)).collect();
        let given = c.wholes("OutSize", "SizeTensor", "")?;
        if let Some(given) = given {
            let known: Option<Vec<i64>> = given.iter().map(|size| size.number()).collect();
            sizes = known.ok_or_else(|| c.refuse("sizes that only the run knows"))?;
        }
        let factors = match c.known("Scale")? {
            Some(tensor) => tensor.to_f64s(),
            None => c.floats("scale").unwrap_or_default(),
        };
        let factors: Vec<f64> = factors.into_iter().filter(|&factor| factor > 0.0).collect();
        let options = InterpolateOptions::default().mode(mode).align_corners(align);
        match (factors.is_empty(), sizes.iter().all(|&size| size > 0)) {
            (_, true) if c.opt_val("OutSize").is_some() || factors.is_empty() => {
                ops::interpolate(x, options.size(natural(c, sizes)?))
            }
            (false, _) => {
                let factors = if factors.len() == 1 { vec![factors[0]; axes] } else { factors };
                let known: Option<Vec<usize>> =
                    x.dims()[2..].iter().map(|dim| dim.value()).collect();
                let known = known.ok_or_else(|| c.refuse("sizes that only the run knows"))?;
                let is_whole = |(&n, f): (&usize, &f64)| (n as f64 * f).fract() == 0.0;
                if !known.iter().zip(&factors).all(is_whole) {
                    return Err(c.refuse("a scale that gives no whole size"));
                }
                let new = known.iter().zip(&factors).map(|(&n, f)| (n as f64 * f) as usize);
                ops::interpolate(x, options.size(new.collect::<Vec<usize>>()))
            }
            _ => Err(c.refuse("neither sizes nor a scale")),
        }
    })
}
