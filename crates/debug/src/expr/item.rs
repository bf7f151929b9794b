//! What a part of an expression can be.

use fluvial_core::{DType, Error, Result, Tensor, Var};

/// The value of a part of an expression.
#[derive(Clone, Debug)]
pub enum Item {
    /// A number without a type of its own.
    Number(Number),
    /// Several of them.
    Row(Vec<Number>),
    /// A tensor or a list.
    Var(Var),
    /// What elements are; as a condition, whether any is so, or all.
    Mask(Var, Hold),
    /// A text, such as the name of an element type.
    Text(String),
    /// A name in quotes that was not looked up yet: it may be meant as a text.
    Quoted(String),
}

/// When a mask holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Any,
    All,
}

/// A number as it was written, or computed of such.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl Number {
    /// As a float.
    pub fn float(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(x) => x,
            Number::Bool(b) => f64::from(u8::from(b)),
        }
    }

    /// As an integer, if it is one.
    pub fn int(self) -> Option<i64> {
        match self {
            Number::Int(n) => Some(n),
            Number::Bool(b) => Some(i64::from(b)),
            Number::Float(_) => None,
        }
    }

    /// With a type of its own: `i64`, `f64` or `bool`.
    pub fn var(self) -> Var {
        match self {
            Number::Int(n) => Var::scalar(n),
            Number::Float(x) => Var::scalar(x),
            Number::Bool(b) => Var::scalar(b),
        }
    }

    /// With a type that fits to `other`: its own, unless it cannot hold the number.
    pub fn beside(self, other: &Var) -> Var {
        let dtype = other.dtype();
        match self {
            Number::Bool(b) => Var::scalar(b),
            Number::Int(n) if !dtype.is_float() => match dtype.range() {
                // Numbers that a literal holds exactly.
                Some((least, most)) if n.abs() <= 1 << 53 && (least..=most).contains(&n.into()) => {
                    other.literal(n as f64)
                }
                _ => Var::scalar(n),
            },
            Number::Int(n) => other.literal(n as f64),
            Number::Float(_) if !dtype.is_float() => Var::scalar(self.float() as f32),
            Number::Float(x) => other.literal(x),
        }
    }

    /// What a scalar of one of the three types holds.
    pub fn of(var: &Var) -> Result<Number> {
        Ok(match var.dtype() {
            DType::Bool => Number::Bool(var.item()?),
            dtype if dtype.is_int() => Number::Int(var.item()?),
            _ => Number::Float(var.item()?),
        })
    }
}

/// A row of numbers with a type of its own, `i64` or `f64`, or that of the floats in `other`.
pub fn row(numbers: &[Number], other: Option<&Var>) -> Result<Var> {
    let dims = [numbers.len()];
    let ints: Option<Vec<i64>> = numbers.iter().map(|number| number.int()).collect();
    let float = other.map(|other| other.dtype()).filter(|dtype| dtype.is_float());
    if let (Some(ints), None) = (ints, float) {
        return Var::of(&ints, &dims);
    }
    let dtype = match (float, other) {
        (Some(dtype), _) => dtype,
        (None, Some(_)) => DType::F32,
        (None, None) => DType::F64,
    };
    let floats: Vec<f64> = numbers.iter().map(|number| number.float()).collect();
    Tensor::from_f64s(dtype, &floats, &dims).map(Var::new)
}

/// More bytes than this are not made by evaluating, unless an operand has as many.
const MOST_BYTES: usize = 1 << 30;

/// An error if a result of these sizes would need too much memory.
pub fn bounded(sizes: &[usize], operands: &[&Var]) -> Result<()> {
    let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
    let largest = operands.iter().filter_map(|var| var.ty().numel()).max().unwrap_or(0);
    match count.filter(|&count| count <= largest || count <= MOST_BYTES / 8) {
        Some(_) => Ok(()),
        None => {
            Err(Error::memory(format!("a result of the sizes {sizes:?} is too large to look at"))
                .remedy("index the operands first, so that the result has less than 2^27 elements"))
        }
    }
}
