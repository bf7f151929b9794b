//! `interpolate`: spatial axes with other sizes, derived from `resample`.

use super::resample::{Resample, Resampling};
use crate::prelude::*;

choices! {
    /// How [`interpolate`] makes new elements.
    pub enum Interpolation {
        /// The old element in front of the place of the new one, on 1 to 3 axes.
        Nearest = "nearest",
        /// The old element at the middle of the new one, on 1 to 3 axes.
        NearestExact = "nearest-exact",
        /// The line between two old elements, on one axis.
        Linear = "linear",
        /// Lines on two axes.
        Bilinear = "bilinear",
        /// Cubic curves on two axes, with a = -0.75.
        Bicubic = "bicubic",
        /// Lines on three axes.
        Trilinear = "trilinear",
        /// The mean of the old elements that the new one covers, on 1 to 3 axes.
        Area = "area",
    }
}

options! {
    /// What [`interpolate`] makes of the spatial axes: `size` or `scale`, one for all or one each.
    pub struct InterpolateOptions {
        /// The new sizes.
        pub size: Vec<usize> = Vec::new(),
        /// The factors between old and new sizes, which are rounded down.
        pub scale: Vec<f64> = Vec::new(),
        /// How new elements are made.
        pub mode: Interpolation = Interpolation::Nearest,
        /// Whether the first and last new elements are at the middles of the old ones, instead of
        /// their edges at the old edges.
        pub align_corners: bool = false,
    }
}

/// Gives the spatial axes of `[batch, channels, ..]` other sizes, as PyTorch's `interpolate`. A
/// given `scale` also tells how far apart old and new elements are, even if sizes are rounded.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0], &[1, 1, 2])?;
/// let options = InterpolateOptions::default().size([4]).mode(Interpolation::Linear);
/// assert_eq!(interpolate(&x, options)?.to_vec::<f64>()?, [1.0, 1.25, 1.75, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn interpolate(x: &Var, options: InterpolateOptions) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let resampled = || {
        let plan = plan(&ty, &options)?;
        plan.into_iter().try_fold(x.clone(), |x, op| bind1(op, &[&x]))
    };
    resampled().map_err(|error| error.in_op("interpolate", &[&ty]).at(loc))
}

/// One op per axis whose size changes.
fn plan(x: &Type, options: &InterpolateOptions) -> Result<Vec<Resample>> {
    use Interpolation::{Area, Bicubic, Bilinear, Linear, Nearest, NearestExact, Trilinear};
    let n_axes = x.rank().saturating_sub(2);
    let (mode, wanted) = match options.mode {
        Nearest => (Resampling::Nearest, 1..=3),
        NearestExact => (Resampling::NearestExact, 1..=3),
        Area => (Resampling::Area, 1..=3),
        Linear => (Resampling::Linear, 1..=1),
        Bilinear => (Resampling::Linear, 2..=2),
        Trilinear => (Resampling::Linear, 3..=3),
        Bicubic => (Resampling::Cubic, 2..=2),
    };
    if x.is_list() || !wanted.contains(&n_axes) {
        let (mode, least, most) = (options.mode, wanted.start(), wanted.end());
        let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
        return Err(Error::shape(format!("`{mode}` is for {wanted} spatial axes, found {x}"))
            .remedy("give [batch, channels, ..], or use the mode for so many axes"));
    }
    if options.align_corners && !matches!(mode, Resampling::Linear | Resampling::Cubic) {
        return Err(Error::argument(format!("`{}` has no corners to align", options.mode))
            .remedy("leave out `align_corners`"));
    }
    let sizes = sizes(&x.dims()[2..], options)?;
    let scale = |i: usize| match options.scale.len() {
        0 => None,
        1 => Some(options.scale[0]),
        _ => Some(options.scale[i]),
    };
    // The mean over an area knows only sizes, as in PyTorch.
    let scale = |i: usize| scale(i).filter(|_| mode != Resampling::Area);
    let op = |(i, size)| Resample {
        axis: i as i64 + 2,
        size,
        mode,
        align_corners: options.align_corners,
        scale: scale(i),
    };
    Ok(sizes.into_iter().enumerate().map(op).collect())
}

fn sizes(old: &[Dim], options: &InterpolateOptions) -> Result<Vec<Dim>> {
    let n_axes = old.len();
    match (options.size.is_empty(), options.scale.is_empty()) {
        (false, true) => Ok(dims_of(&PerAxis::from(options.size.clone()).of(n_axes)?)),
        (true, false) => {
            let scale = &options.scale;
            if scale.len() != 1 && scale.len() != n_axes {
                return Err(Error::argument(format!("scales {scale:?} for {n_axes} axes"))
                    .remedy("give one for all axes, or one for each"));
            }
            let of_axis = |(i, &old)| scaled(old, scale[if scale.len() == 1 { 0 } else { i }]);
            old.iter().enumerate().map(of_axis).collect()
        }
        _ => Err(Error::argument("expected either `size` or `scale`")
            .remedy("give one of the two, for all axes or for each")),
    }
}

/// The size times the factor, rounded down.
fn scaled(old: Dim, scale: f64) -> Result<Dim> {
    if !scale.is_finite() || scale <= 0.0 {
        return Err(Error::argument(format!("a scale of {scale} is not positive"))
            .remedy("use a positive number"));
    }
    let whole = |x: f64| (x.fract() == 0.0).then(|| Dim::size(x as usize));
    match (old.value(), whole(scale), whole(1.0 / scale)) {
        (Some(old), ..) => Ok(Dim::size((old as f64 * scale) as usize)),
        (_, Some(factor), _) => old.mul(factor),
        (_, _, Some(divisor)) => old.floor_div(divisor),
        _ => {
            Err(Error::shape(format!("the size {old} is not known, so {scale} does not scale it"))
                .remedy("give `size`, or a whole scale, or one divided by a whole number"))
        }
    }
}
