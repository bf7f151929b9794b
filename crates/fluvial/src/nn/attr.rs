//! What a user says of a parameter.

use crate::init::Initializer;

/// What is said of one parameter: its name, its initial value, and how it is trained. Every layer
/// takes it for its weight and its bias.
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = Linear::new("fc", 4, 2)
///     .weight_attr(ParamAttr::new().init(Initializer::normal(0.0, 0.02)).learning_rate(0.1))
///     .bias_attr(ParamAttr::new().regularizer(Regularizer::L2(0.0)));
/// assert_eq!(layer.parameters()[0].attr().learning_rate, 0.1);
/// ```
#[derive(Clone, Debug)]
pub struct ParamAttr {
    /// The name of its state, in place of the one made from the layer's path. Parameters of one
    /// name are one parameter.
    pub name: Option<String>,
    /// How the initial value is made, in place of the layer's own way.
    pub init: Option<Initializer>,
    /// Whether it is trained.
    pub trainable: bool,
    /// A factor on the optimizer's rate.
    pub learning_rate: f64,
    /// A penalty of its own, in place of the optimizer's.
    pub regularizer: Option<Regularizer>,
}

/// A penalty on the size of a parameter, which optimizers add to its gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Regularizer {
    /// The factor times the sum of absolute values: `factor * sign(w)` is added.
    L1(f64),
    /// Half the factor times the sum of squares: `factor * w` is added.
    L2(f64),
}

impl Default for ParamAttr {
    fn default() -> ParamAttr {
        ParamAttr { name: None, init: None, trainable: true, learning_rate: 1.0, regularizer: None }
    }
}

impl ParamAttr {
    /// Nothing special.
    pub fn new() -> ParamAttr {
        ParamAttr::default()
    }

    /// Gives the state a name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> ParamAttr {
        self.name = Some(name.into());
        self
    }

    /// Says how the initial value is made.
    #[must_use]
    pub fn init(mut self, init: Initializer) -> ParamAttr {
        self.init = Some(init);
        self
    }

    /// Says whether it is trained.
    #[must_use]
    pub fn trainable(mut self, trainable: bool) -> ParamAttr {
        self.trainable = trainable;
        self
    }

    /// Gives a factor on the optimizer's rate.
    #[must_use]
    pub fn learning_rate(mut self, factor: f64) -> ParamAttr {
        self.learning_rate = factor;
        self
    }

    /// Gives a penalty of its own.
    #[must_use]
    pub fn regularizer(mut self, regularizer: Regularizer) -> ParamAttr {
        self.regularizer = Some(regularizer);
        self
    }
}

impl From<Initializer> for ParamAttr {
    fn from(init: Initializer) -> ParamAttr {
        ParamAttr::new().init(init)
    }
}

impl From<&str> for ParamAttr {
    fn from(name: &str) -> ParamAttr {
        ParamAttr::new().name(name)
    }
}
