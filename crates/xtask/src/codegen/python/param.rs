//! How a parameter of an op's function looks in Python, and how it gets there.

use super::super::source::{File, Function, Ops, OptionField, Options, first_paragraph};

/// A parameter.
pub struct Param {
    /// The name in Python.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The type in Rust.
    pub ty: String,
    /// The default, in Rust and in Python.
    pub default: Option<(String, String)>,
    /// One sentence.
    pub doc: String,
    /// The struct of options whose field it is.
    pub field_of: Option<String>,
}

/// What a parameter is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Value,
    OptionalValue,
    Values,
    Int,
    Size,
    Float,
    Number,
    Bool,
    Text,
    OptionalInt,
    OptionalSize,
    OptionalFloat,
    OptionalText,
    Texts,
    OptionalDType,
    Ints,
    Sizes,
    Floats,
    /// Fields of options own their numbers.
    OwnInts,
    OwnSizes,
    OwnFloats,
    PerAxis,
    /// One of a few words.
    Choice,
    /// The axes of a reduction: none for all, one, or several.
    Axes,
    Dim,
    Shape,
    /// A number that may depend on sizes.
    Whole,
    Wholes,
    DType,
    Type,
    TypeRef,
    Types,
}

/// Defaults by name, with that of the function where it is not the same everywhere: in Rust and in
/// Python.
const DEFAULTS: [(&str, &str, &str); 62] = [
    ("cosine_similarity.eps", "1e-8", "1e-8"),
    ("step", "1", "1"),
    ("message", "\"\"", "\"\""),
    ("correction", "0.0", "0.0"),
    ("eps", "1e-5", "1e-5"),
    ("offset", "0", "0"),
    ("largest", "true", "True"),
    ("minlength", "0", "0"),
    ("normal.mean", "0.0", "0.0"),
    ("normal.std", "1.0", "1.0"),
    ("truncated_normal.mean", "0.0", "0.0"),
    ("truncated_normal.std", "1.0", "1.0"),
    ("uniform.low", "0.0", "0.0"),
    ("uniform.high", "1.0", "1.0"),
    ("hard_tanh.low", "-1.0", "-1.0"),
    ("hard_tanh.high", "1.0", "1.0"),
    ("norm.p", "2.0", "2.0"),
    ("dropout.p", "0.5", "0.5"),
    ("elu.alpha", "1.0", "1.0"),
    ("celu.alpha", "1.0", "1.0"),
    ("leaky_relu.slope", "0.01", "0.01"),
    ("softplus.beta", "1.0", "1.0"),
    ("softplus.threshold", "20.0", "20.0"),
    ("hard_shrink.width", "0.5", "0.5"),
    ("soft_shrink.width", "0.5", "0.5"),
    ("nan_to_num.nan", "0.0", "0.0"),
    ("flatten.start", "0", "0"),
    ("flatten.end", "-1", "-1"),
    ("gumbel_softmax.temperature", "1.0", "1.0"),
    ("glu.axis", "-1", "-1"),
    ("alpha_dropout.p", "0.5", "0.5"),
    ("argsort.axis", "-1", "-1"),
    ("chunk.axis", "0", "0"),
    ("concat.axis", "0", "0"),
    ("cosine_similarity.axis", "1", "1"),
    ("diag_embed.axis_a", "-2", "-2"),
    ("diag_embed.axis_b", "-1", "-1"),
    ("diagonal.axis_a", "0", "0"),
    ("diagonal.axis_b", "1", "1"),
    ("dropout1d.p", "0.5", "0.5"),
    ("dropout2d.p", "0.5", "0.5"),
    ("dropout3d.p", "0.5", "0.5"),
    ("feature_alpha_dropout.p", "0.5", "0.5"),
    ("gumbel_softmax.hard", "false", "False"),
    ("gumbel_softmax.axis", "-1", "-1"),
    ("quantile.method", "\"linear\"", "\"linear\""),
    ("quantiles.method", "\"linear\"", "\"linear\""),
    ("rot90.turns", "1", "1"),
    ("sort.axis", "-1", "-1"),
    ("split.axis", "0", "0"),
    ("stack.axis", "0", "0"),
    ("topk.axis", "-1", "-1"),
    ("tril.k", "0", "0"),
    ("triu.k", "0", "0"),
    ("unbind.axis", "0", "0"),
    ("vecdot.axis", "-1", "-1"),
    ("binary_cross_entropy.reduction", "\"mean\"", "\"mean\""),
    ("binary_cross_entropy_with_logits.reduction", "\"mean\"", "\"mean\""),
    ("hinge_loss.reduction", "\"mean\"", "\"mean\""),
    ("l1_loss.reduction", "\"mean\"", "\"mean\""),
    ("mse_loss.reduction", "\"mean\"", "\"mean\""),
    ("soft_margin_loss.reduction", "\"mean\"", "\"mean\""),
];

/// The parameters of a function. The fields of its options are keywords of their own.
pub fn params(ops: &Ops, file: &File, function: &Function) -> Result<Vec<Param>, String> {
    let reduces = function.params.iter().any(|(name, _)| name == "keepdims");
    let mut params = Vec::new();
    for (name, ty) in &function.params {
        if let Some(options) = ops.options(ty).filter(|options| !options.is_choice) {
            params.extend(
                options.fields.iter().map(|field| of_field(ops, options, field)).collect::<Result<
                    Vec<_>,
                    _,
                >>(
                )?,
            );
            continue;
        }
        let kind = match ty.as_str() {
            "&[i64]" if reduces => Kind::Axes,
            ty => Kind::of(ops, ty)?,
        };
        let attributes = file.ops.iter().flat_map(|op| &op.attributes);
        let doc = attributes
            .filter(|(attribute, ..)| attribute == name)
            .map(|(.., doc)| first_paragraph(doc))
            .next()
            .unwrap_or_else(|| kind.doc().to_string());
        let doc = with_words(ops, ty, doc);
        let (name, default) = (py_name(name, kind), kind.default(&function.name, name));
        params.push(Param { name, kind, ty: ty.clone(), default, doc, field_of: None });
    }
    // Only the last parameters may have defaults.
    let first = params.iter().rposition(|param| param.default.is_none()).unwrap_or(0);
    params[..first].iter_mut().for_each(|param| param.default = None);
    Ok(params)
}

fn of_field(ops: &Ops, options: &Options, field: &OptionField) -> Result<Param, String> {
    let kind = match Kind::of(ops, &field.ty)? {
        Kind::Text => return Err(format!("`{}`: options own what they hold", field.name)),
        kind => kind,
    };
    let default = kind.stated_default(ops, field).ok_or_else(|| {
        let OptionField { name, ty, value, .. } = field;
        format!("codegen/python/param.rs does not know the default `{name}: {ty} = {value}`")
    })?;
    Ok(Param {
        name: field.name.clone(),
        kind,
        ty: field.ty.clone(),
        default: Some(default),
        doc: with_words(ops, &field.ty, first_paragraph(&field.doc)),
        field_of: Some(options.name.clone()),
    })
}

/// The documentation of a parameter, with the words it may be.
pub fn with_words(ops: &Ops, ty: &str, doc: String) -> String {
    let Some(choices) = ops.options(ty).filter(|options| options.is_choice) else { return doc };
    let words: Vec<String> =
        choices.fields.iter().map(|field| format!("\"{}\"", field.value)).collect();
    format!("{doc} One of {}.", words.join(", "))
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
    /// What a Rust type is.
    pub fn of(ops: &Ops, ty: &str) -> Result<Kind, String> {
        Ok(match ty {
            "&Var" => Kind::Value,
            "Option<&Var>" => Kind::OptionalValue,
            "&[&Var]" => Kind::Values,
            "i64" => Kind::Int,
            "usize" => Kind::Size,
            "f64" => Kind::Float,
            "Number" | "impl Into<Number>" => Kind::Number,
            "bool" => Kind::Bool,
            "&str" => Kind::Text,
            "Option<i64>" => Kind::OptionalInt,
            "Option<usize>" => Kind::OptionalSize,
            "Option<f64>" => Kind::OptionalFloat,
            "Option<&str>" => Kind::OptionalText,
            "&[&str]" => Kind::Texts,
            "Option<DType>" => Kind::OptionalDType,
            "&[i64]" => Kind::Ints,
            "&[usize]" => Kind::Sizes,
            "&[f64]" => Kind::Floats,
            "Vec<i64>" => Kind::OwnInts,
            "Vec<usize>" => Kind::OwnSizes,
            "Vec<f64>" => Kind::OwnFloats,
            "PerAxis" => Kind::PerAxis,
            "Dim" => Kind::Dim,
            "&[Dim]" => Kind::Shape,
            "Whole" => Kind::Whole,
            "&[Whole]" => Kind::Wholes,
            "DType" => Kind::DType,
            "Type" => Kind::Type,
            "&Type" => Kind::TypeRef,
            "&[Type]" => Kind::Types,
            _ if ops.options(ty).is_some_and(|options| options.is_choice) => Kind::Choice,
            other => return Err(format!("codegen/python/param.rs does not know `{other}`")),
        })
    }

    /// The default of a parameter of that name.
    fn default(self, function: &str, name: &str) -> Option<(String, String)> {
        let qualified = format!("{function}.{name}");
        let is_it = |known: &str| known == name || known == qualified;
        if let Some((_, rust, python)) = DEFAULTS.iter().find(|(known, ..)| is_it(known)) {
            return Some((rust.to_string(), python.to_string()));
        }
        let (rust, python) = match self {
            Kind::Bool => ("false", "False"),
            Kind::OptionalValue
            | Kind::OptionalInt
            | Kind::OptionalSize
            | Kind::OptionalFloat
            | Kind::OptionalText
            | Kind::OptionalDType
            | Kind::Axes => ("None", "None"),
            _ => return None,
        };
        Some((rust.to_string(), python.to_string()))
    }

    /// The default that a field of options states, in Rust and in Python.
    pub fn stated_default(self, ops: &Ops, field: &OptionField) -> Option<(String, String)> {
        let text = field.value.trim_end_matches("usize").trim_end_matches("i64");
        let same = Some((text.to_string(), text.to_string()));
        match self {
            Kind::Bool if text == "true" => Some(("true".to_string(), "True".to_string())),
            Kind::Bool if text == "false" => Some(("false".to_string(), "False".to_string())),
            Kind::Int | Kind::Size | Kind::Float if text.parse::<f64>().is_ok() => same,
            Kind::Number => {
                let number = text.strip_prefix("Number::Float(")?.strip_suffix(')')?;
                Some((format!("NumberArg::from({number})"), number.to_string()))
            }
            Kind::OptionalInt | Kind::OptionalSize | Kind::OptionalFloat | Kind::OptionalDType => {
                let inner = text.strip_prefix("Some(").and_then(|text| text.strip_suffix(')'));
                match inner {
                    Some(number) => Some((text.to_string(), number.to_string())),
                    None => (text == "None").then_some(same?),
                }
            }
            Kind::PerAxis if text == "PerAxis::default()" => {
                Some(("PerAxisArg::default()".to_string(), "None".to_string()))
            }
            Kind::PerAxis => {
                let number = text
                    .strip_suffix(".into()")
                    .or_else(|| text.strip_prefix("PerAxis::from(")?.strip_suffix(')'))?;
                Some((format!("PerAxisArg::from({number})"), number.to_string()))
            }
            Kind::OwnInts | Kind::OwnSizes | Kind::OwnFloats
                if matches!(text, "Vec::new()" | "vec![]") =>
            {
                Some(("Vec::new()".to_string(), "()".to_string()))
            }
            Kind::Choice => {
                let (name, variant) = text.split_once("::")?;
                let fields = &ops.options(name)?.fields;
                let word = &fields.iter().find(|field| field.name == variant)?.value;
                Some((format!("\"{word}\""), format!("\"{word}\"")))
            }
            _ => None,
        }
    }

    fn doc(self) -> &'static str {
        match self {
            Kind::Value => "A tensor, a number or an array.",
            Kind::OptionalValue => "A tensor, a number or an array; or None.",
            Kind::Values => "Tensors, numbers or arrays.",
            Kind::Int | Kind::Size | Kind::Whole => "An int.",
            Kind::Float | Kind::Number => "A number.",
            Kind::Bool => "True or False.",
            Kind::Text => "A text.",
            Kind::OptionalInt | Kind::OptionalSize => "An int, or None.",
            Kind::OptionalFloat => "A number, or None.",
            Kind::OptionalDType => "An element type, or None.",
            Kind::OptionalText => "A text, or None.",
            Kind::Texts => "Texts.",
            Kind::Ints | Kind::Sizes | Kind::OwnInts | Kind::OwnSizes | Kind::Wholes => "Ints.",
            Kind::Floats | Kind::OwnFloats => "Numbers.",
            Kind::PerAxis => "An int for all axes, or one for each.",
            Kind::Choice => "A word.",
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
            Kind::OptionalValue => "Option<&Bound<'_, PyAny>>",
            Kind::Int => "i64",
            Kind::Size => "usize",
            Kind::Float => "FloatArg",
            Kind::Number => "NumberArg",
            Kind::Bool => "bool",
            Kind::Text | Kind::Choice => "&str",
            Kind::OptionalInt => "Option<i64>",
            Kind::OptionalSize => "Option<usize>",
            Kind::OptionalFloat => "Option<FloatArg>",
            Kind::OptionalText => "Option<&str>",
            Kind::Texts => "List<String, MANY>",
            Kind::OptionalDType => "Option<DTypeArg>",
            Kind::Ints | Kind::OwnInts => "List<i64, FEW>",
            Kind::Sizes | Kind::OwnSizes => "List<usize, FEW>",
            Kind::Floats | Kind::OwnFloats => "List<FloatArg, MANY>",
            Kind::PerAxis => "PerAxisArg",
            Kind::Axes => "Option<&Bound<'_, PyAny>>",
            Kind::Dim => "DimArg",
            Kind::Shape => "ShapeArg",
            Kind::Whole => "WholeArg",
            Kind::Wholes => "WholesArg",
            Kind::DType => "DTypeArg",
            Kind::Type | Kind::TypeRef => "TypeArg",
            Kind::Types => "List<TypeArg, MANY>",
        }
    }

    /// What the op's function gets, for a parameter of that name.
    pub fn rust_argument(self, name: &str) -> String {
        match self {
            Kind::Value
            | Kind::Values
            | Kind::Ints
            | Kind::Sizes
            | Kind::Floats
            | Kind::Axes
            | Kind::Texts
            | Kind::Types => {
                format!("&{name}")
            }
            Kind::OptionalValue => format!("{name}.as_ref()"),
            Kind::OptionalDType => format!("{name}.map(|dtype| dtype.0)"),
            Kind::OptionalFloat => format!("{name}.map(|number| number.0)"),
            Kind::OwnInts | Kind::OwnSizes => format!("{name}.0"),
            Kind::Float
            | Kind::Number
            | Kind::PerAxis
            | Kind::Dim
            | Kind::DType
            | Kind::Type
            | Kind::Whole => {
                format!("{name}.0")
            }
            Kind::Shape | Kind::TypeRef | Kind::Wholes => format!("&{name}.0"),
            _ => name.to_string(),
        }
    }

    /// The annotation in the stubs.
    pub fn annotation(self) -> &'static str {
        match self {
            Kind::Value => "TensorLike",
            Kind::OptionalValue => "TensorLike | None",
            Kind::Values => "Sequence[TensorLike]",
            Kind::Int | Kind::Size => "int",
            Kind::Float => "float",
            Kind::Number => "float | builtins.complex",
            Kind::Bool => "builtins.bool",
            Kind::Text | Kind::Choice => "str",
            Kind::OptionalInt | Kind::OptionalSize => "int | None",
            Kind::OptionalFloat => "float | None",
            Kind::OptionalDType => "DTypeLike | None",
            Kind::OptionalText => "str | None",
            Kind::Texts => "Sequence[str]",
            Kind::Ints | Kind::Sizes | Kind::OwnInts | Kind::OwnSizes => "Sequence[int]",
            Kind::Floats | Kind::OwnFloats => "Sequence[float]",
            Kind::PerAxis => "int | Sequence[int] | None",
            Kind::Axes => "int | Sequence[int] | None",
            Kind::Dim => "int | str | Dim",
            Kind::Shape => "Shape",
            Kind::Whole => "int | Dim",
            Kind::Wholes => "Sequence[int | Dim]",
            Kind::DType => "DTypeLike",
            Kind::Type | Kind::TypeRef => "TypeLike",
            Kind::Types => "Sequence[TypeLike]",
        }
    }
}
