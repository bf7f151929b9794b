//! `fused_reduce`: elementwise ops and the reduction of their result, as one.

use std::sync::Arc;

use fluvial_core::family::known_sizes;
use fluvial_core::{
    Arity, Body, DType, Dim, Elements, Error, Grad, Kernel, Op, OpDef, Properties, Result, Sample,
    Takes, Tensor, Type, Types, Value, Values, attributes,
};
use fluvial_kernels::{Reduce, Reduction};
use smallvec::{SmallVec, smallvec};

use crate::fused::{Scalar, broadcast_all};

attributes! {
    /// A scalar expression of all inputs, which are broadcast together, reduced over axes without being
    /// stored.
    ///
    /// The compiler makes it. Its bits are those of the ops that it stands for.
    pub struct FusedReduce = "fused_reduce" {
        /// The expression.
        pub body: Scalar,
        /// The type in which it is computed.
        pub compute: DType,
        /// The element type of its result.
        pub element: DType,
        /// How elements become one, by name.
        pub kind: Arc<str>,
        /// The axes, from the front and in order.
        pub axes: Vec<usize>,
        /// The element type of the output.
        pub dtype: DType,
        /// The sizes of the output.
        pub dims: Vec<Dim>,
    }
}

impl FusedReduce {
    fn kind(&self) -> Result<Reduce> {
        Reduce::parse(&self.kind)
            .ok_or_else(|| Error::argument(format!("there is no reduction `{}`", self.kind)))
    }
}

/// The number of elements of these sizes.
fn count<'a>(dims: impl IntoIterator<Item = &'a Dim>) -> Result<Dim> {
    dims.into_iter().try_fold(Dim::size(1), |all, &dim| all.mul(dim))
}

impl Op for FusedReduce {
    fn arity(&self) -> Arity {
        Arity::Exactly(self.body.0.n_inputs())
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let dims = broadcast_all(inputs)?;
        self.body.0.check(inputs.len(), 0, self.compute)?;
        self.kind()?;
        if !self.axes.is_sorted_by(|a, b| a < b) || self.axes.iter().any(|&axis| axis >= dims.len())
        {
            return Err(Error::argument(format!("{:?} are not axes of {dims:?}", self.axes)));
        }
        let kept = dims.iter().enumerate().filter(|(axis, _)| !self.axes.contains(axis));
        if self.body.0.results().len() != 1
            || count(kept.map(|(_, dim)| dim))? != count(&self.dims)?
        {
            return Err(Error::program("the output has other sizes than what the axes leave"));
        }
        Ok(smallvec![Type::new(self.dtype, &self.dims)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let tensors: SmallVec<[&Tensor; 8]> =
            inputs.iter().map(|value| value.tensor()).collect::<Result<_>>()?;
        let types: SmallVec<[Type; 8]> = tensors.iter().map(|tensor| tensor.ty()).collect();
        let dims = broadcast_all(&types.iter().collect::<SmallVec<[&Type; 8]>>())?;
        let dims: SmallVec<[usize; 8]> = dims.iter().filter_map(|dim| dim.value()).collect();
        let reduction = Reduction {
            dims: &dims,
            dtype: self.element,
            kind: self.kind()?,
            axes: &self.axes,
            out_dtype: self.dtype,
        };
        let reduced = self.body.0.run_reduce(&tensors, &[], self.compute, &reduction)?;
        Ok(smallvec![reduced.reshape(&known_sizes(&outs[0])?)?.into()])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("fused ops are made after gradients")
    }

    fn properties(&self) -> Properties {
        Properties::REDUCTION
    }

    fn kernel(&self, _: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let of = Elements { body: self.body.0.clone(), compute: self.compute, params: smallvec![] };
        let axes = self.axes.iter().copied().collect();
        Ok(Some(Kernel::Reduce { of: Some((of, self.element)), kind: self.kind()?, axes }))
    }
}

pub(crate) const DEF: OpDef = OpDef::new(FusedReduce::NAME, FusedReduce::build, || {
    let op = |axes: &[usize], dims: &[usize]| FusedReduce {
        body: Scalar(Arc::new(Body::binary(|x, y| x * y))),
        compute: DType::F64,
        element: DType::F64,
        kind: "sum".into(),
        axes: axes.to_vec(),
        dtype: DType::F64,
        dims: dims.iter().map(|&size| Dim::size(size)).collect(),
    };
    let values = |values: &[f64], dims: &[usize]| {
        Tensor::from_slice(values, dims).unwrap_or_else(|_| Tensor::scalar(0.0f64))
    };
    let (x, y) = (values(&[1.0, 2.0, 3.0, 4.0], &[2, 2]), values(&[10.0, 100.0], &[2]));
    vec![
        Sample::new(op(&[1], &[2]), [x.clone(), y.clone()]).gives([values(&[210.0, 430.0], &[2])]),
        Sample::new(op(&[0, 1], &[1, 1]), [x.clone(), y.clone()])
            .gives([values(&[640.0], &[1, 1])]),
        Sample::new(op(&[0], &[3]), [x.clone(), y.clone()]).refused("other sizes"),
        Sample::new(op(&[2], &[2]), [x, y]).refused("are not axes"),
    ]
});
