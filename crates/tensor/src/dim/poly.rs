//! Polynomials with integer coefficients over atoms, in canonical form.

use super::Dim;
use super::intern::{self, Node};
use crate::error::{Error, Result};
use smallvec::SmallVec;
use std::cmp::Ordering;

/// A product of atoms (symbols, placeholders, quotients): each with its power, atoms increasing.
pub(super) type Monomial = SmallVec<[(Dim, u8); 2]>;

const MAX_TERMS: usize = 64;
const MAX_DEGREE: u32 = 8;

/// A sum of terms, in decreasing order of monomial, without zero coefficients. No coefficient is
/// `i64::MIN`, so each can be negated.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Poly {
    terms: Vec<(Monomial, i64)>,
}

/// The lexicographic order of monomials, which multiplication preserves.
fn compare(a: &Monomial, b: &Monomial) -> Ordering {
    for (&(atom_a, power_a), &(atom_b, power_b)) in a.iter().zip(b) {
        let order = atom_b.0.cmp(&atom_a.0).then(power_a.cmp(&power_b));
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

fn times(a: &Monomial, b: &Monomial) -> Result<Monomial> {
    let mut product = a.clone();
    for &(atom, power) in b {
        match product.binary_search_by_key(&atom.0, |&(atom, _)| atom.0) {
            Ok(at) => product[at].1 = product[at].1.saturating_add(power),
            Err(at) => product.insert(at, (atom, power)),
        }
    }
    let degree: u32 = product.iter().map(|&(_, power)| u32::from(power)).sum();
    if degree > MAX_DEGREE {
        return Err(Error::symbolic("the symbolic size has too many factors")
            .note(format!("a term can have at most {MAX_DEGREE}")));
    }
    Ok(product)
}

/// `a / b`, if every atom of `b` is in `a` often enough.
fn divide(a: &Monomial, b: &Monomial) -> Option<Monomial> {
    let mut quotient = a.clone();
    for &(atom, power) in b {
        let at = quotient.binary_search_by_key(&atom.0, |&(atom, _)| atom.0).ok()?;
        quotient[at].1 = quotient[at].1.checked_sub(power)?;
    }
    quotient.retain(|&mut (_, power)| power > 0);
    Some(quotient)
}

/// The largest monomial that divides both.
fn common(a: &Monomial, b: &Monomial) -> Monomial {
    let power_in_b = |atom: Dim| b.iter().find(|other| other.0 == atom).map(|&(_, power)| power);
    a.iter().filter_map(|&(atom, power)| Some((atom, power.min(power_in_b(atom)?)))).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn overflow() -> Error {
    Error::symbolic("the arithmetic of a size overflows 64 bits")
}

impl Poly {
    pub(super) fn constant(value: i64) -> Poly {
        Poly::term(Monomial::new(), value)
    }

    pub(super) fn atom(atom: Dim) -> Poly {
        Poly::term(Monomial::from_slice(&[(atom, 1)]), 1)
    }

    pub(super) fn term(monomial: Monomial, coefficient: i64) -> Poly {
        let terms = if coefficient == 0 { Vec::new() } else { vec![(monomial, coefficient)] };
        Poly { terms }
    }

    /// The polynomial a size stands for.
    pub(super) fn of(dim: Dim) -> Poly {
        if let Some(value) = dim.value() {
            return Poly::constant(value as i64);
        }
        match intern::node(dim).as_deref() {
            Some(Node::Sum(poly)) => poly.clone(),
            _ => Poly::atom(dim),
        }
    }

    /// The size that stands for this polynomial; an error if it is a negative number.
    pub(super) fn into_dim(self) -> Result<Dim> {
        if let Some(value) = self.as_constant() {
            return match usize::try_from(value) {
                Ok(size) => Ok(Dim::size(size)),
                Err(_) => {
                    Err(Error::shape(format!("a size cannot be negative, but it is {value}")))
                }
            };
        }
        match self.as_atom() {
            Some(atom) => Ok(atom),
            None => intern::expression(Node::Sum(self)),
        }
    }

    pub(super) fn terms(&self) -> &[(Monomial, i64)] {
        &self.terms
    }

    pub(super) fn as_constant(&self) -> Option<i64> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(monomial, value)] if monomial.is_empty() => Some(*value),
            _ => None,
        }
    }

    /// The atom, if this is one atom times 1.
    pub(super) fn as_atom(&self) -> Option<Dim> {
        match self.terms.as_slice() {
            [(monomial, 1)] => match monomial.as_slice() {
                [(atom, 1)] => Some(*atom),
                _ => None,
            },
            _ => None,
        }
    }

    /// The term without symbols.
    pub(super) fn constant_part(&self) -> i64 {
        match self.terms.last() {
            Some((monomial, value)) if monomial.is_empty() => *value,
            _ => 0,
        }
    }

    /// Sorts, merges equal monomials, drops zeros and checks the number of terms.
    fn collect(mut terms: Vec<(Monomial, i64)>) -> Result<Poly> {
        terms.sort_by(|(a, _), (b, _)| compare(b, a));
        let mut merged: Vec<(Monomial, i64)> = Vec::with_capacity(terms.len());
        for (monomial, coefficient) in terms {
            match merged.last_mut() {
                Some(last) if last.0 == monomial => {
                    last.1 = last.1.checked_add(coefficient).ok_or_else(overflow)?;
                }
                _ => merged.push((monomial, coefficient)),
            }
        }
        merged.retain(|&(_, coefficient)| coefficient != 0);
        if merged.iter().any(|&(_, coefficient)| coefficient == i64::MIN) {
            return Err(overflow());
        }
        if merged.len() > MAX_TERMS {
            return Err(Error::symbolic("the symbolic size has too many terms")
                .note(format!("an expression can have at most {MAX_TERMS}")));
        }
        Ok(Poly { terms: merged })
    }

    pub(super) fn add(&self, other: &Poly) -> Result<Poly> {
        Poly::collect([self.terms.as_slice(), other.terms.as_slice()].concat())
    }

    pub(super) fn sub(&self, other: &Poly) -> Result<Poly> {
        self.add(&other.scale(-1)?)
    }

    pub(super) fn scale(&self, factor: i64) -> Result<Poly> {
        self.mul(&Poly::constant(factor))
    }

    pub(super) fn mul(&self, other: &Poly) -> Result<Poly> {
        let mut terms = Vec::with_capacity(self.terms.len() * other.terms.len());
        for (monomial_a, a) in &self.terms {
            for (monomial_b, b) in &other.terms {
                let coefficient = a.checked_mul(*b).ok_or_else(overflow)?;
                terms.push((times(monomial_a, monomial_b)?, coefficient));
            }
        }
        Poly::collect(terms)
    }

    /// The floor of `self / divisor`.
    pub(super) fn floor_div(&self, divisor: &Poly) -> Result<Poly> {
        if let Some(divisor) = divisor.as_constant() {
            return self.floor_div_number(divisor);
        }
        if let Some(quotient) = self.exact_quotient(divisor)? {
            return Ok(quotient);
        }
        let (whole, rest) = self.split_multiples(divisor)?;
        let (rest, divisor) = rest.cancel(divisor);
        let fraction = match divisor.as_constant() {
            Some(divisor) => rest.floor_div_number(divisor)?,
            None => Poly::atom(intern::expression(Node::Quotient(rest, divisor))?),
        };
        whole.add(&fraction)
    }

    /// Division by a number: multiples of the divisor are taken out of every coefficient, common
    /// factors cancel, and a division inside a division becomes one.
    fn floor_div_number(&self, divisor: i64) -> Result<Poly> {
        if divisor == 0 {
            return Err(Error::shape("a size is divided by zero"));
        }
        if divisor < 0 {
            return self.scale(-1)?.floor_div_number(divisor.checked_neg().ok_or_else(overflow)?);
        }
        let whole = self.map_coefficients(|coefficient| coefficient.div_euclid(divisor));
        let rest = self.map_coefficients(|coefficient| coefficient.rem_euclid(divisor));
        if rest.as_constant().is_some() {
            return Ok(whole);
        }
        let factor = rest
            .terms
            .iter()
            .filter(|(monomial, _)| !monomial.is_empty())
            .fold(divisor as u64, |factor, &(_, c)| gcd(factor, c.unsigned_abs()))
            as i64;
        let rest = rest.map_coefficients(|coefficient| coefficient.div_euclid(factor));
        let divisor = divisor / factor;
        let fraction = match rest.single_quotient() {
            Some((quotient, inner, inner_divisor)) => {
                let others = rest.sub(&Poly::atom(quotient))?.scale(inner_divisor)?;
                let divisor = inner_divisor.checked_mul(divisor).ok_or_else(overflow)?;
                inner.add(&others)?.floor_div_number(divisor)?
            }
            None => {
                let node = Node::Quotient(rest, Poly::constant(divisor));
                Poly::atom(intern::expression(node)?)
            }
        };
        whole.add(&fraction)
    }

    /// The atom, numerator and divisor of the one division by a number that stands alone as a term
    /// with coefficient 1; none if there are several.
    pub(super) fn single_quotient(&self) -> Option<(Dim, Poly, i64)> {
        let mut found = None;
        for (monomial, coefficient) in &self.terms {
            let ([(atom, 1)], 1) = (monomial.as_slice(), coefficient) else { continue };
            let node = intern::node(*atom);
            let Some(Node::Quotient(inner, divisor)) = node.as_deref() else { continue };
            let Some(divisor) = divisor.as_constant() else { continue };
            if found.is_some() {
                return None;
            }
            found = Some((*atom, inner.clone(), divisor));
        }
        found
    }

    fn map_coefficients(&self, f: impl Fn(i64) -> i64) -> Poly {
        let terms = self.terms.iter().map(|(monomial, c)| (monomial.clone(), f(*c)));
        Poly { terms: terms.filter(|&(_, c)| c != 0).collect() }
    }

    /// `self / divisor` by long division, if nothing remains.
    fn exact_quotient(&self, divisor: &Poly) -> Result<Option<Poly>> {
        let Some((lead, lead_coefficient)) = divisor.terms.first() else { return Ok(None) };
        let (mut rest, mut quotient) = (self.clone(), Vec::new());
        while let Some((monomial, coefficient)) = rest.terms.first() {
            let Some(monomial) = divide(monomial, lead) else { return Ok(None) };
            if coefficient.checked_rem(*lead_coefficient) != Some(0) || quotient.len() == MAX_TERMS
            {
                return Ok(None);
            }
            let coefficient = coefficient / lead_coefficient;
            let step = Poly::term(monomial.clone(), coefficient);
            let Ok(next) = step.mul(divisor).and_then(|product| rest.sub(&product)) else {
                return Ok(None);
            };
            rest = next;
            quotient.push((monomial, coefficient));
        }
        Poly::collect(quotient).map(Some)
    }

    /// For a divisor of one term: `(whole, rest)` with `self = whole * divisor + rest`, and nothing
    /// left in `rest` that the divisor goes into. For a longer divisor `whole` is 0.
    fn split_multiples(&self, divisor: &Poly) -> Result<(Poly, Poly)> {
        let [(factor, factor_coefficient)] = divisor.terms.as_slice() else {
            return Ok((Poly::default(), self.clone()));
        };
        let mut whole = Vec::new();
        for (monomial, coefficient) in &self.terms {
            let Some(monomial) = divide(monomial, factor) else { continue };
            let multiple =
                coefficient.checked_div_euclid(*factor_coefficient).ok_or_else(overflow)?;
            whole.push((monomial, multiple));
        }
        let whole = Poly::collect(whole)?;
        let rest = self.sub(&whole.mul(divisor)?)?;
        Ok((whole, rest))
    }

    /// Both divided by everything that divides all of their terms.
    fn cancel(&self, divisor: &Poly) -> (Poly, Poly) {
        let mut terms = self.terms.iter().chain(&divisor.terms);
        let Some((first, coefficient)) = terms.next() else {
            return (self.clone(), divisor.clone());
        };
        let (monomial, factor) = terms.fold(
            (first.clone(), coefficient.unsigned_abs()),
            |(monomial, factor), (other, coefficient)| {
                (common(&monomial, other), gcd(factor, coefficient.unsigned_abs()))
            },
        );
        let factor = i64::try_from(factor).unwrap_or(1);
        let reduce = |poly: &Poly| Poly {
            terms: poly
                .terms
                .iter()
                .filter_map(|(m, c)| Some((divide(m, &monomial)?, c / factor)))
                .collect(),
        };
        (reduce(self), reduce(divisor))
    }

    /// Replaces symbols and placeholders, inside quotients too.
    pub(super) fn substitute(&self, f: &dyn Fn(Dim) -> Option<Dim>) -> Result<Poly> {
        let mut total = Poly::default();
        for (monomial, coefficient) in &self.terms {
            let mut term = Poly::constant(*coefficient);
            for &(atom, power) in monomial {
                let value = match intern::node(atom).as_deref() {
                    Some(Node::Quotient(p, q)) => p.substitute(f)?.floor_div(&q.substitute(f)?)?,
                    _ => Poly::of(f(atom).unwrap_or(atom)),
                };
                for _ in 0..power {
                    term = term.mul(&value)?;
                }
            }
            total = total.add(&term)?;
        }
        Ok(total)
    }

    /// Appends every symbol and placeholder inside, with repeats.
    pub(super) fn collect_leaves(&self, leaves: &mut Vec<Dim>) {
        for &(atom, _) in self.terms.iter().flat_map(|(monomial, _)| monomial) {
            match intern::node(atom).as_deref() {
                Some(Node::Quotient(p, q)) => {
                    p.collect_leaves(leaves);
                    q.collect_leaves(leaves);
                }
                _ => leaves.push(atom),
            }
        }
    }
}
