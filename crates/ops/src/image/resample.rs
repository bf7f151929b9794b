//! `resample`: an axis with another number of elements, each a weighted sum of old ones.

use super::resample_grad::ResampleGrad;
use crate::prelude::*;

choices! {
    /// How the new elements of an axis are made of the old ones.
    pub enum Resampling {
        /// The old element in front of the place of the new one.
        Nearest = "nearest",
        /// The old element at the middle of the new one.
        NearestExact = "nearest-exact",
        /// The line between the two old elements at the place.
        Linear = "linear",
        /// The cubic curve through four old elements, with a = -0.75.
        Cubic = "cubic",
        /// The mean of the old elements that the new one covers.
        Area = "area",
    }
}

static SOURCE: Source = Source { name: "resample", text: include_str!("resample.c"), needs: &[] };

attributes! {
    /// Gives an axis another size. The op behind [`interpolate`](super::interpolate()) and
    /// [`adaptive_avg_pool2d`](crate::adaptive_avg_pool2d), which apply it axis by axis.
    pub struct Resample = "resample" {
        /// The axis.
        pub axis: i64,
        /// Its new size.
        pub size: Dim,
        /// How new elements are made.
        pub mode: Resampling,
        /// Whether the first and last new elements are at the middles of the old ones, instead of
        /// their edges at the old edges.
        pub align_corners: bool,
        /// The factor between old and new places, if it is not that of the sizes.
        pub scale: Option<f64>,
    }
}

impl Resample {
    /// The type of the result, and the axis counted from the front.
    pub(super) fn shape(&self, x: &Type) -> Result<(Type, usize)> {
        if !x.is_float() || x.is_list() {
            return Err(
                Error::dtype(format!("the input is {x}, expected floats")).remedy("cast it first")
            );
        }
        let axis = axis(self.axis, x.rank())?;
        if x.dim(axis) == Dim::size(0) && self.size != Dim::size(0) {
            return Err(Error::shape(format!("axis {axis} of {x} has no elements to resample")));
        }
        if self.scale.is_some_and(|scale| !scale.is_finite() || scale <= 0.0) {
            return Err(Error::argument("the scale must be a positive number"));
        }
        let mut dims = SmallVec::<[Dim; 8]>::from_slice(x.dims());
        dims[axis] = self.size;
        Ok((x.with_dims(&dims)?, axis))
    }

    /// The function in C, or the one back, for an input of this type; the axis has this size before.
    pub(super) fn native(&self, x: &Type, old: Dim, back: bool) -> Result<Option<Kernel>> {
        let [outer, _, inner] = kernel::around(x, axis(self.axis, x.rank())?)?;
        let sizes = [outer, inner, old, self.size].map(Arg::Size);
        let how = [
            Arg::Int(self.mode as i64),
            Arg::Int(self.align_corners.into()),
            Arg::Number(self.scale.unwrap_or(0.0)),
            Arg::Int(back.into()),
        ];
        let args = [Arg::In(0), Arg::Out(0)].into_iter().chain(sizes).chain(how);
        Native::new(&SOURCE, [x.dtype()], args).alone()
    }

    /// Which old elements make the new ones.
    pub(super) fn taps(&self, old: usize, new: usize) -> Result<kernels::Taps> {
        let mut taps = kernels::Taps::default();
        if old == 0 {
            return Ok(taps);
        }
        taps = kernels::Taps::reserved(new)?;
        let place = self.places(old, new);
        for i in 0..new {
            match self.mode {
                Resampling::Nearest | Resampling::NearestExact => {
                    taps.push([(self.nearest(i, old, new), 1.0)])?;
                }
                Resampling::Linear if old == new => taps.push([(i, 1.0)])?,
                Resampling::Linear => {
                    let place = place(i).max(0.0);
                    let first = (place.floor() as usize).min(old - 1);
                    let part = place - first as f64;
                    taps.push([(first, 1.0 - part), ((first + 1).min(old - 1), part)])?;
                }
                Resampling::Cubic => {
                    let place = place(i);
                    let first = place.floor();
                    let weights = cubic(place - first);
                    taps.push(weights.into_iter().enumerate().map(|(k, weight)| {
                        ((first + k as f64 - 1.0).clamp(0.0, (old - 1) as f64) as usize, weight)
                    }))?;
                }
                Resampling::Area => {
                    let (start, end) = (scaled(i, old, new), (old - scaled(new - i - 1, old, new)));
                    taps.push((start..end).map(|at| (at, 1.0 / (end - start) as f64)))?;
                }
            }
        }
        Ok(taps)
    }

    fn nearest(&self, i: usize, old: usize, new: usize) -> usize {
        let exact = self.mode == Resampling::NearestExact;
        let position = match (self.scale, exact) {
            (None, false) => scaled(i, old, new),
            (None, true) => ((2 * i as u128 + 1) * old as u128 / (2 * new as u128)) as usize,
            (Some(scale), false) => (i as f64 / scale) as usize,
            (Some(scale), true) => ((i as f64 + 0.5) / scale) as usize,
        };
        position.min(old - 1)
    }

    /// The place of a new element among the old ones.
    fn places(&self, old: usize, new: usize) -> impl Fn(usize) -> f64 {
        let factor = match (self.align_corners, self.scale) {
            (true, _) if new > 1 => (old - 1) as f64 / (new - 1) as f64,
            (true, _) => 0.0,
            (false, Some(scale)) => 1.0 / scale,
            (false, None) => old as f64 / new as f64,
        };
        let align_corners = self.align_corners;
        move |i| match align_corners {
            true => i as f64 * factor,
            false => (i as f64 + 0.5) * factor - 0.5,
        }
    }
}

/// `i * old / new`, whatever their sizes.
fn scaled(i: usize, old: usize, new: usize) -> usize {
    (i as u128 * old as u128 / new as u128) as usize
}

/// The weights of the four elements around a place, which is so far behind the second.
fn cubic(part: f64) -> [f64; 4] {
    const A: f64 = -0.75;
    let near = |x: f64| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
    [far(part + 1.0), near(part), near(1.0 - part), far(2.0 - part)]
}

impl Op for Resample {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Ok(smallvec![self.shape(inputs[0])?.0])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        // A size beyond all memory is refused before its taps are made.
        Tensor::empty(outs[0].dtype(), &known_sizes(&outs[0])?)?;
        let (_, axis) = self.shape(&x.ty())?;
        let taps = self.taps(x.dims()[axis], known_size(self.size)?)?;
        Ok(smallvec![kernels::resample(x, axis, &taps)?.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        let axis = batch.axis(self.axis, batch.rank(0));
        batch.with(Resample { axis, ..self.clone() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let (op, x) = (p.op::<Resample>()?.clone(), p.in_type(0)?);
            let (_, axis) = op.shape(&x)?;
            grads![p => bind1(ResampleGrad::new(op, x.dim(axis)), &[&p.dy()])]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let (_, axis) = self.shape(inputs[0])?;
        self.native(inputs[0], inputs[0].dim(axis), false)
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Resample::NAME, Resample::build, || {
    use Resampling::{Area, Cubic, Linear, Nearest, NearestExact};
    let of = |axis, size, mode| Resample {
        axis,
        size: Dim::size(size),
        mode,
        align_corners: false,
        scale: None,
    };
    let x = f64s(&[1.0, 3.0, 2.0], &[3]);
    let aligned = Resample { align_corners: true, ..of(0, 5, Linear) };
    vec![
        Sample::new(of(0, 5, Nearest), [x.clone()]).gives([f64s(&[1.0, 1.0, 3.0, 3.0, 2.0], &[5])]),
        Sample::new(of(0, 2, NearestExact), [x.clone()]).gives([f64s(&[1.0, 2.0], &[2])]),
        Sample::new(of(0, 6, Linear), [x.clone()])
            .gives([f64s(&[1.0, 1.5, 2.5, 2.75, 2.25, 2.0], &[6])]),
        Sample::new(aligned, [x.clone()]).gives([f64s(&[1.0, 2.0, 3.0, 2.5, 2.0], &[5])]),
        Sample::new(of(0, 2, Area), [x.clone()]).gives([f64s(&[2.0, 2.5], &[2])]),
        Sample::new(of(0, 3, Cubic), [x.clone()]).gives([x.clone()]),
        Sample::new(of(1, 5, Cubic), [ramp(&[2, 4, 2])]),
        Sample::new(Resample { scale: Some(1.5), ..of(-1, 4, Linear) }, [ramp(&[2, 3])]),
        Sample::new(of(0, 2, Linear), [f64s(&[], &[0])]).refused("no elements"),
        Sample::new(of(1, 2, Linear), [x.clone()]).refused("out of range"),
        Sample::new(Resample { scale: Some(0.0), ..of(0, 4, Linear) }, [x])
            .refused("a positive number"),
        Sample::new(of(0, 2, Linear), [i64s(&[1], &[1])]).refused("expected floats"),
    ]
});
