//! `fused`: several elementwise ops as one.

use std::fmt::Write;
use std::sync::Arc;

use fluvial_core::family::known_sizes;
use fluvial_core::{
    Arity, Attr, Attribute, Body, DType, Error, Grad, Op, OpDef, Properties, Result, Sample,
    Tensor, Type, Value, attributes, broadcast,
};
use fluvial_core::{Types, Values};
use fluvial_kernels::{Binary, Inst, Unary};
use smallvec::{SmallVec, smallvec};

attributes! {
    /// Several elementwise ops as one: a scalar expression of all inputs, which are broadcast together.
    ///
    /// The compiler makes it. Its bits are those of the ops that it stands for.
    pub struct Fused = "fused" {
        /// The expression.
        pub body: Scalar,
        /// The type in which it is computed.
        pub compute: DType,
        /// The element type of the result.
        pub dtype: DType,
    }
}

/// A scalar expression as an attribute: instructions one after the other, each a word and the numbers of
/// the instructions it takes, such as `x0; x1; mul 0 1`.
#[derive(Clone, PartialEq, Debug)]
pub struct Scalar(pub Arc<Body>);

impl Attribute for Scalar {
    const EXPECTED: &'static str = "a scalar expression";

    fn to_attr(&self) -> Attr {
        let mut text = String::new();
        for (i, inst) in self.0.insts().iter().enumerate() {
            let separator = if i > 0 { "; " } else { "" };
            // Writing to a string does not fail.
            let _ = match *inst {
                Inst::Input(k) => write!(text, "{separator}x{k}"),
                Inst::Param(k) => write!(text, "{separator}p{k}"),
                Inst::Const(value) => write!(text, "{separator}{value:?}"),
                Inst::Unary(op, a) => write!(text, "{separator}{} {a}", op.name()),
                Inst::Binary(op, a, b) => write!(text, "{separator}{} {a} {b}", op.name()),
                Inst::Select(c, a, b) => write!(text, "{separator}select {c} {a} {b}"),
            };
        }
        Attr::Str(text.into())
    }

    fn from_attr(attr: &Attr) -> Option<Scalar> {
        let Attr::Str(text) = attr else { return None };
        let insts: Vec<Inst> = text.split("; ").map(parse_inst).collect::<Option<_>>()?;
        let n_inputs = insts.iter().filter_map(|inst| match inst {
            Inst::Input(k) => k.checked_add(1),
            _ => None,
        });
        let n_inputs = n_inputs.max().unwrap_or(0);
        Body::from_insts(n_inputs, 0, &insts).ok().map(|body| Scalar(Arc::new(body)))
    }
}

fn parse_inst(text: &str) -> Option<Inst> {
    let mut words = text.split(' ');
    let word = words.next()?;
    let operands: SmallVec<[u16; 3]> =
        words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    match operands[..] {
        [] => match word.strip_prefix('x') {
            Some(number) => number.parse().ok().map(Inst::Input),
            None => word.parse().ok().map(Inst::Const),
        },
        [a] => Unary::parse(word).map(|op| Inst::Unary(op, a)),
        [a, b] => Binary::parse(word).map(|op| Inst::Binary(op, a, b)),
        [c, a, b] => (word == "select").then_some(Inst::Select(c, a, b)),
        _ => None,
    }
}

impl Op for Fused {
    fn arity(&self) -> Arity {
        Arity::Exactly(self.body.0.n_inputs())
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        if let Some(list) = inputs.iter().find(|ty| ty.is_list()) {
            return Err(Error::dtype(format!("expected a tensor, found {list}")));
        }
        let mut dims: SmallVec<[_; 8]> = SmallVec::new();
        for ty in inputs {
            if ty.dims() != &dims[..] {
                dims = broadcast(&dims, ty.dims())?;
            }
        }
        self.body.0.check(inputs.len(), 0, self.compute)?;
        Ok(smallvec![Type::new(self.dtype, &dims)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let tensors: SmallVec<[&Tensor; 8]> =
            inputs.iter().map(|value| value.tensor()).collect::<Result<_>>()?;
        let mut out = Tensor::empty(self.dtype, &known_sizes(&outs[0])?)?;
        self.body.0.run(&tensors, &[], self.compute, &mut out)?;
        Ok(smallvec![out.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("fused ops are made after gradients")
    }

    fn properties(&self) -> Properties {
        Properties { broadcasts: false, ..Properties::ELEMENTWISE }
    }

    fn body(&self) -> Option<&Body> {
        Some(&self.body.0)
    }

    fn body_dtype(&self, _: &[&Type]) -> Option<DType> {
        Some(self.compute)
    }
}

/// The ops that only the compiler makes, for readers of programs.
pub const OPS: &[OpDef] = &[OpDef::new(Fused::NAME, Fused::build, || {
    let body = Body::binary(|x, y| (x * y + 1.0).max(x));
    let fused = |dtype| Fused { body: Scalar(Arc::new(body.clone())), compute: DType::F64, dtype };
    let values = |values: &[f64]| {
        Tensor::from_slice(values, &[values.len()]).unwrap_or_else(|_| Tensor::scalar(0.0f64))
    };
    vec![
        Sample::new(fused(DType::F64), [values(&[1.0, -2.0]), values(&[3.0, 4.0])])
            .gives([values(&[4.0, -2.0])]),
    ]
})];
