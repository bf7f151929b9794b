//! What functions with many options take: structs with defaults, words, and sizes per axis.

use fluvial_tensor::{Error, Result};
use smallvec::{SmallVec, smallvec};

use crate::attrs::{Attr, Attribute};

/// Declares the options of a function, each with its default:
///
/// ```
/// use fluvial_core::*;
///
/// options! {
///     /// How a window moves.
///     pub struct WindowOptions {
///         /// The distance between windows.
///         pub stride: PerAxis = 1.into(),
///         /// Whether a last, smaller window counts.
///         pub ceil_mode: bool = false,
///     }
/// }
///
/// let options = WindowOptions::default().stride([2, 3]);
/// assert_eq!(options.stride.of(2)?.as_slice(), [2, 3]);
/// assert_eq!(options, WindowOptions { stride: [2, 3].into(), ceil_mode: false });
/// # Ok::<(), Error>(())
/// ```
#[macro_export]
macro_rules! options {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* pub $field:ident: $ty:ty = $default:expr),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$field_meta])* pub $field: $ty),* }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default),* }
            }
        }

        impl $name {
            $(
                $(#[$field_meta])*
                #[must_use]
                pub fn $field(mut self, $field: impl Into<$ty>) -> $name {
                    self.$field = $field.into();
                    self
                }
            )*
        }
    };
}

/// Declares an option that is one of a few words. It may be an attribute of an op, too.
///
/// ```
/// use fluvial_core::*;
///
/// choices! {
///     /// What becomes of the losses of a batch.
///     pub enum Reduction {
///         /// Their mean.
///         Mean = "mean",
///         /// Their sum.
///         Sum = "sum",
///     }
/// }
///
/// assert_eq!("sum".parse::<Reduction>()?, Reduction::Sum);
/// let fault = "total".parse::<Reduction>().unwrap_err();
/// assert_eq!(fault.to_string(), "`total` is none of: mean, sum");
/// # Ok::<(), Error>(())
/// ```
#[macro_export]
macro_rules! choices {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_meta])* $variant),* }

        impl $name {
            /// The word for it, in files and in Python.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Error;
            fn from_str(word: &str) -> $crate::Result<$name> {
                let words: &[&str] = &[$($word),*];
                match word {
                    $($word => Ok($name::$variant),)*
                    _ => Err($crate::Error::argument(format!(
                        "`{word}` is none of: {}", words.join(", ")
                    ))),
                }
            }
        }

        impl $crate::Attribute for $name {
            const EXPECTED: &'static str = concat!("one of:" $(, " ", $word)*);
            fn to_attr(&self) -> $crate::Attr {
                $crate::Attr::Str(self.word().into())
            }
            fn from_attr(attr: &$crate::Attr) -> Option<$name> {
                match attr {
                    $crate::Attr::Str(word) => word.parse().ok(),
                    _ => None,
                }
            }
        }
    };
}

/// A number per axis, or one for all axes.
///
/// ```
/// use fluvial_core::PerAxis;
///
/// assert_eq!(PerAxis::from(3).of(2)?.as_slice(), [3, 3]);
/// assert_eq!(PerAxis::from([1, 2]).of(2)?.as_slice(), [1, 2]);
/// assert!(PerAxis::from([1, 2]).of(3).is_err());
/// # Ok::<(), fluvial_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PerAxis(SmallVec<[usize; 4]>);

impl PerAxis {
    /// The numbers for so many axes.
    pub fn of(&self, axes: usize) -> Result<SmallVec<[usize; 4]>> {
        match self.0.as_slice() {
            [one] => Ok(SmallVec::from_elem(*one, axes)),
            several if several.len() == axes => Ok(self.0.clone()),
            several => Err(Error::argument(format!(
                "{} numbers {several:?} were given for {axes} axes",
                several.len()
            ))
            .remedy("give one for all axes, or one for each")),
        }
    }

    /// The numbers as they were given.
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }
}

impl From<usize> for PerAxis {
    fn from(one: usize) -> PerAxis {
        PerAxis(smallvec![one])
    }
}

impl<const N: usize> From<[usize; N]> for PerAxis {
    fn from(several: [usize; N]) -> PerAxis {
        PerAxis(SmallVec::from_slice(&several))
    }
}

impl From<&[usize]> for PerAxis {
    fn from(several: &[usize]) -> PerAxis {
        PerAxis(SmallVec::from_slice(several))
    }
}

impl From<Vec<usize>> for PerAxis {
    fn from(several: Vec<usize>) -> PerAxis {
        PerAxis(SmallVec::from_vec(several))
    }
}

impl Attribute for PerAxis {
    const EXPECTED: &'static str = "a list of sizes";

    fn to_attr(&self) -> Attr {
        self.0.to_vec().to_attr()
    }

    fn from_attr(attr: &Attr) -> Option<PerAxis> {
        Vec::<usize>::from_attr(attr).map(PerAxis::from)
    }
}
