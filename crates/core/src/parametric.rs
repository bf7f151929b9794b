//! The elementwise family with numbers as attributes: slopes, bounds, thresholds.

use std::fmt;
use std::sync::OnceLock;

use fluvial_kernels::{Body, S};
use fluvial_tensor::{DType, Result, Type};
use smallvec::{SmallVec, smallvec};

use crate::attrs::{Attr, Attrs};
use crate::family::{Domain, Typing, eval_elementwise};
use crate::grad::{Grad, Keeps, Rule};
use crate::op::{Arity, Attributes, Op, OpRef, Properties, Types, Values};
use crate::value::Value;

/// Elementwise ops of one input that differ in numbers, made at compile time:
///
/// ```
/// use fluvial_core::{Keeps, Parametric, ParametricOp, Result, Var, bind1, grads};
///
/// /// Multiplies by a number.
/// #[track_caller]
/// pub fn scale(x: &Var, by: f64) -> Result<Var> {
///     bind1(SCALE.with(&[by]), &[x])
/// }
///
/// pub static SCALE: Parametric = Parametric::unary(
///     "my.scale",
///     &["by"],
///     |x, p| x * p[0],
///     Keeps::NOTHING,
///     |p| grads![p => p.dy() * p.op::<ParametricOp>()?.number(0)],
/// );
///
/// let y = scale(&Var::scalar(3.0f64), 2.0).unwrap();
/// assert_eq!(y.item::<f64>().unwrap(), 6.0);
/// ```
pub struct Parametric {
    name: &'static str,
    numbers: &'static [&'static str],
    source: for<'a, 'b> fn(S<'a>, &'b [S<'a>]) -> S<'a>,
    typing: Typing,
    grad: Grad,
    check: fn(&[f64], DType) -> Result<()>,
    body: OnceLock<Body>,
}

impl Parametric {
    /// A function of one number; the names are those of the attributes, in the order of `p`.
    pub const fn unary(
        name: &'static str,
        numbers: &'static [&'static str],
        body: for<'a, 'b> fn(S<'a>, &'b [S<'a>]) -> S<'a>,
        keeps: Keeps,
        rule: Rule,
    ) -> Parametric {
        Parametric {
            name,
            numbers,
            source: body,
            typing: Typing::NUMERIC,
            grad: Grad::Rule(keeps, rule),
            check: |_, _| Ok(()),
            body: OnceLock::new(),
        }
    }

    /// The ops with another domain.
    pub const fn domain(mut self, domain: Domain) -> Parametric {
        self.typing.domain = domain;
        self
    }

    /// The ops with a check of their numbers, which is also told the element type.
    pub const fn checked(mut self, check: fn(&[f64], DType) -> Result<()>) -> Parametric {
        self.check = check;
        self
    }

    /// The op with these numbers.
    pub fn with(&'static self, numbers: &[f64]) -> ParametricOp {
        ParametricOp { family: self, numbers: SmallVec::from_slice(numbers) }
    }

    /// The op with numbers read from a program file.
    pub fn build(&'static self, attrs: &Attrs) -> Result<OpRef> {
        attrs.only(self.name, self.numbers)?;
        let numbers = self.numbers.iter().map(|name| attrs.field(self.name, name));
        Ok(ParametricOp { family: self, numbers: numbers.collect::<Result<_>>()? }.into())
    }

    fn scalar(&self) -> &Body {
        self.body
            .get_or_init(|| Body::build(1, self.numbers.len() as u8, |x, p| (self.source)(x[0], p)))
    }
}

/// One op of a [`Parametric`] family.
#[derive(Clone)]
pub struct ParametricOp {
    family: &'static Parametric,
    numbers: SmallVec<[f64; 4]>,
}

impl ParametricOp {
    /// Number `i`.
    pub fn number(&self, i: usize) -> f64 {
        self.numbers[i]
    }
}

impl Attributes for ParametricOp {
    fn name(&self) -> &'static str {
        self.family.name
    }

    fn attrs(&self) -> Attrs {
        let mut attrs = Attrs::new();
        for (&name, &number) in self.family.numbers.iter().zip(&self.numbers) {
            attrs.push(name, Attr::Float(number));
        }
        attrs
    }

    fn rebuild(&self, attrs: &Attrs) -> Result<OpRef> {
        self.family.build(attrs)
    }
}

impl Op for ParametricOp {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let ty = self.family.typing.infer(inputs)?;
        (self.family.check)(&self.numbers, ty.dtype())?;
        Ok(smallvec![ty])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let family = self.family;
        eval_elementwise(&family.typing, family.scalar(), &self.numbers, inputs, &outs[0])
    }

    fn grad(&self) -> Grad {
        self.family.grad
    }

    fn properties(&self) -> Properties {
        Properties::ELEMENTWISE
    }

    fn body_dtype(&self, inputs: &[&Type]) -> Option<DType> {
        let promoted = self.family.typing.promoted(|i| inputs[i].dtype(), inputs.len());
        promoted.ok().map(DType::compute)
    }

    fn body(&self) -> Option<&Body> {
        Some(self.family.scalar())
    }

    fn body_params(&self) -> SmallVec<[f64; 4]> {
        self.numbers.clone()
    }
}

impl fmt::Debug for ParametricOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct(self.family.name);
        for (name, number) in self.family.numbers.iter().zip(&self.numbers) {
            shown.field(name, number);
        }
        shown.finish()
    }
}
