//! `grid_sample`: images read at given places, derived from picks and weights.

use crate::pool::PoolPick;
use crate::prelude::*;
use crate::shape::{narrow, reshape};
use crate::{abs, dim_size, floor, ge, gt, le, logical_and, lt, maximum, round, where_};

choices! {
    /// How [`grid_sample`] reads between elements.
    pub enum GridSampling {
        /// Lines on each axis.
        Bilinear = "bilinear",
        /// The nearest element; of two, the one at the even position.
        Nearest = "nearest",
        /// Cubic curves on each of two axes, with a = -0.75.
        Bicubic = "bicubic",
    }
}

choices! {
    /// What [`grid_sample`] reads beyond the images.
    pub enum GridPadding {
        /// Zeros.
        Zeros = "zeros",
        /// The elements at the border.
        Border = "border",
        /// The images, mirrored at the border.
        Reflection = "reflection",
    }
}

options! {
    /// How [`grid_sample`] reads.
    pub struct GridSampleOptions {
        /// How it reads between elements.
        pub mode: GridSampling = GridSampling::Bilinear,
        /// What it reads beyond the images.
        pub padding_mode: GridPadding = GridPadding::Zeros,
        /// Whether -1 and 1 are the middles of the elements at the border, instead of their edges.
        pub align_corners: bool = false,
    }
}

/// Reads images `[batch, channels, height, width]` at the places in `grid`, `[batch, .., .., 2]`, as
/// PyTorch's `grid_sample`: a place is `(x, y)`, from -1 at the left and the top to 1 at the right
/// and the bottom. With three spatial axes, `grid` is `[batch, .., .., .., 3]` of `(x, y, z)`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0], &[1, 1, 2, 2])?;
/// let grid = Var::of(&[0.0, 0.0, 0.5, 0.5], &[1, 1, 2, 2])?;
/// let y = grid_sample(&x, &grid, GridSampleOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [2.5, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn grid_sample(x: &Var, grid: &Var, options: GridSampleOptions) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let precision = autocast::full();
    let (x, grid) = (&precision.of(x)?, &precision.of(grid)?);
    let types = (x.clone().check()?.ty(), grid.clone().check()?.ty());
    let sampled = || {
        judge(&types.0, &types.1, options.mode)?;
        Sampler::new(x, grid, &options)?.sample()
    };
    sampled().map_err(|error| error.in_op("grid_sample", &[&types.0, &types.1]).at(loc))
}

fn judge(x: &Type, grid: &Type, mode: GridSampling) -> Result<()> {
    let floats = [x, grid].iter().all(|ty| ty.is_float() && !ty.is_list());
    if !floats {
        return Err(Error::dtype("expected images and a grid of floats").remedy("cast them first"));
    }
    let n_axes = x.rank().saturating_sub(2);
    let fits = (2..=3).contains(&n_axes)
        && grid.rank() == x.rank()
        && grid.dim(0) == x.dim(0)
        && grid.dim(n_axes + 1) == Dim::size(n_axes);
    if !fits {
        return Err(Error::shape(format!("the grid {grid} does not fit the images {x}"))
            .remedy("give [batch, channels, h, w] and [batch, .., .., 2], or three axes and 3"));
    }
    if mode == GridSampling::Bicubic && n_axes != 2 {
        return Err(Error::shape("`bicubic` is for two spatial axes").remedy("use `bilinear`"));
    }
    if x.dims()[2..].contains(&Dim::size(0)) {
        return Err(Error::shape(format!("the images {x} have no elements to read")));
    }
    Ok(())
}

/// An axis of the images and where it is read.
struct Axis {
    /// Its size, as a number of the grid's type.
    size: Var,
    /// Its size, as an integer.
    whole_size: Var,
    /// The places, in elements: `[batch, 1, ..]`.
    place: Var,
}

struct Sampler<'a> {
    x: &'a Var,
    options: &'a GridSampleOptions,
    /// The dims of the result.
    dims: Vec<Dim>,
    /// From the first spatial axis to the last.
    axes: Vec<Axis>,
}

/// Positions on an axis, as floats, with the weights of their elements; no weight means one.
type Reads = Vec<(Var, Option<Var>)>;

impl<'a> Sampler<'a> {
    fn new(x: &'a Var, grid: &Var, options: &'a GridSampleOptions) -> Result<Sampler<'a>> {
        let (dims, n_axes) = (x.dims(), x.rank() - 2);
        let spatial = grid.dims()[1..=n_axes].to_vec();
        let single: Vec<Dim> = [&[dims[0], Dim::size(1)], &spatial[..]].concat();
        let mut axes = Vec::new();
        for i in 0..n_axes {
            let from_back = Dim::size(n_axes - 1 - i);
            let given = narrow(grid, -1, from_back, Dim::size(1))?;
            let given = reshape(&given, &single)?;
            let size = dim_size(dims[i + 2], grid.dtype())?;
            let place = match options.align_corners {
                true => (given + 1.0) * 0.5 * (&size - 1.0),
                false => ((given + 1.0) * &size - 1.0) * 0.5,
            };
            let whole_size = dim_size(dims[i + 2], DType::I64)?;
            axes.push(Axis { size, whole_size, place: place.check()? });
        }
        Ok(Sampler { x, options, dims: [&dims[..2], &spatial].concat(), axes })
    }

    /// The sum over all combinations of the reads of the axes.
    fn sample(&self) -> Result<Var> {
        let reads = self.axes.iter().map(|axis| self.reads(axis)).collect::<Result<Vec<_>>>()?;
        let count: usize = reads.iter().map(Vec::len).product();
        let mut sum: Option<Var> = None;
        for mut number in 0..count {
            let mut chosen = Vec::new();
            for reads in reads.iter().rev() {
                chosen.push(&reads[number % reads.len()]);
                number /= reads.len();
            }
            chosen.reverse();
            let term = self.term(&chosen)?;
            sum = Some(match sum {
                Some(sum) => add(&sum, &term)?,
                None => term,
            });
        }
        sum.ok_or_else(|| Error::internal("there is at least one read per axis"))
    }

    /// The positions that are read along an axis.
    fn reads(&self, axis: &Axis) -> Result<Reads> {
        match self.options.mode {
            GridSampling::Nearest => Ok(vec![(round(&self.padded(axis, &axis.place)?)?, None)]),
            GridSampling::Bilinear => {
                let place = self.padded(axis, &axis.place)?;
                let first = floor(&place)?;
                let part = &place - &first;
                let next = &first + 1.0;
                Ok(vec![(first, Some(1.0 - &part)), (next, Some(part))])
            }
            GridSampling::Bicubic => {
                let first = floor(&axis.place)?;
                let part = (&axis.place - &first).check()?;
                let weights = cubic(&part);
                let at = |(k, weight): (usize, Var)| {
                    let position = self.padded(axis, &(&first + (k as f64 - 1.0)))?;
                    Ok((position, Some(weight)))
                };
                weights.into_iter().enumerate().map(at).collect()
            }
        }
    }

    /// Places brought into the images, if the padding says so.
    fn padded(&self, axis: &Axis, place: &Var) -> Result<Var> {
        let last = &axis.size - 1.0;
        let place = match self.options.padding_mode {
            GridPadding::Zeros => return Ok(place.clone()),
            GridPadding::Border => place.clone(),
            GridPadding::Reflection => {
                // The mirrored images repeat after twice the distance between the mirrors.
                let (from, span) = match self.options.align_corners {
                    true => (0.0, maximum(&last, &(&axis.size * 0.0 + 1.0))?),
                    false => (-0.5, axis.size.clone()),
                };
                let distance = abs(&(place - from))?;
                let period = &span * 2.0;
                let within = &distance - &period * floor(&(&distance / &period))?;
                let mirrored = where_(&gt(&within, &span)?, &(&period - &within), &within)?;
                mirrored + from
            }
        };
        let first = &axis.size * 0.0;
        let place = where_(&lt(&place, &first)?, &first, &place)?;
        where_(&gt(&place, &last)?, &last, &place)
    }

    /// The elements at one position per axis, zero outside of the images, times their weights.
    fn term(&self, reads: &[&(Var, Option<Var>)]) -> Result<Var> {
        let mut inside: Option<Var> = None;
        let mut flat: Option<Var> = None;
        let mut weight: Option<Var> = None;
        for (axis, (position, factor)) in self.axes.iter().zip(reads.iter().copied()) {
            let zero = &axis.size * 0.0;
            let last = &axis.size - 1.0;
            let within = logical_and(&ge(position, &zero)?, &le(position, &last)?)?;
            inside = Some(match inside {
                Some(inside) => logical_and(&inside, &within)?,
                None => within,
            });
            let whole = cast(position, DType::I64)?;
            flat = Some(match flat {
                Some(flat) => add(&mul(&flat, &axis.whole_size)?, &whole)?,
                None => whole,
            });
            weight = match (weight, factor) {
                (Some(weight), Some(factor)) => Some(mul(&weight, factor)?),
                (weight, factor) => weight.or_else(|| factor.clone()),
            };
        }
        let (Some(inside), Some(flat)) = (inside, flat) else {
            return Err(Error::internal("there is at least one axis"));
        };
        let places = where_(&inside, &flat, &Var::scalar(-1i64))?;
        let places = expand(&places, &self.dims)?;
        let picked = bind1(PoolPick { axes: self.axes.len() }, &[self.x, &places])?;
        match weight {
            Some(weight) => mul(&picked, &weight),
            None => Ok(picked),
        }
    }
}

/// The weights of the four elements around a place, which is so far behind the second.
fn cubic(part: &Var) -> [Var; 4] {
    const A: f64 = -0.75;
    let near = |x: &Var| (x * (A + 2.0) - (A + 3.0)) * x * x + 1.0;
    let far = |x: &Var| ((x * A - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
    [far(&(part + 1.0)), near(part), near(&(1.0 - part)), far(&(2.0 - part))]
}
