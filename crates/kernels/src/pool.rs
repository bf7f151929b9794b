//! Windows on the last axes, up to three, that become one element each.

#[cfg(target_arch = "x86_64")]
mod wide;

use std::ops::Range;

use fluvial_tensor::{DType, Element, Error, Result, Tensor, dispatch_real};
use smallvec::SmallVec;

use crate::lanes::{Parts, fill_chunks, vectorized_for};
use crate::scalar::compute::Compute;
#[cfg(target_arch = "x86_64")]
use crate::simd;

/// About how many elements one task reads.
const TASK: usize = 1 << 14;

/// A window on one axis: the positions `start`, `start + step`, … that lie on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first position.
    pub start: usize,
    /// How many positions there are.
    pub len: usize,
    /// The distance between them.
    pub step: usize,
    /// What a sum over the window is divided by.
    pub divisor: usize,
}

impl Window {
    const WHOLE: Window = Window { start: 0, len: 1, step: 1, divisor: 1 };

    fn positions(self) -> impl Iterator<Item = usize> {
        (0..self.len).map(move |i| self.start + i * self.step)
    }
}

/// The windows on each pooled axis.
type Axes = [Vec<Window>];

/// The greatest element of each window, and its place, counted over the pooled axes. Not a number is
/// greater than all. A window without elements has the least element there is, and the place -1.
pub fn max_pool(x: &Tensor, windows: &Axes) -> Result<(Tensor, Tensor)> {
    let grid = Grid::new(x.dims(), windows)?;
    let dims = grid.out_dims(x.dims());
    let mut tensor_of_places = Tensor::empty(DType::I64, &dims)?;
    let mut values = Tensor::empty(x.dtype().compute(), &dims)?;
    let compute = x.cast(x.dtype().compute())?.contiguous()?;
    if values.numel() > 0 {
        let runs = grid.runs();
        let places = Parts::new(tensor_of_places.as_mut_slice::<i64>()?);
        #[cfg(target_arch = "x86_64")]
        if compute.dtype() == DType::F32
            && simd::level() == simd::Level::Avx512
            && grid.plane() <= i32::MAX as usize
        {
            let (planes, out) = (slice_of::<f32>(&compute)?, values.as_mut_slice::<f32>()?);
            grid.fill_greatest(planes, out, &places, |plane, values, places| {
                // SAFETY: the machine has the instructions of the level.
                unsafe { wide::greatest(&grid, &runs, plane, values, places) }
            })?;
            return Ok((values.cast(x.dtype())?, tensor_of_places));
        }
        dispatch_real!(x.dtype(), C => {
            let (planes, out) = (slice_of::<C>(&compute)?, values.as_mut_slice::<C>()?);
            grid.fill_greatest(planes, out, &places, |plane, values, places| {
                vectorized_for::<C, _>(
                    #[inline(always)]
                    || grid.greatest(&runs, plane, values, places),
                );
            })?;
        });
    }
    Ok((values.cast(x.dtype())?, tensor_of_places))
}

/// The elements of `x` at places as [`max_pool`] gives them, and 0 where the place is -1.
pub fn pool_pick(x: &Tensor, places: &Tensor, n_axes: usize) -> Result<Tensor> {
    let (plane, places, n_places) = placed(x.dims(), places, n_axes)?;
    let x = x.contiguous()?;
    let mut out = Tensor::zeros(x.dtype(), places.dims())?;
    let places = slice_of::<i64>(&places)?;
    fluvial_tensor::dispatch!(x.dtype(), T => {
        let x = slice_of::<T>(&x)?;
        fill_chunks(out.as_mut_slice::<T>()?, TASK, |first, out| {
            for (i, (out, &place)) in out.iter_mut().zip(&places[first..]).enumerate() {
                if let Some(place) = inside(place, plane)? {
                    *out = x[(first + i) / n_places * plane + place];
                }
            }
            Ok(())
        })?;
    });
    Ok(out)
}

/// The adjoint of [`pool_pick`]: adds each element at its place to zeros whose last axes have these sizes.
pub fn pool_scatter(x: &Tensor, places: &Tensor, sizes: &[usize]) -> Result<Tensor> {
    let n_axes = sizes.len();
    let dims: SmallVec<[usize; 8]> =
        x.dims()[..x.rank() - n_axes].iter().chain(sizes).copied().collect();
    let (plane, places, n_places) = placed(&dims, places, n_axes)?;
    if places.dims() != x.dims() {
        let (x, places) = (x.dims(), places.dims());
        return Err(Error::shape(format!("elements of shape {x:?} have places of {places:?}")));
    }
    let dtype = x.dtype();
    let x = x.cast(dtype.compute())?.contiguous()?;
    let mut out = Tensor::empty(dtype.compute(), &dims)?;
    let places = slice_of::<i64>(&places)?;
    if out.numel() > 0 {
        dispatch_real!(dtype, C => {
            let values = slice_of::<C>(&x)?;
            let at_once = (TASK / plane).max(1);
            fill_chunks(out.as_mut_slice::<C>()?, at_once * plane, |first, out| {
                out.fill(C::default());
                for (i, out) in out.chunks_exact_mut(plane).enumerate() {
                    let number = first / plane + i;
                    let range = number * n_places..(number + 1) * n_places;
                    let Some(places) = places.get(range.clone()) else { continue };
                    for (&value, &place) in values[range].iter().zip(places) {
                        if let Some(place) = inside(place, plane)? {
                            out[place] = out[place].plus(value);
                        }
                    }
                }
                Ok(())
            })?;
        });
    }
    out.cast(dtype)
}

/// The mean of each window: its sum divided by the divisors of its axes.
pub fn avg_pool(x: &Tensor, windows: &Axes) -> Result<Tensor> {
    let grid = Grid::new(x.dims(), windows)?;
    let dtype = x.dtype();
    let mut out = Tensor::empty(dtype.compute(), &grid.out_dims(x.dims()))?;
    let x = x.cast(dtype.compute())?.contiguous()?;
    if out.numel() > 0 {
        let runs = grid.runs();
        dispatch_real!(dtype, C => {
            let planes = slice_of::<C>(&x)?;
            fill_planes(out.as_mut_slice::<C>()?, grid.count(), grid.plane(), |range, out| {
                let planes = planes[range.start * grid.plane()..].chunks_exact(grid.plane());
                for (plane, out) in planes.zip(out.chunks_exact_mut(grid.count())) {
                    vectorized_for::<C, _>(
                        #[inline(always)]
                        || grid.means(&runs, plane, out),
                    );
                }
            })?;
        });
    }
    out.cast(dtype)
}

/// The adjoint of [`avg_pool`]: spreads each element over its window of last axes of these sizes.
pub fn avg_pool_spread(y: &Tensor, windows: &Axes, sizes: &[usize]) -> Result<Tensor> {
    let dims: SmallVec<[usize; 8]> =
        y.dims()[..y.rank() - sizes.len()].iter().chain(sizes).copied().collect();
    let grid = Grid::new(&dims, windows)?;
    if y.dims() != grid.out_dims(&dims).as_slice() {
        return Err(Error::shape(format!("{:?} are not means of windows on {sizes:?}", y.dims())));
    }
    let dtype = y.dtype();
    let y = y.cast(dtype.compute())?.contiguous()?;
    let mut out = Tensor::zeros(dtype.compute(), &dims)?;
    if out.numel() > 0 && y.numel() > 0 {
        let runs = grid.runs();
        dispatch_real!(dtype, C => {
            let means = slice_of::<C>(&y)?;
            fill_planes(out.as_mut_slice::<C>()?, grid.plane(), grid.plane(), |range, out| {
                let means = means[range.start * grid.count()..].chunks_exact(grid.count());
                for (means, out) in means.zip(out.chunks_exact_mut(grid.plane())) {
                    vectorized_for::<C, _>(
                        #[inline(always)]
                        || grid.spread(&runs, means, out),
                    );
                }
            })?;
        });
    }
    out.cast(dtype)
}

/// Windows on a plane of up to three axes. Axes that are missing are in front, with one window.
struct Grid<'a> {
    sizes: [usize; 3],
    windows: [&'a [Window]; 3],
    n_axes: usize,
}

impl<'a> Grid<'a> {
    fn new(dims: &[usize], windows: &'a Axes) -> Result<Grid<'a>> {
        let n_axes = windows.len();
        if !(1..=3).contains(&n_axes) || dims.len() < n_axes {
            return Err(Error::shape(format!("{n_axes} axes of {dims:?} cannot be pooled")));
        }
        let mut grid = Grid { sizes: [1; 3], windows: [&[Window::WHOLE]; 3], n_axes };
        for (axis, windows) in windows.iter().enumerate() {
            let (at, size) = (3 - n_axes + axis, dims[dims.len() - n_axes + axis]);
            let fits = |w: &Window| w.len == 0 || w.start + (w.len - 1) * w.step < size;
            if !windows.iter().all(fits) {
                return Err(Error::internal(format!("a window ends beyond the size {size}")));
            }
            (grid.sizes[at], grid.windows[at]) = (size, windows);
        }
        Ok(grid)
    }

    fn out_dims(&self, dims: &[usize]) -> SmallVec<[usize; 8]> {
        let counts = self.windows[3 - self.n_axes..].iter().map(|windows| windows.len());
        dims[..dims.len() - self.n_axes].iter().copied().chain(counts).collect()
    }

    /// The elements of a plane.
    fn plane(&self) -> usize {
        self.sizes.iter().product()
    }

    /// The windows on a plane.
    fn count(&self) -> usize {
        self.windows.iter().map(|windows| windows.len()).product()
    }

    /// Calls `f` with each plane and the memory for its greatest elements and their places.
    fn fill_greatest<C: Element>(
        &self,
        planes: &[C],
        values: &mut [C],
        places: &Parts<'_, i64>,
        f: impl Fn(&[C], &mut [C], &mut [i64]) + Sync,
    ) -> Result<()> {
        fill_planes(values, self.count(), self.plane(), |range, values| {
            let all = range.start * self.count()..range.end * self.count();
            // SAFETY: each plane belongs to one task.
            let places = unsafe { places.get(all) };
            let planes = planes[range.start * self.plane()..].chunks_exact(self.plane());
            let outs = values.chunks_exact_mut(self.count());
            let places = places.chunks_exact_mut(self.count());
            planes.zip(outs).zip(places).for_each(|((plane, out), places)| f(plane, out, places));
        })
    }

    /// The windows on the last axis in groups that differ by equal distances only.
    fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (i, &window) in self.windows[2].iter().enumerate() {
            if let Some(run) = runs.last_mut()
                && window == (Window { start: window.start, ..run.first })
                && (run.count == 1 || window.start == run.start(run.count))
                && window.start > run.start(run.count - 1)
            {
                run.stride = window.start - run.start(run.count - 1);
                run.count += 1;
                continue;
            }
            runs.push(Run { number: i, count: 1, stride: 1, first: window });
        }
        runs
    }

    /// Calls `f` for the windows in order: the number of the first, the run that they are, the place of
    /// the run's line in the plane for each of its lines, and what the other axes divide by.
    #[inline(always)]
    fn each(&self, runs: &[Run], mut f: impl FnMut(usize, &Run, Lines, f64)) {
        let [depths, heights, widths] = self.windows;
        for (z, &depth) in depths.iter().enumerate() {
            for (y, &height) in heights.iter().enumerate() {
                let divisor = depth.divisor.max(1) as f64 * height.divisor.max(1) as f64;
                for run in runs {
                    let number = (z * heights.len() + y) * widths.len() + run.number;
                    f(number, run, Lines { depth, height, sizes: self.sizes }, divisor);
                }
            }
        }
    }

    #[inline(always)]
    #[expect(clippy::eq_op, reason = "only not a number differs from itself")]
    fn greatest<T: Compute + PartialOrd>(
        &self,
        runs: &[Run],
        plane: &[T],
        values: &mut [T],
        places: &mut [i64],
    ) {
        self.each(runs, |number, run, lines, _| {
            let values = &mut values[number..][..run.count];
            let places = &mut places[number..][..run.count];
            let mut is_first = true;
            values.fill(T::from_f64(f64::NEG_INFINITY));
            places.fill(-1);
            lines.each(|line| {
                for tap in 0..run.first.len {
                    let at = line + run.first.start + tap * run.first.step;
                    run.walk(plane, at, values, places, |x, place, value, found| {
                        let is_beyond = is_first | (x > *value) | (x != x);
                        *value = if is_beyond { x } else { *value };
                        *found = if is_beyond { place as i64 } else { *found };
                    });
                    is_first = false;
                }
            });
        });
    }

    #[inline(always)]
    fn means<T: Compute>(&self, runs: &[Run], plane: &[T], out: &mut [T]) {
        self.each(runs, |number, run, lines, divisor| {
            let out = &mut out[number..][..run.count];
            out.fill(T::default());
            lines.each(|line| {
                for tap in 0..run.first.len {
                    let at = line + run.first.start + tap * run.first.step;
                    let elements = plane[at..].iter().step_by(run.stride);
                    out.iter_mut().zip(elements).for_each(|(sum, &x)| *sum = sum.plus(x));
                }
            });
            let share = run.share::<T>(divisor);
            out.iter_mut().for_each(|sum| *sum = sum.times(share));
        });
    }

    /// An element gets the parts of its windows in their order: a later tap is one of an earlier window.
    #[inline(always)]
    fn spread<T: Compute>(&self, runs: &[Run], means: &[T], plane: &mut [T]) {
        self.each(runs, |number, run, lines, divisor| {
            let share = run.share::<T>(divisor);
            let means = &means[number..][..run.count];
            lines.each(|line| {
                for tap in (0..run.first.len).rev() {
                    let at = line + run.first.start + tap * run.first.step;
                    let places = plane[at..].iter_mut().step_by(run.stride);
                    for (sum, &mean) in places.zip(means) {
                        *sum = sum.plus(mean.times(share));
                    }
                }
            });
        });
    }
}

/// Windows on the last axis at equal distances.
struct Run {
    /// The number of the first one.
    number: usize,
    count: usize,
    stride: usize,
    first: Window,
}

impl Run {
    /// Where window `i` starts.
    fn start(&self, i: usize) -> usize {
        self.first.start + i * self.stride
    }

    /// The part that each element has in the mean of a window.
    fn share<T: Compute>(&self, divisor: f64) -> T {
        T::from_f64(1.0 / (divisor * self.first.divisor.max(1) as f64))
    }

    /// Calls `f` with the element of each window at one tap, its place, and what was found so far.
    #[inline(always)]
    fn walk<T: Copy>(
        &self,
        plane: &[T],
        at: usize,
        values: &mut [T],
        places: &mut [i64],
        f: impl Fn(T, usize, &mut T, &mut i64),
    ) {
        let found = values.iter_mut().zip(places.iter_mut());
        let line = &plane[at..];
        match self.stride {
            1 => line.iter().zip(found).enumerate().for_each(|(i, (&x, (value, found)))| {
                f(x, at + i, value, found);
            }),
            2 => {
                // The last window has no element after its own, so its pair may not be whole.
                let last = self.count - 1;
                let (pairs, _) = line.as_chunks::<2>();
                let whole = pairs.len().min(last);
                for (i, (pair, (value, found))) in pairs[..whole].iter().zip(found).enumerate() {
                    f(pair[0], at + 2 * i, value, found);
                }
                for i in whole..self.count {
                    f(line[2 * i], at + 2 * i, &mut values[i], &mut places[i]);
                }
            }
            stride => {
                let elements = line.iter().step_by(stride).zip(found).enumerate();
                elements.for_each(|(i, (&x, (value, found)))| f(x, at + i * stride, value, found));
            }
        }
    }
}

/// The lines of a plane that lie in a window.
#[derive(Clone, Copy)]
struct Lines {
    depth: Window,
    height: Window,
    sizes: [usize; 3],
}

impl Lines {
    /// Calls `f` with the place of each line's first element.
    #[inline(always)]
    fn each(self, mut f: impl FnMut(usize)) {
        for z in self.depth.positions() {
            for y in self.height.positions() {
                f((z * self.sizes[1] + y) * self.sizes[2]);
            }
        }
    }
}

/// Fills `out`, planes of `len` elements, which take about `work` steps each; `f` is given the numbers of
/// the planes and their memory.
fn fill_planes<T: Send>(
    out: &mut [T],
    len: usize,
    work: usize,
    f: impl Fn(Range<usize>, &mut [T]) + Sync,
) -> Result<()> {
    let at_once = (TASK / work.max(1)).max(1);
    fill_chunks(out, at_once * len, |first, out| {
        f(first / len..(first + out.len()) / len, out);
        Ok(())
    })
}

/// The elements of a plane of `n_axes`, the places without gaps, and how many lie in a plane.
fn placed(dims: &[usize], places: &Tensor, n_axes: usize) -> Result<(usize, Tensor, usize)> {
    let leading = dims.len().saturating_sub(n_axes);
    if places.rank() != dims.len() || places.dims()[..leading] != dims[..leading] {
        let places = places.dims();
        return Err(Error::shape(format!("places of shape {places:?} in planes of {dims:?}")));
    }
    let n_places = places.dims()[leading..].iter().product::<usize>().max(1);
    let plane = dims[leading..].iter().try_fold(1usize, |all, &size| all.checked_mul(size));
    let plane = plane.ok_or_else(|| {
        Error::memory(format!("planes of {dims:?} are larger than any memory"))
            .remedy("use smaller sizes")
    })?;
    Ok((plane, places.contiguous()?, n_places))
}

/// The place in a plane; nothing if it is -1.
fn inside(place: i64, plane: usize) -> Result<Option<usize>> {
    match usize::try_from(place) {
        Ok(place) if place < plane => Ok(Some(place)),
        _ if place == -1 => Ok(None),
        _ => Err(Error::index(format!("place {place} is out of range for {plane} elements"))),
    }
}

fn slice_of<T: fluvial_tensor::Element>(x: &Tensor) -> Result<&[T]> {
    x.as_slice().ok_or_else(|| Error::internal("a tensor without gaps has no slice"))
}

#[cfg(test)]
mod tests;
