//! What normalisations share: which elements are taken together, moments in a stable form, and scales and
//! shifts that broadcast.

use super::normalise::Together;
use crate::mean;
use crate::prelude::*;
use crate::shape::reshape;

/// How the elements of a value are taken together.
pub(super) struct Layout {
    /// The shape in which the value is looked at.
    pub dims: SmallVec<[Dim; 8]>,
    /// The axes of that shape which moments are taken over.
    pub axes: Vec<i64>,
    /// The shape of the moments.
    pub stats: SmallVec<[Dim; 8]>,
    /// The shape of the moments that broadcasts against `dims`.
    pub kept: SmallVec<[Dim; 8]>,
}

impl Layout {
    /// The layout of `x`, where there are so many axes or groups.
    pub fn new(over: Together, count: usize, x: &Type) -> Result<Layout> {
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(x.dims());
        let mut stats = SmallVec::new();
        let together: Vec<usize> = match over {
            Together::Layer | Together::Rms => {
                let own = last_axes(x, count)?.len();
                stats.extend_from_slice(&x.dims()[..x.rank() - own]);
                (x.rank() - own..x.rank()).collect()
            }
            Together::Group => {
                is_floats(x, 2)?;
                let (groups, each) = groups_of(x, count)?;
                dims[1] = each;
                dims.insert(1, groups);
                stats.extend([x.dim(0), groups]);
                (2..dims.len()).collect()
            }
            Together::Batch => {
                is_floats(x, 2)?;
                stats.push(x.dim(1));
                (0..x.rank()).filter(|&axis| axis != 1).collect()
            }
        };
        let mut kept = dims.clone();
        together.iter().for_each(|&axis| kept[axis] = Dim::size(1));
        let axes = together.into_iter().map(|axis| axis as i64).collect();
        Ok(Layout { dims, axes, stats, kept })
    }

    /// The same, of what there is a kernel for.
    pub fn of_kernel(over: Together, count: usize, x: &Type) -> Result<Layout> {
        let layout = Layout::new(over, count, x)?;
        match x.dtype() {
            DType::F32 | DType::F64 => Ok(layout),
            dtype => Err(Error::dtype(format!("expected f32 or f64, found {dtype}"))),
        }
    }
}

/// The dims of the last axes, of which there must be so many.
pub(super) fn last_axes(x: &Type, count: usize) -> Result<&[Dim]> {
    is_floats(x, 0)?;
    match count {
        0 => Err(Error::argument("there are no axes to normalise over")
            .remedy("name at least one of the last axes")),
        _ if count > x.rank() => Err(Error::shape(format!(
            "the last {count} axes of a value with {} were asked for",
            x.rank()
        ))),
        _ => Ok(&x.dims()[x.rank() - count..]),
    }
}

/// The number of groups and of channels in each; no number makes each channel a group.
fn groups_of(x: &Type, groups: usize) -> Result<(Dim, Dim)> {
    if groups == 0 {
        return Ok((x.dim(1), Dim::size(1)));
    }
    let Some(channels) = x.dim(1).value() else {
        return Err(Error::shape("the number of channels must be known to group them")
            .remedy("declare axis 1 with a number instead of a symbol"));
    };
    match channels % groups == 0 {
        true => Ok((Dim::size(groups), Dim::size(channels / groups))),
        false => Err(Error::argument(format!("{channels} channels do not make {groups} groups"))),
    }
}

/// The dims of a weight or bias for `x`.
pub(super) fn per_param(over: Together, count: usize, x: &Type) -> &[Dim] {
    match over {
        Together::Layer | Together::Rms => &x.dims()[x.rank() - count..],
        Together::Group | Together::Batch => &x.dims()[1..2],
    }
}

/// The types of the moments of `x`.
pub(super) fn stats_of(over: Together, layout: &Layout, x: &Type) -> Result<Types> {
    let ty = x.with_dims(&layout.stats)?;
    Ok(SmallVec::from_elem(ty, if over == Together::Rms { 1 } else { 2 }))
}

/// A value with its mean and its mean squared distance from it, over axes that are kept.
pub(super) struct Moments {
    /// The value less its mean.
    pub centred: Var,
    /// The mean.
    pub mean: Var,
    /// The variance, without correction.
    pub variance: Var,
}

/// The moments of `x` in this layout, in two passes: the mean first, then the squares of the distances
/// from it. If the mean stays, its distances are from zero.
pub(super) fn moments(over: Together, layout: &Layout, x: &Var) -> Result<Moments> {
    let x = reshape(&widened(x)?, &layout.dims)?;
    let average = mean(&x, &layout.axes, true)?;
    let centred = if over == Together::Rms { x } else { sub(&x, &average)? };
    let variance = mean(&mul(&centred, &centred)?, &layout.axes, true)?;
    Ok(Moments { centred, mean: average, variance })
}

/// [`finished`] with a weight and a bias that are shaped to broadcast against `x`.
pub(super) fn affine(
    over: Together,
    x: &Var,
    weight: Option<&Var>,
    bias: Option<&Var>,
    dtype: DType,
) -> Result<Var> {
    let (weight, bias) = match over {
        Together::Layer | Together::Rms => (weight.cloned(), bias.cloned()),
        Together::Group | Together::Batch => per_channel_pair(&x.ty(), weight, bias)?,
    };
    finished(x, weight, bias, dtype)
}

/// The value in the type that statistics are computed in: `f32` for half floats.
pub(super) fn widened(x: &Var) -> Result<Var> {
    match x.dtype().compute() == x.dtype() {
        true => Ok(x.clone()),
        false => cast(x, x.dtype().compute()),
    }
}

/// `x * weight + bias` for those that are given, in the element type `dtype` if that is a half float.
pub(super) fn finished(
    x: &Var,
    weight: Option<Var>,
    bias: Option<Var>,
    dtype: DType,
) -> Result<Var> {
    let mut y = x.clone();
    if let Some(weight) = weight {
        y = mul(&y, &weight)?;
    }
    if let Some(bias) = bias {
        y = add(&y, &bias)?;
    }
    match dtype.compute() == dtype {
        true => Ok(y),
        false => cast(&y, dtype),
    }
}

/// A value with one number for each channel, shaped so that it broadcasts against `x`, whose channels
/// are axis 1.
pub(super) fn per_channel(x: &Type, param: &Var) -> Result<Var> {
    let mut dims: SmallVec<[Dim; 8]> = smallvec![Dim::size(1); x.rank()];
    dims[1] = x.dim(1);
    reshape(param, &dims)
}

/// Both of a weight and a bias, each as [`per_channel`].
pub(super) fn per_channel_pair(
    x: &Type,
    weight: Option<&Var>,
    bias: Option<&Var>,
) -> Result<(Option<Var>, Option<Var>)> {
    let shaped = |param: Option<&Var>| param.map(|param| per_channel(x, param)).transpose();
    Ok((shaped(weight)?, shaped(bias)?))
}

/// Refuses what is not a tensor of floats of at least `rank` axes.
pub(super) fn is_floats(x: &Type, rank: usize) -> Result<()> {
    if x.is_list() || !x.is_float() {
        return Err(Error::dtype("only floats are normalised").remedy("cast to a float type first"));
    }
    match x.rank() >= rank {
        true => Ok(()),
        false => Err(Error::shape(format!(
            "expected at least {rank} axes, the first two being batch and channels"
        ))),
    }
}

/// Refuses an `eps` that would not keep a root from being negative.
pub(super) fn is_eps(eps: f64) -> Result<()> {
    match eps >= 0.0 {
        true => Ok(()),
        false => Err(Error::argument(format!("eps is {eps}, but cannot be negative"))),
    }
}

/// Refuses parameters of other dims than these.
pub(super) fn have_dims(params: &[(&str, Option<&Var>)], dims: &[Dim]) -> Result<()> {
    for (name, param) in params {
        let Some(param) = param else { continue };
        let ty = (*param).clone().check()?.ty();
        if ty.is_list() || ty.dims() != dims {
            let wanted: Vec<String> = dims.iter().map(Dim::to_string).collect();
            return Err(Error::shape(format!(
                "the {name} is {ty}, but its sizes should be [{}]",
                wanted.join(", ")
            )));
        }
    }
    Ok(())
}
