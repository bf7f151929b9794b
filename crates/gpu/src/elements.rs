//! Scalar expressions in WGSL.

use fluvial_core::{DType, Elements};
use fluvial_kernels::{Binary, Inst, Unary};

/// The type in which elements of a type are computed; nothing, if devices do not compute with it.
pub fn computed(dtype: DType, wide: bool) -> Option<&'static str> {
    match dtype {
        DType::F32 => Some("f32"),
        DType::I32 => Some("i32"),
        DType::I64 if wide => Some("i64"),
        DType::Bool | DType::U8 => Some("u32"),
        _ => None,
    }
}

/// An element of memory as a number of its type: whole numbers of 64 bits are pairs there.
pub fn loaded(text: &str, dtype: DType) -> String {
    match dtype {
        DType::I64 => format!("join({text})"),
        _ => text.into(),
    }
}

/// A number of a type as it stands in memory.
pub fn stored(text: &str, dtype: DType) -> String {
    match dtype {
        DType::I64 => format!("split({text})"),
        _ => text.into(),
    }
}

/// A number of one type as one of another.
pub fn converted(text: &str, from: DType, to: DType) -> String {
    let zero = |dtype| match dtype {
        DType::F32 => "0.0",
        DType::I64 => "0li",
        DType::I32 => "0i",
        _ => "0u",
    };
    match (from, to) {
        _ if from == to => text.into(),
        // NaN is not zero; of drivers, some say that it is not unequal to zero.
        (_, DType::Bool) => format!("select(1u, 0u, ({text}) == {})", zero(from)),
        (DType::Bool, DType::U8) => text.into(),
        (DType::F32, DType::U8) => format!("u8_of({text})"),
        (DType::F32, DType::I32) => format!("i32_of({text})"),
        (DType::F32, DType::I64) => format!("i64_of({text})"),
        (_, DType::U8) => format!("(u32({text}) & 255u)"),
        (_, DType::F32) => format!("f32({text})"),
        (_, DType::I32) => format!("i32({text})"),
        (_, DType::I64) => format!("i64({text})"),
        _ => text.into(),
    }
}

/// A number that stands in the text; nothing, if WGSL cannot write it.
pub fn literal(value: f64, dtype: DType) -> Option<String> {
    Some(match dtype {
        DType::F32 if (value as f32).is_finite() => format!("f32({:?})", value as f32),
        DType::F32 => return None,
        DType::I64 if value as i64 == i64::MIN => return None,
        DType::I64 => format!("i64({}li)", value as i64),
        DType::I32 if value as i32 == i32::MIN => "bitcast<i32>(0x80000000u)".into(),
        DType::I32 => format!("i32({})", value as i32),
        DType::Bool => (if value != 0.0 { "1u" } else { "0u" }).into(),
        _ => format!("{}u", value as u8),
    })
}

/// The instructions as lines, and the results; nothing, if one is not there. `load` gives an input in the type in which it is
/// computed; `number` a number by its bits, for those that cannot be written.
pub fn instructions(
    lines: &mut Vec<String>,
    of: &Elements,
    wide: bool,
    load: impl Fn(usize) -> String,
    mut number: impl FnMut(f32) -> String,
) -> Option<Vec<String>> {
    let ty = computed(of.compute, wide)?;
    let mut values: Vec<String> = Vec::new();
    for (i, inst) in of.body.insts().iter().enumerate() {
        let at = |k: u16| values[usize::from(k)].as_str();
        let text = match *inst {
            Inst::Input(k) => load(k.into()),
            // A number that may be another one the next time does not stand in the text.
            Inst::Param(k) if of.compute == DType::F32 => number(of.params[usize::from(k)] as f32),
            Inst::Param(k) => literal(of.params[usize::from(k)], of.compute)?,
            Inst::Const(value) => match literal(value, of.compute) {
                Some(text) => text,
                None if of.compute == DType::F32 => number(value as f32),
                None => return None,
            },
            Inst::Unary(op, a) => unary(op, at(a), of.compute)?,
            Inst::Binary(op, a, b) => binary(op, at(a), at(b), of.compute)?,
            Inst::Select(c, a, b) => {
                let zero = literal(0.0, of.compute)?;
                format!("select({}, {}, {} == {zero})", at(a), at(b), at(c))
            }
        };
        lines.push(format!("let t{i}: {ty} = {text};"));
        values.push(format!("t{i}"));
    }
    Some(of.body.results().iter().map(|&result| values[usize::from(result)].clone()).collect())
}

/// What is true as a number of a type.
fn truth(text: &str, dtype: DType) -> Option<String> {
    let (no, yes) = (literal(0.0, dtype)?, literal(1.0, dtype)?);
    Some(format!("select({no}, {yes}, {text})"))
}

fn unary(op: Unary, x: &str, dtype: DType) -> Option<String> {
    let zero = literal(0.0, dtype)?;
    let is_float = dtype == DType::F32;
    let is_small = matches!(dtype, DType::U8 | DType::Bool);
    let name = op.name();
    Some(match op {
        Unary::Neg if is_small => format!("((0u - {x}) & 255u)"),
        Unary::Neg => format!("-{x}"),
        Unary::Not => truth(&format!("{x} == {zero}"), dtype)?,
        Unary::Conj | Unary::RealPart => x.into(),
        Unary::Abs if is_small => x.into(),
        Unary::Abs => format!("abs({x})"),
        Unary::Sign if !is_float => {
            truth(&format!("{x} > {zero}"), dtype).map(|up| match is_small {
                true => up,
                false => format!(
                    "({up} - {})",
                    truth(&format!("{x} < {zero}"), dtype).unwrap_or_default()
                ),
            })?
        }
        Unary::BitNot if is_small => format!("(~{x} & 255u)"),
        Unary::BitNot if !is_float => format!("~{x}"),
        Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc if !is_float => x.into(),
        Unary::IsNan | Unary::IsInf if !is_float => zero,
        Unary::IsFinite if !is_float => literal(1.0, dtype)?,
        _ if !is_float => return None,
        Unary::Recip => format!("1.0 / {x}"),
        Unary::IsNan => truth(&format!("is_nan({x})"), dtype)?,
        Unary::IsInf => truth(&format!("is_inf({x})"), dtype)?,
        Unary::IsFinite => truth(&format!("is_finite({x})"), dtype)?,
        Unary::Sqrt | Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc => {
            format!("{name}({x})")
        }
        Unary::Rsqrt => format!("1.0 / sqrt({x})"),
        Unary::Exp
        | Unary::Log
        | Unary::Tanh
        | Unary::Sigmoid
        | Unary::Silu
        | Unary::Erf
        | Unary::Erfc
        | Unary::Gelu
        | Unary::GeluTanh
        | Unary::Sign
        | Unary::Expm1
        | Unary::Log1p
        | Unary::Exp2
        | Unary::Log2
        | Unary::Log10
        | Unary::Mish
        | Unary::Sin
        | Unary::Cos
        | Unary::Tan
        | Unary::Sinh
        | Unary::Cosh
        | Unary::Atan => format!("fl_{name}({x})"),
        _ => return None,
    })
}

fn binary(op: Binary, a: &str, b: &str, dtype: DType) -> Option<String> {
    let zero = literal(0.0, dtype)?;
    let is_float = dtype == DType::F32;
    let is_small = matches!(dtype, DType::U8 | DType::Bool);
    let infix = |sign: &str| match is_small {
        true => format!("(({a} {sign} {b}) & 255u)"),
        false => format!("{a} {sign} {b}"),
    };
    let compared = |sign: &str| truth(&format!("{a} {sign} {b}"), dtype);
    let logic = |sign: &str| truth(&format!("!({a} == {zero}) {sign} !({b} == {zero})"), dtype);
    Some(match op {
        Binary::Add => infix("+"),
        Binary::Sub => infix("-"),
        Binary::Mul => infix("*"),
        Binary::Div if is_float => infix("/"),
        Binary::Lt => compared("<")?,
        Binary::Le => compared("<=")?,
        Binary::Gt => compared(">")?,
        Binary::Ge => compared(">=")?,
        Binary::Eq => compared("==")?,
        Binary::Ne => truth(&format!("!({a} == {b})"), dtype)?,
        Binary::And => logic("&&")?,
        Binary::Or => logic("||")?,
        Binary::Xor => logic("!=")?,
        Binary::BitAnd if !is_float => format!("{a} & {b}"),
        Binary::BitOr if !is_float => format!("{a} | {b}"),
        Binary::BitXor if !is_float => format!("{a} ^ {b}"),
        Binary::Max | Binary::Fmax if !is_float => format!("max({a}, {b})"),
        Binary::Min | Binary::Fmin if !is_float => format!("min({a}, {b})"),
        Binary::Max
        | Binary::Min
        | Binary::Fmax
        | Binary::Fmin
        | Binary::Pow
        | Binary::Rem
        | Binary::FloorDiv
        | Binary::Softplus
        | Binary::LogAddExp
        | Binary::CopySign
            if is_float =>
        {
            format!("fl_{}({a}, {b})", op.name())
        }
        _ => return None,
    })
}
