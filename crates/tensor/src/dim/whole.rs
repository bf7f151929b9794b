//! Whole numbers made of sizes. Unlike sizes, they may be negative.

use super::Dim;
use super::intern::{self, Node};
use super::poly::Poly;
use crate::error::{Error, Result};
use std::fmt;

/// A whole number that arithmetic on sizes gives: a number, or an expression of symbols.
///
/// ```
/// use fluvial_tensor::{Dim, Whole};
/// let n = Whole::from(Dim::symbol("n")?);
/// let before = n.sub(Whole::Number(5))?;
/// assert_eq!(before.at(&|_| Some(3))?, Some(-2));
/// assert_eq!(before.sub(n)?, Whole::Number(-5));
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whole {
    /// A number.
    Number(i64),
    /// What depends on symbols.
    Open(Dim),
}

impl Whole {
    fn poly(self) -> Poly {
        match self {
            Whole::Number(value) => Poly::constant(value),
            Whole::Open(size) => Poly::of(size),
        }
    }

    fn of(poly: Poly) -> Result<Whole> {
        match poly.as_constant() {
            Some(value) => Ok(Whole::Number(value)),
            None => poly.into_dim().map(Whole::Open),
        }
    }

    /// The number, if it depends on no symbol.
    pub fn number(self) -> Option<i64> {
        match self {
            Whole::Number(value) => Some(value),
            Whole::Open(_) => None,
        }
    }

    /// It as a size; an error if it is a negative number.
    pub fn dim(self) -> Result<Dim> {
        match self {
            Whole::Open(size) => Ok(size),
            Whole::Number(value) => usize::try_from(value)
                .map(Dim::size)
                .map_err(|_| Error::shape(format!("a size cannot be negative, but it is {value}"))),
        }
    }

    /// The sum.
    #[expect(clippy::should_implement_trait, reason = "it can fail")]
    pub fn add(self, other: Whole) -> Result<Whole> {
        Whole::of(self.poly().add(&other.poly())?)
    }

    /// The difference.
    #[expect(clippy::should_implement_trait, reason = "it can fail")]
    pub fn sub(self, other: Whole) -> Result<Whole> {
        Whole::of(self.poly().sub(&other.poly())?)
    }

    /// The product.
    #[expect(clippy::should_implement_trait, reason = "it can fail")]
    pub fn mul(self, other: Whole) -> Result<Whole> {
        Whole::of(self.poly().mul(&other.poly())?)
    }

    /// The quotient rounded down, as [`Dim::floor_div`].
    pub fn floor_div(self, other: Whole) -> Result<Whole> {
        Whole::of(self.poly().floor_div(&other.poly())?)
    }

    /// What is left of the quotient rounded down: it has the sign of `other`.
    pub fn remainder(self, other: Whole) -> Result<Whole> {
        self.sub(self.floor_div(other)?.mul(other)?)
    }

    /// The value where symbols have sizes; none if a symbol has none.
    pub fn at(self, sizes: &dyn Fn(Dim) -> Option<usize>) -> Result<Option<i64>> {
        let known = |symbol: Dim| sizes(symbol).map(Dim::size);
        Ok(self.poly().substitute(&known)?.as_constant())
    }

    /// The bare symbols inside, in order of name.
    pub fn symbols(self) -> Vec<Dim> {
        match self {
            Whole::Number(_) => Vec::new(),
            Whole::Open(size) => size.symbols(),
        }
    }

    /// A number that it never falls below while every symbol is at least `least`, if that is plain
    /// to see: each term grows with its symbols.
    pub fn at_least(self, least: u32) -> Option<i64> {
        let mut bound = 0i64;
        for (monomial, coefficient) in self.poly().terms() {
            let mut value = *coefficient;
            for &(atom, power) in monomial {
                let is_symbol = matches!(intern::node(atom).as_deref(), Some(Node::Symbol(_)));
                if !is_symbol || *coefficient < 0 {
                    return None;
                }
                value = value.checked_mul(i64::from(least).checked_pow(power.into())?)?;
            }
            bound = bound.checked_add(value)?;
        }
        Some(bound)
    }

    /// Two sizes whose difference it is. Neither is negative where symbols are sizes, unless something
    /// negative is divided by a symbol.
    pub fn sides(self) -> Result<(Dim, Dim)> {
        let poly = self.poly();
        let of = |sign: i64| {
            let mut terms = poly.terms().iter().filter(|(_, c)| c.signum() == sign);
            let sum = terms.try_fold(Poly::default(), |sum, (monomial, c)| {
                sum.add(&Poly::term(monomial.clone(), c.abs()))
            });
            sum?.into_dim()
        };
        Ok((of(1)?, of(-1)?))
    }
}

impl From<Dim> for Whole {
    fn from(size: Dim) -> Whole {
        match size.value() {
            Some(value) => Whole::Number(value as i64),
            None => Whole::Open(size),
        }
    }
}

impl From<i64> for Whole {
    fn from(value: i64) -> Whole {
        Whole::Number(value)
    }
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whole::Number(value) => value.fmt(f),
            Whole::Open(size) => size.fmt(f),
        }
    }
}

impl fmt::Debug for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n() -> Whole {
        Dim::symbol("n").unwrap().into()
    }

    #[test]
    fn values_are_those_of_pythons_numbers() {
        let m = Whole::from(Dim::symbol("m").unwrap());
        let number = Whole::Number;
        let made = [
            n().sub(number(5)),
            number(5).sub(n()),
            n().mul(number(-3)),
            n().floor_div(number(2)),
            n().floor_div(number(-2)),
            number(-7).floor_div(n()),
            n().remainder(number(3)),
            number(-7).remainder(n()),
            n().mul(n()).and_then(|square| square.sub(m)),
            n().floor_div(m),
            n().remainder(m),
        ];
        for (a, b) in [(2, 5), (3, 2), (7, 7), (12, 5)] {
            let sizes = |symbol| Some(if Whole::from(symbol) == n() { a } else { b });
            let (a, b) = (a as i64, b as i64);
            let floor = |a: i64, b: i64| (a as f64 / b as f64).floor() as i64;
            let expected = [
                a - 5,
                5 - a,
                -3 * a,
                a / 2,
                floor(a, -2),
                floor(-7, a),
                a % 3,
                (-7i64).rem_euclid(a),
                a * a - b,
                a / b,
                a % b,
            ];
            for (whole, value) in made.iter().zip(expected) {
                let whole = whole.clone().unwrap();
                assert_eq!(whole.at(&sizes).unwrap(), Some(value), "{whole} at {a}, {b}");
                let (left, right) = whole.sides().unwrap();
                let side = |dim| Whole::from(dim).at(&sizes).unwrap().unwrap();
                assert_eq!(side(left) - side(right), value, "{left} - ({right})");
            }
        }
    }

    #[test]
    fn bounds_hold_where_they_are_plain() {
        let bound = |whole: Result<Whole>| whole.unwrap().at_least(2);
        assert_eq!(bound(n().sub(Whole::Number(2))), Some(0));
        assert_eq!(bound(n().mul(n()).and_then(|x| x.add(n()))), Some(6));
        assert_eq!(bound(Whole::Number(3).sub(n())), None);
        assert_eq!(bound(n().floor_div(Whole::Number(2))), None);
        assert_eq!(Whole::Number(-3).at_least(2), Some(-3));
    }
}
