//! Writing a body: handles with operators, and the builder that shares equal instructions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops;

use super::inst::{Binary, Inst, Unary};

/// The longest list of instructions that `u16` operands can address.
pub(crate) const MAX_INSTS: usize = u16::MAX as usize;

/// A value of the body being written.
///
/// Handles combine with `+ - * /` and unary `-` among themselves and with `f64`, and have one method
/// for each operation of [`Unary`] and [`Binary`]. The lifetime is a brand: handles of two different
/// bodies do not mix.
///
/// ```
/// use fluvial_kernels::Body;
///
/// let sigmoid = Body::unary(|x| 1.0 / (1.0 + (-x).exp()));
/// assert_eq!(sigmoid.to_string(), "1 / (1 + exp(-x0))");
/// assert_eq!(sigmoid.eval_f64(&[0.0], &[]), 0.5);
/// ```
#[derive(Clone, Copy)]
pub struct S<'a> {
    builder: &'a Builder,
    index: u16,
    brand: PhantomData<fn(&'a ()) -> &'a ()>,
}

impl<'a> S<'a> {
    /// A constant of the same body.
    pub fn constant(self, value: f64) -> S<'a> {
        self.builder.handle(Inst::Const(value))
    }

    /// `a` where this value is not 0, else `b`.
    pub fn select(self, a: impl Operand<'a>, b: impl Operand<'a>) -> S<'a> {
        let (a, b) = (a.in_body_of(self), b.in_body_of(self));
        self.builder.handle(Inst::Select(self.index, a.index, b.index))
    }

    pub(crate) fn unary(self, op: Unary) -> S<'a> {
        self.builder.handle(Inst::Unary(op, self.index))
    }

    pub(crate) fn binary(self, op: Binary, other: impl Operand<'a>) -> S<'a> {
        let other = other.in_body_of(self);
        self.builder.handle(Inst::Binary(op, self.index, other.index))
    }

    pub(crate) fn index(self) -> u16 {
        self.index
    }
}

/// What a method of [`S`] takes beside the handle itself: another handle, or an `f64` constant.
pub trait Operand<'a>: Copy + sealed::Sealed {
    /// The operand as a value of the body that `peer` belongs to.
    fn in_body_of(self, peer: S<'a>) -> S<'a>;
}

impl<'a> Operand<'a> for S<'a> {
    fn in_body_of(self, _: S<'a>) -> S<'a> {
        self
    }
}

impl<'a> Operand<'a> for f64 {
    fn in_body_of(self, peer: S<'a>) -> S<'a> {
        peer.constant(self)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::S<'_> {}
    impl Sealed for f64 {}
}

/// One arithmetic operator between handles and numbers.
macro_rules! operator {
    ($Trait:ident, $method:ident, $op:expr) => {
        impl<'a, T: Operand<'a>> ops::$Trait<T> for S<'a> {
            type Output = S<'a>;
            fn $method(self, other: T) -> S<'a> {
                self.binary($op, other)
            }
        }

        impl<'a> ops::$Trait<S<'a>> for f64 {
            type Output = S<'a>;
            fn $method(self, other: S<'a>) -> S<'a> {
                other.constant(self).binary($op, other)
            }
        }
    };
}

operator!(Add, add, Binary::Add);
operator!(Sub, sub, Binary::Sub);
operator!(Mul, mul, Binary::Mul);
operator!(Div, div, Binary::Div);

impl<'a> ops::Neg for S<'a> {
    type Output = S<'a>;
    fn neg(self) -> S<'a> {
        self.unary(Unary::Neg)
    }
}

/// Collects instructions; equal ones are stored once.
#[derive(Default)]
pub(crate) struct Builder(RefCell<State>);

#[derive(Default)]
struct State {
    insts: Vec<Inst>,
    known: HashMap<Inst, u16>,
    overflow: bool,
}

impl Builder {
    /// The index of the value that `inst` computes. Past [`MAX_INSTS`] the index is meaningless and
    /// [`Builder::finish`] answers `None`.
    pub(crate) fn push(&self, inst: Inst) -> u16 {
        let state = &mut *self.0.borrow_mut();
        if let Some(&index) = state.known.get(&inst) {
            return index;
        }
        if state.insts.len() == MAX_INSTS {
            state.overflow = true;
            return 0;
        }
        let index = state.insts.len() as u16;
        state.insts.push(inst);
        state.known.insert(inst, index);
        index
    }

    /// The handle of the value that `inst` computes.
    pub(crate) fn handle<'a>(&'a self, inst: Inst) -> S<'a> {
        S { builder: self, index: self.push(inst), brand: PhantomData }
    }

    /// The instructions that `result` depends on, with `result` last; `None` if there were too many.
    pub(crate) fn finish(self, result: u16) -> Option<Vec<Inst>> {
        self.finish_many(&[result]).map(|(insts, _)| insts)
    }

    /// The instructions that the results depend on, and the new numbers of those; `None` if there were
    /// too many.
    pub(crate) fn finish_many(self, results: &[u16]) -> Option<(Vec<Inst>, Vec<u16>)> {
        let State { mut insts, overflow, .. } = self.0.into_inner();
        if overflow {
            return None;
        }
        insts.truncate(*results.iter().max()? as usize + 1);
        let mut alive = vec![false; insts.len()];
        results.iter().for_each(|&result| alive[result as usize] = true);
        for (index, inst) in insts.iter().enumerate().rev() {
            if alive[index] {
                inst.operands().for_each(|operand| alive[operand as usize] = true);
            }
        }
        let mut renumbered = vec![0; insts.len()];
        let mut kept = Vec::with_capacity(alive.iter().filter(|&&alive| alive).count());
        for (index, inst) in insts.into_iter().enumerate() {
            if alive[index] {
                renumbered[index] = kept.len() as u16;
                kept.push(inst.map_operands(|operand| renumbered[operand as usize]));
            }
        }
        Some((kept, results.iter().map(|&result| renumbered[result as usize]).collect()))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Binary, Body, Inst, Unary};

    #[test]
    fn equal_instructions_are_shared() {
        let body = Body::unary(|x| x.exp() * x.exp() + x.exp());
        assert_eq!(
            body.insts(),
            [
                Inst::Input(0),
                Inst::Unary(Unary::Exp, 0),
                Inst::Binary(Binary::Mul, 1, 1),
                Inst::Binary(Binary::Add, 2, 1),
            ]
        );
    }

    #[test]
    fn dead_code_is_removed() {
        let body = Body::build(3, 1, |x, p| {
            let _unused = x[0].exp() + p[0];
            let _after = x[2].sin();
            x[1].constant(3.0)
        });
        assert_eq!(body.insts(), [Inst::Const(3.0)]);
        assert_eq!((body.n_inputs(), body.n_params()), (3, 1));
    }

    #[test]
    fn operators_take_numbers_on_both_sides() {
        let body = Body::binary(|a, b| (2.0 * a - b / 4.0).max(0.5) + -a);
        assert_eq!(body.eval_f64(&[3.0, 8.0], &[]), 1.0);
        let body = Body::ternary(|c, a, b| c.gt(0.0).select(a, b));
        assert_eq!(body.eval_f64(&[1.0, 2.0, 3.0], &[]), 2.0);
        assert_eq!(body.eval_f64(&[-1.0, 2.0, 3.0], &[]), 3.0);
    }

    #[test]
    fn too_many_instructions_are_an_error_of_the_run() {
        let body = Body::unary(|x| (0..70_000).fold(x, |sum, k| sum + k as f64));
        assert!(body.insts().is_empty());
        assert!(body.eval_f64(&[1.0], &[]).is_nan());
        let one = fluvial_tensor::Tensor::scalar(1.0f32);
        assert!(body.run_one(&[&one], &[], one.dtype(), one.dtype()).is_err());
    }
}
