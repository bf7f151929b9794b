//! The functions of expressions, which are methods, too.

mod about;
mod arguments;
mod reduce;
mod shape;

use fluvial_core::{DType, Result, Var};
use fluvial_ops as ops;

pub use arguments::Arguments;

use super::item::{Hold, Item, Number};

/// A function: how it is called, and what it does.
pub struct Function {
    name: &'static str,
    usage: &'static str,
    run: Run,
}

enum Run {
    /// One value, element by element.
    Each(fn(&Var) -> Result<Var>),
    /// What elements are.
    Mask(fn(&Var) -> Result<Var>, Hold),
    /// Over all axes or some.
    Reduce(fn(&Var, &[i64], bool) -> Result<Var>),
    /// Along one axis, the last unless another is named.
    Along(fn(&Var, i64) -> Result<Var>),
    /// Another element type.
    Cast(DType),
    /// With arguments of its own.
    Own(fn(&mut Arguments) -> Result<Item>),
}

const fn each(name: &'static str, f: fn(&Var) -> Result<Var>) -> Function {
    Function { name, usage: "(x)", run: Run::Each(f) }
}

const fn mask(name: &'static str, f: fn(&Var) -> Result<Var>, hold: Hold) -> Function {
    Function { name, usage: "(x)", run: Run::Mask(f, hold) }
}

const fn reduce(name: &'static str, f: fn(&Var, &[i64], bool) -> Result<Var>) -> Function {
    Function { name, usage: "(x, axis, keepdims=false)", run: Run::Reduce(f) }
}

const fn along(name: &'static str, f: fn(&Var, i64) -> Result<Var>) -> Function {
    Function { name, usage: "(x, axis=-1)", run: Run::Along(f) }
}

const fn cast(name: &'static str, dtype: DType) -> Function {
    Function { name, usage: "(x)", run: Run::Cast(dtype) }
}

const fn own(
    name: &'static str,
    usage: &'static str,
    f: fn(&mut Arguments) -> Result<Item>,
) -> Function {
    Function { name, usage, run: Run::Own(f) }
}

static FUNCTIONS: &[Function] = &[
    each("abs", ops::abs),
    each("ceil", ops::ceil),
    each("cos", ops::cos),
    each("erf", ops::erf),
    each("exp", ops::exp),
    each("expm1", ops::expm1),
    each("floor", ops::floor),
    each("log", ops::log),
    each("log10", ops::log10),
    each("log1p", ops::log1p),
    each("log2", ops::log2),
    each("logical_not", ops::logical_not),
    each("relu", ops::relu),
    each("round", ops::round),
    each("rsqrt", ops::rsqrt),
    each("sigmoid", ops::sigmoid),
    each("sign", ops::sign),
    each("sin", ops::sin),
    each("sqrt", ops::sqrt),
    each("square", ops::square),
    each("tan", ops::tan),
    each("tanh", ops::tanh),
    each("trunc", ops::trunc),
    mask("isfinite", ops::isfinite, Hold::All),
    mask("isinf", ops::isinf, Hold::Any),
    mask("isnan", ops::isnan, Hold::Any),
    reduce("all", ops::all),
    reduce("any", ops::any),
    reduce("count_nonzero", ops::count_nonzero),
    reduce("logsumexp", ops::logsumexp),
    reduce("max", ops::max),
    reduce("mean", ops::mean),
    reduce("median", ops::median),
    reduce("min", ops::min),
    reduce("prod", ops::prod),
    reduce("sum", ops::sum),
    own("argmax", "(x, axis, keepdims=false)", reduce::argmax),
    own("argmin", "(x, axis, keepdims=false)", reduce::argmin),
    own("norm", "(x, p=2, axis, keepdims=false)", reduce::norm),
    own("quantile", "(x, q, axis, keepdims=false)", reduce::quantile),
    own("std", "(x, axis, keepdims=false, correction=0)", reduce::std),
    own("var", "(x, axis, keepdims=false, correction=0)", reduce::var),
    along("cumprod", ops::cumprod),
    along("cumsum", ops::cumsum),
    along("log_softmax", ops::log_softmax),
    along("softmax", ops::softmax),
    own("argsort", "(x, axis=-1, descending=false)", shape::argsort),
    own("sort", "(x, axis=-1, descending=false)", shape::sort),
    own("topk", "(x, k, axis=-1, largest=true)", shape::topk),
    own("unique", "(x)", shape::unique),
    own("histogram", "(x, bins=10, low, high)", shape::histogram),
    own("flatten", "(x)", shape::flatten),
    own("permute", "(x, axes)", shape::permute),
    own("reshape", "(x, sizes)", shape::reshape),
    own("squeeze", "(x, axes)", shape::squeeze),
    own("transpose", "(x, a=-2, b=-1)", shape::transpose),
    own("unsqueeze", "(x, axis)", shape::unsqueeze),
    own("clip", "(x, low, high)", shape::clip),
    own("matmul", "(a, b)", shape::matmul),
    own("maximum", "(a, b)", shape::maximum),
    own("minimum", "(a, b)", shape::minimum),
    own("where", "(condition, a, b)", shape::where_),
    own("dtype", "(x)", about::dtype),
    own("hash", "(x)", about::hash),
    own("len", "(x)", about::len),
    own("ndim", "(x)", about::ndim),
    own("shape", "(x)", about::shape),
    own("size", "(x)", about::size),
    own("cast", "(x, \"f32\")", about::cast),
    cast("bool", DType::Bool),
    cast("u8", DType::U8),
    cast("u16", DType::U16),
    cast("u32", DType::U32),
    cast("u64", DType::U64),
    cast("i8", DType::I8),
    cast("i16", DType::I16),
    cast("i32", DType::I32),
    cast("i64", DType::I64),
    cast("f16", DType::F16),
    cast("bf16", DType::BF16),
    cast("f32", DType::F32),
    cast("f64", DType::F64),
    cast("c64", DType::C64),
    cast("c128", DType::C128),
];

/// The names of all functions, for completion.
pub fn function_names() -> Vec<String> {
    FUNCTIONS.iter().map(|function| function.name).chain(["grad"]).map(String::from).collect()
}

/// The function of this name.
pub fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// What can be asked without brackets.
pub fn property(name: &str) -> Option<&'static Function> {
    match name {
        "shape" | "size" | "ndim" | "dtype" => find(name),
        "rank" => find("ndim"),
        "T" => find("transpose"),
        _ => None,
    }
}

/// Whether the argument at this position is a text rather than the name of a value.
pub fn takes_text(name: &str, position: usize) -> bool {
    (name, position) == ("cast", 1)
}

/// Calls a function.
pub fn apply(function: &Function, mut arguments: Arguments) -> Result<Item> {
    let usage = || format!("write `{}{}`", function.name, function.usage);
    let result = match &function.run {
        Run::Each(f) => on_each(*f, &mut arguments),
        Run::Mask(f, hold) => arguments.var().and_then(|x| Ok(Item::Mask(f(&x)?, *hold))),
        Run::Reduce(f) => reduce::reduced(*f, &mut arguments),
        Run::Along(f) => arguments
            .var()
            .and_then(|x| Ok((arguments.axis(-1)?, x)))
            .and_then(|(axis, x)| Ok(Item::Var(f(&x, axis)?))),
        Run::Cast(dtype) => arguments.var().and_then(|x| Ok(Item::Var(ops::cast(&x, *dtype)?))),
        Run::Own(f) => f(&mut arguments),
    };
    let result = result.and_then(|item| arguments.all_used().map(|()| item));
    result.map_err(|error| match error.remedy_text() {
        Some(_) => error,
        None => error.remedy(usage()),
    })
}

/// A number stays one without a type.
fn on_each(f: fn(&Var) -> Result<Var>, arguments: &mut Arguments) -> Result<Item> {
    let Some(number) = arguments.number() else { return Ok(Item::Var(f(&arguments.var()?)?)) };
    let result = f(&number.var());
    let result = match result {
        // Integers would become floats of less precision than is at hand.
        Ok(result) if !result.dtype().is_float() => result,
        _ => f(&Var::scalar(number.float()))?,
    };
    Number::of(&result).map(Item::Number)
}
