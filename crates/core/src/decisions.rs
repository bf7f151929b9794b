//! Decisions on open sizes while a program is built for a call whose sizes are known.
//!
//! Such a build has an example of each size. What cannot stay open is decided by the examples, and
//! the decision is noted: the program is right for all sizes for which it comes out the same.
//! Without examples nothing is decided here.

use std::cell::RefCell;

use fluvial_tensor::{Dim, Result, Whole};

/// Sizes that have examples are never smaller.
pub const LEAST: u32 = 2;

/// What was decided about a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The number.
    pub of: Whole,
    /// Whether the question was if it is zero, rather than if it is at least zero.
    pub zero: bool,
    /// The answer.
    pub holds: bool,
}

impl Decision {
    /// Whether it comes out the same for other sizes.
    pub fn stands(&self, sizes: &dyn Fn(Dim) -> Option<usize>) -> Result<bool> {
        Ok(self.of.at(sizes)?.is_some_and(|value| answer(value, self.zero) == self.holds))
    }
}

/// The decisions of a build.
#[derive(Default)]
pub struct Decisions {
    examples: Vec<(Dim, usize)>,
    /// What was decided, without repeats.
    pub made: Vec<Decision>,
    /// The symbols of which the number itself was asked for.
    pub fixed: Vec<Dim>,
}

thread_local! {
    static BUILDS: RefCell<Vec<Decisions>> = const { RefCell::new(Vec::new()) };
}

/// Begins a build in this thread in which these symbols have examples, and no others.
pub fn begin_examples(examples: Vec<(Dim, usize)>) {
    BUILDS.with_borrow_mut(|builds| builds.push(Decisions { examples, ..Decisions::default() }));
}

/// Ends the build begun last; gives what it has decided.
pub fn end_examples() -> Decisions {
    BUILDS.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Whether a number is at least zero; nothing if that cannot be known while building.
pub fn not_negative(number: Whole) -> Result<Option<bool>> {
    decide(number, false)
}

/// Whether a number is zero; nothing if that cannot be known while building.
pub fn is_zero(number: Whole) -> Result<Option<bool>> {
    decide(number, true)
}

/// The number itself; nothing if it cannot be known while building.
pub fn value(number: Whole) -> Result<Option<i64>> {
    let Some(value) = example(number)? else { return Ok(None) };
    decide(number.sub(Whole::Number(value))?, true)?;
    with_build(|build| {
        for symbol in number.symbols() {
            if !build.fixed.contains(&symbol) {
                build.fixed.push(symbol);
            }
        }
    });
    Ok(Some(value))
}

fn answer(value: i64, zero: bool) -> bool {
    if zero { value == 0 } else { value >= 0 }
}

fn decide(number: Whole, zero: bool) -> Result<Option<bool>> {
    if let Whole::Number(value) = number {
        return Ok(Some(answer(value, zero)));
    }
    let Some(value) = example(number)? else { return Ok(None) };
    let holds = answer(value, zero);
    if !is_plain(number, zero)? {
        let decision = Decision { of: number, zero, holds };
        with_build(|build| {
            if !build.made.contains(&decision) {
                build.made.push(decision);
            }
        });
    }
    Ok(Some(holds))
}

/// Whether the answer is the same for all sizes that the program can be used for.
fn is_plain(number: Whole, zero: bool) -> Result<bool> {
    let positive = |bound: Option<i64>| bound.is_some_and(|bound| bound > 0);
    let less = Whole::Number(0).sub(number)?;
    let above = number.at_least(LEAST);
    Ok(positive(above) || positive(less.at_least(LEAST)) || (!zero && above == Some(0)))
}

fn example(number: Whole) -> Result<Option<i64>> {
    let examples = with_build(|build| build.examples.clone()).unwrap_or_default();
    let size = |symbol: Dim| examples.iter().find(|(known, _)| *known == symbol).map(|pair| pair.1);
    number.at(&size)
}

fn with_build<R>(f: impl FnOnce(&mut Decisions) -> R) -> Option<R> {
    BUILDS.with_borrow_mut(|builds| builds.last_mut().map(f))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_decided_is_noted_once() {
        let n = Whole::from(Dim::symbol("n").unwrap());
        let number = Whole::Number;
        assert_eq!(not_negative(n.sub(number(4)).unwrap()).unwrap(), None);
        begin_examples(vec![(Dim::symbol("n").unwrap(), 5)]);
        assert_eq!(not_negative(n.sub(number(2)).unwrap()).unwrap(), Some(true));
        assert_eq!(is_zero(n.sub(number(1)).unwrap()).unwrap(), Some(false));
        assert_eq!(not_negative(number(1).sub(n).unwrap()).unwrap(), Some(false));
        assert_eq!(not_negative(number(-1)).unwrap(), Some(false));
        for _ in 0..2 {
            assert_eq!(not_negative(n.sub(number(4)).unwrap()).unwrap(), Some(true));
            assert_eq!(is_zero(n.sub(number(3)).unwrap()).unwrap(), Some(false));
        }
        let other = Whole::from(Dim::symbol("_0").unwrap());
        assert_eq!(not_negative(other.sub(number(4)).unwrap()).unwrap(), None);
        let decisions = end_examples();
        assert_eq!(decisions.made.len(), 2);
        assert!(decisions.fixed.is_empty());
        for (size, stand) in [(3, false), (4, true), (5, true), (2, false)] {
            let stands = |decision: &Decision| decision.stands(&|_| Some(size)).unwrap();
            assert_eq!(decisions.made.iter().all(stands), stand, "{size}");
        }
        assert_eq!(is_zero(n).unwrap(), None);
    }

    #[test]
    fn a_number_that_is_asked_for_is_fixed() {
        let n = Dim::symbol("n").unwrap();
        begin_examples(vec![(n, 5)]);
        assert_eq!(value(Whole::from(n).mul(Whole::Number(2)).unwrap()).unwrap(), Some(10));
        let decisions = end_examples();
        assert_eq!(decisions.fixed, [n]);
        assert!(decisions.made[0].stands(&|_| Some(5)).unwrap());
        assert!(!decisions.made[0].stands(&|_| Some(4)).unwrap());
    }
}
