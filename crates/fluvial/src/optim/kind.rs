//! Optimizers by name, with settings by name: for front ends, which choose them when they run.

use std::fmt;

use fluvial_core::{Error, Result, Var};

use super::rule::{AtOnce, Decay, Rule, Step, Update};
use super::rules::RULES;

/// A rule whose hyper-parameters are known by name.
pub trait Kind: Rule {
    /// The hyper-parameters, in order.
    fn settings(&self) -> Vec<(&'static str, Setting)>;

    /// Changes one.
    fn set(&mut self, name: &str, value: Setting) -> Result<()>;

    /// The same rule.
    fn boxed(&self) -> Box<dyn Kind>;
}

/// A hyper-parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// A number.
    Number(f64),
    /// Two numbers.
    Pair(f64, f64),
    /// Yes or no.
    Flag(bool),
}

impl Setting {
    /// The setting as a value of the type of the hyper-parameter `name`.
    pub(super) fn read<T: TryFrom<Setting> + Worded>(self, name: &str) -> Result<T> {
        T::try_from(self)
            .map_err(|_| Error::argument(format!("`{name}` is {}, not {self}", T::WORDS)))
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Number(x) => write!(f, "{x}"),
            Setting::Pair(a, b) => write!(f, "({a}, {b})"),
            Setting::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

/// A type of hyper-parameters, in words.
pub(super) trait Worded {
    const WORDS: &'static str;
}

macro_rules! setting {
    ($ty:ty, $words:literal, $pattern:pat => $value:expr, $from:expr) => {
        impl Worded for $ty {
            const WORDS: &'static str = $words;
        }

        impl From<$ty> for Setting {
            fn from(value: $ty) -> Setting {
                $from(value)
            }
        }

        impl TryFrom<Setting> for $ty {
            type Error = ();

            fn try_from(setting: Setting) -> std::result::Result<$ty, ()> {
                match setting {
                    $pattern => Ok($value),
                    _ => Err(()),
                }
            }
        }
    };
}
setting!(f64, "a number", Setting::Number(x) => x, Setting::Number);
setting!((f64, f64), "two numbers", Setting::Pair(a, b) => (a, b), |(a, b)| Setting::Pair(a, b));
setting!(bool, "true or false", Setting::Flag(flag) => flag, Setting::Flag);

#[cold]
pub(super) fn no_setting(kind: &dyn Kind, name: &str) -> Error {
    let known: Vec<&str> = kind.settings().into_iter().map(|(known, _)| known).collect();
    Error::argument(format!("the optimizer `{}` has no option `{name}`", kind.name()))
        .remedy(format!("its options are {}", known.join(", ")))
}

/// A rule that is chosen when the program runs.
#[derive(Debug)]
pub struct AnyRule(Box<dyn Kind>);

impl AnyRule {
    /// This rule.
    pub fn new(kind: impl Kind) -> AnyRule {
        AnyRule(Box::new(kind))
    }

    /// The rule of an optimizer, by the name of its kind.
    pub fn named(name: &str) -> Option<AnyRule> {
        let known = RULES.iter().map(|make| make());
        known.into_iter().find(|rule| rule.name() == name)
    }

    /// Its hyper-parameters, in order.
    pub fn settings(&self) -> Vec<(&'static str, Setting)> {
        self.0.settings()
    }

    /// Changes one of its hyper-parameters.
    pub fn set(&mut self, name: &str, value: Setting) -> Result<()> {
        self.0.set(name, value)
    }
}

impl Clone for AnyRule {
    fn clone(&self) -> AnyRule {
        AnyRule(self.0.boxed())
    }
}

impl Rule for AnyRule {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn decay(&self) -> Decay {
        self.0.decay()
    }

    fn weight_decay(&self) -> f64 {
        self.0.weight_decay()
    }

    fn rate(&self) -> f64 {
        self.0.rate()
    }

    fn is_elementwise(&self) -> bool {
        self.0.is_elementwise()
    }

    fn remembers(&self) -> bool {
        self.0.remembers()
    }

    fn calls_back(&self) -> bool {
        self.0.calls_back()
    }

    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn shared(&self, step: &Step) -> Result<Vec<Var>> {
        self.0.shared(step)
    }

    fn update(&self, u: &Update) -> Result<Var> {
        self.0.update(u)
    }

    fn at_once(&self, weight_decay: f64, decoupled: bool) -> Option<AtOnce> {
        self.0.at_once(weight_decay, decoupled)
    }
}
