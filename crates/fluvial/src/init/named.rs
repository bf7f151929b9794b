//! Initialisers by name, with options by name.

use std::sync::Arc;

use fluvial_core::{Attr, Attrs, Error, Result};

use super::{Fan, Gain, Initializer};

/// The names, each with its options.
const KNOWN: &[(&str, &[&str])] = &[
    ("", &["value"]),
    ("zeros", &[]),
    ("ones", &[]),
    ("constant", &["value"]),
    ("uniform", &["low", "high"]),
    ("normal", &["mean", "std"]),
    ("truncated_normal", &["mean", "std", "low", "high"]),
    ("xavier_uniform", &["gain"]),
    ("xavier_normal", &["gain"]),
    ("kaiming_uniform", &["fan", "function", "slope"]),
    ("kaiming_normal", &["fan", "function", "slope"]),
    ("orthogonal", &["gain"]),
    ("eye", &[]),
];

impl Initializer {
    /// The initialiser of a name, as functions of this type are called, with options that differ from the usual ones. An
    /// empty name stands for a given value.
    ///
    /// ```
    /// use fluvial::core::{Attr, Attrs};
    /// use fluvial::prelude::*;
    ///
    /// let mut options = Attrs::new();
    /// options.push("value", Attr::Float(0.5));
    /// let half = Initializer::named("constant", &options)?;
    /// assert_eq!(half.draw(&Type::of(DType::F32, &[2])?)?.to_vec::<f32>()?, [0.5, 0.5]);
    /// assert!(Initializer::named("halves", &options).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn named(name: &str, options: &Attrs) -> Result<Initializer> {
        let Some((_, known)) = KNOWN.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).skip(1).collect();
            return Err(Error::argument(format!("no initialiser is named `{name}`"))
                .remedy(format!("use one of {}, or a value", names.join(", "))));
        };
        if let Some((other, _)) = options.iter().find(|(given, _)| !known.contains(given)) {
            let known = if known.is_empty() { "it has none".into() } else { known.join(", ") };
            return Err(Error::argument(format!("`{name}` has no option `{other}`"))
                .remedy(format!("its options: {known}")));
        }
        let number = |option: &str, usual: f64| match options.get(option) {
            None => Ok(usual),
            Some(Attr::Float(value)) => Ok(*value),
            Some(Attr::Int(value)) => Ok(*value as f64),
            Some(_) => Err(Error::argument(format!("`{option}` of `{name}` is a number"))),
        };
        let word = |option: &str, usual: &str| match options.get(option) {
            None => Ok(Arc::from(usual)),
            Some(Attr::Str(word)) => Ok(word.clone()),
            Some(_) => Err(Error::argument(format!("`{option}` of `{name}` is a text"))),
        };
        let scaled = |normal: bool| {
            let fan: Fan = word("fan", "fan_in")?.parse()?;
            let gain = Gain::named(&word("function", "relu")?, number("slope", 0.01)?)?;
            Ok::<_, Error>(Initializer::Scaled { gain: gain.factor(), fan, normal })
        };
        Ok(match name {
            "" => match options.get("value") {
                Some(Attr::Tensor(value)) => Initializer::assign(value.clone()),
                _ => Initializer::constant(number("value", 0.0)?),
            },
            "zeros" => Initializer::zeros(),
            "ones" => Initializer::ones(),
            "constant" => Initializer::constant(number("value", 0.0)?),
            "uniform" => Initializer::uniform(number("low", -1.0)?, number("high", 1.0)?),
            "normal" => Initializer::normal(number("mean", 0.0)?, number("std", 1.0)?),
            "truncated_normal" => Initializer::truncated_normal(
                number("mean", 0.0)?,
                number("std", 1.0)?,
                number("low", -2.0)?,
                number("high", 2.0)?,
            ),
            "xavier_uniform" => Initializer::xavier_uniform(number("gain", 1.0)?),
            "xavier_normal" => Initializer::xavier_normal(number("gain", 1.0)?),
            "kaiming_uniform" => scaled(false)?,
            "kaiming_normal" => scaled(true)?,
            "orthogonal" => Initializer::orthogonal(number("gain", 1.0)?),
            _ => Initializer::eye(),
        })
    }
}
