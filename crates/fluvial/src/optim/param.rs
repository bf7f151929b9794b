//! What an optimizer trains: parameters of layers or by name, with what is said of each.

use std::fmt;
use std::sync::Arc;

use fluvial_core::{
    Error, Mode, Place, Result, Role, StateDecl, Var, WeakCell, building_states, enable_grad, mode,
    state,
};
use fluvial_ops::sign;

use crate::nn::{Parameter, Regularizer};

/// A parameter as an optimizer sees it: one of a layer or by name, and how it differs from others.
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
pub struct Param {
    source: Source,
    learning_rate: Option<f64>,
    trainable: Option<bool>,
    penalty: Option<Penalty>,
}

#[derive(Clone, Debug)]
enum Source {
    Named(Arc<str>),
    Layer(Parameter),
}

/// What is added to a gradient, given it and the parameter.
type Added = dyn Fn(&Var, &Var) -> Result<Var> + Send + Sync;

/// A penalty on the size of a parameter, which optimizers add to its gradient.
#[derive(Clone)]
pub struct Penalty(Arc<Added>);

impl Penalty {
    /// The gradient with that of the penalty added, as a function of gradient and parameter.
    pub fn new(f: impl Fn(&Var, &Var) -> Result<Var> + Send + Sync + 'static) -> Penalty {
        Penalty(Arc::new(f))
    }

    /// The gradient with that of the penalty added.
    #[track_caller]
    pub fn add_to(&self, grad: &Var, param: &Var) -> Result<Var> {
        (self.0)(grad, param)
    }
}

impl fmt::Debug for Penalty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Penalty")
    }
}

impl From<Regularizer> for Penalty {
    fn from(regularizer: Regularizer) -> Penalty {
        Penalty::new(move |grad, param| match regularizer {
            Regularizer::L1(factor) => (grad + sign(param)? * factor).check(),
            Regularizer::L2(factor) => (grad + param * factor).check(),
        })
    }
}

/// What tells a parameter from others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ParamId {
    Cell(usize),
    /// In the scope of this number.
    Name(Arc<str>, u64),
}

impl Param {
    /// The parameter of that name.
    pub fn new(name: impl Into<Arc<str>>) -> Param {
        Param::of(Source::Named(name.into()))
    }

    fn of(source: Source) -> Param {
        Param { source, learning_rate: None, trainable: None, penalty: None }
    }

    /// Gives a factor on the optimizer's rate.
    #[must_use]
    pub fn learning_rate(self, factor: f64) -> Param {
        Param { learning_rate: Some(factor), ..self }
    }

    /// Says whether it is trained.
    #[must_use]
    pub fn trainable(self, trainable: bool) -> Param {
        Param { trainable: Some(trainable), ..self }
    }

    /// Gives a penalty of its own, in place of the optimizer's weight decay.
    #[must_use]
    pub fn regularizer(self, penalty: impl Into<Penalty>) -> Param {
        Param { penalty: Some(penalty.into()), ..self }
    }

    /// What people and files call it.
    pub fn name(&self) -> Arc<str> {
        match &self.source {
            Source::Named(name) => name.clone(),
            Source::Layer(parameter) => parameter.name(),
        }
    }

    /// Whether it is trained now.
    pub fn is_trainable(&self) -> bool {
        let of_layer = || match &self.source {
            Source::Named(_) => true,
            Source::Layer(parameter) => parameter.is_trainable(),
        };
        self.trainable.unwrap_or_else(of_layer)
    }

    /// The parameter of a layer that it is.
    pub fn parameter(&self) -> Option<&Parameter> {
        match &self.source {
            Source::Named(_) => None,
            Source::Layer(parameter) => Some(parameter),
        }
    }

    /// The factor on the rate.
    pub(super) fn factor(&self) -> f64 {
        let of_layer = || self.parameter().map_or(1.0, |parameter| parameter.attr().learning_rate);
        self.learning_rate.unwrap_or_else(of_layer)
    }

    /// The penalty of its own.
    pub(super) fn penalty(&self) -> Option<Penalty> {
        let of_layer = || self.parameter()?.attr().regularizer.map(Penalty::from);
        self.penalty.clone().or_else(of_layer)
    }

    /// Where its value is.
    pub(super) fn place(&self) -> Place {
        match &self.source {
            Source::Named(name) => Place::Name(name.clone()),
            Source::Layer(parameter) => match parameter.attr().name {
                Some(name) => Place::Name(name.into()),
                None => Place::Cell(parameter.cell()),
            },
        }
    }

    /// What tells it from others, as long as it lives.
    pub(super) fn id(&self) -> ParamId {
        match self.place() {
            Place::Cell(cell) => ParamId::Cell(cell.id()),
            Place::Name(name) => ParamId::Name(name, state::current().number()),
        }
    }

    /// Whether both are one parameter, perhaps once by name.
    pub(super) fn same(&self, other: &Param) -> bool {
        let cell = |param: &Param| match param.place() {
            Place::Cell(cell) => Some(cell),
            Place::Name(name) => state::current().cell(&name),
        };
        let is_one_cell = || Some(cell(self)?.same(&cell(other)?));
        self.id() == other.id() || is_one_cell().unwrap_or(false)
    }

    /// Its cell outside of programs, if it has one, without holding it.
    pub(super) fn weak_cell(&self) -> Option<WeakCell> {
        match self.place() {
            Place::Cell(cell) => Some(cell.downgrade()),
            Place::Name(name) => state::current().cell(&name).map(|cell| cell.downgrade()),
        }
    }

    /// Its value. That of a layer gets its initial one if it was never used.
    #[track_caller]
    pub(super) fn read(&self) -> Result<Var> {
        match &self.source {
            Source::Named(_) => self.place().read(),
            Source::Layer(parameter) => parameter.get(),
        }
    }

    /// The gradient that `backward` has accumulated.
    #[track_caller]
    pub(super) fn grad(&self) -> Result<Option<Var>> {
        match &self.source {
            Source::Layer(parameter) => parameter.grad(),
            Source::Named(_) => {
                let _recording = enable_grad();
                Ok(self.read()?.grad())
            }
        }
    }

    /// Forgets the gradient that `backward` has accumulated.
    #[track_caller]
    pub(super) fn zero_grad(&self) -> Result<()> {
        match &self.source {
            Source::Layer(parameter) => parameter.zero_grad(),
            Source::Named(_) => {
                let _recording = enable_grad();
                self.read()?.zero_grad();
                Ok(())
            }
        }
    }

    /// Whether it is of complex numbers.
    pub(super) fn is_complex(&self) -> bool {
        match &self.source {
            Source::Layer(parameter) => parameter.dtype().is_complex(),
            Source::Named(name) => known(name).is_some_and(|decl| decl.ty.dtype().is_complex()),
        }
    }

    /// Refuses what cannot be trained.
    pub(super) fn check(&self) -> Result<()> {
        let name = self.name();
        let not_a_parameter = || {
            Err(Error::gradient(format!(
                "`{name}` is a state, but not a parameter, so it gets no gradient"
            ))
            .remedy("leave it out of the optimizer, or declare it by `parameter`"))
        };
        let dtype = match &self.source {
            Source::Layer(parameter) if parameter.is_buffer() => return not_a_parameter(),
            Source::Layer(parameter) => Some(parameter.dtype()),
            Source::Named(name) => match known(name) {
                Some(decl) if decl.role != Role::Parameter => return not_a_parameter(),
                Some(decl) => Some(decl.ty.dtype()),
                None => None,
            },
        };
        match dtype.filter(|dtype| !dtype.is_inexact()) {
            Some(dtype) => {
                Err(Error::gradient(format!("`{name}` is of {dtype}, which has no gradient"))
                    .remedy("leave it out of the optimizer, or make it a float"))
            }
            None => Ok(()),
        }
    }
}

/// What is known of a state by its name.
fn known(name: &str) -> Option<StateDecl> {
    let built = match mode() {
        Mode::Building => building_states().ok().and_then(|states| states.get(name).cloned()),
        Mode::Imperative => None,
    };
    built.or_else(|| state::current().declaration(name))
}

impl From<Parameter> for Param {
    fn from(parameter: Parameter) -> Param {
        Param::of(Source::Layer(parameter))
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
