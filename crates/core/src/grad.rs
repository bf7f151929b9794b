//! Gradients as ops state them: a rule over [`Var`]s, what it keeps, and how it is asked.

use fluvial_tensor::{Error, Result, Type};
use smallvec::SmallVec;

use crate::op::{Op, OpRef, Takes};
use crate::reverse::Sum;
use crate::structural;
use crate::tape::Slot;
use crate::var::Var;

/// The gradient of an op. Every op states one; none is lost silently.
#[derive(Clone, Copy)]
pub enum Grad {
    /// Cotangents of the inputs from those of the outputs, written with the framework's own ops,
    /// so that one rule serves the tape, programs and higher orders.
    Rule(Keeps, Rule),
    /// As a rule, but with the sums of the cotangents of the inputs so far, to which it adds in the order in which
    /// the lines would: for ops that own blocks.
    Totals(Keeps, TotalsRule),
    /// The derivative is zero wherever it exists (`floor`, `sign`).
    Zero,
    /// The value is declared a constant: no gradient passes (`stop_gradient`).
    Stop,
    /// There is no derivative, and asking for it is an error that gives this reason.
    NonDifferentiable(&'static str),
}

/// A gradient rule. It captures nothing: attributes are read through [`Pull::op`].
pub type Rule = fn(&Pull<'_>) -> Result<Cotangents>;

/// A gradient rule that goes on with sums. It gives the total of each input to which it has added.
pub type TotalsRule = fn(&Pull<'_>, &[Option<Sum>]) -> Result<Vec<Option<Sum>>>;

/// One cotangent per input; nothing where it is zero or not wanted.
pub type Cotangents = SmallVec<[Option<Var>; 2]>;

/// Which inputs and outputs a rule reads; the rest is freed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeps {
    inputs: u32,
    outputs: u32,
    others: bool,
    types: bool,
}

impl Keeps {
    /// Nothing.
    pub const NOTHING: Keeps = Keeps { inputs: 0, outputs: 0, others: false, types: false };
    /// All inputs.
    pub const INPUTS: Keeps = Keeps { inputs: u32::MAX, outputs: 0, others: false, types: false };
    /// All outputs.
    pub const OUTPUTS: Keeps = Keeps { inputs: 0, outputs: u32::MAX, others: false, types: false };
    /// All inputs and outputs.
    pub const ALL: Keeps =
        Keeps { inputs: u32::MAX, outputs: u32::MAX, others: false, types: false };
    /// For products: an input is kept only if the gradient of another input is wanted.
    pub const OTHERS: Keeps = Keeps { inputs: u32::MAX, outputs: 0, others: true, types: false };

    /// No values, but the types of all inputs, also of those whose cotangent is not wanted.
    pub const TYPES: Keeps = Keeps { inputs: 0, outputs: 0, others: false, types: true };

    /// The inputs of these positions only (one bit each).
    pub const fn inputs(bits: u32) -> Keeps {
        Keeps { inputs: bits, outputs: 0, others: false, types: false }
    }

    /// The outputs of these positions besides.
    pub const fn and_outputs(self, bits: u32) -> Keeps {
        Keeps { outputs: bits, ..self }
    }

    /// Whether input `i` is kept, if the cotangents of `others` further inputs are wanted.
    /// Positions from 31 on share the last bit.
    #[inline]
    pub fn input(self, i: usize, others: usize) -> bool {
        self.inputs >> i.min(31) & 1 == 1 && (!self.others || others > 0)
    }

    /// Whether output `i` is kept.
    #[inline]
    pub fn output(self, i: usize) -> bool {
        self.outputs >> i.min(31) & 1 == 1
    }

    /// Whether the types of all inputs are kept.
    #[inline]
    pub fn all_types(self) -> bool {
        self.types
    }

    /// Whether any output is kept.
    #[inline]
    pub fn any_output(self) -> bool {
        self.outputs != 0
    }
}

/// What a gradient rule is given: the op, the values it keeps and the cotangents of the outputs.
pub struct Pull<'a> {
    pub(crate) op: &'a OpRef,
    pub(crate) inputs: &'a [Slot],
    pub(crate) wanted: &'a [bool],
    pub(crate) outputs: &'a [Option<Var>],
    pub(crate) dys: &'a [Option<Var>],
}

impl Pull<'_> {
    /// The op, as its own type.
    pub fn op<T: Op>(&self) -> Result<&T> {
        self.op.downcast().ok_or_else(|| {
            Error::internal(format!("the rule of `{}` asked for another op's type", self.op.name()))
        })
    }

    /// What an analytic function reads: the conjugate of a complex number.
    fn conjugate(&self, var: &Var) -> Var {
        match var.dtype().is_complex() && self.op.takes() == Takes::Analytic {
            true => structural::conj(var).unwrap_or_else(Var::failed),
            false => var.clone(),
        }
    }

    /// Input `i`. If the rule does not keep it, a failed value that says so.
    pub fn x(&self, i: usize) -> Var {
        match self.inputs.get(i) {
            Some(Slot::Kept(var)) => self.conjugate(var),
            _ => self.not_kept("input", i),
        }
    }

    /// Output `i`. If the rule does not keep it, a failed value that says so.
    pub fn y(&self, i: usize) -> Var {
        match self.outputs.get(i) {
            Some(Some(var)) => self.conjugate(var),
            _ => self.not_kept("output", i),
        }
    }

    /// The cotangent of the first output; for ops with one output.
    pub fn dy(&self) -> Var {
        match self.dys.first() {
            Some(Some(var)) => var.clone(),
            _ => Var::failed(Error::internal(format!(
                "the rule of `{}` asked for a cotangent that is zero: use `dys`",
                self.op.name()
            ))),
        }
    }

    /// The cotangents of all outputs; nothing where zero.
    pub fn dys(&self) -> &[Option<Var>] {
        self.dys
    }

    /// Whether the cotangent of input `i` is asked for.
    pub fn wanted(&self, i: usize) -> bool {
        self.wanted.get(i).copied().unwrap_or(false)
    }

    /// The type of input `i`, which must be kept or wanted; with [`Keeps::TYPES`], any.
    pub fn in_type(&self, i: usize) -> Result<Type> {
        self.inputs.get(i).and_then(Slot::ty).ok_or_else(|| {
            Error::internal(format!(
                "the rule of `{}` asked for the type of input {i}, which is neither kept nor wanted",
                self.op.name()
            ))
        })
    }

    /// The number of inputs.
    pub fn n_inputs(&self) -> usize {
        self.inputs.len()
    }

    #[cold]
    fn not_kept(&self, what: &str, i: usize) -> Var {
        Var::failed(Error::internal(format!(
            "the gradient rule of `{}` reads {what} {i}, which its `Keeps` does not name",
            self.op.name()
        )))
    }
}

/// What a rule may give as a cotangent.
pub trait IntoCotangent {
    /// The cotangent, or its error.
    fn into_cotangent(self) -> Result<Option<Var>>;
}

impl IntoCotangent for Var {
    fn into_cotangent(self) -> Result<Option<Var>> {
        self.check().map(Some)
    }
}

impl IntoCotangent for Result<Var> {
    fn into_cotangent(self) -> Result<Option<Var>> {
        self.and_then(Var::check).map(Some)
    }
}

impl IntoCotangent for Option<Var> {
    fn into_cotangent(self) -> Result<Option<Var>> {
        self.map(Var::check).transpose()
    }
}

/// The cotangents of a rule, one expression per input, of which only the wanted are evaluated:
/// `grads![p => p.dy() * p.x(1), p.dy() * p.x(0)]`.
#[macro_export]
macro_rules! grads {
    ($pull:expr => $($cotangent:expr),+ $(,)?) => {{
        let mut cotangents = $crate::Cotangents::new();
        $(
            let wanted = $pull.wanted(cotangents.len());
            cotangents.push(match wanted {
                true => $crate::IntoCotangent::into_cotangent($cotangent)?,
                false => None,
            });
        )+
        Ok(cotangents)
    }};
}
