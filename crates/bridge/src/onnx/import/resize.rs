//! `Resize` and what came before it: each new element is a weighted sum of old ones, axis by axis.

use fluvial_core::{DType, Dim, Error, Result, Var, Whole};
use fluvial_ops::{self as ops, GridPadding, GridSampleOptions, GridSampling};

use super::node::{Node, front};
use super::table::Entry;

pub const OPS: &[Entry] = &[
    Entry::one("GridSample", 16, grid_sample),
    Entry::one("Resize", 10, resize).refuses("sizes that only the run knows"),
    Entry::one("Upsample", 7, |n| {
        let scales = match n.floats("scales") {
            Some(scales) => scales,
            None => n.known_floats(1)?.ok_or_else(|| n.refuse("it has no scales"))?,
        };
        let x = n.var(0)?;
        let rule = Rule {
            mode: n.string("mode", "nearest"),
            place: "asymmetric".into(),
            nearest: "floor".into(),
            cubic: -0.75,
            excludes: false,
            antialias: false,
            outside: 0.0,
        };
        scaled(n, &x, &scales, None, &(0..x.rank()).collect::<Vec<_>>(), &rule, None)
    }),
];

/// How new elements are made of old ones.
struct Rule {
    mode: String,
    /// Where a new element lies among the old ones.
    place: String,
    nearest: String,
    cubic: f64,
    excludes: bool,
    antialias: bool,
    outside: f64,
}

fn resize(n: &Node<'_>) -> Result<Var> {
    let x = n.var(0)?;
    let is_old = n.opset < 11;
    let rule = Rule {
        mode: n.string("mode", "nearest"),
        place: match is_old {
            true => "asymmetric".into(),
            false => n.string("coordinate_transformation_mode", "half_pixel"),
        },
        nearest: match is_old {
            true => "floor".into(),
            false => n.string("nearest_mode", "round_prefer_floor"),
        },
        cubic: n.float("cubic_coeff_a", -0.75),
        excludes: n.flag("exclude_outside", false),
        antialias: n.flag("antialias", false),
        outside: n.float("extrapolation_value", 0.0),
    };
    let rank = x.rank();
    let axes: Vec<usize> = match n.ints("axes") {
        Some(axes) => axes.iter().map(|&axis| front(axis, rank)).collect::<Result<_>>()?,
        None => (0..rank).collect(),
    };
    let (at_scales, roi) = if is_old { (1, None) } else { (2, n.known_floats(1)?) };
    let scales = match n.opt_val(at_scales) {
        Some(_) => n.known_floats(at_scales)?.filter(|scales| !scales.is_empty()),
        None => None,
    };
    if let Some(scales) = scales {
        return scaled(n, &x, &scales, None, &axes, &rule, roi.as_deref());
    }
    let sizes = n.wholes(3)?;
    if sizes.len() != axes.len() {
        return Err(n.refuse("`sizes` has another number of axes"));
    }
    let policy = n.string("keep_aspect_ratio_policy", "stretch");
    let dims = x.dims();
    let known: Option<Vec<(f64, f64)>> = sizes
        .iter()
        .zip(&axes)
        .map(|(size, &axis)| Some((size.number()? as f64, dims[axis].value()? as f64)))
        .collect();
    let Some(known) = known else { return open(n, &x, &sizes, &axes, &rule) };
    let mut scales: Vec<f64> = known.iter().map(|(new, old)| new / old).collect();
    let mut news: Vec<usize> = known.iter().map(|(new, _)| *new as usize).collect();
    if policy != "stretch" {
        let one = match policy.as_str() {
            "not_larger" => scales.iter().copied().fold(f64::INFINITY, f64::min),
            "not_smaller" => scales.iter().copied().fold(0.0, f64::max),
            other => return Err(n.refuse(format!("`{other}` is not a policy"))),
        };
        scales.fill(one);
        news = known.iter().map(|(_, old)| (one * old + 0.5).floor() as usize).collect();
    }
    scaled(n, &x, &scales, Some(&news), &axes, &rule, roi.as_deref())
}

/// Axes that get sizes which are not numbers yet, where an op of ours does the same.
fn open(n: &Node<'_>, x: &Var, sizes: &[Whole], axes: &[usize], rule: &Rule) -> Result<Var> {
    use ops::image::{Resample, Resampling};
    let mut x = x.clone();
    for (&size, &axis) in sizes.iter().zip(axes) {
        let size = size.dim()?;
        if x.dims()[axis] == size {
            continue;
        }
        let mode = match (rule.mode.as_str(), rule.place.as_str(), rule.nearest.as_str()) {
            ("nearest", "asymmetric", "floor") => Resampling::Nearest,
            ("nearest", "half_pixel", "round_prefer_ceil") => Resampling::NearestExact,
            ("linear", "half_pixel" | "align_corners", _) => Resampling::Linear,
            ("cubic", "half_pixel" | "align_corners", _)
                if rule.cubic == -0.75 && !rule.excludes =>
            {
                Resampling::Cubic
            }
            _ => return Err(n.refuse("this mode needs sizes that are known")),
        };
        if rule.antialias {
            return Err(n.refuse("`antialias` needs sizes that are known"));
        }
        let align_corners = rule.place == "align_corners";
        let op = Resample { axis: axis as i64, size, mode, align_corners, scale: None };
        x = fluvial_core::bind1(op, &[&x])?;
    }
    Ok(x)
}

fn scaled(
    n: &Node<'_>,
    x: &Var,
    scales: &[f64],
    sizes: Option<&[usize]>,
    axes: &[usize],
    rule: &Rule,
    roi: Option<&[f64]>,
) -> Result<Var> {
    if scales.len() != axes.len() || scales.iter().any(|&scale| !(scale > 0.0 && scale.is_finite()))
    {
        return Err(n.refuse("its scales are not one positive number for each axis"));
    }
    let own = x.dtype();
    let mut x = match own.is_float() && own != DType::F16 && own != DType::BF16 {
        true => x.clone(),
        false => ops::cast(x, DType::F32)?,
    };
    for (i, (&scale, &axis)) in scales.iter().zip(axes).enumerate() {
        let region = match (rule.place.as_str(), roi) {
            ("tf_crop_and_resize", Some(roi)) if roi.len() == 2 * axes.len() => {
                Some((roi[i], roi[i + axes.len()]))
            }
            ("tf_crop_and_resize", _) => return Err(n.refuse("it has no region of interest")),
            _ => None,
        };
        let Some(old) = x.dims()[axis].value() else {
            if scale == 1.0 {
                continue;
            }
            return open_scale(n, &x, scales, axes, rule);
        };
        let new = sizes.map_or((old as f64 * scale).floor() as usize, |sizes| sizes[i]);
        if old == new && scale == 1.0 && region.is_none_or(|region| region == (0.0, 1.0)) {
            continue;
        }
        if old == 0 || new > 1 << 24 {
            return Err(n.refuse(format!("{old} elements cannot become {new}")));
        }
        x = along(&x, axis, old, new, scale, rule, region)?;
    }
    match own.is_float() {
        true => ops::cast(&x, own),
        false => super::arithmetic::cast_to(&x, own, true),
    }
}

/// Known factors of sizes that are not.
fn open_scale(n: &Node<'_>, x: &Var, scales: &[f64], axes: &[usize], rule: &Rule) -> Result<Var> {
    use ops::image::{Resample, Resampling};
    let mut x = x.clone();
    for (&scale, &axis) in scales.iter().zip(axes) {
        if scale == 1.0 {
            continue;
        }
        let size = x.dims()[axis];
        let new = if scale.fract() == 0.0 {
            size.mul(Dim::size(scale as usize))?
        } else if (1.0 / scale).fract() == 0.0 {
            size.floor_div(Dim::size((1.0 / scale) as usize))?
        } else {
            return Err(n.refuse(format!("a size that is not known times {scale}")));
        };
        // Upwards by a whole factor no new element lies halfway between old ones.
        let is_whole = scale.fract() == 0.0;
        let mode = match (rule.mode.as_str(), rule.place.as_str(), rule.nearest.as_str()) {
            ("nearest", "asymmetric", "floor") => Resampling::Nearest,
            ("nearest", "half_pixel", "round_prefer_ceil") => Resampling::NearestExact,
            ("nearest", "half_pixel", "round_prefer_floor") if is_whole => Resampling::NearestExact,
            ("linear", "half_pixel" | "align_corners", _) => Resampling::Linear,
            ("linear", "pytorch_half_pixel", _) if is_whole => Resampling::Linear,
            ("cubic", "half_pixel" | "align_corners", _)
                if rule.cubic == -0.75 && !rule.excludes =>
            {
                Resampling::Cubic
            }
            _ => return Err(n.refuse("this mode needs sizes that are known")),
        };
        let align_corners = rule.place == "align_corners";
        let scale = (!align_corners).then_some(scale);
        let op = Resample { axis: axis as i64, size: new, mode, align_corners, scale };
        x = fluvial_core::bind1(op, &[&x])?;
    }
    Ok(x)
}

/// One axis: new elements as sums of the same number of weighted old ones.
fn along(
    x: &Var,
    axis: usize,
    old: usize,
    new: usize,
    scale: f64,
    rule: &Rule,
    region: Option<(f64, f64)>,
) -> Result<Var> {
    let mut all: Vec<Vec<(usize, f64)>> = Vec::new();
    let mut outside: Vec<bool> = Vec::new();
    for i in 0..new {
        let place = rule.place(i as f64, old as f64, new as f64, scale, region)?;
        outside.push(region.is_some() && !(0.0..=(old - 1) as f64).contains(&place));
        all.push(rule.taps(place, old, scale)?);
    }
    let most = all.iter().map(Vec::len).max().unwrap_or(0);
    let mut dims = vec![Dim::size(1); x.rank()];
    dims[axis] = Dim::size(new);
    let column = |values: &[f64]| {
        let column = ops::cast(&Var::of(values, &[new])?, x.dtype())?;
        ops::reshape(&column, &dims)
    };
    let mut sum: Option<Var> = None;
    for tap in 0..most {
        let at = |taps: &Vec<(usize, f64)>| taps.get(tap).copied().unwrap_or((0, 0.0));
        let places: Vec<i64> = all.iter().map(|taps| at(taps).0 as i64).collect();
        let weights: Vec<f64> = all.iter().map(|taps| at(taps).1).collect();
        let mut part = ops::gather(x, &Var::of(&places, &[new])?, axis as i64)?;
        if weights.iter().any(|&weight| weight != 1.0) {
            part = ops::mul(&part, &column(&weights)?)?;
        }
        sum = Some(match sum {
            Some(sum) => ops::add(&sum, &part)?,
            None => part,
        });
    }
    let sum = sum.ok_or_else(|| Error::internal("an axis is made of nothing"))?;
    if !outside.contains(&true) {
        return Ok(sum);
    }
    let mask = ops::reshape(&Var::of(&outside, &[new])?, &dims)?;
    ops::where_(&mask, &sum.literal(rule.outside), &sum)
}

impl Rule {
    /// Where a new element lies among the old ones.
    fn place(
        &self,
        i: f64,
        old: f64,
        new: f64,
        scale: f64,
        region: Option<(f64, f64)>,
    ) -> Result<f64> {
        let exact = scale * old;
        Ok(match self.place.as_str() {
            "half_pixel" => (i + 0.5) / scale - 0.5,
            "half_pixel_symmetric" => {
                let offset = old / 2.0 * (1.0 - new / exact);
                offset + (i + 0.5) / scale - 0.5
            }
            "pytorch_half_pixel" if exact == 1.0 => -0.5,
            "pytorch_half_pixel" => (i + 0.5) / scale - 0.5,
            "align_corners" if exact == 1.0 => 0.0,
            "align_corners" => i * (old - 1.0) / (exact - 1.0),
            "asymmetric" => i / scale,
            "tf_crop_and_resize" => {
                let (start, end) = region.unwrap_or((0.0, 1.0));
                let inside = match exact == 1.0 {
                    true => (end - start) * (old - 1.0) / 2.0,
                    false => i * (end - start) * (old - 1.0) / (exact - 1.0),
                };
                inside + start * (old - 1.0)
            }
            other => {
                return Err(Error::argument(format!("`{other}` is not a way to place elements")));
            }
        })
    }

    /// The old elements of a place with their weights.
    fn taps(&self, place: f64, old: usize, scale: f64) -> Result<Vec<(usize, f64)>> {
        let low = place.floor();
        let part = place - low;
        let within = |i: f64| i.clamp(0.0, (old - 1) as f64) as usize;
        let narrow = if self.antialias { scale.min(1.0) } else { 1.0 };
        let (reach, weight): (f64, Box<dyn Fn(f64) -> f64>) = match self.mode.as_str() {
            "nearest" => {
                let up = match self.nearest.as_str() {
                    "floor" => false,
                    "ceil" => part > 0.0,
                    "round_prefer_floor" => part > 0.5,
                    "round_prefer_ceil" => part >= 0.5,
                    other => {
                        return Err(Error::argument(format!("`{other}` is not a way to round")));
                    }
                };
                return Ok(vec![(within(if up { low + 1.0 } else { low }), 1.0)]);
            }
            "linear" => (1.0, Box::new(|x: f64| (1.0 - x.abs()).max(0.0))),
            "cubic" => {
                let a = self.cubic;
                let curve = move |x: f64| {
                    let x = x.abs();
                    if x <= 1.0 {
                        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
                    } else if x < 2.0 {
                        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
                    } else {
                        0.0
                    }
                };
                (2.0, Box::new(curve))
            }
            other => return Err(Error::argument(format!("`{other}` is not a mode"))),
        };
        let reach = (reach / narrow).min(1e6);
        let (first, last) = ((place - reach).ceil() as i64, (place + reach).floor() as i64);
        let mut taps: Vec<(usize, f64)> = Vec::new();
        let mut total = 0.0;
        for i in first..=last {
            let share = weight((i as f64 - place) * narrow);
            let is_inside = (0..old as i64).contains(&i);
            if share == 0.0 || self.excludes && !is_inside {
                continue;
            }
            total += share;
            taps.push((within(i as f64), share));
        }
        if self.excludes || self.antialias {
            taps.iter_mut().for_each(|tap| tap.1 /= total);
        }
        Ok(taps)
    }
}

fn grid_sample(n: &Node<'_>) -> Result<Var> {
    let mode = match n.string("mode", "linear").as_str() {
        "linear" | "bilinear" => GridSampling::Bilinear,
        "nearest" => GridSampling::Nearest,
        "cubic" | "bicubic" => GridSampling::Bicubic,
        other => return Err(n.refuse(format!("`{other}` is not a mode"))),
    };
    let padding = match n.string("padding_mode", "zeros").as_str() {
        "zeros" => GridPadding::Zeros,
        "border" => GridPadding::Border,
        "reflection" => GridPadding::Reflection,
        other => return Err(n.refuse(format!("`{other}` is not a padding"))),
    };
    let options = GridSampleOptions::default()
        .mode(mode)
        .padding_mode(padding)
        .align_corners(n.flag("align_corners", false));
    ops::grid_sample(&n.var(0)?, &n.var(1)?, options)
}
