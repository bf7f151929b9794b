//! Activations as layers. They have no parameters, but for [`PRelu`], and no place of their own.

use fluvial_core::Result;
use fluvial_ops as ops;

use crate::init::Initializer;
use crate::nn::stated::{Call, Parts, Statement, Value, layer};

layer! {
    /// The larger of the value and zero; see [`relu`](ops::relu).
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = Relu::new().forward(&Var::of(&[-1.0, 2.0], &[2])?)?;
    /// assert_eq!(y.to_vec::<f64>()?, [0.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.ReLU()(fl.tensor([-1.0, 2.0])).tolist()
    /// [0.0, 2.0]
    /// ```
    pub Relu = "ReLU";
    ReluSpec {}
    new()
    forward(x) -> Tensor = |_spec, with| ops::relu(x)
}

layer! {
    /// The value between zero and six; see [`relu6`](ops::relu6).
    pub Relu6 = "ReLU6";
    Relu6Spec {}
    new()
    forward(x) -> Tensor = |_spec, with| ops::relu6(x)
}

layer! {
    /// The logistic function; see [`sigmoid`](ops::sigmoid).
    pub Sigmoid = "Sigmoid";
    SigmoidSpec {}
    new()
    forward(x) -> Tensor = |_spec, with| ops::sigmoid(x)
}

layer! {
    /// The hyperbolic tangent; see [`tanh`](ops::tanh).
    pub Tanh = "Tanh";
    TanhSpec {}
    new()
    forward(x) -> Tensor = |_spec, with| ops::tanh(x)
}

layer! {
    /// A smooth sign, `x / (1 + |x|)`; see [`softsign`](ops::softsign).
    pub Softsign = "Softsign";
    SoftsignSpec {}
    new()
    forward(x) -> Tensor = |_spec, with| ops::softsign(x)
}

layer! {
    /// The self-normalising exponential unit; see [`selu`](ops::selu).
    pub Selu = "SELU";
    SeluSpec {}
    new()
    forward(x) -> Tensor = |_spec, with| ops::selu(x)
}

layer! {
    /// `x · sigmoid(x)`; see [`silu`](ops::silu).
    pub Silu = "SiLU";
    SiluSpec {}
    new()
    forward(x) -> Tensor = |_spec, with| ops::silu(x)
}

layer! {
    /// `x · tanh(softplus(x))`; see [`mish`](ops::mish).
    pub Mish = "Mish";
    MishSpec {}
    new()
    forward(x) -> Tensor = |_spec, with| ops::mish(x)
}

layer! {
    /// Straight lines in place of the logistic function; see [`hard_sigmoid`](ops::hard_sigmoid).
    pub HardSigmoid = "HardSigmoid" | Hardsigmoid;
    HardSigmoidSpec {}
    new()
    forward(x) -> Tensor = |_spec, with| ops::hard_sigmoid(x)
}

layer! {
    /// `x` times a sigmoid of straight lines; see [`hard_swish`](ops::hard_swish).
    pub HardSwish = "HardSwish" | Hardswish;
    HardSwishSpec {}
    new()
    forward(x) -> Tensor = |_spec, with| ops::hard_swish(x)
}

layer! {
    /// The logarithm of the logistic function; see [`log_sigmoid`](ops::log_sigmoid).
    pub LogSigmoid = "LogSigmoid";
    LogSigmoidSpec {}
    new()
    forward(x) -> Tensor = |_spec, with| ops::log_sigmoid(x)
}

layer! {
    /// `x - tanh(x)`; see [`tanh_shrink`](ops::tanh_shrink).
    pub TanhShrink = "TanhShrink" | Tanhshrink;
    TanhShrinkSpec {}
    new()
    forward(x) -> Tensor = |_spec, with| ops::tanh_shrink(x)
}

layer! {
    /// The value, times a small slope where it is negative; see [`leaky_relu`](ops::leaky_relu).
    pub LeakyRelu = "LeakyReLU";
    LeakyReluSpec {
        /// The factor for negative numbers.
        slope | negative_slope: f64 = 0.01,
    }
    new()
    forward(x) -> Tensor = |spec, with| ops::leaky_relu(x, spec.slope)
}

layer! {
    /// `alpha · (exp(x) - 1)` where the value is negative; see [`elu`](ops::elu).
    pub Elu = "ELU";
    EluSpec {
        /// The limit for negative numbers, with its sign turned.
        alpha: f64 = 1.0,
    }
    new()
    forward(x) -> Tensor = |spec, with| ops::elu(x, spec.alpha)
}

layer! {
    /// `alpha · (exp(x / alpha) - 1)` where the value is negative; see [`celu`](ops::celu).
    pub Celu = "CELU";
    CeluSpec {
        /// How slowly negative numbers level off.
        alpha: f64 = 1.0,
    }
    new()
    forward(x) -> Tensor = |spec, with| ops::celu(x, spec.alpha)
}

layer! {
    /// The value times the probability that a normal number is smaller; see [`gelu`](ops::gelu).
    pub Gelu = "GELU";
    GeluSpec {
        /// Whether the hyperbolic tangent stands in for it.
        tanh_form: bool = false,
    }
    new()
    forward(x) -> Tensor = |spec, with| ops::gelu(x, spec.tanh_form)
}

layer! {
    /// One half of the features gated by the other; see [`glu`](ops::glu).
    pub Glu = "GLU";
    GluSpec {
        /// The axis that is halved.
        axis | dim: i64 = -1,
    }
    new()
    forward(x) -> Tensor = |spec, with| ops::glu(x, spec.axis)
}

layer! {
    /// The value between two bounds; see [`hard_tanh`](ops::hard_tanh).
    ///
    /// ```python
    /// >>> fl.nn.HardTanh(-1.0, high=2.0)(fl.tensor([-3.0, 3.0])).tolist()
    /// [-1.0, 2.0]
    /// ```
    pub HardTanh = "HardTanh" | Hardtanh;
    HardTanhSpec {
        /// The lower one.
        low | min_val: f64 = -1.0,
        /// The upper one.
        high | max_val: f64 = 1.0,
    }
    new()
    forward(x) -> Tensor = |spec, with| ops::hard_tanh(x, spec.low, spec.high)
}

layer! {
    /// Zero where the value is small; see [`hard_shrink`](ops::hard_shrink).
    pub HardShrink = "HardShrink" | Hardshrink;
    HardShrinkSpec {
        /// What counts as small.
        width | lambd: f64 = 0.5,
    }
    new()
    forward(x) -> Tensor = |spec, with| ops::hard_shrink(x, spec.width)
}

layer! {
    /// The value nearer to zero, zero where it is small; see [`soft_shrink`](ops::soft_shrink).
    pub SoftShrink = "SoftShrink" | Softshrink;
    SoftShrinkSpec {
        /// By how much.
        width | lambd: f64 = 0.5,
    }
    new()
    forward(x) -> Tensor = |spec, with| ops::soft_shrink(x, spec.width)
}

layer! {
    /// A smooth rectifier, `log(1 + exp(beta · x)) / beta`; see [`softplus`](ops::softplus).
    pub Softplus = "Softplus";
    SoftplusSpec {
        /// How sharp it bends.
        beta: f64 = 1.0,
        /// Above which it is a straight line.
        threshold: f64 = 20.0,
    }
    new()
    forward(x) -> Tensor = |spec, with| ops::softplus(x, spec.beta, spec.threshold)
}

layer! {
    /// Positive numbers that sum to one along an axis; see [`softmax`](ops::softmax).
    ///
    /// ```python
    /// >>> fl.nn.Softmax()(fl.tensor([0.0, 0.0])).tolist()
    /// [0.5, 0.5]
    /// ```
    pub Softmax = "Softmax";
    SoftmaxSpec {
        /// The axis.
        axis | dim: i64 = -1,
    }
    new()
    forward(x) -> Tensor = |spec, with| ops::softmax(x, spec.axis)
}

layer! {
    /// The logarithm of [`Softmax`]; see [`log_softmax`](ops::log_softmax).
    pub LogSoftmax = "LogSoftmax";
    LogSoftmaxSpec {
        /// The axis.
        axis | dim: i64 = -1,
    }
    new()
    forward(x) -> Tensor = |spec, with| ops::log_softmax(x, spec.axis)
}

layer! {
    /// A rectifier whose slope for negative numbers is trained: one for all channels (axis 1), or one
    /// each.
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = PRelu::new("act", 1);
    /// let y = layer.forward(&Var::of(&[-2.0f32, 2.0], &[1, 2])?)?;
    /// assert_eq!(y.to_vec::<f32>()?, [-0.5, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.PReLU()(fl.tensor([-1.0, 2.0])).tolist()
    /// [-0.25, 2.0]
    /// ```
    pub PRelu = "PReLU";
    PReluSpec {
        /// The number of slopes: 1, or one for each channel.
        count | num_parameters: usize = 1,
        /// The slopes at first.
        initial | init: f64 = 0.25,
    }
    new(at, count)
    attrs(weight_attr)
    parts(weight)
    forward(x) -> Tensor
}

impl Statement for PReluSpec {
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        let init = Initializer::constant(self.initial);
        parts.parameter("weight", "weight_attr", vec![self.count], init);
        Ok(())
    }

    fn call(&self, with: &Call<'_>) -> Result<Value> {
        Ok(ops::prelu(with.x()?, &with.value("weight")?)?.into())
    }
}
