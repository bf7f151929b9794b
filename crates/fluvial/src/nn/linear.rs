//! Linear layers.

use fluvial_core::scope::user_line;
use fluvial_core::{Error, Result, Var, at};
use fluvial_ops::{matmul, permute};

use super::attr::weight_and_bias;
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
        let _line = at(user_line());
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
        let sized = weight.clone();
        let bias_init = Initializer::custom(move |ty| {
            let inputs = sized.ty()?.dim(1).value().unwrap_or_default();
            Initializer::bias_default(inputs).draw(ty)
        });
        let bias = Some(at.parameter("bias", &[outputs], bias_init));
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
        let _line = at(loc);
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
    let y = matmul(x, &permute(&weight.get()?, &[1, 0])?)?;
    match bias {
        Some(bias) => (y + bias.get()?).check(),
        None => Ok(y),
    }
}
