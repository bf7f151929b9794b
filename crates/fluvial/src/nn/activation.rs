//! Activations as layers. They have no parameters, but for [`PRelu`], and no place of their own.

use fluvial_core::{Result, Var};
use fluvial_ops as ops;

use super::attr::ParamAttr;
use super::layer::{Layer, stateless};
use super::parameter::Parameter;
use super::path::Path;
use crate::init::Initializer;

/// A function as a layer, with builders for its parameters.
macro_rules! activations {
    ($($(#[$doc:meta])* $layer:ident $function:ident
        { $($(#[$about:meta])* $field:ident: $ty:ty = $default:expr),* })*) => {$(
        $(#[$doc])*
        ///
        /// ```
        /// use fluvial::prelude::*;
        ///
        #[doc = concat!("let layer = ", stringify!($layer), "::new();")]
        /// assert!(layer.forward(&Var::of(&[-0.5, 2.0], &[2])?)?.to_vec::<f64>()?[0] < 1.0);
        /// # Ok::<(), Error>(())
        /// ```
        #[derive(Clone, Debug)]
        pub struct $layer {
            $($field: $ty,)*
        }

        impl $layer {
            /// With the usual parameters.
            pub fn new() -> $layer {
                $layer { $($field: $default),* }
            }
            $(
                $(#[$about])*
                #[must_use]
                pub fn $field(mut self, $field: $ty) -> $layer {
                    self.$field = $field;
                    self
                }
            )*
        }

        impl Default for $layer {
            fn default() -> $layer {
                $layer::new()
            }
        }

        stateless!($layer, |_layer, x| ops::$function(x $(, _layer.$field)*));
    )*};
}

activations! {
    /// Zero for what is negative; see [`relu`](ops::relu).
    Relu relu {}

    /// Zero for what is negative, at most six; see [`relu6`](ops::relu6).
    Relu6 relu6 {}

    /// The logistic function; see [`sigmoid`](ops::sigmoid).
    Sigmoid sigmoid {}

    /// The hyperbolic tangent; see [`tanh`](ops::tanh).
    Tanh tanh {}

    /// A smooth sign; see [`softsign`](ops::softsign).
    Softsign softsign {}

    /// The self-normalising exponential unit; see [`selu`](ops::selu).
    Selu selu {}

    /// `x · sigmoid(x)`; see [`silu`](ops::silu).
    Silu silu {}

    /// `x · tanh(softplus(x))`; see [`mish`](ops::mish).
    Mish mish {}

    /// A sigmoid of straight lines; see [`hard_sigmoid`](ops::hard_sigmoid).
    HardSigmoid hard_sigmoid {}

    /// `x` times a sigmoid of straight lines; see [`hard_swish`](ops::hard_swish).
    HardSwish hard_swish {}

    /// The logarithm of the sigmoid; see [`log_sigmoid`](ops::log_sigmoid).
    LogSigmoid log_sigmoid {}

    /// `x - tanh(x)`; see [`tanh_shrink`](ops::tanh_shrink).
    TanhShrink tanh_shrink {}

    /// A small slope for what is negative; see [`leaky_relu`](ops::leaky_relu).
    LeakyRelu leaky_relu {
        /// The slope for negative numbers; 0.01 without it.
        slope: f64 = 0.01
    }

    /// An exponential approach to `-alpha` for what is negative; see [`elu`](ops::elu).
    Elu elu {
        /// The limit for negative numbers, with its sign turned; 1.0 without it.
        alpha: f64 = 1.0
    }

    /// An exponential unit with a continuous slope; see [`celu`](ops::celu).
    Celu celu {
        /// How slowly negative numbers level off; 1.0 without it.
        alpha: f64 = 1.0
    }

    /// `x` times the probability that a normal number is smaller; see [`gelu`](ops::gelu).
    Gelu gelu {
        /// Whether to approximate by the hyperbolic tangent; false without it.
        tanh_form: bool = false
    }

    /// One half of the features gated by the other; see [`glu`](ops::glu).
    Glu glu {
        /// The axis that is halved; -1 without it.
        axis: i64 = -1
    }

    /// Cut off below and above; see [`hard_tanh`](ops::hard_tanh).
    HardTanh hard_tanh {
        /// The lower end; -1.0 without it.
        low: f64 = -1.0,
        /// The upper end; 1.0 without it.
        high: f64 = 1.0
    }

    /// Zero for what is small; see [`hard_shrink`](ops::hard_shrink).
    HardShrink hard_shrink {
        /// What counts as small; 0.5 without it.
        width: f64 = 0.5
    }

    /// Moved towards zero; see [`soft_shrink`](ops::soft_shrink).
    SoftShrink soft_shrink {
        /// By how much; 0.5 without it.
        width: f64 = 0.5
    }

    /// A smooth rectifier; see [`softplus`](ops::softplus).
    Softplus softplus {
        /// How sharp it bends; 1.0 without it.
        beta: f64 = 1.0,
        /// Above which it is a straight line; 20.0 without it.
        threshold: f64 = 20.0
    }

    /// Positive numbers that sum to one along an axis; see [`softmax`](ops::softmax).
    Softmax softmax {
        /// The axis; -1 without it.
        axis: i64 = -1
    }

    /// The logarithm of [`Softmax`]; see [`log_softmax`](ops::log_softmax).
    LogSoftmax log_softmax {
        /// The axis; -1 without it.
        axis: i64 = -1
    }
}

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
#[derive(Clone, Debug)]
pub struct PRelu {
    at: Path,
    weight: Parameter,
}

impl PRelu {
    /// So many slopes, 0.25 at first.
    pub fn new(at: impl Into<Path>, count: usize) -> PRelu {
        let at = at.into();
        PRelu { weight: at.parameter("weight", &[count], Initializer::constant(0.25)), at }
    }

    /// Says something of the slopes.
    #[must_use]
    pub fn weight_attr(self, attr: impl Into<ParamAttr>) -> PRelu {
        self.weight.set_attr(attr);
        self
    }
}

impl Layer for PRelu {
    fn path(&self) -> &Path {
        &self.at
    }

    #[track_caller]
    fn forward(&self, x: &Var) -> Result<Var> {
        let _call = self.at.called();
        ops::prelu(x, &self.weight.get()?)
    }
}
