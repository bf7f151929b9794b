//! Forms: how an op is spelled with smaller ones, so that a pass finds it where users wrote it out.

use fluvial_tensor::{DType, Result, Type};
use smallvec::SmallVec;

use crate::block::{Call, ValueId};
use crate::op::Op;
use crate::rewrite::Rewrite;

/// A spelling of an op with smaller ones.
pub struct Form {
    /// The op that it is a spelling of, for listings.
    pub name: &'static str,
    /// The names of the ops that a spelling may end in.
    pub ends: &'static [&'static str],
    /// Whether a call is the end of such a spelling, and what stands for its result.
    pub find: fn(&mut Look<'_>, &Call) -> Option<Found>,
}

/// Writes what stands for the result of a spelling, and says which value that is.
pub type Found = Box<dyn FnOnce(&mut Rewrite) -> Result<ValueId>>;

/// Inputs of a call.
pub type Ids = SmallVec<[ValueId; 4]>;

/// A look at how values are computed, which remembers what it has passed.
///
/// What was passed is replaced along with the end of the spelling, unless it is used elsewhere: then it would
/// be computed twice, and the spelling is left as it is. Numbers do not count.
pub struct Look<'a> {
    on: &'a Rewrite,
    passed: Vec<ValueId>,
}

impl<'a> Look<'a> {
    /// A look at what has been written.
    pub fn new(on: &'a Rewrite) -> Look<'a> {
        Look { on, passed: Vec::new() }
    }

    /// The values that were passed.
    pub fn passed(&self) -> &[ValueId] {
        &self.passed
    }

    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> &'a Type {
        self.on.ty(value)
    }

    /// The number that all elements of a value are, if that is known. Large constants are not looked into.
    pub fn number(&self, value: ValueId) -> Option<f64> {
        self.on.uniform(value).or_else(|| {
            let elements = self
                .on
                .constant(value)
                .filter(|x| x.numel() <= 4096 && !x.dtype().is_complex())?
                .to_f64s();
            let (first, rest) = elements.split_first()?;
            rest.iter().all(|x| x == first).then_some(*first)
        })
    }

    /// Whether all elements of a value are this number, up to the rounding of its element type.
    pub fn is_number(&self, value: ValueId, number: f64) -> bool {
        self.number(value).is_some_and(|found| self.is_near(value, found, number))
    }

    /// Whether a number found among those that a value is computed from is this one, up to the rounding of the
    /// value's element type.
    pub fn is_near(&self, value: ValueId, found: f64, number: f64) -> bool {
        let step = match self.ty(value).dtype() {
            DType::F64 => f64::EPSILON,
            _ => f64::from(f32::EPSILON),
        };
        (found - number).abs() <= 4.0 * step * number.abs()
    }

    /// The inputs of the op that computes a value, if it has this name. Passes the value.
    pub fn inputs(&mut self, value: ValueId, name: &str) -> Option<Ids> {
        let call = self.on.producer(value).filter(|call| call.op.name() == name)?;
        self.passed.push(value);
        Some(call.inputs.iter().copied().collect())
    }

    /// The only input of the op that computes a value, if it has this name. Passes the value.
    pub fn input(&mut self, value: ValueId, name: &str) -> Option<ValueId> {
        match self.inputs(value, name)?[..] {
            [input] => Some(input),
            _ => None,
        }
    }

    /// The op that computes a value, if it is of this type, and its inputs. Passes the value.
    pub fn op<T: Op>(&mut self, value: ValueId) -> Option<(&'a T, Ids)> {
        let call = self.on.producer(value)?;
        let op = call.op.downcast::<T>()?;
        self.passed.push(value);
        Some((op, call.inputs.iter().copied().collect()))
    }

    /// Tries one way to read values; what was passed is forgotten if it fails.
    pub fn attempt<R>(&mut self, f: impl FnOnce(&mut Self) -> Option<R>) -> Option<R> {
        let before = self.passed.len();
        let found = f(self);
        if found.is_none() {
            self.passed.truncate(before);
        }
        found
    }

    /// Tries both orders of the inputs of an op that does not care.
    pub fn either<R>(
        &mut self,
        inputs: &[ValueId],
        mut f: impl FnMut(&mut Self, ValueId, ValueId) -> Option<R>,
    ) -> Option<R> {
        let &[a, b] = inputs else { return None };
        self.attempt(|look| f(look, a, b)).or_else(|| self.attempt(|look| f(look, b, a)))
    }
}
