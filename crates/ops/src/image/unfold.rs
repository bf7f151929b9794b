//! `unfold`: the windows of images as columns.

use super::fold::Fold;
use crate::complex::by_parts::linear;
use crate::conv::geometry::{Geometry, batched};
use crate::prelude::*;

options! {
    /// How windows lie in [`unfold`].
    pub struct UnfoldOptions {
        /// The distance between the elements of a window.
        pub dilation: PerAxis = 1.into(),
        /// Zeros on both sides of each axis.
        pub padding: PerAxis = 0.into(),
        /// The distance between windows.
        pub stride: PerAxis = 1.into(),
    }
}

/// The windows of images `[batch, channels, height, width]` (or without the batch) as the columns of
/// `[batch, channels * kernel, windows]`, as PyTorch's `unfold`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 1, 2, 3])?;
/// let y = unfold(&x, 2usize.into(), UnfoldOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0, 6.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn unfold(x: &Var, kernel: PerAxis, options: UnfoldOptions) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let unfolded = || {
        let op = Unfold {
            kernel: kernel.of(2)?.to_vec(),
            stride: options.stride.of(2)?.to_vec(),
            padding: options.padding.of(2)?.to_vec(),
            dilation: options.dilation.of(2)?.to_vec(),
        };
        batched(x, 2, |x| linear(x, |x| bind1(op.clone(), &[x])))
    };
    unfolded().map_err(|error| error.in_op("unfold", &[&ty]).at(loc))
}

/// The function in C.
static SOURCE: Source = Source {
    name: "unfold",
    text: include_str!("unfold.c"),
    needs: &[&crate::conv::geometry::COLUMNS],
};

/// Columns of images, or images of columns, in C.
pub(super) fn native_unfold(op: &Unfold, images: &Type, back: bool) -> Result<Option<Kernel>> {
    let sizes = &images.dims()[2..];
    let windows =
        crate::conv::geometry::native_windows(&op.geometry(), sizes, &dims_of(&op.kernel))?;
    let channels = [images.dim(0), images.dim(1)].map(Arg::Size);
    let args = [Arg::In(0), Arg::Out(0), windows].into_iter().chain(channels);
    Native::new(&SOURCE, [images.dtype()], args.chain([Arg::Int(back.into())])).alone()
}

attributes! {
    /// The op behind [`unfold`], for 1 to 3 spatial axes.
    pub struct Unfold = "unfold" {
        /// The elements of a window, per spatial axis.
        pub kernel: Vec<usize>,
        /// The distance between windows.
        pub stride: Vec<usize>,
        /// Zeros on both sides of each axis.
        pub padding: Vec<usize>,
        /// The distance between the elements of a window.
        pub dilation: Vec<usize>,
    }
}

impl Unfold {
    fn geometry(&self) -> Geometry {
        let Unfold { stride, padding, dilation, .. } = self.clone();
        Geometry { stride, before: padding.clone(), after: padding, dilation, groups: 1 }
    }

    /// The type of the columns of images of this type.
    pub(super) fn columns(&self, x: &Type) -> Result<Type> {
        let geometry = self.geometry();
        geometry.judge(&[("input", x), ("input", x)])?;
        if self.kernel.len() != geometry.n_axes() {
            return Err(Error::argument("the kernel has another number of axes than the strides"));
        }
        let counts = geometry.counts(&x.dims()[2..], &dims_of(&self.kernel))?;
        let elements = self.elements()?;
        let count = counts.iter().try_fold(Dim::size(1), |all, &count| all.mul(count))?;
        x.with_dims(&[x.dim(0), x.dim(1).mul(elements)?, count])
    }

    /// The elements of a window of one channel.
    pub(super) fn elements(&self) -> Result<Dim> {
        self.kernel.iter().try_fold(Dim::size(1), |all, &size| all.mul(Dim::size(size)))
    }

    /// Calls a kernel with the windows.
    pub(super) fn with_windows<R>(&self, f: impl FnOnce(&kernels::Windows<'_>) -> R) -> R {
        f(&self.geometry().windows(&self.kernel))
    }
}

impl Op for Unfold {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Ok(smallvec![self.columns(inputs[0])?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?;
        Ok(smallvec![self.with_windows(|windows| kernels::unfold(x, windows))?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| {
            let op = p.op::<Unfold>()?.clone();
            let sizes = p.in_type(0)?.dims()[2..].to_vec();
            grads![p => bind1(Fold::new(op, sizes), &[&p.dy()])]
        })
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        native_unfold(self, inputs[0], false)
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Unfold::NAME, Unfold::build, || {
    let of = |kernel: &[usize], stride: &[usize], padding: &[usize]| Unfold {
        kernel: kernel.to_vec(),
        stride: stride.to_vec(),
        padding: padding.to_vec(),
        dilation: vec![1; kernel.len()],
    };
    let line = f64s(&[1.0, 2.0, 3.0, 4.0], &[1, 1, 4]);
    vec![
        Sample::new(of(&[2], &[2], &[1]), [line.clone()])
            .gives([f64s(&[0.0, 2.0, 4.0, 1.0, 3.0, 0.0], &[1, 2, 3])]),
        Sample::new(of(&[2, 3], &[1, 2], &[0, 1]), [ramp(&[2, 2, 3, 5])]),
        Sample::new(of(&[1, 2, 1], &[1, 1, 1], &[0, 0, 1]), [ramp(&[1, 2, 2, 3, 2])]),
        Sample::new(of(&[5], &[1], &[0]), [line]).refused("spatial axis 0 has 4"),
        Sample::new(of(&[2], &[1], &[0]), [ramp(&[2, 3])]).refused("expected 3"),
    ]
});
