//! Linear layers.

use fluvial_core::scope::user_line;
use fluvial_core::{Dim, Error, Result, Var};
use fluvial_ops::{linear, matmul, permute, reshape, sum};

use super::attr::{bias_of, weight_and_bias};
use super::layer::Layer;
use super::parameter::Parameter;
use super::path::Path;
use crate::init::Initializer;

/// `x · weightᵀ + bias` over the last axis: a fully connected layer. `weight` is `[out, in]`.
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = Linear::new("fc", 3, 5);
/// let y = layer.forward(&Var::of(&[0.5f32; 6], &[2, 3])?)?;
/// assert_eq!(y.ty().to_string(), "f32[2, 5]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Linear {
    at: Path,
    weight: Parameter,
    bias: Option<Parameter>,
}

/// The name of [`Linear`] in Fluid.
pub type Fc = Linear;

impl Linear {
    /// A layer from `inputs` to `outputs` features.
    pub fn new(at: impl Into<Path>, inputs: usize, outputs: usize) -> Linear {
        let at = at.into();
        Linear {
            weight: at.parameter("weight", &[outputs, inputs], Initializer::weight_default()),
            bias: Some(at.parameter("bias", &[outputs], Initializer::bias_default(inputs))),
            at,
        }
    }
}

weight_and_bias!(Linear);

impl Layer for Linear {
    fn path(&self) -> &Path {
        &self.at
    }

    #[track_caller]
    fn forward(&self, x: &Var) -> Result<Var> {
        let _call = self.at.called();
        apply(x, &self.weight, self.bias.as_ref())
    }
}

/// [`Linear`] whose number of inputs is that of its first input.
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = LazyLinear::new("fc", 5);
/// layer.forward(&Var::of(&[0.5f32; 6], &[2, 3])?)?;
/// assert_eq!(layer.parameters()[0].ty()?.to_string(), "f32[5, 3]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LazyLinear {
    at: Path,
    outputs: usize,
    weight: Parameter,
    bias: Option<Parameter>,
}

impl LazyLinear {
    /// A layer to `outputs` features.
    pub fn new(at: impl Into<Path>, outputs: usize) -> LazyLinear {
        let at = at.into();
        let weight = at.lazy_parameter("weight", Initializer::weight_default());
        let bias = Some(at.parameter("bias", &[outputs], bias_of(&weight)));
        LazyLinear { at, outputs, weight, bias }
    }
}

weight_and_bias!(LazyLinear);

impl Layer for LazyLinear {
    fn path(&self) -> &Path {
        &self.at
    }

    #[track_caller]
    fn forward(&self, x: &Var) -> Result<Var> {
        let loc = user_line();
        let _call = self.at.called();
        if !self.weight.is_sized() {
            let ty = x.clone().check()?.ty();
            let inputs = ty.dims().last().and_then(|dim| dim.value()).ok_or_else(|| {
                Error::shape(format!("the number of inputs cannot be taken from {ty}"))
                    .remedy("give an input whose last size is a number, or use `Linear`")
                    .at(loc)
            })?;
            self.weight.sized(&[self.outputs, inputs]);
        }
        apply(x, &self.weight, self.bias.as_ref())
    }
}

fn apply(x: &Var, weight: &Parameter, bias: Option<&Parameter>) -> Result<Var> {
    let bias = bias.map(Parameter::get).transpose()?;
    linear(x, &weight.get()?, bias.as_ref())
}

/// `x1 · weight[o] · x2 + bias[o]` for each output `o`: a bilinear form. `weight` is
/// `[out, in1, in2]`.
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = Bilinear::new("pair", 2, 3, 4);
/// let (a, b) = (Var::of(&[0.5f32; 10], &[5, 2])?, Var::of(&[0.5f32; 15], &[5, 3])?);
/// assert_eq!(layer.forward2(&a, &b)?.ty().to_string(), "f32[5, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bilinear {
    at: Path,
    weight: Parameter,
    bias: Option<Parameter>,
}

impl Bilinear {
    /// A layer from `first` and `second` features to `outputs`.
    pub fn new(at: impl Into<Path>, first: usize, second: usize, outputs: usize) -> Bilinear {
        let at = at.into();
        let init = Initializer::bias_default(first);
        Bilinear {
            weight: at.parameter("weight", &[outputs, first, second], init.clone()),
            bias: Some(at.parameter("bias", &[outputs], init)),
            at,
        }
    }

    /// The output for `first` and `second`, which agree in all axes but the last.
    #[track_caller]
    pub fn forward2(&self, first: &Var, second: &Var) -> Result<Var> {
        let loc = user_line();
        let _call = self.at.called();
        let (first, second) = (first.clone().check()?, second.clone().check()?);
        let weight = self.weight.get()?;
        let [outputs, inputs, others] = [0, 1, 2].map(|axis| weight.ty().dim(axis));
        let fits = |x: &Var, size: Dim| x.rank() > 0 && x.dims()[x.rank() - 1] == size;
        if !fits(&first, inputs) || !fits(&second, others) {
            return Err(Error::shape(format!(
                "the inputs are {} and {}, but their last sizes should be {inputs} and {others}",
                first.ty(),
                second.ty()
            ))
            .at(loc));
        }
        let by_input = reshape(&permute(&weight, &[1, 0, 2])?, &[inputs, outputs.mul(others)?])?;
        let mut dims = first.dims();
        dims.pop();
        dims.extend([outputs, others]);
        let forms = reshape(&matmul(&first, &by_input)?, &dims)?;
        let mut dims = second.dims();
        dims.insert(second.rank() - 1, Dim::size(1));
        let y = sum(&(forms * reshape(&second, &dims)?), &[-1], false)?;
        match &self.bias {
            Some(bias) => (y + bias.get()?).check(),
            None => Ok(y),
        }
    }
}

weight_and_bias!(Bilinear);

impl Layer for Bilinear {
    fn path(&self) -> &Path {
        &self.at
    }
}
