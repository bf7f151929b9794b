//! The inner loops: one instruction over one tile.
//!
//! They are plain `for` loops: the closures that `for_each` and its like are given need not be inlined, and
//! would then not be compiled for the vector instructions around them.

use fluvial_tensor::Element;

use super::compute::{VisitBinary, VisitUnary};
use crate::lanes::{Ahead, STEP};

/// A value while a tile is computed.
#[derive(Clone, Copy)]
pub(crate) enum Value<C> {
    /// The same for all elements.
    Uniform(C),
    /// One number for each element of the tile, in a slot or in the memory of an input.
    Tile(*const C),
}

/// The tile being computed.
pub(crate) struct Target<'a, C> {
    to: &'a mut [C],
    ahead: Ahead<C>,
}

impl<'a, C: Element> Target<'a, C> {
    /// # Safety
    ///
    /// `to` has room for `len` elements that nothing else refers to for `'a`. All operands that are used
    /// with the target are uniform, or tiles of `len` elements elsewhere in memory that live for `'a`.
    pub(crate) unsafe fn new(to: *mut C, len: usize) -> Target<'a, C> {
        // SAFETY: by the caller's promise.
        Target { to: unsafe { std::slice::from_raw_parts_mut(to, len) }, ahead: Ahead::default() }
    }

    /// The same, with what its loop is to prefetch.
    #[inline(always)]
    pub(crate) fn with_ahead(self, ahead: Ahead<C>) -> Target<'a, C> {
        Target { ahead, ..self }
    }

    /// The elements of the target itself.
    pub(crate) fn into_slice(self) -> &'a mut [C] {
        self.to
    }

    #[inline(always)]
    fn operand(&self, tile: *const C) -> &'a [C] {
        // SAFETY: by the promise made to `Target::new`.
        unsafe { std::slice::from_raw_parts(tile, self.to.len()) }
    }

    /// The target in steps, each of which is asked for ahead when it is handed out.
    #[inline(always)]
    fn steps(self) -> impl Iterator<Item = &'a mut [C]> {
        let (ahead, step) = (self.ahead, self.step());
        self.to.chunks_mut(step).enumerate().map(
            #[inline(always)]
            move |(number, step)| {
                ahead.ask(number);
                step
            },
        )
    }

    /// The length of a step: all at once if there is nothing to ask for.
    #[inline(always)]
    fn step(&self) -> usize {
        if self.ahead.is_empty() { self.to.len().max(1) } else { STEP }
    }

    /// `a` where `condition` is not 0, else `b`.
    #[inline(always)]
    pub(crate) fn select(self, condition: Value<C>, a: Value<C>, b: Value<C>) {
        let condition = match condition {
            Value::Tile(condition) => self.operand(condition),
            Value::Uniform(condition) => {
                return self.copy(if condition != C::default() { a } else { b });
            }
        };
        let pick = |condition: C, a: C, b: C| if condition != C::default() { a } else { b };
        match (a, b) {
            (Value::Tile(a), Value::Tile(b)) => {
                let operands = self.operand(a).iter().zip(self.operand(b));
                let to = self.to.iter_mut().zip(condition).zip(operands);
                for ((to, &c), (&a, &b)) in to {
                    *to = pick(c, a, b);
                }
            }
            (Value::Tile(a), Value::Uniform(b)) => {
                let a = self.operand(a);
                let to = self.to.iter_mut().zip(condition).zip(a);
                for ((to, &c), &a) in to {
                    *to = pick(c, a, b);
                }
            }
            (Value::Uniform(a), Value::Tile(b)) => {
                let b = self.operand(b);
                let to = self.to.iter_mut().zip(condition).zip(b);
                for ((to, &c), &b) in to {
                    *to = pick(c, a, b);
                }
            }
            (Value::Uniform(a), Value::Uniform(b)) => {
                for (to, &c) in self.to.iter_mut().zip(condition) {
                    *to = pick(c, a, b);
                }
            }
        }
    }

    /// The value itself.
    #[inline(always)]
    pub(crate) fn copy(self, value: Value<C>) {
        match value {
            Value::Tile(tile) => {
                let tile = self.operand(tile);
                self.to.copy_from_slice(tile);
            }
            Value::Uniform(value) => self.to.fill(value),
        }
    }
}

/// Applies a unary function to a tile.
pub(crate) struct UnaryTile<'a, C>(pub(crate) Target<'a, C>, pub(crate) *const C);

impl<C: Element> VisitUnary<C> for UnaryTile<'_, C> {
    type Output = ();

    #[inline(always)]
    fn visit(self, f: impl Fn(C) -> C) {
        let a = self.0.operand(self.1).chunks(self.0.step());
        for (to, a) in self.0.steps().zip(a) {
            for (to, &a) in to.iter_mut().zip(a) {
                *to = f(a);
            }
        }
    }

    #[inline(always)]
    fn visit_slow(self, f: impl Fn(C) -> C) {
        slow_unary(self.0.operand(self.1), self.0.to, |_| true, f);
    }

    /// Computes the tile as if all its numbers were usual, and then again those that are not.
    #[inline(always)]
    fn visit_usual(
        self,
        is_usual: impl Fn(C) -> bool,
        fast: impl Fn(C) -> C,
        slow: impl Fn(C) -> C,
    ) {
        let (Target { to, ahead }, a) = (self.0, self.1);
        UnaryTile(Target { to: &mut *to, ahead }, a).visit(fast);
        let target = Target { to, ahead };
        let a = target.operand(a);
        let mut all = true;
        for &a in a {
            all &= is_usual(a);
        }
        if !all {
            slow_unary(a, target.to, |a| !is_usual(a), slow);
        }
    }

    #[inline(always)]
    fn visit_many(self, _: impl Fn(C) -> C, many: impl Fn(&[C], &mut [C], Ahead<C>)) {
        many(self.0.operand(self.1), self.0.to, self.0.ahead);
    }
}

/// Computes the elements that are wanted. It is compiled once, not for each set of instructions.
#[inline(never)]
fn slow_unary<C: Element>(
    a: &[C],
    to: &mut [C],
    is_wanted: impl Fn(C) -> bool,
    f: impl Fn(C) -> C,
) {
    for (to, &a) in to.iter_mut().zip(a).filter(|(_, a)| is_wanted(**a)) {
        *to = f(a);
    }
}

/// The operands of a binary function, of which one at least is a tile.
#[derive(Clone, Copy)]
pub(crate) enum Pair<C> {
    Tiles(*const C, *const C),
    Left(*const C, C),
    Right(C, *const C),
}

impl<C: Element> Pair<C> {
    /// `None` if both are uniform, and so is what is made of them.
    #[inline(always)]
    pub(crate) fn new(a: Value<C>, b: Value<C>) -> Option<Pair<C>> {
        match (a, b) {
            (Value::Tile(a), Value::Tile(b)) => Some(Pair::Tiles(a, b)),
            (Value::Tile(a), Value::Uniform(b)) => Some(Pair::Left(a, b)),
            (Value::Uniform(a), Value::Tile(b)) => Some(Pair::Right(a, b)),
            (Value::Uniform(_), Value::Uniform(_)) => None,
        }
    }

    /// Both as the address of the first number and the distance to the next one.
    fn steps(&self) -> [(*const C, usize); 2] {
        match self {
            Pair::Tiles(a, b) => [(*a, 1), (*b, 1)],
            Pair::Left(a, b) => [(*a, 1), (b, 0)],
            Pair::Right(a, b) => [(a, 0), (*b, 1)],
        }
    }
}

/// Applies a binary function to two tiles, or to a tile and a uniform value.
pub(crate) struct BinaryTile<'a, C>(pub(crate) Target<'a, C>, pub(crate) Pair<C>);

impl<C: Element> VisitBinary<C> for BinaryTile<'_, C> {
    type Output = ();

    #[inline(always)]
    fn visit(self, f: impl Fn(C, C) -> C) {
        let BinaryTile(target, pair) = self;
        let step = target.step();
        match pair {
            Pair::Tiles(a, b) => {
                let operands = target.operand(a).chunks(step).zip(target.operand(b).chunks(step));
                for (to, (a, b)) in target.steps().zip(operands) {
                    for (to, (&a, &b)) in to.iter_mut().zip(a.iter().zip(b)) {
                        *to = f(a, b);
                    }
                }
            }
            Pair::Left(a, b) => {
                let a = target.operand(a).chunks(step);
                for (to, a) in target.steps().zip(a) {
                    for (to, &a) in to.iter_mut().zip(a) {
                        *to = f(a, b);
                    }
                }
            }
            Pair::Right(a, b) => {
                let b = target.operand(b).chunks(step);
                for (to, b) in target.steps().zip(b) {
                    for (to, &b) in to.iter_mut().zip(b) {
                        *to = f(a, b);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn visit_slow(self, f: impl Fn(C, C) -> C) {
        slow_binary(self.1, self.0, |_, _| true, f);
    }

    /// Computes the tile as if all its numbers were usual, and then again those that are not.
    #[inline(always)]
    fn visit_usual(
        self,
        are_usual: impl Fn(C, C) -> bool,
        fast: impl Fn(C, C) -> C,
        slow: impl Fn(C, C) -> C,
    ) {
        let BinaryTile(Target { to, ahead }, pair) = self;
        BinaryTile(Target { to: &mut *to, ahead }, pair).visit(fast);
        let target = Target { to, ahead };
        let mut all = true;
        match pair {
            Pair::Tiles(a, b) => {
                for (&a, &b) in target.operand(a).iter().zip(target.operand(b)) {
                    all &= are_usual(a, b);
                }
            }
            Pair::Left(a, b) => {
                for &a in target.operand(a) {
                    all &= are_usual(a, b);
                }
            }
            Pair::Right(a, b) => {
                for &b in target.operand(b) {
                    all &= are_usual(a, b);
                }
            }
        }
        if !all {
            slow_binary(pair, target, |a, b| !are_usual(a, b), slow);
        }
    }
}

/// Computes the elements that are wanted. It is compiled once, not for each set of instructions.
#[inline(never)]
fn slow_binary<C: Element>(
    pair: Pair<C>,
    target: Target<'_, C>,
    are_wanted: impl Fn(C, C) -> bool,
    f: impl Fn(C, C) -> C,
) {
    let [(a, a_step), (b, b_step)] = pair.steps();
    for (i, to) in target.to.iter_mut().enumerate() {
        // SAFETY: by the promise made to `Target::new`, tiles are as long as the target.
        let (a, b) = unsafe { (*a.add(i * a_step), *b.add(i * b_step)) };
        if are_wanted(a, b) {
            *to = f(a, b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tile that `f` computes from operands of three elements.
    fn computed(f: impl FnOnce(Target<'_, i32>)) -> [i32; 3] {
        let mut tile = [-1; 3];
        // SAFETY: the tile has three elements, and so have the operands of the tests, elsewhere.
        f(unsafe { Target::new(tile.as_mut_ptr(), 3) });
        tile
    }

    #[test]
    fn every_mix_of_tiles_and_uniform_values() {
        let (a, b) = ([10, 20, 30], [1, 2, 3]);
        let (tile_a, tile_b) = (Value::Tile(a.as_ptr()), Value::Tile(b.as_ptr()));
        let subtract = |a, b| {
            let pair = Pair::new(a, b).unwrap();
            let slowly = computed(|to| BinaryTile(to, pair).visit_slow(|a, b| a - b));
            let result = computed(|to| BinaryTile(to, pair).visit(|a, b| a - b));
            assert_eq!(slowly, result);
            result
        };
        assert_eq!(subtract(tile_a, tile_b), [9, 18, 27]);
        assert_eq!(subtract(tile_a, Value::Uniform(5)), [5, 15, 25]);
        assert_eq!(subtract(Value::Uniform(5), tile_b), [4, 3, 2]);
        assert!(Pair::new(Value::Uniform(5), Value::Uniform(3)).is_none());
        assert_eq!(computed(|to| UnaryTile(to, a.as_ptr()).visit(|a| -a)), [-10, -20, -30]);
        assert_eq!(computed(|to| UnaryTile(to, a.as_ptr()).visit_slow(|a| -a)), [-10, -20, -30]);

        let condition = [0, 1, 0];
        let condition = Value::Tile(condition.as_ptr());
        let select = |c, a, b| computed(|to| to.select(c, a, b));
        assert_eq!(select(condition, tile_a, tile_b), [1, 20, 3]);
        assert_eq!(select(condition, tile_a, Value::Uniform(7)), [7, 20, 7]);
        assert_eq!(select(condition, Value::Uniform(7), tile_b), [1, 7, 3]);
        assert_eq!(select(condition, Value::Uniform(7), Value::Uniform(8)), [8, 7, 8]);
        assert_eq!(select(Value::Uniform(1), tile_a, tile_b), a);
        assert_eq!(select(Value::Uniform(0), tile_a, Value::Uniform(8)), [8; 3]);
    }
}
