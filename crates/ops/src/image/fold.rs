//! `fold`: columns added up to images.

use super::unfold::Unfold;
use crate::complex::by_parts::linear;
use crate::conv::geometry::batched;
use crate::prelude::*;

options! {
    /// How windows lie in [`fold`].
    pub struct FoldOptions {
        /// The distance between the elements of a window.
        pub dilation: PerAxis = 1.into(),
        /// Zeros on both sides of each axis of the images.
        pub padding: PerAxis = 0.into(),
        /// The distance between windows.
        pub stride: PerAxis = 1.into(),
    }
}

/// Adds the columns of `[batch, channels * kernel, windows]` (or without the batch) up to images
/// `[batch, channels, ..]` of this size, each at its window: the adjoint of [`unfold`](super::unfold()),
/// as PyTorch's `fold`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0; 8], &[1, 4, 2])?;
/// let y = fold(&x, [2, 3].into(), 2usize.into(), FoldOptions::default())?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0, 1.0, 1.0, 2.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn fold(x: &Var, output_size: PerAxis, kernel: PerAxis, options: FoldOptions) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    let ty = x.clone().check()?.ty();
    let folded = || {
        let op = Fold {
            kernel: kernel.of(2)?.to_vec(),
            stride: options.stride.of(2)?.to_vec(),
            padding: options.padding.of(2)?.to_vec(),
            dilation: options.dilation.of(2)?.to_vec(),
            sizes: dims_of(&output_size.of(2)?),
        };
        batched(x, 1, |x| linear(x, |x| bind1(op.clone(), &[x])))
    };
    folded().map_err(|error| error.in_op("fold", &[&ty]).at(loc))
}

attributes! {
    /// The op behind [`fold`], for 1 to 3 spatial axes.
    pub struct Fold = "fold" {
        /// The elements of a window, per spatial axis.
        pub kernel: Vec<usize>,
        /// The distance between windows.
        pub stride: Vec<usize>,
        /// Zeros on both sides of each axis.
        pub padding: Vec<usize>,
        /// The distance between the elements of a window.
        pub dilation: Vec<usize>,
        /// The sizes of the images.
        pub sizes: Vec<Dim>,
    }
}

impl Fold {
    pub(super) fn new(of: Unfold, sizes: Vec<Dim>) -> Fold {
        let Unfold { kernel, stride, padding, dilation } = of;
        Fold { kernel, stride, padding, dilation, sizes }
    }

    fn unfold(&self) -> Unfold {
        let Fold { kernel, stride, padding, dilation, .. } = self.clone();
        Unfold { kernel, stride, padding, dilation }
    }
}

impl Op for Fold {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let columns = inputs[0];
        if columns.is_list() || columns.rank() != 3 {
            return Err(Error::shape(format!("the input is {columns}, expected 3 axes"))
                .remedy("give [batch, channels * kernel, windows]"));
        }
        let elements = self.unfold().elements()?;
        let channels = match elements.value() {
            Some(0) => Dim::size(0),
            _ => columns.dim(1).floor_div(elements)?,
        };
        let dims: Vec<Dim> =
            [columns.dim(0), channels].iter().chain(&self.sizes).copied().collect();
        let images = columns.with_dims(&dims)?;
        let expected = self.unfold().columns(&images)?;
        if expected != *columns {
            let (found, sizes) = (columns.dims(), &self.sizes);
            return Err(Error::shape(format!(
                "the columns {found:?} do not fold to images of {sizes:?}: a window has {elements} \
                 elements, and {} windows lie on them",
                expected.dim(2)
            ))
            .remedy("check the output size, the kernel and the stride"));
        }
        Ok(smallvec![images])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (columns, dims) = (inputs[0].tensor()?, known_sizes(&outs[0])?);
        let folded = self.unfold().with_windows(|w| kernels::fold(columns, w, &dims[2..]))?;
        Ok(smallvec![folded.into()])
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| grads![p => bind1(p.op::<Fold>()?.unfold(), &[&p.dy()])])
    }

    fn kernel(&self, _: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        super::unfold::native_unfold(&self.unfold(), &outs[0], true)
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Fold::NAME, Fold::build, || {
    let of = |kernel: &[usize], stride: &[usize], padding: &[usize], sizes: &[usize]| Fold {
        kernel: kernel.to_vec(),
        stride: stride.to_vec(),
        padding: padding.to_vec(),
        dilation: vec![1; kernel.len()],
        sizes: dims_of(sizes),
    };
    let columns = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 2, 3]);
    vec![
        Sample::new(of(&[2], &[1], &[0], &[4]), [columns.clone()])
            .gives([f64s(&[1.0, 6.0, 8.0, 6.0], &[1, 1, 4])]),
        Sample::new(of(&[2], &[2], &[1], &[4]), [columns.clone()])
            .gives([f64s(&[4.0, 2.0, 5.0, 3.0], &[1, 1, 4])]),
        Sample::new(of(&[2, 1], &[1, 2], &[1, 0], &[2, 5]), [ramp(&[2, 4, 9])]),
        Sample::new(of(&[2], &[1], &[0], &[5]), [columns.clone()]).refused("do not fold"),
        Sample::new(of(&[3], &[1], &[0], &[5]), [columns]).refused("a window has 3 elements"),
        Sample::new(of(&[2], &[1], &[0], &[5]), [ramp(&[2, 3])]).refused("expected 3 axes"),
    ]
});
