//! Linear layers.

use fluvial_core::{Dim, Error, Result, Var};
use fluvial_ops::{linear, matmul, permute, reshape, sum};

use crate::init::Initializer;
use crate::nn::stated::{Call, Parts, Statement, Value, layer};

layer! {
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
    ///
    /// ```python
    /// >>> fl.nn.Linear(3, 5)(fl.full((2, 3), 0.5)).shape
    /// (2, 5)
    /// ```
    pub Linear = "Linear" | Fc;
    LinearSpec {
        /// The number of inputs, or nothing if it is that of the first input.
        inputs | in_features: Option<usize>,
        /// The number of outputs.
        outputs | out_features: usize,
        /// Whether there is a bias.
        bias: bool = true,
    }
    new(at, inputs, outputs)
    attrs(weight_attr, bias_attr)
    parts(weight, bias: Option)
    forward(x) -> Tensor
}

impl Statement for LinearSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        let dims = self.inputs.map(|inputs| vec![self.outputs, inputs]);
        parts.parameter("weight", "weight_attr", dims, Initializer::weight_default());
        if self.bias {
            let init = Initializer::bias_default(self.inputs.unwrap_or_default());
            // Its initial value depends on the number of inputs, so it is open as long as that is.
            let dims = self.inputs.map(|_| vec![self.outputs]);
            parts.parameter("bias", "bias_attr", dims, init);
        }
        Ok(())
    }

    fn complete(&self, inputs: &[Value]) -> Result<Option<LinearSpec>> {
        if self.inputs.is_some() {
            return Ok(None);
        }
        let x = inputs.first().and_then(Value::tensor).map(Var::ty);
        let last = x.and_then(|ty| ty.dims().last().and_then(|dim| dim.value()));
        let inputs = last.ok_or_else(|| {
            let found = x.map_or("nothing".to_string(), |ty| ty.to_string());
            Error::shape(format!("the number of inputs cannot be taken from {found}"))
                .remedy("give an input whose last size is a number, or `Linear` that number")
        })?;
        Ok(Some(LinearSpec { inputs: Some(inputs), ..self.clone() }))
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (weight, bias) = (with.value("weight")?, with.optional("bias")?);
        Ok(linear(with.x()?, &weight, bias.as_ref())?.into())
    }
}

layer! {
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
    ///
    /// ```python
    /// >>> layer = fl.nn.LazyLinear(5)
    /// >>> _ = layer(fl.full((2, 3), 0.5))
    /// >>> layer.weight.shape
    /// (5, 3)
    /// ```
    pub LazyLinear = "LazyLinear" extends Linear;
    LazyLinearSpec {
        /// The number of outputs.
        outputs | out_features: usize,
        /// Whether there is a bias.
        bias: bool = true,
        /// The number of inputs, once it is known.
        inputs | in_features: Option<usize> = None,
    }
    new(at, outputs)
    attrs(weight_attr, bias_attr)
    parts(weight, bias: Option)
    forward(x) -> Tensor
}

impl LazyLinearSpec {
    fn linear(&self) -> LinearSpec {
        LinearSpec { inputs: self.inputs, outputs: self.outputs, bias: self.bias }
    }
}

impl Statement for LazyLinearSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        self.linear().declare(parts)
    }

    fn complete(&self, inputs: &[Value]) -> Result<Option<LazyLinearSpec>> {
        let known = self.linear().complete(inputs)?;
        Ok(known.map(|known| LazyLinearSpec { inputs: known.inputs, ..self.clone() }))
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        self.linear().call(with)
    }
}

layer! {
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
    ///
    /// ```python
    /// >>> fl.nn.Bilinear(2, 3, 4)(fl.full((5, 2), 0.5), fl.full((5, 3), 0.5)).shape
    /// (5, 4)
    /// ```
    pub Bilinear = "Bilinear";
    BilinearSpec {
        /// The number of features of the first input.
        first | in1_features: usize,
        /// The number of features of the second input.
        second | in2_features: usize,
        /// The number of outputs.
        outputs | out_features: usize,
        /// Whether there is a bias.
        bias: bool = true,
    }
    new(at, first, second, outputs)
    attrs(weight_attr, bias_attr)
    parts(weight, bias: Option)
    forward(x1, x2) -> Tensor
}

impl Bilinear {
    /// The output for `first` and `second`, which agree in all axes but the last.
    #[track_caller]
    pub fn forward2(&self, first: &Var, second: &Var) -> Result<Var> {
        self.call(&[first.into(), second.into()])?.into_tensor()
    }
}

impl Statement for BilinearSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        let init = Initializer::bias_default(self.first);
        let dims = vec![self.outputs, self.first, self.second];
        parts.parameter("weight", "weight_attr", dims, init.clone());
        if self.bias {
            parts.parameter("bias", "bias_attr", vec![self.outputs], init);
        }
        Ok(())
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        let (first, second) = (with.x()?.clone().check()?, with.input(1)?.clone().check()?);
        let weight = with.value("weight")?;
        let [outputs, inputs, others] = [0, 1, 2].map(|axis| weight.ty().dim(axis));
        let fits = |x: &Var, size: Dim| x.rank() > 0 && x.dims()[x.rank() - 1] == size;
        if !fits(&first, inputs) || !fits(&second, others) {
            return Err(Error::shape(format!(
                "the inputs are {} and {}, but their last sizes should be {inputs} and {others}",
                first.ty(),
                second.ty()
            )));
        }
        let by_input = reshape(&permute(&weight, &[1, 0, 2])?, &[inputs, outputs.mul(others)?])?;
        let mut dims = first.dims();
        dims.pop();
        dims.extend([outputs, others]);
        let forms = reshape(&matmul(&first, &by_input)?, &dims)?;
        let mut dims = second.dims();
        dims.insert(second.rank() - 1, Dim::size(1));
        let y = sum(&(forms * reshape(&second, &dims)?), &[-1], false)?;
        Ok(match with.optional("bias")? {
            Some(bias) => (y + bias).check()?,
            None => y,
        }
        .into())
    }
}
