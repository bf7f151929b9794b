//! How a layer is stated: once, for Rust and for Python.
//!
//! A file of `nn/layers` states options (`layer!`), the parameters and buffers that follow from them
//! ([`Statement::declare`]) and the call ([`Statement::call`]). The type that Rust's users handle is
//! [`Stated`]; its builders, the classes of Python and the reference page are generated from the file.

mod call;
mod erased;
mod function;
mod made;
mod parts;

pub use call::{Call, Callable, Value};
pub use erased::{AnyStatement, Inner, InputKind, Kind, MakeStatement, OptionKind};
pub use function::Function;
pub use made::Stated;
pub use parts::{Declared, Inits, Part, Parts, Within};

use std::any::Any;
use std::fmt;

use fluvial_core::{Attr, Attribute, Error, PerAxis, Result};

/// The options of a layer by their names, in untyped form. Written by `layer!`.
pub trait Settings: Clone + PartialEq + Default + fmt::Debug + Send + Sync + 'static {
    /// What is known of the layer without its options.
    const KIND: Kind;

    /// The option of this name.
    fn get(&self, name: &str) -> Option<Attr>;

    /// Changes the option of this name; an error says what it takes.
    fn set(&mut self, name: &str, attr: &Attr) -> Result<()>;
}

/// What a layer of these options has and does.
pub trait Statement: Settings {
    /// Writes options in one way, such as one number for each axis.
    fn normalise(&mut self) {}

    /// What is said of an option in another way, such as `padding = "same"`: the options that it stands for.
    fn reworded(name: &str, attr: &Attr) -> Option<Vec<(&'static str, Attr)>> {
        let _ = (name, attr);
        None
    }

    /// Its parameters, buffers and layers; or why the options do not fit.
    fn declare(&self, parts: &mut Parts) -> Result<()> {
        let _ = parts;
        Ok(())
    }

    /// The options with what they leave open said by the inputs of the first call; nothing if they
    /// leave nothing open.
    fn complete(&self, inputs: &[Value]) -> Result<Option<Self>> {
        let _ = inputs;
        Ok(None)
    }

    /// Whether the layer is a function of its first input alone, if others are left out.
    fn is_function_of_one(&self) -> bool {
        Self::KIND.inputs.get(1).is_none_or(|input| !input.takes.is_empty())
    }

    /// The output, in both modes.
    fn call(&self, with: &Call<'_>) -> Result<Value>;
}

/// The untyped form of an option: one number for all axes is that number.
pub(super) fn shown<T: Attribute + Any>(option: &T) -> Attr {
    match (option as &dyn Any).downcast_ref::<PerAxis>().map(PerAxis::as_slice) {
        Some([]) => Attr::None,
        Some([one]) => one.to_attr(),
        _ => option.to_attr(),
    }
}

/// The typed form of an option; a number may stand for a list of one.
pub(super) fn read<T: Attribute>(name: &str, attr: &Attr) -> Result<T> {
    let listed = || match attr {
        Attr::Int(_) | Attr::Float(_) => T::from_attr(&Attr::List(vec![attr.clone()])),
        Attr::None => T::from_attr(&Attr::List(Vec::new())),
        _ => None,
    };
    T::from_attr(attr).or_else(listed).ok_or_else(|| {
        Error::argument(format!("`{name}` is {}, but should be {}", text_of(attr), T::EXPECTED))
    })
}

fn text_of(attr: &Attr) -> String {
    match attr {
        Attr::None => "nothing".to_string(),
        Attr::Bool(flag) => flag.to_string(),
        Attr::Int(number) => number.to_string(),
        Attr::Float(number) => format!("{number:?}"),
        Attr::Str(text) => format!("\"{text}\""),
        Attr::List(items) => {
            format!("[{}]", items.iter().map(text_of).collect::<Vec<_>>().join(", "))
        }
        other => format!("{other:?}"),
    }
}

/// States layers that share their options: for each its type in Rust, a number if there are several,
/// its name in Python, the class of Python that it extends, and other names; then
///
/// - the struct of the options, which has the layer's number as `N`, and the options with their
///   defaults, in the order in which Python takes them, with other names after a bar, and with a number if
///   only the layer of that number has it;
/// - `new`: what its constructor takes in Rust: `at`, if it has a place, and options;
/// - `values`: tensors that users give it, which Python takes before the options;
/// - `attrs`: what is said of its parameters, as arguments in Python and builders in Rust;
/// - `parts`: the parameters and buffers that it always knows by name; `Option` ones may be missing;
/// - `layers`: the layers within, and options that are functions (`Function`), which users may replace;
/// - `forward`: the inputs and the output of a call; after a comma and a number, those of the layer of that
///   number; for a layer without parameters also the body, which has all inputs by name.
macro_rules! layer {
    (@n) => { 0 };
    (@n $n:literal) => { $n };
    (@only) => { None };
    (@only $n:literal) => { Some($n) };
    (@inputs ($($input:ident $(| $other:ident)* $(: $takes:ident)?),*)) => {
        &[$($crate::nn::stated::InputKind {
            name: stringify!($input),
            others: &[$(stringify!($other)),*],
            takes: concat!("" $(, stringify!($takes))?),
        }),*]
    };
    (@bind $with:ident ($($input:ident $(| $other:ident)*),*)) => {
        let mut i = 0..;
        $(let $input = $with.input(i.next().unwrap_or_default())?;)*
    };
    (@default $ty:ty) => { <$ty>::default() };
    (@default $ty:ty, $default:expr) => { $default };
    (@shown $ty:ty) => { None };
    (@shown $ty:ty, $default:expr) => {
        Some(|| { let default: $ty = $default; $crate::nn::stated::shown(&default) })
    };
    ($($(#[$doc:meta])* pub $layer:ident $(($n:literal))? = $name:literal
        $(extends $base:ident)? $(| $alias:ident)*;)+
    $options:ident {
        $($(#[$about:meta])* $field:ident $(($only:literal))? $(| $other:ident)*:
            $ty:ty $(= $default:expr)?,)*
    }
    new($($argument:ident),*)
    $(values($($value:ident),*))?
    $(attrs($($attr:ident),*))?
    $(parts($($part:ident $(: $may:ident)?),*))?
    $(layers($($within:ident $(($of_one:literal))?: $is:ident),*))?
    forward $inputs:tt -> $output:tt $(, $of:literal $others:tt -> $gives:tt)*
        $(= |$spec:ident, $with:ident| $body:expr)?) => {
        $($(#[$doc])*
        pub type $layer = $crate::nn::Stated<$options<{ layer!(@n $($n)?) }>>;
        $(#[doc = concat!("Another name of [`", stringify!($layer), "`].")]
        pub type $alias = $layer;)*)+

        /// Options; see the layers that have them.
        #[derive(Clone, Debug, PartialEq)]
        pub struct $options<const N: usize = 0> { $($(#[$about])* pub $field: $ty,)* }

        impl<const N: usize> Default for $options<N> {
            fn default() -> $options<N> {
                $options { $($field: layer!(@default $ty $(, $default)?),)* }
            }
        }

        impl<const N: usize> $crate::nn::stated::Settings for $options<N> {
            const KIND: $crate::nn::Kind = $crate::nn::Kind {
                name: match N { $(layer!(@n $($n)?) => $name,)+ _ => "" },
                values: &[$($(stringify!($value)),*)?],
                number: N,
                all_options: &[$($crate::nn::OptionKind {
                    name: stringify!($field),
                    others: &[$(stringify!($other)),*],
                    default: layer!(@shown $ty $(, $default)?),
                    only: layer!(@only $($only)?),
                }),*],
                attrs: &[$($(stringify!($attr)),*)?],
                parts: &[$($(stringify!($part)),*)?],
                layers: &[$($((stringify!($within), stringify!($is))),*)?],
                inputs: match N { $($of => layer!(@inputs $others),)* _ => layer!(@inputs $inputs) },
            };

            fn get(&self, _name: &str) -> Option<fluvial_core::Attr> {
                $(if _name == stringify!($field) {
                    return Some($crate::nn::stated::shown(&self.$field));
                })*
                None
            }

            fn set(&mut self, name: &str, _attr: &fluvial_core::Attr) -> fluvial_core::Result<()> {
                $(if name == stringify!($field) {
                    self.$field = $crate::nn::stated::read(name, _attr)?;
                    return Ok(());
                })*
                Err(fluvial_core::Error::argument(format!("there is no option `{name}`")))
            }
        }

        $(impl<const N: usize> $crate::nn::stated::Statement for $options<N> {
            fn call(
                &self,
                $with: &$crate::nn::stated::Call<'_>,
            ) -> fluvial_core::Result<$crate::nn::stated::Value> {
                let $spec = self;
                layer!(@bind $with $inputs);
                Ok(($body)?.into())
            }
        })?
    };
}
pub(super) use layer;

/// So many times a size, if that is one.
pub(crate) fn times(count: usize, size: usize) -> Result<usize> {
    match size.checked_mul(count).filter(|&all| all <= isize::MAX as usize) {
        Some(all) => Ok(all),
        None => Err(Error::argument(format!("{count} times {size} is more than a size can be"))),
    }
}
