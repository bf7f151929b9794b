//! `fused`: several elementwise ops as one.

use std::fmt::Write;
use std::sync::Arc;

use fluvial_core::family::known_sizes;
use fluvial_core::{
    Arity, Attr, Attribute, Body, DType, Dim, Error, Grad, Op, OpDef, Properties, Result, Sample,
    Takes, Tensor, Type, Value, attributes, broadcast,
};
use fluvial_core::{Types, Values};
use fluvial_kernels::{Binary, Given, Inst, Unary};
use smallvec::{SmallVec, smallvec};

attributes! {
    /// Several elementwise ops as one: scalar expressions of all inputs, which are broadcast together.
    ///
    /// The compiler makes it. Its bits are those of the ops that it stands for.
    pub struct Fused = "fused" {
        /// The expressions.
        pub body: Scalar,
        /// The type in which they are computed.
        pub compute: DType,
        /// The element types of the results.
        pub dtypes: Vec<DType>,
    }
}

/// Scalar expressions as an attribute: instructions one after the other, each a word and the numbers of
/// the instructions it takes, such as `x0; x1; mul 0 1`. Where the last is not the only result, their
/// numbers follow: `x0; exp 0; neg 1 -> 1 2`.
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
        let results = self.0.results();
        if results.iter().map(|&result| usize::from(result)).ne([self.0.insts().len() - 1]) {
            text.push_str(" ->");
            // Writing to a string does not fail.
            for result in results {
                let _ = write!(text, " {result}");
            }
        }
        Attr::Str(text.into())
    }

    fn from_attr(attr: &Attr) -> Option<Scalar> {
        let Attr::Str(text) = attr else { return None };
        let (text, results) = match text.split_once(" -> ") {
            Some((text, results)) => (text, Some(results)),
            None => (&**text, None),
        };
        let insts: Vec<Inst> = text.split("; ").map(parse_inst).collect::<Option<_>>()?;
        let results: Vec<u16> = match results {
            Some(results) => results.split(' ').map(|r| r.parse().ok()).collect::<Option<_>>()?,
            None => vec![u16::try_from(insts.len() - 1).ok()?],
        };
        let n_inputs = insts.iter().filter_map(|inst| match inst {
            Inst::Input(k) => k.checked_add(1),
            _ => None,
        });
        let n_inputs = n_inputs.max().unwrap_or(0);
        Body::from_parts(n_inputs, 0, &insts, &results).ok().map(|body| Scalar(Arc::new(body)))
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

/// The dims to which inputs of these types are broadcast.
pub(crate) fn broadcast_all(inputs: &[&Type]) -> Result<SmallVec<[Dim; 8]>> {
    if let Some(list) = inputs.iter().find(|ty| ty.is_list()) {
        return Err(Error::dtype(format!("expected a tensor, found {list}")));
    }
    let mut dims: SmallVec<[Dim; 8]> = SmallVec::new();
    for ty in inputs {
        if ty.dims() != &dims[..] {
            dims = broadcast(&dims, ty.dims())?;
        }
    }
    Ok(dims)
}

impl Op for Fused {
    fn arity(&self) -> Arity {
        Arity::Exactly(self.body.0.n_inputs())
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let dims = broadcast_all(inputs)?;
        self.body.0.check(inputs.len(), 0, self.compute)?;
        if self.dtypes.len() != self.body.0.results().len() {
            return Err(Error::program("there is not one element type for each result"));
        }
        self.dtypes.iter().map(|&dtype| Type::new(dtype, &dims)).collect()
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        if let ([dtype], true) = (&self.dtypes[..], inputs.iter().all(|x| is_number(x))) {
            let tensors: SmallVec<[&Tensor; 8]> =
                inputs.iter().map(|value| value.tensor()).collect::<Result<_>>()?;
            let one = self.body.0.run_one(&tensors, &[], self.compute, *dtype)?;
            let one = if outs[0].rank() == 0 { one } else { one.reshape(&known_sizes(&outs[0])?)? };
            return Ok(smallvec![one.into()]);
        }
        let given: SmallVec<[Given<'_>; 8]> =
            inputs.iter().map(|value| value.tensor().map(Given::Tensor)).collect::<Result<_>>()?;
        let sizes = known_sizes(&outs[0])?;
        let mut tensors: SmallVec<[Tensor; 2]> = SmallVec::new();
        for &dtype in &self.dtypes {
            tensors.push(Tensor::empty(dtype, &sizes)?);
        }
        self.body.0.run_many(&given, &[], self.compute, &mut tensors)?;
        Ok(tensors.into_iter().map(Value::Tensor).collect())
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

/// Whether a value is a tensor of one element.
fn is_number(value: &Value) -> bool {
    value.tensor().is_ok_and(|tensor| tensor.numel() == 1)
}

/// The ops that only the compiler makes, for readers of programs.
pub const OPS: &[OpDef] = &[FUSED, crate::fused_reduce::DEF];

const FUSED: OpDef = OpDef::new(Fused::NAME, Fused::build, || {
    let body = Body::binary(|x, y| (x * y + 1.0).max(x));
    let fused = |body: Body, n: usize| Fused {
        body: Scalar(Arc::new(body)),
        compute: DType::F64,
        dtypes: vec![DType::F64; n],
    };
    let several = [Inst::Input(0), Inst::Unary(Unary::Neg, 0), Inst::Unary(Unary::Abs, 0)];
    let several = Body::from_parts(1, 0, &several, &[2, 1]).unwrap_or_else(|_| body.clone());
    let values = |values: &[f64]| {
        Tensor::from_slice(values, &[values.len()]).unwrap_or_else(|_| Tensor::scalar(0.0f64))
    };
    vec![
        Sample::new(fused(body, 1), [values(&[1.0, -2.0]), values(&[3.0, 4.0])])
            .gives([values(&[4.0, -2.0])]),
        Sample::new(fused(several, 2), [values(&[1.0, -2.0])])
            .gives([values(&[1.0, 2.0]), values(&[-1.0, 2.0])]),
    ]
});
