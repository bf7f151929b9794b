//! The rule of an optimizer: from a parameter and its gradient to its next value. All else
//! (groups, decay, clipping, accumulation, schedules) is the driver's part, once for all rules.

use std::fmt::Debug;
use std::sync::Arc;

use fluvial_core::structural::cast;
use fluvial_core::{DType, Dim, Error, OpRef, Result, Type, Var};
use fluvial_ops::pow;

use super::memory::Memory;
use super::param::Param;
use super::rows::{rows_of, with_rows};

/// How one parameter is updated.
///
/// Rules are written with ops, so the same code runs imperatively and becomes part of a program.
/// What a rule remembers the optimizer keeps: [`Update::slot`] reads it, [`Update::put`] assigns it.
///
/// ```
/// use fluvial::optim::{Decay, Descent, Rule, Update};
/// use fluvial::prelude::*;
///
/// /// Goes by the sign of the gradient.
/// #[derive(Clone, Debug, Default)]
/// struct SignRule;
///
/// impl Rule for SignRule {
///     fn name(&self) -> &str {
///         "signed"
///     }
///     fn update(&self, u: &Update) -> Result<Var> {
///         (&u.param - &u.lr * sign(&u.grad)?).check()
///     }
/// }
///
/// let state = State::new();
/// let _scope = state.enter();
/// let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(3.0)))?;
/// Descent::<SignRule>::new(["w"], 0.5).minimize(&(&w * &w))?;
/// assert_eq!(state.tensor("w")?.item::<f64>()?, 2.5);
/// # Ok::<(), Error>(())
/// ```
pub trait Rule: Debug + Send + Sync + 'static {
    /// What the names of its states begin with, unless the optimizer is given a name.
    fn name(&self) -> &str;

    /// What weight decay means, unless the optimizer is told otherwise.
    fn decay(&self) -> Decay {
        Decay::Coupled
    }

    /// The weight decay, unless the optimizer is given another.
    fn weight_decay(&self) -> f64 {
        0.0
    }

    /// The rate, unless the optimizer is given another; it is PyTorch's.
    fn rate(&self) -> f64 {
        0.001
    }

    /// Whether each element is updated on its own. Only then may some rows of a table be updated
    /// and the others left alone.
    fn is_elementwise(&self) -> bool {
        true
    }

    /// Whether it remembers anything from step to step.
    fn remembers(&self) -> bool {
        true
    }

    /// Whether it calls functions of the user's, which may break off a step half-way.
    fn calls_back(&self) -> bool {
        false
    }

    /// Refuses hyper-parameters that make no sense.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Numbers that all parameters of a group share in this step, as `f64` scalars; they reach
    /// [`update`](Rule::update) in the element type of the parameter.
    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        let _ = step;
        Ok(Vec::new())
    }

    /// The next value of the parameter. Not asked for if the rule is one [`AtOnce`].
    fn update(&self, u: &Update) -> Result<Var> {
        let _ = u;
        Err(Error::internal(format!("the rule `{}` says no `update`", self.name())))
    }

    /// The rule as one op over many parameters, if it is one, with this weight decay, coupled or not.
    fn at_once(&self, weight_decay: f64, decoupled: bool) -> Option<AtOnce> {
        let _ = (weight_decay, decoupled);
        None
    }
}

/// A rule that is one op. Its inputs are the parameters, for each slot what is remembered of them, and their
/// gradients; then the rate and what the parameters share. Its outputs are the parameters and slots after the
/// step, and take their place (see [`Op::n_over`](fluvial_core::Op::n_over)).
pub struct AtOnce {
    /// The op.
    pub op: OpRef,
    /// What is remembered of each parameter, zero at the beginning.
    pub slots: &'static [&'static str],
}

/// What weight decay means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decay {
    /// `weight_decay * w` is added to the gradient.
    Coupled,
    /// The parameter is first multiplied by `1 - lr * weight_decay`; the gradient stays.
    Decoupled,
    /// The rule takes [`Update::weight_decay`] into account itself.
    ByRule,
}

/// One step of a group of parameters.
#[derive(Clone)]
pub struct Step {
    /// The number of this step, from 1, as an `f64` scalar.
    pub t: Var,
    pub(super) memory: Memory,
    pub(super) group: usize,
}

impl Step {
    /// `1 - beta^t`: what makes up for moments that begin at zero.
    pub fn bias_correction(&self, beta: f64) -> Result<Var> {
        (1.0 - pow(&Var::scalar(beta), &self.t)?).check()
    }

    /// A number that the group remembers from step to step; `first` at the beginning.
    pub fn number(&self, slot: &str, first: f64) -> Result<Var> {
        self.memory.number(&of_group(slot, self.group), first)
    }

    /// Remembers a number.
    pub fn put_number(&self, slot: &str, value: &Var) -> Result<()> {
        self.memory.put(&of_group(slot, self.group), value)
    }
}

/// What belongs to a group: `lr`, and `lr.1` for the next group.
pub(super) fn of_group(slot: &str, group: usize) -> String {
    match group {
        0 => slot.into(),
        _ => format!("{slot}.{group}"),
    }
}

/// The update of one parameter, or of some rows of it.
#[derive(Clone)]
pub struct Update {
    /// The parameter before the update. Decoupled weight decay is already in it.
    pub param: Var,
    /// The gradient, clipped, with coupled weight decay and penalties in it.
    pub grad: Var,
    /// The rate, a scalar of the parameter's element type.
    pub lr: Var,
    /// The weight decay, if the rule applies it itself, else zero.
    pub weight_decay: f64,
    pub(super) shared: Vec<Var>,
    pub(super) memory: Memory,
    pub(super) of: Param,
    /// The type of the whole parameter.
    pub(super) ty: Type,
    pub(super) rows: Option<Var>,
}

impl Update {
    /// What the group shares in this step.
    pub fn all_shared(&self) -> &[Var] {
        &self.shared
    }

    /// Number `i` of those that the group shares in this step.
    pub fn shared(&self, i: usize) -> Result<&Var> {
        self.shared.get(i).ok_or_else(|| {
            Error::internal(format!("the rule shares {} numbers, not {}", self.shared.len(), i + 1))
        })
    }

    /// What the optimizer remembers of this parameter under `slot`: a tensor of its type, filled
    /// with `first` at the beginning. Its state is named `optimizer.slot.parameter`.
    pub fn slot(&self, slot: &str, first: f64) -> Result<Var> {
        let (_, whole) = self.memory.slot(slot, &self.of, &self.ty, first)?;
        match &self.rows {
            Some(rows) => rows_of(&whole, rows),
            None => Ok(whole),
        }
    }

    /// [`slot`](Update::slot) of these sizes. For rules that look at whole parameters.
    pub fn slot_of(&self, slot: &str, dims: &[Dim], first: f64) -> Result<Var> {
        let ty = Type::new(self.ty.dtype(), dims)?;
        Ok(self.memory.slot(slot, &self.of, &ty, first)?.1)
    }

    /// What the parameter is called.
    pub fn name(&self) -> Arc<str> {
        self.of.name()
    }

    /// Remembers a value under `slot`, which was read before.
    pub fn put(&self, slot: &str, value: &Var) -> Result<()> {
        let place = self.memory.place(slot, Some(&self.of));
        match &self.rows {
            Some(rows) => with_rows(place, rows, value),
            None => place.assign(value),
        }
    }
}

/// The value in the element type of a parameter.
pub(super) fn in_dtype(value: &Var, dtype: DType) -> Result<Var> {
    match value.dtype() == dtype {
        true => Ok(value.clone()),
        false => cast(value, dtype),
    }
}

/// Refuses what is not in `[0, 1)`.
pub(in crate::optim) fn is_fraction(what: &str, value: f64) -> Result<()> {
    match (0.0..1.0).contains(&value) {
        true => Ok(()),
        false => Err(Error::argument(format!("{what} is {value:?}, but must be in [0, 1)"))),
    }
}

/// Refuses pairs that are not in `[0, 1)`.
pub(in crate::optim) fn are_betas(betas: (f64, f64)) -> Result<()> {
    is_fraction("the first of `betas`", betas.0)?;
    is_fraction("the second of `betas`", betas.1)
}

/// Refuses what is negative or not finite.
pub(in crate::optim) fn is_amount(what: &str, value: f64) -> Result<()> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(()),
        false => Err(Error::argument(format!("{what} is {value:?}, but must be zero or more"))),
    }
}

/// States a rule: the optimizer that follows it, with its class in Python, the class that this extends and
/// other names; the hyper-parameters with their defaults, and their other names in Python after a bar; and
/// other names of what all optimizers have. A builder method for each hyper-parameter follows.
macro_rules! optimizer {
    ($(#[$meta:meta])* pub $optimizer:ident = $name:literal $(extends $base:ident)? $(| $alias:ident)*;
    $rule:ident {
        $($(#[$field_meta:meta])* $field:ident $(| $other:ident)*: $ty:ty = $default:expr),* $(,)?
    }
    $(others($($of_all:ident $(| $also:ident)*),*))?) => {
        $(#[$meta])*
        pub type $optimizer = $crate::optim::Descent<$rule>;

        #[doc = concat!("The rule of [`", stringify!($optimizer), "`].")]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $rule { $($(#[$field_meta])* pub $field: $ty),* }

        impl Default for $rule {
            fn default() -> $rule {
                $rule { $($field: $default),* }
            }
        }

        impl $crate::optim::Kind for $rule {
            fn settings(&self) -> Vec<(&'static str, $crate::optim::Setting)> {
                vec![$((stringify!($field), self.$field.into())),*]
            }

            fn set(&mut self, name: &str, value: $crate::optim::Setting) -> fluvial_core::Result<()> {
                $(
                    if name == stringify!($field) {
                        self.$field = value.read(name)?;
                        return Ok(());
                    }
                )*
                let _ = value;
                Err($crate::optim::kind::no_setting(self, name))
            }

            fn boxed(&self) -> Box<dyn $crate::optim::Kind> {
                Box::new(self.clone())
            }
        }

        impl $crate::optim::Descent<$rule> {
            $(
                $(#[$field_meta])*
                #[must_use]
                pub fn $field(self, $field: $ty) -> Self {
                    self.with(|group| group.rule.$field = $field)
                }
            )*
        }
    };
}
pub(in crate::optim) use optimizer;
