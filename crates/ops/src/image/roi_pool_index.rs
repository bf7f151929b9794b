//! `roi_pool`: the largest elements of parts of regions of images.

use crate::prelude::*;
use crate::{concat, flatten, gather};

options! {
    /// How regions are divided.
    pub struct RoiPoolOptions {
        /// How many parts a region has from top to bottom.
        pub pooled_height: usize = 1,
        /// How many parts a region has from left to right.
        pub pooled_width: usize = 1,
        /// What edges are multiplied with to be elements of the image.
        pub spatial_scale: f64 = 1.0,
    }
}

/// The largest element of each part of each region, by channels: `[regions, channels, height, width]`. `x` are images,
/// `[images, channels, height, width]`; `regions`, `[regions, 4]`, has left, top, right and bottom edges, and
/// `images`, `i64[regions]`, the image of each. A part without elements is zero.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], &[1, 1, 3, 3])?;
/// let (regions, images) = (Var::of(&[0.0, 0.0, 1.0, 1.0], &[1, 4])?, Var::of(&[0i64], &[1])?);
/// assert_eq!(roi_pool(&x, &regions, &images, RoiPoolOptions::default())?.to_vec::<f64>()?, [5.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn roi_pool(x: &Var, regions: &Var, images: &Var, options: RoiPoolOptions) -> Result<Var> {
    let _line = at(scope::user_line());
    let RoiPoolOptions { pooled_height, pooled_width, spatial_scale } = options;
    let op = RoiPoolIndex { pooled_height, pooled_width, spatial_scale };
    let places = bind1(op, &[&x.detach(), &regions.detach(), images])?;
    let zero = fill(0.0, &Type::new(x.dtype(), &[Dim::size(1)])?)?;
    // The place -1 is that of the zero behind all elements.
    gather(&concat(&[&flatten(x, 0, -1)?, &zero], 0)?, &places, 0)
}

attributes! {
    /// The op behind [`roi_pool`]: where the largest elements are, counted through all images, or -1.
    pub struct RoiPoolIndex = "roi_pool_index" {
        /// How many parts a region has from top to bottom.
        pub pooled_height: usize,
        /// How many parts a region has from left to right.
        pub pooled_width: usize,
        /// What edges are multiplied with to be elements of the image.
        pub spatial_scale: f64,
    }
}

/// The elements of part `i` of `parts` of a stretch that begins at `start` and has `length`, cut at `size`.
fn part(i: usize, parts: usize, start: i64, length: i64, size: usize) -> std::ops::Range<usize> {
    let step = length as f64 / parts as f64;
    let cut = |x: f64| ((x as i64).saturating_add(start)).clamp(0, size as i64) as usize;
    cut((i as f64 * step).floor())..cut(((i + 1) as f64 * step).ceil())
}

impl Op for RoiPoolIndex {
    fn arity(&self) -> Arity {
        Arity::Exactly(3)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (x, regions, images) = (inputs[0], inputs[1], inputs[2]);
        let fits = x.rank() == 4
            && x.is_float()
            && regions.is_float()
            && regions.dims() == [regions.dim(0), Dim::size(4)]
            && images.dtype() == DType::I64
            && images.dims() == [regions.dim(0)];
        if !fits || inputs.iter().any(|ty| ty.is_list()) {
            return Err(Error::shape(format!(
                "expected images [images, channels, height, width], regions [regions, 4] and \
                 i64[regions], found {x}, {regions} and {images}"
            )));
        }
        if self.pooled_height == 0 || self.pooled_width == 0 {
            return Err(Error::argument("a region has at least one part each way"));
        }
        let parts = [Dim::size(self.pooled_height), Dim::size(self.pooled_width)];
        Ok(smallvec![images.with_dims(&[regions.dim(0), x.dim(1), parts[0], parts[1]])?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        let &[n_images, channels, height, width] = x.dims() else {
            return Err(Error::internal("`infer` has seen four axes"));
        };
        let (x, edges) = (x.to_f64s(), inputs[1].tensor()?.to_f64s());
        let mut places = Tensor::empty(DType::I64, &known_sizes(&outs[0])?)?;
        let mut free = places.as_mut_slice::<i64>()?.iter_mut();
        let watch = interrupt::Watch::start();
        for (region, &image) in inputs[2].tensor()?.to_vec::<i64>()?.iter().enumerate() {
            let Some(image) = usize::try_from(image).ok().filter(|&image| image < n_images) else {
                return Err(Error::index(format!(
                    "region {region} is of image {image}, of {n_images}"
                )));
            };
            // Edges are rounded, half away from zero; a region has one element at least each way.
            let edge = |i: usize| (edges[4 * region + i] * self.spatial_scale).round() as i64;
            let length = |from: i64, to: i64| to.saturating_sub(from).saturating_add(1).max(1);
            let (wide, high) = (length(edge(0), edge(2)), length(edge(1), edge(3)));
            for channel in 0..channels {
                let base = (image * channels + channel) * height * width;
                for i in 0..self.pooled_height {
                    watch.check()?;
                    let rows = part(i, self.pooled_height, edge(1), high, height);
                    for j in 0..self.pooled_width {
                        let columns = part(j, self.pooled_width, edge(0), wide, width);
                        let mut best: Option<usize> = None;
                        for place in rows.clone().flat_map(|row| {
                            columns.clone().map(move |column| base + row * width + column)
                        }) {
                            if best.is_none_or(|best| x[place] > x[best]) {
                                best = Some(place);
                            }
                        }
                        let Some(place) = free.next() else {
                            return Err(Error::internal("`infer` has counted the parts"));
                        };
                        *place = best.map_or(-1, |best| best as i64);
                    }
                }
            }
        }
        Ok(smallvec![places.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Index))
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(RoiPoolIndex::NAME, RoiPoolIndex::build, || {
    let op = |pooled_height, pooled_width| RoiPoolIndex {
        pooled_height,
        pooled_width,
        spatial_scale: 1.0,
    };
    let x = f64s(&[1.0, 2.0, 9.0, 4.0, 5.0, 6.0, 7.0, 8.0, 3.0], &[1, 1, 3, 3]);
    let regions = f64s(&[0.0, 0.0, 2.0, 2.0, 5.0, 5.0, 6.0, 6.0], &[2, 4]);
    let images = i64s(&[0, 0], &[2]);
    vec![
        Sample::new(op(1, 1), [x.clone(), regions.clone(), images.clone()])
            .gives([i64s(&[2, -1], &[2, 1, 1, 1])]),
        Sample::new(op(3, 1), [x.clone(), regions.clone(), images])
            .gives([i64s(&[2, 5, 7, -1, -1, -1], &[2, 1, 3, 1])]),
        Sample::new(op(1, 1), [x.clone(), regions.clone(), i64s(&[0, 1], &[2])])
            .refused("region 1 is of image 1"),
        Sample::new(op(1, 1), [x, regions, ramp(&[2])]).refused("expected images"),
    ]
});
