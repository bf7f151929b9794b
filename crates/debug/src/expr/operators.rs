//! Operators.

use fluvial_core::{Error, Result, Var, broadcast};
use fluvial_ops as ops;

use super::ast::{Binary, Unary};
use super::item::{Item, Number, bounded};

/// A sign in front of a value.
pub fn unary(op: Unary, item: Item) -> Result<Item> {
    match (op, item) {
        (Unary::Positive, item) => Ok(item),
        (Unary::Negative, Item::Number(number)) => Ok(Item::Number(match number {
            Number::Float(x) => Number::Float(-x),
            other => match other.int().and_then(i64::checked_neg) {
                Some(n) => Number::Int(n),
                None => Number::Float(-other.float()),
            },
        })),
        (Unary::Invert, Item::Number(Number::Bool(b))) => Ok(Item::Number(Number::Bool(!b))),
        (Unary::Invert, Item::Number(Number::Int(n))) => Ok(Item::Number(Number::Int(!n))),
        (op, item) => {
            let var = plain(item)?;
            Ok(Item::Var(match op {
                Unary::Invert => ops::bitwise_not(&var)?,
                _ => ops::neg(&var)?,
            }))
        }
    }
}

/// The tensor of an item whose names have been looked up.
pub fn plain(item: Item) -> Result<Var> {
    match item {
        Item::Number(number) => Ok(number.var()),
        Item::Row(numbers) => super::item::row(&numbers, None),
        Item::Var(var) | Item::Mask(var, _) => Ok(var),
        Item::Text(text) | Item::Quoted(text) => {
            Err(Error::argument(format!("the text `{text}` is not a value"))
                .remedy("texts can be compared by `==` and `!=` only"))
        }
    }
}

/// An operator between two values.
pub fn binary(op: Binary, a: Item, b: Item) -> Result<Item> {
    match (&a, &b) {
        (Item::Text(x), Item::Text(y) | Item::Quoted(y)) | (Item::Quoted(x), Item::Text(y)) => {
            return texts(op, x, y);
        }
        (Item::Number(x), Item::Number(y)) => {
            if let Some(number) = numbers(op, *x, *y) {
                return Ok(Item::Number(number));
            }
        }
        _ => {}
    }
    let (a, b) = beside(a, b)?;
    tensors(op, &a, &b).map(Item::Var)
}

/// Both with types; numbers take that of the other.
pub fn beside(a: Item, b: Item) -> Result<(Var, Var)> {
    use super::item::row;
    Ok(match (a, b) {
        (Item::Number(x), Item::Number(y)) => (x.var(), y.var()),
        (Item::Number(x), b) => {
            let b = plain(b)?;
            (x.beside(&b), b)
        }
        (a, Item::Number(y)) => {
            let a = plain(a)?;
            let b = y.beside(&a);
            (a, b)
        }
        (Item::Row(x), b) => {
            let b = plain(b)?;
            (row(&x, Some(&b))?, b)
        }
        (a, Item::Row(y)) => {
            let a = plain(a)?;
            let b = row(&y, Some(&a))?;
            (a, b)
        }
        (a, b) => (plain(a)?, plain(b)?),
    })
}

fn texts(op: Binary, x: &str, y: &str) -> Result<Item> {
    match op {
        Binary::Eq => Ok(Item::Number(Number::Bool(x == y))),
        Binary::Ne => Ok(Item::Number(Number::Bool(x != y))),
        _ => Err(Error::argument("texts have no order and cannot be computed with")
            .remedy("compare them by `==` or `!=`")),
    }
}

fn tensors(op: Binary, a: &Var, b: &Var) -> Result<Var> {
    let sizes = match op {
        Binary::Matmul => product_sizes(a, b),
        _ => broadcast(&a.dims(), &b.dims()).ok().map(|dims| dims.to_vec()),
    };
    // Shapes that do not fit are judged by the op.
    if let Some(sizes) = sizes.and_then(|dims| dims.iter().map(|dim| dim.value()).collect()) {
        bounded(&Vec::<usize>::clone(&sizes), &[a, b])?;
    }
    match op {
        Binary::Add => ops::add(a, b),
        Binary::Sub => ops::sub(a, b),
        Binary::Mul => ops::mul(a, b),
        Binary::Div => ops::div(a, b),
        Binary::FloorDiv => ops::floor_div(a, b),
        Binary::Remainder => ops::remainder(a, b),
        Binary::Pow => ops::pow(a, b),
        Binary::Matmul => ops::matmul(a, b),
        Binary::BitAnd => ops::bitwise_and(a, b),
        Binary::BitOr => ops::bitwise_or(a, b),
        Binary::BitXor => ops::bitwise_xor(a, b),
        Binary::Eq => ops::eq(a, b),
        Binary::Ne => ops::ne(a, b),
        Binary::Lt => ops::lt(a, b),
        Binary::Le => ops::le(a, b),
        Binary::Gt => ops::gt(a, b),
        Binary::Ge => ops::ge(a, b),
    }
}

fn product_sizes(a: &Var, b: &Var) -> Option<Vec<fluvial_core::Dim>> {
    let (a, b) = (a.dims(), b.dims());
    let (outer_a, outer_b) = (a.len().saturating_sub(2), b.len().saturating_sub(2));
    let mut sizes = broadcast(&a[..outer_a], &b[..outer_b]).ok()?.to_vec();
    if a.len() > 1 {
        sizes.push(a[outer_a]);
    }
    if b.len() > 1 {
        sizes.push(b[outer_b + 1]);
    }
    Some(sizes)
}

/// Numbers among themselves, as in Python; none if the op has to judge.
fn numbers(op: Binary, x: Number, y: Number) -> Option<Number> {
    let (a, b) = (x.float(), y.float());
    let ints = x.int().zip(y.int());
    let either = |int: Option<i64>, float: f64| Some(int.map_or(Number::Float(float), Number::Int));
    match op {
        Binary::Add => either(ints.and_then(|(m, n)| m.checked_add(n)), a + b),
        Binary::Sub => either(ints.and_then(|(m, n)| m.checked_sub(n)), a - b),
        Binary::Mul => either(ints.and_then(|(m, n)| m.checked_mul(n)), a * b),
        Binary::Div => Some(Number::Float(a / b)),
        Binary::FloorDiv => either(ints.and_then(|(m, n)| floor_div(m, n)), (a / b).floor()),
        Binary::Remainder => {
            let int = ints.and_then(|(m, n)| m.checked_sub(floor_div(m, n)?.checked_mul(n)?));
            either(int, a - b * (a / b).floor())
        }
        Binary::Pow => {
            let int = |(m, n): (i64, i64)| m.checked_pow(u32::try_from(n).ok()?);
            either(ints.and_then(int), a.powf(b))
        }
        Binary::Eq => Some(Number::Bool(ints.map_or(a == b, |(m, n)| m == n))),
        Binary::Ne => Some(Number::Bool(ints.map_or(a != b, |(m, n)| m != n))),
        Binary::Lt => Some(Number::Bool(ints.map_or(a < b, |(m, n)| m < n))),
        Binary::Le => Some(Number::Bool(ints.map_or(a <= b, |(m, n)| m <= n))),
        Binary::Gt => Some(Number::Bool(ints.map_or(a > b, |(m, n)| m > n))),
        Binary::Ge => Some(Number::Bool(ints.map_or(a >= b, |(m, n)| m >= n))),
        Binary::Matmul | Binary::BitAnd | Binary::BitOr | Binary::BitXor => None,
    }
}

fn floor_div(m: i64, n: i64) -> Option<i64> {
    let quotient = m.checked_div(n)?;
    Some(if m % n != 0 && (m < 0) != (n < 0) { quotient - 1 } else { quotient })
}
