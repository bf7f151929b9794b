//! The elementwise family: an op from a scalar expression and a derivative.

use std::fmt;
use std::sync::OnceLock;

use fluvial_kernels::{Body, S};
use fluvial_tensor::{DType, Error, Result, Tensor, Type, broadcast};
use smallvec::{SmallVec, smallvec};

use crate::attrs::Attrs;
use crate::block::ValueId;
use crate::grad::{Grad, Keeps, Rule};
use crate::op::{Arity, Attributes, Op, OpRef, Properties, Takes, Types, Values};
use crate::rewrite::{NewValues, Rewrite};
use crate::value::Value;

/// An elementwise op without attributes, made at compile time:
///
/// ```
/// use fluvial_core::{Elementwise, Keeps, Result, Var, bind1, grads};
///
/// /// The natural exponential.
/// #[track_caller]
/// pub fn exp(x: &Var) -> Result<Var> {
///     bind1(&EXP, &[x])
/// }
///
/// pub static EXP: Elementwise =
///     Elementwise::unary("exp", |x| x.exp(), Keeps::OUTPUTS, |p| grads![p => p.dy() * p.y(0)]);
///
/// let y = exp(&Var::scalar(0.0f64)).unwrap();
/// assert_eq!(y.item::<f64>().unwrap(), 1.0);
/// ```
///
/// Its inputs are broadcast together and promoted to one element type.
pub struct Elementwise {
    name: &'static str,
    source: Source,
    typing: Typing,
    grad: Grad,
    /// If an input of this position is this number everywhere, the result is the other input.
    identities: &'static [(usize, f64)],
    body: OnceLock<Body>,
}

enum Source {
    Unary(for<'a> fn(S<'a>) -> S<'a>),
    Binary(for<'a> fn(S<'a>, S<'a>) -> S<'a>),
    Ternary(for<'a> fn(S<'a>, S<'a>, S<'a>) -> S<'a>),
}

/// How an elementwise op treats element types.
#[derive(Clone, Copy, Debug)]
pub struct Typing {
    /// What it takes.
    pub domain: Domain,
    /// What it gives.
    pub result: ResultType,
    /// The inputs that are conditions (one bit each): bool, and not promoted with the rest.
    pub masks: u32,
    /// Whether it takes complex numbers.
    pub takes: Takes,
}

/// The element types that an elementwise op takes, after promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// All.
    Any,
    /// Numbers, not bools.
    Numeric,
    /// Floats; integers and bools are turned into `f32`.
    Float,
    /// Integers and bools.
    Integer,
    /// Integers, not bools.
    Whole,
}

impl Domain {
    const fn takes_floats(self) -> bool {
        !matches!(self, Domain::Integer | Domain::Whole)
    }
}

/// The element type that an elementwise op gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// That of the promoted inputs.
    Promoted,
    /// Bool.
    Bool,
    /// That of the parts of the promoted inputs: a real one.
    Part,
    /// The complex one whose parts are of the type of the promoted inputs.
    Complex,
}

impl Typing {
    /// Numbers to numbers.
    pub const NUMERIC: Typing = Typing {
        domain: Domain::Numeric,
        result: ResultType::Promoted,
        masks: 0,
        takes: Takes::Real,
    };

    /// The type of the result, or why the inputs do not fit.
    #[inline]
    pub fn infer(&self, inputs: &[&Type]) -> Result<Type> {
        if let [a, b] = inputs
            && a == b
            && a.dtype().is_float()
            && self.masks == 0
            && self.result == ResultType::Promoted
            && self.domain.takes_floats()
            && !a.is_list()
        {
            return Ok(**a);
        }
        self.infer_general(inputs)
    }

    fn infer_general(&self, inputs: &[&Type]) -> Result<Type> {
        if let Some(list) = inputs.iter().find(|ty| ty.is_list()) {
            return Err(Error::dtype(format!("expected a tensor, found {list}")));
        }
        let mut dims: SmallVec<[_; 8]> = SmallVec::from_slice(inputs[0].dims());
        for ty in &inputs[1..] {
            if ty.dims() != &dims[..] {
                dims = broadcast(&dims, ty.dims())?;
            }
        }
        let promoted = self.promoted(|i| inputs[i].dtype(), inputs.len())?;
        let dtype = match self.result {
            ResultType::Promoted => promoted,
            ResultType::Bool => DType::Bool,
            ResultType::Part => promoted.real(),
            ResultType::Complex => promoted.complex(),
        };
        Type::new(dtype, &dims)
    }

    /// The type in which the body computes.
    #[inline]
    pub fn compute(&self, dtype: impl Fn(usize) -> DType, n_inputs: usize) -> Result<DType> {
        let promoted = self.promoted(dtype, n_inputs)?;
        Ok(match self.result {
            ResultType::Complex => promoted.complex(),
            _ => promoted.compute(),
        })
    }

    /// The element type of the promoted inputs.
    #[inline]
    pub fn promoted(&self, dtype: impl Fn(usize) -> DType, n_inputs: usize) -> Result<DType> {
        let mut promoted = None;
        for i in 0..n_inputs {
            let own = dtype(i);
            if self.masks >> i & 1 == 1 {
                if own != DType::Bool {
                    return Err(not_a_condition(i, own));
                }
                continue;
            }
            promoted = Some(promoted.map_or(own, |sum: DType| sum.promote(own)));
        }
        let promoted = promoted.unwrap_or(DType::Bool);
        match self.domain {
            Domain::Float if !promoted.is_inexact() => Ok(DType::F32),
            Domain::Numeric if promoted.is_bool() => {
                Err(Error::dtype("bools are not numbers here")
                    .remedy("cast them first, or use the logical ops"))
            }
            Domain::Integer if promoted.is_float() => {
                Err(Error::dtype(format!("expected integers or bools, found {}", promoted.name()))
                    .remedy("cast to an integer type first"))
            }
            Domain::Whole if promoted.is_float() || promoted.is_bool() => {
                Err(Error::dtype(format!("expected integers, found {}", promoted.name()))
                    .remedy("cast to an integer type first"))
            }
            _ => Ok(promoted),
        }
    }
}

#[cold]
fn not_a_condition(i: usize, dtype: DType) -> Error {
    Error::dtype(format!("input {i} is a condition and must be bool, found {}", dtype.name()))
        .remedy("compare with something, such as `ne(x, 0)`")
}

impl Elementwise {
    /// A function of one number.
    pub const fn unary(
        name: &'static str,
        body: for<'a> fn(S<'a>) -> S<'a>,
        keeps: Keeps,
        rule: Rule,
    ) -> Elementwise {
        Elementwise::new(name, Source::Unary(body), Grad::Rule(keeps, rule))
    }

    /// A function of two numbers.
    pub const fn binary(
        name: &'static str,
        body: for<'a> fn(S<'a>, S<'a>) -> S<'a>,
        keeps: Keeps,
        rule: Rule,
    ) -> Elementwise {
        Elementwise::new(name, Source::Binary(body), Grad::Rule(keeps, rule))
    }

    /// A function of three numbers.
    pub const fn ternary(
        name: &'static str,
        body: for<'a> fn(S<'a>, S<'a>, S<'a>) -> S<'a>,
        keeps: Keeps,
        rule: Rule,
    ) -> Elementwise {
        Elementwise::new(name, Source::Ternary(body), Grad::Rule(keeps, rule))
    }

    /// A function of one number whose derivative is zero.
    pub const fn unary_flat(name: &'static str, body: for<'a> fn(S<'a>) -> S<'a>) -> Elementwise {
        Elementwise::new(name, Source::Unary(body), Grad::Zero)
    }

    /// A function of two numbers whose derivative is zero.
    pub const fn binary_flat(
        name: &'static str,
        body: for<'a> fn(S<'a>, S<'a>) -> S<'a>,
    ) -> Elementwise {
        Elementwise::new(name, Source::Binary(body), Grad::Zero)
    }

    const fn new(name: &'static str, source: Source, grad: Grad) -> Elementwise {
        Elementwise {
            name,
            source,
            typing: Typing::NUMERIC,
            grad,
            identities: &[],
            body: OnceLock::new(),
        }
    }

    /// The op with another domain.
    pub const fn domain(mut self, domain: Domain) -> Elementwise {
        self.typing.domain = domain;
        self
    }

    /// The op with a bool result.
    pub const fn gives_bool(mut self) -> Elementwise {
        self.typing.result = ResultType::Bool;
        self
    }

    /// The op, which is an analytic function of complex numbers, too ([`Takes::Analytic`]).
    pub const fn analytic(mut self) -> Elementwise {
        self.typing.takes = Takes::Analytic;
        self
    }

    /// The op, which has a meaning for complex numbers, too, and a rule that holds for them.
    pub const fn complex(mut self) -> Elementwise {
        self.typing.takes = Takes::Complex;
        self
    }

    /// The op with a real result, also of complex numbers.
    pub const fn gives_part(mut self) -> Elementwise {
        self.typing.result = ResultType::Part;
        self
    }

    /// The op with a complex result of real numbers.
    pub const fn gives_complex(mut self) -> Elementwise {
        self.typing.takes = Takes::Complex;
        self.typing.result = ResultType::Complex;
        self
    }

    /// The op with conditions among its inputs (one bit each).
    pub const fn masks(mut self, bits: u32) -> Elementwise {
        self.typing.masks = bits;
        self
    }

    /// The op of two inputs whose result is one of them, by bits, if the other, given by its
    /// position, is a certain number.
    pub const fn identities(mut self, identities: &'static [(usize, f64)]) -> Elementwise {
        self.identities = identities;
        self
    }

    /// The name in programs.
    pub const fn text(&self) -> &'static str {
        self.name
    }

    fn scalar(&self) -> &Body {
        self.body.get_or_init(|| match self.source {
            Source::Unary(f) => Body::unary(f),
            Source::Binary(f) => Body::binary(f),
            Source::Ternary(f) => Body::ternary(f),
        })
    }

    /// The result for 0-d tensors of one float type, which every op of the family takes alike.
    #[inline]
    fn quick_on<const N: usize>(&self, inputs: [&Tensor; N]) -> Option<Value> {
        let dtype = inputs[0].dtype();
        let plain = matches!(dtype, DType::F32 | DType::F64)
            && inputs.iter().all(|x| x.rank() == 0 && x.dtype() == dtype)
            && self.n_inputs() == N
            && self.typing.masks == 0
            && matches!(self.typing.result, ResultType::Promoted | ResultType::Part)
            && self.typing.domain.takes_floats();
        if !plain {
            return None;
        }
        self.scalar().run_one(&inputs, &[], dtype, dtype).ok().map(Value::Tensor)
    }

    const fn n_inputs(&self) -> usize {
        match self.source {
            Source::Unary(_) => 1,
            Source::Binary(_) => 2,
            Source::Ternary(_) => 3,
        }
    }
}

/// Runs the body of an elementwise op.
#[inline]
pub fn eval_elementwise(
    typing: &Typing,
    body: &Body,
    params: &[f64],
    inputs: &[&Value],
    out: &Type,
) -> Result<Values> {
    let mut tensors: SmallVec<[&Tensor; 3]> = SmallVec::new();
    for value in inputs {
        tensors.push(value.tensor()?);
    }
    let compute = typing.compute(|i| tensors[i].dtype(), tensors.len())?;
    if tensors.iter().all(|tensor| tensor.numel() == 1) {
        let one = body.run_one(&tensors, params, compute, out.dtype())?;
        if out.rank() == 0 {
            return Ok(smallvec![one.into()]);
        }
        return Ok(smallvec![one.reshape(&known_sizes(out)?)?.into()]);
    }
    let mut result = Tensor::empty(out.dtype(), &known_sizes(out)?)?;
    body.run(&tensors, params, compute, &mut result)?;
    Ok(smallvec![result.into()])
}

/// The sizes of a type that has no symbols.
pub fn known_sizes(ty: &Type) -> Result<SmallVec<[usize; 8]>> {
    ty.sizes()
        .ok_or_else(|| Error::internal(format!("the sizes of {ty} are not known where an op runs")))
}

impl Attributes for Elementwise {
    fn name(&self) -> &'static str {
        self.name
    }

    fn attrs(&self) -> Attrs {
        Attrs::new()
    }

    fn rebuild(&self, _: &Attrs) -> Result<OpRef> {
        Err(Error::internal(format!("`{}` has no attributes to change", self.name)))
    }
}

impl Op for Elementwise {
    fn arity(&self) -> Arity {
        Arity::Exactly(self.n_inputs())
    }

    #[inline]
    fn takes(&self) -> Takes {
        self.typing.takes
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        Ok(smallvec![self.typing.infer(inputs)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        eval_elementwise(&self.typing, self.scalar(), &[], inputs, &outs[0])
    }

    #[inline]
    fn quick(&self, inputs: &[&Value]) -> Option<Value> {
        match inputs {
            [Value::Tensor(a)] => self.quick_on([a]),
            [Value::Tensor(a), Value::Tensor(b)] => self.quick_on([a, b]),
            _ => None,
        }
    }

    fn grad(&self) -> Grad {
        self.grad
    }

    fn properties(&self) -> Properties {
        Properties::ELEMENTWISE
    }

    fn body_dtype(&self, inputs: &[&Type]) -> Option<DType> {
        self.typing.compute(|i| inputs[i].dtype(), inputs.len()).ok()
    }

    fn body(&self) -> Option<&Body> {
        Some(self.scalar())
    }

    fn simplify(&self, on: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        for &(position, number) in self.identities {
            let (given, other) = (inputs[position], inputs[1 - position]);
            let found = on.uniform(given).map(f64::to_bits);
            let types = [*on.ty(inputs[0]), *on.ty(inputs[1])];
            let is_other = |ty: Type| ty == types[1 - position];
            if found == Some(number.to_bits())
                && self.typing.infer(&[&types[0], &types[1]]).is_ok_and(is_other)
            {
                return Ok(Some(smallvec![other]));
            }
        }
        Ok(None)
    }
}

impl From<&'static Elementwise> for OpRef {
    #[inline]
    fn from(op: &'static Elementwise) -> OpRef {
        OpRef::Static(op)
    }
}

impl fmt::Debug for Elementwise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
