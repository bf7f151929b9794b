//! `matmul_then`: the matrix product and what follows it, while it is in the cache.

use std::sync::Arc;

use super::matmul::Matmul;
use crate::prelude::*;
use kernels::{Activation, Binary, Epilogue, Inst, Unary};

attributes! {
    /// `activation(scale * matmul(a, b) + bias) + residual`, each part if it is there.
    ///
    /// The compiler makes it of a [`Matmul`] and the elementwise ops that follow, with the same bits. Inputs:
    /// the two matrices, `bias`, `residual`.
    pub struct MatmulThen = "matmul_then" {
        /// Whether the matrices on the left are taken with rows as columns.
        pub transpose_a: bool,
        /// Whether the matrices on the right are.
        pub transpose_b: bool,
        /// A factor; 1 for none.
        pub scale: f64,
        /// Whether a number for each column is added.
        pub bias: bool,
        /// The function that follows, by name; empty for none.
        pub activation: Arc<str>,
        /// Whether a tensor of the shape of the result is added at last.
        pub residual: bool,
    }
}

/// The functions that may follow, by name.
const ACTIVATIONS: [(&str, Activation); 6] = [
    ("relu", Activation::Relu),
    ("gelu", Activation::Gelu),
    ("gelu_tanh", Activation::GeluTanh),
    ("tanh", Activation::Tanh),
    ("sigmoid", Activation::Sigmoid),
    ("silu", Activation::Silu),
];

impl MatmulThen {
    fn product(&self) -> Matmul {
        Matmul { transpose_a: self.transpose_a, transpose_b: self.transpose_b }
    }

    fn activation(&self) -> Result<Option<Activation>> {
        if self.activation.is_empty() {
            return Ok(None);
        }
        let found = ACTIVATIONS.iter().find(|(name, _)| *name == &*self.activation);
        found.map(|&(_, activation)| Some(activation)).ok_or_else(|| {
            Error::argument(format!("there is no activation `{}` here", self.activation))
        })
    }

    /// Whether nothing follows the product but a factor at most.
    fn is_bare(&self) -> bool {
        !self.bias && self.activation.is_empty() && !self.residual
    }

    /// The op that does what `next` does to the result, too, and the operand of `next` that it needs.
    fn and(&self, on: &Rewrite, out: &Type, next: &Call) -> Option<(MatmulThen, Option<ValueId>)> {
        let plain = self.clone();
        // The result itself is not yet among the values of `on`.
        let other = next.inputs.iter().copied().find(|&id| id != ValueId::MAX);
        match (next.op.body()?.insts(), other) {
            (&[Inst::Input(0), Inst::Input(1), Inst::Binary(Binary::Add, 0, 1)], Some(id)) => {
                let added = on.ty(id);
                if added.dims() == &out.dims()[out.rank() - 1..] && self.is_bare() {
                    return Some((MatmulThen { bias: true, ..plain }, other));
                }
                let fits = added.dims() == out.dims() && !self.residual;
                fits.then_some((MatmulThen { residual: true, ..plain }, other))
            }
            (&[Inst::Input(0), Inst::Input(1), Inst::Binary(Binary::Mul, 0, 1)], Some(id)) => {
                let scale = on.uniform(id).filter(|_| self.is_bare() && self.scale == 1.0)?;
                Some((MatmulThen { scale, ..plain }, None))
            }
            (insts, None) if self.activation.is_empty() && !self.residual => {
                let activation = activation_of(insts)?.into();
                Some((MatmulThen { activation, ..plain }, None))
            }
            _ => None,
        }
    }
}

/// The name of the function that a body is.
fn activation_of(insts: &[Inst]) -> Option<&'static str> {
    let found = match *insts {
        [Inst::Input(0), Inst::Const(0.0), Inst::Binary(Binary::Max, 0, 1)] => Activation::Relu,
        [Inst::Input(0), Inst::Unary(Unary::Gelu, 0)] => Activation::Gelu,
        [Inst::Input(0), Inst::Unary(Unary::GeluTanh, 0)] => Activation::GeluTanh,
        [Inst::Input(0), Inst::Unary(Unary::Tanh, 0)] => Activation::Tanh,
        [Inst::Input(0), Inst::Unary(Unary::Sigmoid, 0)] => Activation::Sigmoid,
        [Inst::Input(0), Inst::Unary(Unary::Silu, 0)] => Activation::Silu,
        _ => return None,
    };
    ACTIVATIONS.iter().find(|(_, activation)| *activation == found).map(|(name, _)| *name)
}

/// What follows a product: the op that does what `next` does, too, and its inputs.
pub(super) fn absorb(
    then: &MatmulThen,
    on: &Rewrite,
    inputs: &[ValueId],
    next: &Call,
) -> Option<Absorbed> {
    let types: SmallVec<[&Type; 4]> = inputs.iter().map(|&id| on.ty(id)).collect();
    let out = then.infer(&types).ok()?[0];
    let others = next.inputs.iter().filter(|&&id| id != ValueId::MAX).map(|&id| on.ty(id));
    let exact = matches!(out.dtype(), DType::F32 | DType::F64)
        && types.iter().copied().chain(others).all(|ty| ty.dtype() == out.dtype());
    let operands: SmallVec<[&Type; 4]> =
        next.inputs.iter().map(|&id| if id == ValueId::MAX { &out } else { on.ty(id) }).collect();
    let same = next.op.body_params().is_empty() && next.op.infer(&operands).ok()?[..] == [out];
    let is_matrix = on.ty(inputs[0]).rank() > 1 && on.ty(inputs[1]).rank() > 1;
    if !exact || !same || !is_matrix {
        return None;
    }
    let (op, further) = then.and(on, &out, next)?;
    Some(Absorbed { op: op.into(), inputs: inputs.iter().copied().chain(further).collect() })
}

impl From<&Matmul> for MatmulThen {
    fn from(product: &Matmul) -> MatmulThen {
        MatmulThen {
            transpose_a: product.transpose_a,
            transpose_b: product.transpose_b,
            scale: 1.0,
            bias: false,
            activation: "".into(),
            residual: false,
        }
    }
}

impl Op for MatmulThen {
    fn arity(&self) -> Arity {
        Arity::Exactly(2 + usize::from(self.bias) + usize::from(self.residual))
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let out = self.product().infer(&inputs[..2])?;
        self.activation()?;
        if let Some(list) = inputs.iter().find(|ty| ty.is_list()) {
            return Err(Error::dtype(format!("expected a tensor, found {list}")));
        }
        let columns = out[0].dims().last().copied();
        if self.bias && inputs[2].dims() != columns.as_slice() {
            return Err(Error::shape(format!("a bias {} does not fit {}", inputs[2], out[0])));
        }
        if self.residual && inputs[inputs.len() - 1].dims() != out[0].dims() {
            let residual = inputs[inputs.len() - 1];
            return Err(Error::shape(format!("{residual} cannot be added to {}", out[0])));
        }
        Ok(out)
    }

    fn arithmetic(&self, inputs: &[&Type], outs: &[Type]) -> Option<f64> {
        self.product().arithmetic(&inputs[..2], outs)
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (a, b) = self.product().operands(inputs)?;
        let residual = match self.residual {
            true => Some(inputs[inputs.len() - 1].tensor()?),
            false => None,
        };
        let then = Epilogue {
            scale: (self.scale != 1.0).then_some(self.scale),
            bias: if self.bias { Some(inputs[2].tensor()?) } else { None },
            activation: self.activation()?,
            residual,
        };
        let product = kernels::matmul_with(&a, &b, outs[0].dtype(), &then)?;
        Ok(smallvec![product.reshape(&known_sizes(&outs[0])?)?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("it is made after gradients")
    }

    fn absorb(&self, on: &Rewrite, inputs: &[ValueId], next: &Call) -> Option<Absorbed> {
        absorb(self, on, inputs, next)
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(MatmulThen::NAME, MatmulThen::build, || {
    let plain = || MatmulThen::from(&Matmul { transpose_a: false, transpose_b: false });
    let (a, b) = (f64s(&[1.0, 2.0], &[1, 2]), f64s(&[1.0, -1.0, 0.5, -1.0], &[2, 2]));
    let (bias, more) = (f64s(&[1.0, 2.0], &[2]), f64s(&[10.0, 20.0], &[1, 2]));
    let all =
        MatmulThen { scale: 2.0, bias: true, activation: "relu".into(), residual: true, ..plain() };
    vec![
        Sample::new(plain(), [a.clone(), b.clone()]).gives([f64s(&[2.0, -3.0], &[1, 2])]),
        Sample::new(all, [a.clone(), b.clone(), bias.clone(), more.clone()])
            .gives([f64s(&[15.0, 20.0], &[1, 2])]),
        Sample::new(MatmulThen { bias: true, ..plain() }, [a.clone(), b.clone(), more])
            .refused("does not fit"),
        Sample::new(MatmulThen { residual: true, ..plain() }, [a.clone(), b.clone(), bias])
            .refused("cannot be added"),
        Sample::new(MatmulThen { activation: "sine".into(), ..plain() }, [a, b])
            .refused("no activation `sine`"),
    ]
});
