//! Scalar expressions in C.

use fluvial_core::{DType, Elements, Error, Result};
use fluvial_kernels::{Binary, Inst, Unary};

use crate::constants::{f32_literal, f64_literal, i64_literal};
use crate::place::c_type;
use crate::writer::Writer;

/// Writes the instructions of an expression as lines, and gives its results. `load` gives an input in the type in which it
/// is computed.
pub fn instructions(
    to: &mut Writer,
    of: &Elements,
    load: impl Fn(usize) -> Result<String>,
) -> Result<Vec<String>> {
    let c = c_type(of.compute);
    let mut values: Vec<String> = Vec::new();
    let results: Vec<usize> = of.body.results().iter().map(|&result| result.into()).collect();
    for (i, inst) in of.body.insts().iter().enumerate() {
        let at = |k: u16| values[usize::from(k)].as_str();
        let text = match *inst {
            Inst::Input(k) => load(k.into())?,
            Inst::Param(k) => literal(of.params[usize::from(k)], of.compute),
            Inst::Const(value) => literal(value, of.compute),
            Inst::Unary(op, a) => unary(op, at(a), of.compute)?,
            Inst::Binary(op, a, b) => binary(op, at(a), at(b), of.compute)?,
            Inst::Select(c, a, b) => format!("{} != 0 ? {} : {}", at(c), at(a), at(b)),
        };
        if matches!(inst, Inst::Param(_) | Inst::Const(_)) {
            values.push(text);
            continue;
        }
        to.line(&format!("const {c} t{i} = {text};"));
        values.push(format!("t{i}"));
    }
    Ok(results.into_iter().map(|result| values[result].clone()).collect())
}

/// A number of a type, in brackets if it is negative.
pub fn literal(value: f64, dtype: DType) -> String {
    let text = match dtype {
        DType::F32 => f32_literal(value as f32),
        DType::F64 => f64_literal(value),
        DType::I64 => i64_literal(value as i64),
        DType::I32 => (value as i32).to_string(),
        DType::I8 => (value as i8).to_string(),
        _ => (value as u8).to_string(),
    };
    let text = if text == "-2147483648" { "INT32_MIN".into() } else { text };
    if text.starts_with('-') { format!("({text})") } else { text }
}

/// The short name of a type, by which names of functions end.
pub fn short(dtype: DType) -> &'static str {
    dtype.name()
}

fn unary(op: Unary, x: &str, dtype: DType) -> Result<String> {
    let (c, t) = (c_type(dtype), short(dtype));
    let is_float = dtype.is_float();
    Ok(match op {
        Unary::Neg if is_float => format!("-{x}"),
        Unary::Neg if dtype == DType::I32 => format!("(int32_t)(0u - (uint32_t){x})"),
        Unary::Neg if dtype == DType::I64 => format!("(int64_t)(UINT64_C(0) - (uint64_t){x})"),
        Unary::Neg => format!("({c})-{x}"),
        Unary::Recip if is_float => format!("1 / {x}"),
        Unary::Not => format!("({c})({x} == 0)"),
        Unary::BitNot if !is_float => format!("({c})~{x}"),
        Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc if !is_float => x.into(),
        Unary::IsNan | Unary::IsInf if !is_float => format!("({c})({x} != {x})"),
        Unary::IsFinite if !is_float => format!("({c})({x} == {x})"),
        Unary::Conj | Unary::RealPart => x.into(),
        Unary::ImagPart => format!("({c})(0 * ({x} != {x}))"),
        Unary::Angle => format!("({c})({x} < 0 ? 3.141592653589793 : {x} != {x} ? {x} : 0)"),
        _ => format!("fl_{}_{t}({x})", op.name()),
    })
}

fn binary(op: Binary, a: &str, b: &str, dtype: DType) -> Result<String> {
    let (c, t) = (c_type(dtype), short(dtype));
    let is_float = dtype.is_float();
    let unsigned = match dtype {
        DType::I32 => Some("uint32_t"),
        DType::I64 => Some("uint64_t"),
        _ => None,
    };
    let infix = |sign: &str| match (is_float, unsigned) {
        (true, _) => format!("{a} {sign} {b}"),
        (_, Some(u)) => format!("({c})(({u}){a} {sign} ({u}){b})"),
        _ => format!("({c})({a} {sign} {b})"),
    };
    let truth = |sign: &str| format!("({c})({a} {sign} {b})");
    let logic = |sign: &str| format!("({c})(({a} != 0) {sign} ({b} != 0))");
    Ok(match op {
        Binary::Add => infix("+"),
        Binary::Sub => infix("-"),
        Binary::Mul => infix("*"),
        Binary::Div if is_float => infix("/"),
        Binary::Lt => truth("<"),
        Binary::Le => truth("<="),
        Binary::Gt => truth(">"),
        Binary::Ge => truth(">="),
        Binary::Eq => truth("=="),
        Binary::Ne => truth("!="),
        Binary::And => logic("&"),
        Binary::Or => logic("|"),
        Binary::Xor => logic("^"),
        Binary::BitAnd if !is_float => truth("&"),
        Binary::BitOr if !is_float => truth("|"),
        Binary::BitXor if !is_float => truth("^"),
        Binary::Fmax if !is_float => format!("fl_max_{t}({a}, {b})"),
        Binary::Fmin if !is_float => format!("fl_min_{t}({a}, {b})"),
        _ => format!("fl_{}_{t}({a}, {b})", op.name()),
    })
}

/// An expression of one element type as one of another.
pub fn converted(text: &str, from: DType, to: DType) -> String {
    if from == to {
        return text.into();
    }
    let wide = match from {
        DType::F16 => format!("fl_of_f16({text})"),
        DType::BF16 => format!("fl_of_bf16({text})"),
        _ => text.into(),
    };
    match to {
        DType::F16 if from == DType::F64 => format!("fl_f16_of_f64({wide})"),
        DType::F16 => format!("fl_f16_of((float)({wide}))"),
        DType::BF16 => format!("fl_bf16_of((float)({wide}))"),
        DType::F32 if from == DType::F16 || from == DType::BF16 => wide,
        DType::F32 | DType::F64 => format!("({})({wide})", c_type(to)),
        DType::Bool => format!("(uint8_t)(({wide}) != 0)"),
        _ if from.is_float() => format!("fl_{}_of_float({wide})", short(to)),
        _ => format!("({})({wide})", c_type(to)),
    }
}

/// Refuses what the scalar functions in C do not have.
pub fn check(of: &Elements) -> Result<()> {
    match of.body.insts().is_empty() {
        true => Err(Error::program("an expression without instructions")),
        false => Ok(()),
    }
}
