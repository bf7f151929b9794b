//! What an optimizer trains: parameters by name, with what is said of each.

use std::sync::Arc;

use fluvial_core::{Result, Var, read_state};

use crate::nn::{Parameter, Regularizer};

/// A parameter as an optimizer sees it: a state by name, and how it differs from others.
///
/// A name alone will do (`"fc.weight"`), and so will a [`Parameter`] of a layer, of whose
/// [`ParamAttr`](crate::nn::ParamAttr) the rate, the penalty and whether it is trained count.
///
/// ```
/// use fluvial::prelude::*;
///
/// let optimizer = Sgd::new(Linear::new("fc", 4, 2).parameters(), 0.5);
/// let slow = Param::new("fc.bias").learning_rate(0.1);
/// let optimizer = Sgd::new([Param::new("fc.weight"), slow], 0.5);
/// ```
#[derive(Clone, Debug)]
pub struct Param(Source);

#[derive(Clone, Debug)]
enum Source {
    Named { name: Arc<str>, learning_rate: f64, trainable: bool, regularizer: Option<Regularizer> },
    Layer(Parameter),
}

impl Param {
    /// The parameter of that name.
    pub fn new(name: impl Into<Arc<str>>) -> Param {
        let name = name.into();
        Param(Source::Named { name, learning_rate: 1.0, trainable: true, regularizer: None })
    }

    /// Gives a factor on the optimizer's rate.
    #[must_use]
    pub fn learning_rate(self, factor: f64) -> Param {
        let (name, _, trainable, regularizer) = self.said();
        Param(Source::Named { name, learning_rate: factor, trainable, regularizer })
    }

    /// Says whether it is trained.
    #[must_use]
    pub fn trainable(self, trainable: bool) -> Param {
        let (name, learning_rate, _, regularizer) = self.said();
        Param(Source::Named { name, learning_rate, trainable, regularizer })
    }

    /// Gives a penalty of its own, in place of the optimizer's weight decay.
    #[must_use]
    pub fn regularizer(self, regularizer: Regularizer) -> Param {
        let (name, learning_rate, trainable, _) = self.said();
        Param(Source::Named { name, learning_rate, trainable, regularizer: Some(regularizer) })
    }

    fn said(&self) -> (Arc<str>, f64, bool, Option<Regularizer>) {
        match &self.0 {
            Source::Named { name, learning_rate, trainable, regularizer } => {
                (name.clone(), *learning_rate, *trainable, *regularizer)
            }
            Source::Layer(parameter) => {
                let attr = parameter.attr();
                (parameter.name(), attr.learning_rate, attr.trainable, attr.regularizer)
            }
        }
    }

    /// The name of its state.
    pub fn name(&self) -> Arc<str> {
        self.said().0
    }

    /// Whether it is trained now.
    pub fn is_trainable(&self) -> bool {
        self.said().2
    }

    /// The factor on the rate.
    pub(super) fn factor(&self) -> f64 {
        self.said().1
    }

    /// The penalty of its own.
    pub(super) fn penalty(&self) -> Option<Regularizer> {
        self.said().3
    }

    /// Its value. That of a layer gets its first one if it was never used.
    #[track_caller]
    pub(super) fn read(&self) -> Result<Var> {
        match &self.0 {
            Source::Named { name, .. } => read_state(name),
            Source::Layer(parameter) => parameter.get(),
        }
    }
}

impl From<Parameter> for Param {
    fn from(parameter: Parameter) -> Param {
        Param(Source::Layer(parameter))
    }
}

impl From<&Parameter> for Param {
    fn from(parameter: &Parameter) -> Param {
        parameter.clone().into()
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
