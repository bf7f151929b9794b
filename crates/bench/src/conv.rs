//! Convolutions: forward, backward to the input, backward to the weights.

use fluvial_kernels::{Windows, conv, conv_transpose, conv_weight_grad};
use fluvial_tensor::{DType, Error, Result, Tensor};

use crate::{Case, Make, numbers};

/// The cases. Sizes are `batch in out size kernel stride padding groups`.
pub const CASES: &[(&str, Make)] = &[
    ("conv", |sizes| case(sizes, forward)),
    ("conv_data", |sizes| case(sizes, data)),
    ("conv_weights", |sizes| case(sizes, weights)),
];

/// Input, weight and output of a convolution, and how it goes.
struct Tensors {
    x: Tensor,
    weight: Tensor,
    y: Tensor,
    square: Square,
}

#[derive(Clone, Copy)]
struct Square {
    size: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    groups: usize,
}

impl Square {
    fn windows(&self) -> Windows<'_> {
        Windows {
            kernel: &self.kernel,
            stride: &self.stride,
            before: &self.padding,
            after: &self.padding,
            dilation: &[1, 1],
        }
    }
}

fn case(sizes: &[usize], run: fn(&Tensors, DType) -> Result<Tensor>) -> Result<Case> {
    let &[batch, into, out, size, kernel, stride, padding, groups] = sizes else {
        return Err(Error::argument("sizes are batch in out size kernel stride padding groups"));
    };
    let square = Square {
        size: [size; 2],
        kernel: [kernel; 2],
        stride: [stride; 2],
        padding: [padding; 2],
        groups,
    };
    let count = square.windows().count(&square.size)?;
    let tensors = Tensors {
        x: numbers(DType::F32, &[batch, into, size, size])?,
        weight: numbers(DType::F32, &[out, into / groups, kernel, kernel])?,
        y: numbers(DType::F32, &[batch, out, count[0], count[1]])?,
        square,
    };
    let wide = Tensors {
        x: tensors.x.cast(DType::F64)?,
        weight: tensors.weight.cast(DType::F64)?,
        y: tensors.y.cast(DType::F64)?,
        square,
    };
    let flops = 2 * tensors.y.numel() * tensors.weight.numel() / out;
    Ok(Case::new(move || run(&tensors, DType::F32), move || run(&wide, DType::F64))
        .computing(flops))
}

fn forward(on: &Tensors, dtype: DType) -> Result<Tensor> {
    conv(&on.x, &on.weight, &on.square.windows(), on.square.groups, dtype)
}

fn data(on: &Tensors, dtype: DType) -> Result<Tensor> {
    let Square { size, groups, .. } = on.square;
    conv_transpose(&on.y, &on.weight, &on.square.windows(), groups, &size, dtype)
}

fn weights(on: &Tensors, dtype: DType) -> Result<Tensor> {
    conv_weight_grad(&on.x, &on.y, &on.square.windows(), on.square.groups, dtype)
}
