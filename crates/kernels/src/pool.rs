//! Windows on the last axes, up to three, that become one element each.

use fluvial_tensor::{DType, Error, Result, Tensor, dispatch_compute};
use smallvec::SmallVec;

use crate::scalar::compute::Compute;

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
    let mut places = Tensor::empty(DType::I64, &dims)?;
    let mut values = Tensor::empty(x.dtype().compute(), &dims)?;
    let compute = x.cast(x.dtype().compute())?.contiguous()?;
    if values.numel() > 0 {
        let places = places.as_mut_slice::<i64>()?.chunks_exact_mut(grid.count());
        dispatch_compute!(x.dtype(), C => {
            let outs = values.as_mut_slice::<C>()?.chunks_exact_mut(grid.count()).zip(places);
            for (number, (values, places)) in outs.enumerate() {
                let plane = &slice::<C>(&compute)?[number * grid.plane()..][..grid.plane()];
                grid.greatest(plane, values, places);
            }
        });
    }
    Ok((values.cast(x.dtype())?, places))
}

/// The elements of `x` at places as [`max_pool`] gives them, and 0 where the place is -1.
pub fn pool_pick(x: &Tensor, places: &Tensor, n_axes: usize) -> Result<Tensor> {
    let (plane, places, n_places) = placed(x.dims(), places, n_axes)?;
    let x = x.contiguous()?;
    let mut out = Tensor::zeros(x.dtype(), places.dims())?;
    let places = slice_of::<i64>(&places)?;
    fluvial_tensor::dispatch!(x.dtype(), T => {
        let (out, x) = (out.as_mut_slice::<T>()?, slice_of::<T>(&x)?);
        for (i, (out, &place)) in out.iter_mut().zip(places).enumerate() {
            if let Some(place) = inside(place, plane)? {
                *out = x[i / n_places * plane + place];
            }
        }
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
    let mut out = Tensor::zeros(dtype.compute(), &dims)?;
    let places = slice_of::<i64>(&places)?;
    dispatch_compute!(dtype, C => {
        let out = out.as_mut_slice::<C>()?;
        for (i, (&value, &place)) in slice::<C>(&x)?.iter().zip(places).enumerate() {
            if let Some(place) = inside(place, plane)? {
                let sum = &mut out[i / n_places * plane + place];
                *sum = sum.plus(value);
            }
        }
    });
    out.cast(dtype)
}

/// The mean of each window: its sum divided by the divisors of its axes.
pub fn avg_pool(x: &Tensor, windows: &Axes) -> Result<Tensor> {
    let grid = Grid::new(x.dims(), windows)?;
    let dtype = x.dtype();
    let mut out = Tensor::empty(dtype.compute(), &grid.out_dims(x.dims()))?;
    let x = x.cast(dtype.compute())?.contiguous()?;
    if out.numel() > 0 {
        dispatch_compute!(dtype, C => {
            let outs = out.as_mut_slice::<C>()?.chunks_exact_mut(grid.count());
            for (number, out) in outs.enumerate() {
                grid.means(&slice::<C>(&x)?[number * grid.plane()..][..grid.plane()], out);
            }
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
    if out.numel() > 0 {
        dispatch_compute!(dtype, C => {
            let outs = out.as_mut_slice::<C>()?.chunks_exact_mut(grid.plane());
            for (number, out) in outs.enumerate() {
                grid.spread(&slice::<C>(&y)?[number * grid.count()..][..grid.count()], out);
            }
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

    /// The windows in order.
    fn each(&self) -> impl Iterator<Item = [Window; 3]> {
        let [depths, heights, widths] = self.windows;
        depths.iter().flat_map(move |&depth| {
            heights.iter().flat_map(move |&height| widths.iter().map(move |&w| [depth, height, w]))
        })
    }

    /// The places of a window's elements in the plane.
    fn places(&self, [depth, height, width]: [Window; 3]) -> impl Iterator<Item = usize> {
        let [_, lines, columns] = self.sizes;
        depth.positions().flat_map(move |z| {
            height
                .positions()
                .flat_map(move |y| width.positions().map(move |x| (z * lines + y) * columns + x))
        })
    }

    #[expect(clippy::eq_op, reason = "only not a number differs from itself")]
    fn greatest<T: Compute>(&self, plane: &[T], values: &mut [T], places: &mut [i64]) {
        for ((window, value), found) in self.each().zip(values).zip(places) {
            (*value, *found) = (T::from_f64(f64::NEG_INFINITY), -1);
            for place in self.places(window) {
                let x = plane[place];
                if *found < 0 || x > *value || x != x {
                    (*value, *found) = (x, place as i64);
                }
            }
        }
    }

    fn means<T: Compute>(&self, plane: &[T], out: &mut [T]) {
        for (window, mean) in self.each().zip(out) {
            let places = self.places(window);
            let sum = places.fold(T::default(), |sum, place| sum.plus(plane[place]));
            *mean = sum.times(share(window));
        }
    }

    fn spread<T: Compute>(&self, means: &[T], plane: &mut [T]) {
        for (window, &mean) in self.each().zip(means) {
            let part = mean.times(share(window));
            for place in self.places(window) {
                plane[place] = plane[place].plus(part);
            }
        }
    }
}

/// The part that each element has in the mean of a window.
fn share<T: Compute>(window: [Window; 3]) -> T {
    T::from_f64(1.0 / window.iter().map(|axis| axis.divisor.max(1) as f64).product::<f64>())
}

/// The elements of a plane of `n_axes`, the places without gaps, and how many lie in a plane.
fn placed(dims: &[usize], places: &Tensor, n_axes: usize) -> Result<(usize, Tensor, usize)> {
    let leading = dims.len().saturating_sub(n_axes);
    if places.rank() != dims.len() || places.dims()[..leading] != dims[..leading] {
        let places = places.dims();
        return Err(Error::shape(format!("places of shape {places:?} in planes of {dims:?}")));
    }
    let n_places = places.dims()[leading..].iter().product::<usize>().max(1);
    Ok((dims[leading..].iter().product(), places.contiguous()?, n_places))
}

/// The place in a plane; nothing if it is -1.
fn inside(place: i64, plane: usize) -> Result<Option<usize>> {
    match usize::try_from(place) {
        Ok(place) if place < plane => Ok(Some(place)),
        _ if place == -1 => Ok(None),
        _ => Err(Error::index(format!("place {place} is out of range for {plane} elements"))),
    }
}

fn slice<T: Compute>(x: &Tensor) -> Result<&[T]> {
    slice_of(x)
}

fn slice_of<T: fluvial_tensor::Element>(x: &Tensor) -> Result<&[T]> {
    x.as_slice().ok_or_else(|| Error::internal("a tensor without gaps has no slice"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    fn windows(list: &[(usize, usize, usize)]) -> Vec<Window> {
        list.iter().map(|&(start, len, step)| Window { start, len, step, divisor: len }).collect()
    }

    #[test]
    fn greatest_with_their_places() {
        let x = Tensor::from_slice(&[1.0f32, f32::NAN, 3.0, 3.0, 5.0, 4.0], &[1, 6]).unwrap();
        let (values, places) =
            max_pool(&x, &[windows(&[(0, 1, 1), (0, 3, 1), (2, 2, 1), (3, 2, 2), (0, 0, 1)])])
                .unwrap();
        assert_eq!(places.to_vec::<i64>().unwrap(), [0, 1, 2, 5, -1]);
        let values = values.to_f64s();
        assert!(values[1].is_nan() && values[4] == f64::NEG_INFINITY);
        assert_eq!((values[0], values[2], values[3]), (1.0, 3.0, 4.0));
        let bytes = Tensor::from_slice(&[0u8, 7, 200, 3], &[2, 2]).unwrap();
        let both = windows(&[(0, 2, 1)]);
        let (values, places) = max_pool(&bytes, &[both.clone(), both]).unwrap();
        assert_eq!((values.item::<u8>().unwrap(), places.item::<i64>().unwrap()), (200, 2));
    }

    #[test]
    fn pooling_and_spreading_are_adjoint() {
        let mut rng = Rng::new(41);
        let axes = [windows(&[(0, 2, 1), (1, 2, 1)]), windows(&[(0, 1, 1), (1, 4, 1), (3, 2, 1)])];
        let dot = |a: &Tensor, b: &Tensor| -> f64 {
            a.to_f64s().iter().zip(b.to_f64s()).map(|(a, b)| a * b).sum()
        };
        let (x, y) = (rng.tensor(DType::F64, &[2, 3, 5]), rng.tensor(DType::F64, &[2, 2, 3]));
        let means = avg_pool(&rng.scramble(&x), &axes).unwrap();
        let spread = avg_pool_spread(&rng.scramble(&y), &axes, &[3, 5]).unwrap();
        assert!((dot(&means, &y) - dot(&x, &spread)).abs() < 1e-9);
        let (values, places) = max_pool(&rng.scramble(&x), &axes).unwrap();
        assert!(pool_pick(&rng.scramble(&x), &places, 2).unwrap().bitwise_eq(&values));
        let scattered = pool_scatter(&y, &places, &[3, 5]).unwrap();
        assert_eq!(dot(&values, &y), dot(&x, &scattered));
    }

    #[test]
    fn faults() {
        let x = Tensor::zeros(DType::F32, &[1, 4]).unwrap();
        assert!(max_pool(&x, &[windows(&[(3, 2, 1)])]).is_err());
        let places = Tensor::from_slice(&[4i64], &[1, 1]).unwrap();
        let error = pool_pick(&x, &places, 1).unwrap_err();
        assert_eq!(error.message(), "place 4 is out of range for 4 elements");
        assert!(pool_scatter(&places, &x, &[4]).is_err());
    }
}
