//! Attributes: the typed, comparable fields of an op, and their untyped form in files.

use std::borrow::Cow;
use std::sync::Arc;

use fluvial_tensor::{DType, Dim, Error, Result, Tensor, Type};

use crate::block::Block;

/// One attribute in untyped form, as it stands in a program file.
#[derive(Clone, Debug)]
pub enum Attr {
    /// An absent optional attribute.
    None,
    /// `true` or `false`.
    Bool(bool),
    /// An integer, also a known size.
    Int(i64),
    /// A double; compared by bits, so NaN equals itself.
    Float(f64),
    /// A string.
    Str(Arc<str>),
    /// A size that is a symbol or an expression of symbols.
    Dim(Dim),
    /// An element type.
    DType(DType),
    /// A type.
    Type(Type),
    /// The value of a constant.
    Tensor(Tensor),
    /// A list of attributes.
    List(Vec<Attr>),
    /// A block of ops: the body of a loop or a branch.
    Block(Arc<Block>),
}

impl PartialEq for Attr {
    fn eq(&self, other: &Attr) -> bool {
        match (self, other) {
            (Attr::None, Attr::None) => true,
            (Attr::Bool(a), Attr::Bool(b)) => a == b,
            (Attr::Int(a), Attr::Int(b)) => a == b,
            (Attr::Float(a), Attr::Float(b)) => a.to_bits() == b.to_bits(),
            (Attr::Str(a), Attr::Str(b)) => a == b,
            (Attr::Dim(a), Attr::Dim(b)) => a == b,
            (Attr::DType(a), Attr::DType(b)) => a == b,
            (Attr::Type(a), Attr::Type(b)) => a == b,
            (Attr::Tensor(a), Attr::Tensor(b)) => a.bitwise_eq(b),
            (Attr::List(a), Attr::List(b)) => a == b,
            (Attr::Block(a), Attr::Block(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => false,
        }
    }
}

impl Attr {
    /// Whether a symbol occurs in it.
    pub fn is_symbolic(&self) -> bool {
        match self {
            Attr::Dim(_) => true,
            Attr::Type(ty) => ty.is_symbolic(),
            Attr::List(items) => items.iter().any(Attr::is_symbolic),
            Attr::Block(block) => block.is_symbolic(),
            _ => false,
        }
    }

    /// The attribute with symbols replaced by what `f` says of them.
    pub fn substitute(&self, f: &dyn Fn(Dim) -> Option<Dim>) -> Result<Attr> {
        Ok(match self {
            Attr::Dim(dim) => dim.substitute(f)?.to_attr(),
            Attr::Type(ty) => Attr::Type(ty.substitute(f)?),
            Attr::List(items) => {
                Attr::List(items.iter().map(|item| item.substitute(f)).collect::<Result<_>>()?)
            }
            Attr::Block(block) if block.is_symbolic() => {
                Attr::Block(Arc::new(block.substitute(f)?))
            }
            other => other.clone(),
        })
    }

    fn symbols(&self, found: &mut Vec<Dim>) {
        match self {
            Attr::Dim(dim) => found.extend(dim.symbols()),
            Attr::Type(ty) => found.extend(ty.dims().iter().flat_map(|dim| dim.symbols())),
            Attr::List(items) => items.iter().for_each(|item| item.symbols(found)),
            Attr::Block(block) => {
                found.extend(
                    block.types.iter().flat_map(|ty| ty.dims().to_vec()).flat_map(Dim::symbols),
                );
                block.calls.iter().for_each(|call| call.op.attrs().symbols(found));
            }
            _ => {}
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Attr::None => "none",
            Attr::Bool(_) => "a bool",
            Attr::Int(_) => "an integer",
            Attr::Float(_) => "a float",
            Attr::Str(_) => "a string",
            Attr::Dim(_) => "a symbolic size",
            Attr::DType(_) => "an element type",
            Attr::Type(_) => "a type",
            Attr::Tensor(_) => "a tensor",
            Attr::List(_) => "a list",
            Attr::Block(_) => "a block",
        }
    }
}

/// The attributes of one op, by name, in the order of its fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attrs(Vec<(Cow<'static, str>, Attr)>);

impl Attrs {
    /// No attributes.
    pub const fn new() -> Attrs {
        Attrs(Vec::new())
    }

    /// Adds an attribute at the end.
    pub fn push(&mut self, name: impl Into<Cow<'static, str>>, attr: Attr) {
        self.0.push((name.into(), attr));
    }

    /// Adds a field of an op; `attributes!` calls it for each. A field with its plain value is left
    /// out, so that listings show what matters and old files lack what came later.
    pub fn push_field<T: Attribute>(&mut self, name: &'static str, value: &T) {
        let attr = value.to_attr();
        if T::PLAIN.as_ref() != Some(&attr) {
            self.push(name, attr);
        }
    }

    /// The attribute of that name.
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, attr)| attr)
    }

    /// Names and attributes, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Attr)> {
        self.0.iter().map(|(name, attr)| (name.as_ref(), attr))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a symbol occurs in any of them.
    pub fn is_symbolic(&self) -> bool {
        self.0.iter().any(|(_, attr)| attr.is_symbolic())
    }

    /// Adds the symbols that occur in them.
    pub fn symbols(&self, found: &mut Vec<Dim>) {
        self.0.iter().for_each(|(_, attr)| attr.symbols(found));
    }

    /// The attributes with symbols replaced by what `f` says of them.
    pub fn substitute(&self, f: &dyn Fn(Dim) -> Option<Dim>) -> Result<Attrs> {
        let replace =
            |(name, attr): &(Cow<'static, str>, Attr)| Ok((name.clone(), attr.substitute(f)?));
        self.0.iter().map(replace).collect::<Result<_>>().map(Attrs)
    }

    /// Reads the typed value of attribute `name`; `attributes!` calls it for each field. An
    /// attribute that is not there has its plain value, if its type has one.
    pub fn field<T: Attribute>(&self, op: &str, name: &'static str) -> Result<T> {
        let Some(attr) = self.get(name) else {
            return T::PLAIN
                .as_ref()
                .and_then(T::from_attr)
                .ok_or_else(|| Error::argument(format!("op `{op}` needs the attribute `{name}`")));
        };
        T::from_attr(attr).ok_or_else(|| {
            Error::argument(format!("attribute `{name}` of op `{op}` {}", T::fault(attr)))
        })
    }

    /// Refuses attributes that are not among `fields`, and repeated ones.
    pub fn only(&self, op: &str, fields: &[&str]) -> Result<()> {
        for (i, (name, _)) in self.0.iter().enumerate() {
            if !fields.contains(&name.as_ref()) {
                let known = fields.join(", ");
                return Err(Error::argument(format!("op `{op}` has no attribute `{name}`"))
                    .remedy(format!("its attributes are: {known}")));
            }
            if self.0[..i].iter().any(|(earlier, _)| earlier == name) {
                return Err(Error::argument(format!(
                    "attribute `{name}` of op `{op}` is given twice"
                )));
            }
        }
        Ok(())
    }
}

/// A type that may be a field of an op.
pub trait Attribute: Sized {
    /// What a file should hold, for error texts: "an integer".
    const EXPECTED: &'static str;

    /// The value of an attribute that is not there: none, no elements, false. Other types have to
    /// be stated.
    const PLAIN: Option<Attr> = None;

    /// The untyped form.
    fn to_attr(&self) -> Attr;

    /// The typed form, if the untyped one fits.
    fn from_attr(attr: &Attr) -> Option<Self>;

    /// Why the untyped form does not fit, behind the name of the attribute.
    fn fault(attr: &Attr) -> String {
        let found = match attr {
            Attr::Int(value) => value.to_string(),
            other => other.kind().to_string(),
        };
        format!("should be {}, found {found}", Self::EXPECTED)
    }
}

/// Implements `Attribute` for a type that has a variant of `Attr` of its own.
macro_rules! own_variant {
    ($($ty:ty, $expected:literal, $variant:ident;)*) => {$(
        impl Attribute for $ty {
            const EXPECTED: &'static str = $expected;
            fn to_attr(&self) -> Attr {
                Attr::$variant(self.clone())
            }
            fn from_attr(attr: &Attr) -> Option<$ty> {
                match attr {
                    Attr::$variant(value) => Some(value.clone()),
                    _ => None,
                }
            }
        }
    )*};
}

impl Attribute for bool {
    const EXPECTED: &'static str = "a bool";
    const PLAIN: Option<Attr> = Some(Attr::Bool(false));

    fn to_attr(&self) -> Attr {
        Attr::Bool(*self)
    }

    fn from_attr(attr: &Attr) -> Option<bool> {
        match attr {
            Attr::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

own_variant! {
    i64, "an integer", Int;
    Arc<str>, "a string", Str;
    DType, "an element type", DType;
    Type, "a type", Type;
    Tensor, "a tensor", Tensor;
    Arc<Block>, "a block", Block;
}

impl Attribute for f64 {
    const EXPECTED: &'static str = "a float";

    fn to_attr(&self) -> Attr {
        Attr::Float(*self)
    }

    fn from_attr(attr: &Attr) -> Option<f64> {
        match attr {
            Attr::Float(value) => Some(*value),
            Attr::Int(value) => Some(*value as f64),
            _ => None,
        }
    }
}

impl Attribute for usize {
    const EXPECTED: &'static str = "an integer that is not negative";

    fn to_attr(&self) -> Attr {
        Attr::Int(*self as i64)
    }

    fn from_attr(attr: &Attr) -> Option<usize> {
        i64::from_attr(attr).and_then(|value| usize::try_from(value).ok())
    }
}

impl Attribute for Dim {
    const EXPECTED: &'static str = "a size";

    fn to_attr(&self) -> Attr {
        match self.value() {
            Some(size) => Attr::Int(size as i64),
            None => Attr::Dim(*self),
        }
    }

    fn from_attr(attr: &Attr) -> Option<Dim> {
        match attr {
            Attr::Dim(dim) => Some(*dim),
            _ => usize::from_attr(attr).map(Dim::size),
        }
    }
}

impl<T: Attribute> Attribute for Vec<T> {
    const EXPECTED: &'static str = "a list";
    const PLAIN: Option<Attr> = Some(Attr::List(Vec::new()));

    fn to_attr(&self) -> Attr {
        Attr::List(self.iter().map(T::to_attr).collect())
    }

    fn from_attr(attr: &Attr) -> Option<Vec<T>> {
        match attr {
            Attr::List(items) => items.iter().map(T::from_attr).collect(),
            _ => None,
        }
    }

    fn fault(attr: &Attr) -> String {
        let Attr::List(items) = attr else {
            return format!("should be {}, found {}", Self::EXPECTED, attr.kind());
        };
        // That it is a list is not what is wrong.
        let faulty = items.iter().enumerate().find(|(_, item)| T::from_attr(item).is_none());
        let (at, item) = faulty.unwrap_or((0, attr));
        format!("is wrong at position {at}: it {}", T::fault(item))
    }
}

impl<T: Attribute> Attribute for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;
    const PLAIN: Option<Attr> = Some(Attr::None);

    fn to_attr(&self) -> Attr {
        self.as_ref().map_or(Attr::None, T::to_attr)
    }

    fn from_attr(attr: &Attr) -> Option<Option<T>> {
        match attr {
            Attr::None => Some(None),
            _ => T::from_attr(attr).map(Some),
        }
    }

    fn fault(attr: &Attr) -> String {
        T::fault(attr)
    }
}

/// Declares the struct of an op with attributes and implements [`Attributes`](crate::Attributes)
/// for it:
///
/// ```
/// use fluvial_core::*;
///
/// attributes! {
///     /// Multiplies by a number.
///     pub struct Scale = "my.scale" {
///         /// The factor.
///         pub by: f64,
///     }
/// }
///
/// impl Op for Scale {
///     // Here stand `arity`, `infer`, `eval` and `grad`.
/// #   fn arity(&self) -> Arity { Arity::Exactly(1) }
/// #   fn infer(&self, inputs: &[&Type]) -> Result<Types> { Ok(Types::from_elem(*inputs[0], 1)) }
/// #   fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
/// #       Ok(Values::from_elem(inputs[0].clone(), 1))
/// #   }
/// #   fn grad(&self) -> Grad { Grad::NonDifferentiable("only shown") }
/// }
///
/// let mut attrs = Attrs::new();
/// attrs.push("by", Attr::Float(2.0));
/// assert_eq!(Scale::build(&attrs)?, OpRef::new(Scale { by: 2.0 }));
/// # Ok::<(), Error>(())
/// ```
///
/// The struct gets `NAME`, and `build`, which makes the op from attributes read from a file.
#[macro_export]
macro_rules! attributes {
    ($(#[$meta:meta])* $vis:vis struct $name:ident = $text:literal {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $vis struct $name { $($(#[$field_meta])* $field_vis $field: $ty),* }

        impl $name {
            /// The name of the op in programs.
            pub const NAME: &'static str = $text;

            /// The op with attributes read from a program file.
            pub fn build(attrs: &$crate::Attrs) -> $crate::Result<$crate::OpRef> {
                attrs.only($text, &[$(stringify!($field)),*])?;
                Ok($crate::OpRef::new($name { $($field: attrs.field($text, stringify!($field))?),* }))
            }
        }

        impl $crate::Attributes for $name {
            fn name(&self) -> &'static str {
                $text
            }
            fn attrs(&self) -> $crate::Attrs {
                #[allow(unused_mut)]
                let mut attrs = $crate::Attrs::new();
                $(attrs.push_field(stringify!($field), &self.$field);)*
                attrs
            }
            fn rebuild(&self, attrs: &$crate::Attrs) -> $crate::Result<$crate::OpRef> {
                $name::build(attrs)
            }
        }
    };
}
