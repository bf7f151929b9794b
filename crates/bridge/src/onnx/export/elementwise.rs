//! Elementwise ops.

use fluvial_core::{DType, Result};

use super::table::Export;
use super::{Node, Writer, float, string};

pub const OPS: &[(&str, Export)] = &[
    ("abs", |w, n| one(w, n, "Abs")),
    ("acos", |w, n| one(w, n, "Acos")),
    ("acosh", |w, n| one(w, n, "Acosh")),
    ("accumulate", |w, n| two(w, n, "Add")),
    ("add", |w, n| two(w, n, "Add")),
    ("asin", |w, n| one(w, n, "Asin")),
    ("asinh", |w, n| one(w, n, "Asinh")),
    ("atan", |w, n| one(w, n, "Atan")),
    ("atanh", |w, n| one(w, n, "Atanh")),
    ("bitwise_and", |w, n| bits(w, n, "BitwiseAnd", "And")),
    ("bitwise_not", |w, n| bits(w, n, "BitwiseNot", "Not")),
    ("bitwise_or", |w, n| bits(w, n, "BitwiseOr", "Or")),
    ("bitwise_xor", |w, n| bits(w, n, "BitwiseXor", "Xor")),
    ("cast", |w, n| {
        let to: DType = n.attr("dtype")?;
        Ok(vec![w.cast(n.x(0), n.types[0].dtype(), to)])
    }),
    ("ceil", |w, n| whole(w, n, "Ceil")),
    ("clip", |w, n| {
        let x = promoted(w, n).remove(0);
        let (low, high): (f64, f64) = (n.attr("low")?, n.attr("high")?);
        let dtype = n.out().dtype();
        let low = if low == f64::NEG_INFINITY { String::new() } else { w.number(low, dtype)? };
        let high = if high == f64::INFINITY { String::new() } else { w.number(high, dtype)? };
        Ok(vec![w.op("Clip", &[&x, &low, &high])])
    }),
    ("cos", |w, n| one(w, n, "Cos")),
    ("cosh", |w, n| one(w, n, "Cosh")),
    ("div", |w, n| two(w, n, "Div")),
    ("elu", |w, n| {
        // Below zero: negative * (exp(x / width) - 1); above: positive * x.
        let x = promoted(w, n).remove(0);
        let dtype = n.out().dtype();
        let (alpha, width): (f64, f64) = (n.attr("negative")?, n.attr("width")?);
        let slope: f64 = n.attr("positive")?;
        if slope == 1.0 && width == 1.0 {
            return Ok(vec![w.with("Elu", &[&x], vec![float("alpha", alpha)])]);
        }
        if slope == 1.0 && width == alpha && dtype == DType::F32 {
            return Ok(vec![w.with("Celu", &[&x], vec![float("alpha", alpha)])]);
        }
        let number = |w: &mut Writer, name| -> Result<String> {
            let value: f64 = n.attr(name)?;
            w.number(value, dtype)
        };
        let (negative, positive) = (number(w, "negative")?, number(w, "positive")?);
        let (width, zero) = (number(w, "width")?, w.number(0.0, dtype)?);
        let low = w.op("Min", &[&x, &zero]);
        let low = w.op("Div", &[&low, &width]);
        let low = minus_one(w, &low, dtype)?;
        let low = w.op("Mul", &[&low, &negative]);
        let high = w.op("Mul", &[&x, &positive]);
        let is_high = w.op("Greater", &[&x, &zero]);
        Ok(vec![w.op("Where", &[&is_high, &high, &low])])
    }),
    ("eq", |w, n| compared(w, n, "Equal")),
    ("erf", |w, n| one(w, n, "Erf")),
    ("exp", |w, n| one(w, n, "Exp")),
    ("exp2", |w, n| {
        let x = promoted(w, n).remove(0);
        let base = w.number(2.0, n.out().dtype())?;
        Ok(vec![w.op("Pow", &[&base, &x])])
    }),
    ("expm1", |w, n| {
        let x = promoted(w, n).remove(0);
        Ok(vec![minus_one(w, &x, n.out().dtype())?])
    }),
    ("floor", |w, n| whole(w, n, "Floor")),
    ("floor_div", |w, n| {
        let parts = promoted(w, n);
        let dtype = n.out().dtype();
        if dtype.is_float() {
            let quotient = w.op("Div", &[&parts[0], &parts[1]]);
            return Ok(vec![w.op("Floor", &[&quotient])]);
        }
        // The remainder has the divisor's sign, so what is left divides without rest.
        let rest = w.op("Mod", &[&parts[0], &parts[1]]);
        let whole = w.op("Sub", &[&parts[0], &rest]);
        Ok(vec![w.op("Div", &[&whole, &parts[1]])])
    }),
    ("ge", |w, n| compared(w, n, "GreaterOrEqual")),
    ("gelu", |w, n| gelu(w, n, "none")),
    ("gelu_tanh", |w, n| gelu(w, n, "tanh")),
    ("gt", |w, n| compared(w, n, "Greater")),
    ("hard_sigmoid", |w, n| {
        let x = promoted(w, n).remove(0);
        Ok(vec![w.with("HardSigmoid", &[&x], vec![float("alpha", 1.0 / 6.0), float("beta", 0.5)])])
    }),
    ("hard_swish", |w, n| one(w, n, "HardSwish")),
    ("isinf", |w, n| compared(w, n, "IsInf")),
    ("isnan", |w, n| compared(w, n, "IsNaN")),
    ("le", |w, n| compared(w, n, "LessOrEqual")),
    ("leaky_relu", |w, n| {
        let slope: f64 = n.attr("slope")?;
        let x = promoted(w, n).remove(0);
        Ok(vec![w.with("LeakyRelu", &[&x], vec![float("alpha", slope)])])
    }),
    ("log", |w, n| one(w, n, "Log")),
    ("log10", |w, n| logarithm(w, n, std::f64::consts::LN_10)),
    ("log1p", |w, n| {
        let x = promoted(w, n).remove(0);
        let unit = w.number(1.0, n.out().dtype())?;
        let sum = w.op("Add", &[&x, &unit]);
        Ok(vec![w.op("Log", &[&sum])])
    }),
    ("log2", |w, n| logarithm(w, n, std::f64::consts::LN_2)),
    ("log_sigmoid", |w, n| {
        let x = promoted(w, n).remove(0);
        let x = w.op("Neg", &[&x]);
        let x = w.op("Softplus", &[&x]);
        Ok(vec![w.op("Neg", &[&x])])
    }),
    ("logical_and", |w, n| two(w, n, "And")),
    ("logical_not", |w, n| one(w, n, "Not")),
    ("logical_or", |w, n| two(w, n, "Or")),
    ("logical_xor", |w, n| two(w, n, "Xor")),
    ("lt", |w, n| compared(w, n, "Less")),
    ("maximum", |w, n| two(w, n, "Max")),
    ("minimum", |w, n| two(w, n, "Min")),
    ("mish", |w, n| one(w, n, "Mish")),
    ("mul", |w, n| two(w, n, "Mul")),
    ("ne", |w, n| {
        let equal = compared(w, n, "Equal")?.remove(0);
        Ok(vec![w.op("Not", &[&equal])])
    }),
    ("neg", |w, n| one(w, n, "Neg")),
    ("pow", |w, n| two(w, n, "Pow")),
    ("prelu", |w, n| {
        let parts = promoted(w, n);
        let zero = w.number(0.0, n.out().dtype())?;
        let is_low = w.op("Less", &[&parts[0], &zero]);
        let low = w.op("Mul", &[&parts[0], &parts[1]]);
        Ok(vec![w.op("Where", &[&is_low, &low, &parts[0]])])
    }),
    ("reciprocal", |w, n| one(w, n, "Reciprocal")),
    ("relu", |w, n| one(w, n, "Relu")),
    ("remainder", |w, n| {
        let parts = promoted(w, n);
        if !n.out().dtype().is_float() {
            return Ok(vec![w.op("Mod", &[&parts[0], &parts[1]])]);
        }
        let quotient = w.op("Div", &[&parts[0], &parts[1]]);
        let whole = w.op("Floor", &[&quotient]);
        let whole = w.op("Mul", &[&whole, &parts[1]]);
        Ok(vec![w.op("Sub", &[&parts[0], &whole])])
    }),
    ("round", |w, n| whole(w, n, "Round")),
    ("rsqrt", |w, n| {
        let root = one(w, n, "Sqrt")?.remove(0);
        Ok(vec![w.op("Reciprocal", &[&root])])
    }),
    ("sigmoid", |w, n| one(w, n, "Sigmoid")),
    ("sign", |w, n| one(w, n, "Sign")),
    ("silu", |w, n| {
        let x = promoted(w, n).remove(0);
        let gate = w.op("Sigmoid", &[&x]);
        Ok(vec![w.op("Mul", &[&x, &gate])])
    }),
    ("sin", |w, n| one(w, n, "Sin")),
    ("sinh", |w, n| one(w, n, "Sinh")),
    ("softplus", |w, n| {
        let x = promoted(w, n).remove(0);
        let (beta, threshold): (f64, f64) = (n.attr("beta")?, n.attr("threshold")?);
        let dtype = n.out().dtype();
        let beta_name = w.number(beta, dtype)?;
        let scaled = if beta == 1.0 { x.clone() } else { w.op("Mul", &[&x, &beta_name]) };
        let mut soft = w.op("Softplus", &[&scaled]);
        if beta != 1.0 {
            soft = w.op("Div", &[&soft, &beta_name]);
        }
        if threshold.is_infinite() {
            return Ok(vec![soft]);
        }
        let limit = w.number(threshold, dtype)?;
        let is_far = w.op("Greater", &[&scaled, &limit]);
        Ok(vec![w.op("Where", &[&is_far, &x, &soft])])
    }),
    ("softsign", |w, n| one(w, n, "Softsign")),
    ("sqrt", |w, n| one(w, n, "Sqrt")),
    ("square", |w, n| {
        let x = promoted(w, n).remove(0);
        Ok(vec![w.op("Mul", &[&x, &x])])
    }),
    ("stop_gradient", |_, n| Ok(vec![n.inputs[0].clone()])),
    ("sub", |w, n| two(w, n, "Sub")),
    ("tan", |w, n| one(w, n, "Tan")),
    ("tanh", |w, n| one(w, n, "Tanh")),
    ("threshold", |w, n| {
        let x = promoted(w, n).remove(0);
        let (limit, value): (f64, f64) = (n.attr("threshold")?, n.attr("value")?);
        let dtype = n.out().dtype();
        let (limit, value) = (w.number(limit, dtype)?, w.number(value, dtype)?);
        let is_above = w.op("Greater", &[&x, &limit]);
        Ok(vec![w.op("Where", &[&is_above, &x, &value])])
    }),
    ("trunc", |w, n| {
        let mut parts = promoted(w, n);
        // As `whole`: ONNX has `Floor` for floats only.
        if !n.out().dtype().is_float() {
            return Ok(parts);
        }
        let x = parts.remove(0);
        let sign = w.op("Sign", &[&x]);
        let size = w.op("Abs", &[&x]);
        let size = w.op("Floor", &[&size]);
        Ok(vec![w.op("Mul", &[&sign, &size])])
    }),
    ("where", |w, n| {
        let to = n.out().dtype();
        let a = w.cast(n.x(1), n.types[1].dtype(), to);
        let b = w.cast(n.x(2), n.types[2].dtype(), to);
        Ok(vec![w.op("Where", &[n.x(0), &a, &b])])
    }),
];

/// The inputs as elements of the result's type.
fn promoted(w: &mut Writer, n: &Node<'_>) -> Vec<String> {
    let to = n.out().dtype();
    n.inputs.iter().zip(&n.types).map(|(x, ty)| w.cast(x, ty.dtype(), to)).collect()
}

fn one(w: &mut Writer, n: &Node<'_>, op: &str) -> Result<Vec<String>> {
    let x = promoted(w, n).remove(0);
    Ok(vec![w.op(op, &[&x])])
}

/// What makes floats whole; integers are.
fn whole(w: &mut Writer, n: &Node<'_>, op: &str) -> Result<Vec<String>> {
    if n.out().dtype().is_float() { one(w, n, op) } else { Ok(promoted(w, n)) }
}

fn two(w: &mut Writer, n: &Node<'_>, op: &str) -> Result<Vec<String>> {
    let parts = promoted(w, n);
    Ok(vec![w.op(op, &[&parts[0], &parts[1]])])
}

/// A bool of the inputs, which get one type.
fn compared(w: &mut Writer, n: &Node<'_>, op: &str) -> Result<Vec<String>> {
    let types = n.types.iter().map(|ty| ty.dtype());
    let to = types.reduce(DType::promote).unwrap_or(DType::F32);
    // Only floats can be infinite or no numbers, and bools have no order there.
    let to = match op {
        "Equal" => to,
        "IsInf" | "IsNaN" if !to.is_float() => DType::F32,
        _ if to.is_bool() => DType::I32,
        _ => to,
    };
    let parts: Vec<String> =
        n.inputs.iter().zip(&n.types).map(|(x, ty)| w.cast(x, ty.dtype(), to)).collect();
    Ok(vec![w.op(op, &parts.iter().map(String::as_str).collect::<Vec<_>>())])
}

fn bits(w: &mut Writer, n: &Node<'_>, op: &str, of_bools: &str) -> Result<Vec<String>> {
    let op = if n.out().dtype().is_bool() { of_bools } else { op };
    if n.inputs.len() == 1 { one(w, n, op) } else { two(w, n, op) }
}

/// The exponential, less one.
fn minus_one(w: &mut Writer, x: &str, dtype: DType) -> Result<String> {
    let power = w.op("Exp", &[x]);
    let unit = w.number(1.0, dtype)?;
    Ok(w.op("Sub", &[&power, &unit]))
}

fn logarithm(w: &mut Writer, n: &Node<'_>, base: f64) -> Result<Vec<String>> {
    let natural = one(w, n, "Log")?.remove(0);
    let base = w.number(base, n.out().dtype())?;
    Ok(vec![w.op("Div", &[&natural, &base])])
}

/// The op of op set 20, or what it is made of.
fn gelu(w: &mut Writer, n: &Node<'_>, form: &str) -> Result<Vec<String>> {
    let x = promoted(w, n).remove(0);
    if w.opset >= 20 {
        return Ok(vec![w.with("Gelu", &[&x], vec![string("approximate", form)])]);
    }
    let dtype = n.out().dtype();
    let (half, unit) = (w.number(0.5, dtype)?, w.number(1.0, dtype)?);
    let curve = if form == "none" {
        let root = w.number(std::f64::consts::SQRT_2, dtype)?;
        let scaled = w.op("Div", &[&x, &root]);
        w.op("Erf", &[&scaled])
    } else {
        let (factor, three) = (w.number(0.044_715, dtype)?, w.number(3.0, dtype)?);
        let cube = w.op("Pow", &[&x, &three]);
        let cube = w.op("Mul", &[&cube, &factor]);
        let sum = w.op("Add", &[&x, &cube]);
        let root = w.number((2.0 / std::f64::consts::PI).sqrt(), dtype)?;
        let sum = w.op("Mul", &[&sum, &root]);
        w.op("Tanh", &[&sum])
    };
    let sum = w.op("Add", &[&curve, &unit]);
    let scaled = w.op("Mul", &[&x, &half]);
    Ok(vec![w.op("Mul", &[&scaled, &sum])])
}
