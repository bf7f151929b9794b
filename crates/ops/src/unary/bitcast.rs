//! `bitcast`: the same bits as another element type.

use crate::prelude::*;

/// The elements' bits, read as another element type of the same size: no number is converted.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let bits = bitcast(&Var::scalar(1.0f32), DType::I32)?;
/// assert_eq!(bits.item::<i32>()?, 0x3f80_0000);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn bitcast(x: &Var, dtype: DType) -> Result<Var> {
    bind1(Bitcast { dtype }, &[x])
}

static SOURCE: Source = Source { name: "bitcast", text: include_str!("bitcast.c"), needs: &[] };

attributes! {
    /// The op behind [`bitcast`].
    pub struct Bitcast = "bitcast" {
        /// The element type of the result.
        pub dtype: DType,
    }
}

impl Op for Bitcast {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (from, to) = (inputs[0].dtype(), self.dtype);
        if inputs[0].is_list() {
            return Err(Error::dtype("a list has no bits of its own"));
        }
        if from.size() != to.size() {
            return Err(Error::dtype(format!(
                "{from} has {} bits and {to} has {}",
                8 * from.size(),
                8 * to.size()
            ))
            .remedy("take an element type of the same size, or convert numbers by `cast`"));
        }
        if to.is_bool() && !from.is_bool() {
            return Err(Error::dtype(format!("not all bits of {from} are those of a bool"))
                .remedy("compare with zero: `x != 0`"));
        }
        Ok(smallvec![inputs[0].with_dtype(to)])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let x = inputs[0].tensor()?.contiguous()?;
        let mut y = Tensor::zeros(self.dtype, x.dims())?;
        let bytes =
            x.as_bytes().ok_or_else(|| Error::internal("a contiguous tensor has its bytes"))?;
        y.as_bytes_mut()?.copy_from_slice(bytes);
        Ok(smallvec![y.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.as_is()
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("bits are not a smooth function of numbers")
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        let args = [Arg::In(0), Arg::Out(0), Arg::Size(kernel::count(inputs[0].dims())?)];
        Native::new(&SOURCE, [inputs[0].dtype(), self.dtype], args).alone()
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Bitcast::NAME, Bitcast::build, || {
    let to = |dtype| Bitcast { dtype };
    let bits = [1.0f64, -0.0, 1.5].map(|x| x.to_bits() as i64);
    vec![
        Sample::new(to(DType::I64), [f64s(&[1.0, -0.0, 1.5], &[3])]).gives([i64s(&bits, &[3])]),
        Sample::new(to(DType::F64), [i64s(&bits[..1], &[])]).gives([f64s(&[1.0], &[])]),
        Sample::new(to(DType::I64), [i64s(&bits, &[1, 3])]).gives([i64s(&bits, &[1, 3])]),
        Sample::new(to(DType::U8), [bools(&[true, false], &[2])]).gives([Tensor::from_slice(
            &[1u8, 0],
            &[2],
        )
        .expect("two elements")]),
        Sample::new(to(DType::I32), [i64s(&[1], &[1])]).refused("64 bits"),
        Sample::new(to(DType::Bool), [Tensor::from_slice(&[1u8], &[1]).expect("one element")])
            .refused("those of a bool"),
    ]
});
