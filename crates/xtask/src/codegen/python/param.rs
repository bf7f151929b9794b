//! How a parameter of an op's function looks in Python, and how it gets there.

use super::super::source::{File, Function, first_paragraph};

/// A parameter.
pub struct Param {
    /// The name in Python.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The default, in Rust and in Python.
    pub default: Option<(&'static str, &'static str)>,
    /// One sentence.
    pub doc: String,
}

/// What a parameter is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Value,
    Values,
    Int,
    Size,
    Float,
    Bool,
    Text,
    OptionalInt,
    OptionalText,
    Ints,
    /// The axes of a reduction: none for all, one, or several.
    Axes,
    Dim,
    Shape,
    DType,
    Type,
    TypeRef,
    Types,
}

/// Defaults by name and kind.
const DEFAULTS: [(&str, Kind, &str, &str); 6] = [
    ("step", Kind::Int, "1", "1"),
    ("mean", Kind::Float, "0.0", "0.0"),
    ("std", Kind::Float, "1.0", "1.0"),
    ("low", Kind::Float, "0.0", "0.0"),
    ("high", Kind::Float, "1.0", "1.0"),
    ("message", Kind::Text, "\"\"", "\"\""),
];

/// The parameters of a function.
pub fn params(file: &File, function: &Function) -> Result<Vec<Param>, String> {
    let reduces = function.params.iter().any(|(name, _)| name == "keepdims");
    let mut params = Vec::new();
    for (name, ty) in &function.params {
        let kind = match ty.as_str() {
            "&Var" => Kind::Value,
            "&[&Var]" => Kind::Values,
            "i64" => Kind::Int,
            "usize" => Kind::Size,
            "f64" => Kind::Float,
            "bool" => Kind::Bool,
            "&str" => Kind::Text,
            "Option<i64>" => Kind::OptionalInt,
            "Option<&str>" => Kind::OptionalText,
            "&[i64]" if reduces => Kind::Axes,
            "&[i64]" => Kind::Ints,
            "Dim" => Kind::Dim,
            "&[Dim]" => Kind::Shape,
            "DType" => Kind::DType,
            "Type" => Kind::Type,
            "&Type" => Kind::TypeRef,
            "&[Type]" => Kind::Types,
            other => return Err(format!("codegen/python/param.rs does not know `{other}`")),
        };
        let attributes = file.ops.iter().flat_map(|op| &op.attributes);
        let doc = attributes
            .filter(|(attribute, ..)| attribute == name)
            .map(|(.., doc)| first_paragraph(doc))
            .next()
            .unwrap_or_else(|| kind.doc().to_string());
        params.push(Param { name: py_name(name, kind), kind, default: kind.default(name), doc });
    }
    // Only the last parameters may have defaults.
    let first = params.iter().rposition(|param| param.default.is_none()).unwrap_or(0);
    params[..first].iter_mut().for_each(|param| param.default = None);
    Ok(params)
}

fn py_name(name: &str, kind: Kind) -> String {
    let renamed = match (name, kind) {
        ("axes", Kind::Axes) => "axis",
        ("dims", Kind::Shape) => "shape",
        ("ty", _) => "type",
        _ => name,
    };
    renamed.to_string()
}

impl Kind {
    fn default(self, name: &str) -> Option<(&'static str, &'static str)> {
        match self {
            Kind::Bool => Some(("false", "False")),
            Kind::OptionalInt | Kind::OptionalText | Kind::Axes => Some(("None", "None")),
            _ => DEFAULTS
                .iter()
                .find(|(known, kind, ..)| *known == name && *kind == self)
                .map(|&(.., rust, python)| (rust, python)),
        }
    }

    fn doc(self) -> &'static str {
        match self {
            Kind::Value => "A tensor, a number or an array.",
            Kind::Values => "Tensors, numbers or arrays.",
            Kind::Int | Kind::Size => "An int.",
            Kind::Float => "A number.",
            Kind::Bool => "True or False.",
            Kind::Text => "A text.",
            Kind::OptionalInt => "An int, or None.",
            Kind::OptionalText => "A text, or None.",
            Kind::Ints => "Ints.",
            Kind::Axes => "An axis, several, or None for all.",
            Kind::Dim => "A size: an int or the name of a symbol.",
            Kind::Shape => "Sizes: ints and names of symbols.",
            Kind::DType => "An element type.",
            Kind::Type | Kind::TypeRef => {
                "A type: \"f32[batch, 2]\", or a pair of dtype and shape."
            }
            Kind::Types => "Types: \"f32[batch, 2]\", or pairs of dtype and shape.",
        }
    }

    /// The type of the parameter of the Rust function that Python calls.
    pub fn rust_type(self) -> &'static str {
        match self {
            Kind::Value | Kind::Values => "&Bound<'_, PyAny>",
            Kind::Int => "i64",
            Kind::Size => "usize",
            Kind::Float => "f64",
            Kind::Bool => "bool",
            Kind::Text => "&str",
            Kind::OptionalInt => "Option<i64>",
            Kind::OptionalText => "Option<&str>",
            Kind::Ints => "Vec<i64>",
            Kind::Axes => "Option<&Bound<'_, PyAny>>",
            Kind::Dim => "DimArg",
            Kind::Shape => "ShapeArg",
            Kind::DType => "DTypeArg",
            Kind::Type | Kind::TypeRef => "TypeArg",
            Kind::Types => "Vec<TypeArg>",
        }
    }

    /// What the op's function gets, for a parameter of that name.
    pub fn rust_argument(self, name: &str) -> String {
        match self {
            Kind::Value | Kind::Values | Kind::Ints | Kind::Axes | Kind::Types => {
                format!("&{name}")
            }
            Kind::Dim | Kind::DType | Kind::Type => format!("{name}.0"),
            Kind::Shape | Kind::TypeRef => format!("&{name}.0"),
            _ => name.to_string(),
        }
    }

    /// The annotation in the stubs.
    pub fn annotation(self) -> &'static str {
        match self {
            Kind::Value => "TensorLike",
            Kind::Values => "Sequence[TensorLike]",
            Kind::Int | Kind::Size => "int",
            Kind::Float => "float",
            Kind::Bool => "builtins.bool",
            Kind::Text => "str",
            Kind::OptionalInt => "int | None",
            Kind::OptionalText => "str | None",
            Kind::Ints => "Sequence[int]",
            Kind::Axes => "int | Sequence[int] | None",
            Kind::Dim => "int | str",
            Kind::Shape => "Shape",
            Kind::DType => "DTypeLike",
            Kind::Type | Kind::TypeRef => "TypeLike",
            Kind::Types => "Sequence[TypeLike]",
        }
    }
}
