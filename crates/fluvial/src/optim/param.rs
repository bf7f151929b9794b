//! What an optimizer trains: parameters by name, with what is said of each.

use std::sync::Arc;

/// A penalty on the size of a parameter, which optimizers add to its gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Regularizer {
    /// The factor times the sum of absolute values: `factor * sign(w)` is added.
    L1(f64),
    /// Half the factor times the sum of squares: `factor * w` is added.
    L2(f64),
}

/// A parameter as an optimizer sees it: the name of its state, and how it differs from others.
///
/// A name alone will do (`"fc.weight"`).
///
/// ```
/// use fluvial::optim::{Param, Sgd};
///
/// let slow = Param::new("fc.bias").learning_rate(0.1);
/// let optimizer = Sgd::new([Param::new("fc.weight"), slow], 0.5);
/// ```
#[derive(Clone, Debug)]
pub struct Param {
    name: Arc<str>,
    learning_rate: f64,
    trainable: bool,
    regularizer: Option<Regularizer>,
}

impl Param {
    /// The parameter of that name.
    pub fn new(name: impl Into<Arc<str>>) -> Param {
        Param { name: name.into(), learning_rate: 1.0, trainable: true, regularizer: None }
    }

    /// Gives a factor on the optimizer's rate.
    #[must_use]
    pub fn learning_rate(mut self, factor: f64) -> Param {
        self.learning_rate = factor;
        self
    }

    /// Says whether it is trained.
    #[must_use]
    pub fn trainable(mut self, trainable: bool) -> Param {
        self.trainable = trainable;
        self
    }

    /// Gives a penalty of its own, in place of the optimizer's coupled weight decay.
    #[must_use]
    pub fn regularizer(mut self, regularizer: Regularizer) -> Param {
        self.regularizer = Some(regularizer);
        self
    }

    /// The name of its state.
    pub fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    /// Whether it is trained now.
    pub fn is_trainable(&self) -> bool {
        self.trainable
    }

    /// The factor on the rate.
    pub(super) fn factor(&self) -> f64 {
        self.learning_rate
    }

    /// The penalty of its own.
    pub(super) fn penalty(&self) -> Option<Regularizer> {
        self.regularizer
    }
}

impl From<&str> for Param {
    fn from(name: &str) -> Param {
        Param::new(name)
    }
}

impl From<&&str> for Param {
    fn from(name: &&str) -> Param {
        Param::new(*name)
    }
}

impl From<String> for Param {
    fn from(name: String) -> Param {
        Param::new(name)
    }
}

impl From<&String> for Param {
    fn from(name: &String) -> Param {
        Param::new(name.as_str())
    }
}

impl From<&Param> for Param {
    fn from(param: &Param) -> Param {
        param.clone()
    }
}
