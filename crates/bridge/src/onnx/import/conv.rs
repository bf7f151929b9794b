//! Convolutions.

use fluvial_core::{Dim, Result, Var};
use fluvial_ops::{self as ops, ConvOptions, ConvTransposeOptions, PadOptions};

use super::node::Node;
use super::table::Entry;
use super::value::Val;
use super::window::{Windows, convolved, sizes};

pub const OPS: &[Entry] = &[
    Entry::many("CausalConvWithState", 27, causal_conv),
    Entry::one("Conv", 1, |n| conv(n, &n.var(0)?, &n.var(1)?, n.opt(2)?.as_ref()))
        .refuses("more than three spatial axes"),
    Entry::one("ConvTranspose", 1, conv_transpose).refuses("more than three spatial axes"),
];

/// The convolution that the attributes describe.
pub fn conv(n: &Node<'_>, x: &Var, weight: &Var, bias: Option<&Var>) -> Result<Var> {
    let (windows, groups) = windows(n, x, weight)?;
    let options = ConvOptions::default()
        .stride(windows.stride.clone())
        .dilation(windows.dilation.clone())
        .groups(groups);
    if windows.is_even() {
        return convolved(x, weight, bias, options.padding(windows.before.clone()));
    }
    convolved(&windows.padded(x, 0.0)?, weight, bias, options)
}

/// How the windows of the convolution lie, and its groups.
pub fn windows(n: &Node<'_>, x: &Var, weight: &Var) -> Result<(Windows, usize)> {
    // Only padding to the same size asks for the size of the kernel.
    let is_same = n.string("auto_pad", "NOTSET").starts_with("SAME");
    let kernel = kernel_of(n, weight, if is_same { None } else { Some(1) })?;
    Ok((Windows::new(n, x, kernel)?, groups(n)?))
}

/// A convolution of each channel that sees no later elements, and the elements that the next call needs.
fn causal_conv(n: &Node<'_>) -> Result<Vec<Val>> {
    let (x, weight, bias) = (n.var(0)?, n.var(1)?, n.opt(2)?);
    let kernel = kernel_of(n, &weight, None)?;
    let (Some(channels), [width]) = (x.dims()[1].value(), &kernel[..]) else {
        return Err(n.refuse("its sizes are not known or do not fit"));
    };
    let before = match n.opt(3)? {
        Some(state) => state,
        None => ops::zeros(&[x.dims()[0], x.dims()[1], Dim::size(width - 1)], x.dtype())?,
    };
    let whole = ops::concat(&[&before, &x], 2)?;
    let options = ConvOptions::default().groups(channels);
    let mut out = convolved(&whole, &weight, bias.as_ref(), options)?;
    match n.string("activation", "none").as_str() {
        "none" => {}
        "silu" | "swish" => out = ops::silu(&out)?,
        other => return Err(n.refuse(format!("`{other}` is not an activation"))),
    }
    let left = ops::narrow(&whole, 2, x.dims()[2], Dim::size(width - 1))?;
    Ok(vec![out.into(), left.into()])
}

fn groups(n: &Node<'_>) -> Result<usize> {
    usize::try_from(n.int("group", 1))
        .ok()
        .filter(|&group| group > 0)
        .ok_or_else(|| n.refuse("`group` is not positive"))
}

/// The sizes of a kernel; `open` stands for those that are not known.
fn kernel_of(n: &Node<'_>, weight: &Var, open: Option<usize>) -> Result<Vec<usize>> {
    let dims = weight.dims();
    if !(3..=5).contains(&dims.len()) {
        let what = format!("the weight {} does not have one to three spatial axes", weight.ty());
        return Err(n.refuse(what));
    }
    let kernel: Option<Vec<usize>> = dims.iter().skip(2).map(|dim| dim.value().or(open)).collect();
    kernel.ok_or_else(|| n.refuse(format!("the sizes of the kernel {} are open", weight.ty())))
}

fn conv_transpose(n: &Node<'_>) -> Result<Var> {
    let (x, weight, bias) = (n.var(0)?, n.var(1)?, n.opt(2)?);
    let kernel = kernel_of(n, &weight, None)?;
    let axes = kernel.len();
    if x.rank() != axes + 2 {
        return Err(n.refuse(format!("{} does not have {axes} spatial axes", x.ty())));
    }
    let each = |name: &str, default: usize| Ok(sizes(n, name)?.unwrap_or(vec![default; axes]));
    let (stride, dilation) = (each("strides", 1)?, each("dilations", 1)?);
    let more = each("output_padding", 0)?;
    let pads = sizes(n, "pads")?.unwrap_or(vec![0; 2 * axes]);
    if [&stride, &dilation, &more].iter().any(|all| all.len() != axes) || pads.len() != 2 * axes {
        return Err(n.refuse("its attributes have another number of axes"));
    }
    let (mut before, mut after) = (signed(&pads[..axes]), signed(&pads[axes..]));
    let auto = n.string("auto_pad", "NOTSET");
    let is_same = auto.starts_with("SAME");
    let wanted = sizes(n, "output_shape")?;
    if wanted.is_some() || is_same {
        for i in 0..axes {
            let size = x.dims()[i + 2].value();
            let size = size.ok_or_else(|| n.refuse("`output_shape` needs known spatial sizes"))?;
            let wanted = match &wanted {
                Some(wanted) => wanted[wanted.len().saturating_sub(axes) + i],
                None => size * stride[i],
            };
            let full = (size.max(1) - 1) * stride[i] + more[i] + (kernel[i] - 1) * dilation[i] + 1;
            let total = full as i64 - wanted as i64;
            let less = total.div_euclid(2);
            before[i] = if auto == "SAME_UPPER" { less } else { total - less };
            after[i] = total - before[i];
        }
    } else if auto == "VALID" {
        (before, after) = (vec![0; axes], vec![0; axes]);
    }
    let options = ConvTransposeOptions::default()
        .stride(stride.clone())
        .dilation(dilation.clone())
        .groups(groups(n)?);
    let apply = |bias: Option<&Var>, options: ConvTransposeOptions| match axes {
        1 => ops::conv_transpose1d(&x, &weight, bias, options),
        2 => ops::conv_transpose2d(&x, &weight, bias, options),
        _ => ops::conv_transpose3d(&x, &weight, bias, options),
    };
    let is_plain = before == after
        && before.iter().all(|&pad| pad >= 0)
        && (0..axes).all(|i| more[i] < stride[i].max(dilation[i]));
    if is_plain {
        let padding: Vec<usize> = before.iter().map(|&pad| pad as usize).collect();
        return apply(bias.as_ref(), options.padding(padding).output_padding(more));
    }
    let whole = apply(None, options)?;
    let before: Vec<i64> = before.iter().map(|&pad| -pad).collect();
    let after: Vec<i64> = (0..axes).map(|i| more[i] as i64 - after[i]).collect();
    let cut = ops::pad(&whole, &before, &after, PadOptions::default())?;
    match bias {
        None => Ok(cut),
        Some(bias) => {
            let mut dims = vec![Dim::size(1); axes + 1];
            dims[0] = Dim::REST;
            ops::add(&cut, &ops::reshape(&bias, &dims)?)
        }
    }
}

fn signed(sizes: &[usize]) -> Vec<i64> {
    sizes.iter().map(|&size| size as i64).collect()
}
