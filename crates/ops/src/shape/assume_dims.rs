//! `assume_dims`: sizes that the user knows and the program cannot.

use crate::prelude::*;

/// The value as it is, with the sizes that the caller knows it has: a symbol instead of another,
/// or a number instead of a symbol. The run checks it.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let ty = Type::new(DType::F32, &[Dim::symbol("n")?])?;
/// let program = Program::build(&[("x", ty)], |x| {
///     Ok(vec![assume_dims(&x[0], &[Dim::size(3)])? + Var::of(&[1.0f32, 2.0, 3.0], &[3])?])
/// })?;
/// assert!(program.apply(&[&Var::of(&[0.0f32; 3], &[3])?]).is_ok());
/// assert!(program.apply(&[&Var::of(&[0.0f32; 4], &[4])?]).is_err());
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn assume_dims(x: &Var, dims: &[Dim]) -> Result<Var> {
    bind1(AssumeDims { dims: dims.to_vec() }, &[x])
}

attributes! {
    /// The op behind [`assume_dims`].
    pub struct AssumeDims = "assume_dims" {
        /// The sizes.
        pub dims: Vec<Dim>,
    }
}

impl Op for AssumeDims {
    fn arity(&self) -> Arity {
        Arity::Exactly(1)
    }

    fn takes(&self) -> Takes {
        Takes::Any
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let possible = |(&a, &b): (&Dim, &Dim)| a == b || a.is_symbolic() || b.is_symbolic();
        let fits = inputs[0].rank() == self.dims.len()
            && !inputs[0].is_list()
            && inputs[0].dims().iter().zip(&self.dims).all(possible);
        match fits {
            true => Ok(smallvec![inputs[0].with_dims(&self.dims)?]),
            false => {
                Err(Error::shape(format!("{} does not have the sizes {:?}", inputs[0], self.dims)))
            }
        }
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        match inputs[0].ty() == outs[0] {
            true => Ok(smallvec![inputs[0].clone()]),
            false => Err(Error::shape(format!("the value is {}, not {}", inputs[0].ty(), outs[0]))),
        }
    }

    fn simplify(&self, on: &mut Rewrite, inputs: &[ValueId]) -> Result<Option<NewValues>> {
        let same = on.ty(inputs[0]).dims() == self.dims;
        Ok(same.then(|| smallvec![inputs[0]]))
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Shape))
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        batch.with(AssumeDims { dims: batch.dims(&self.dims).to_vec() })
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::NOTHING, |p| grads![p => assume_dims(&p.dy(), p.in_type(0)?.dims())])
    }

    fn properties(&self) -> Properties {
        Properties::VIEW
    }

    fn kernel(&self, inputs: &[&Type], outs: &[Type]) -> Result<Option<Kernel>> {
        // Whether other sizes are the same only a run knows.
        Ok((inputs[0].dims() == outs[0].dims()).then_some(Kernel::Same(0)))
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AssumeDims::NAME, AssumeDims::build, || {
    let x = ramp(&[2, 3]);
    let of = |dims: &[usize]| AssumeDims { dims: dims_of(dims) };
    vec![
        Sample::new(of(&[2, 3]), [x.clone()]).gives([x.clone()]),
        Sample::new(of(&[3, 2]), [x.clone()]).refused("does not have the sizes"),
        Sample::new(of(&[6]), [x]).refused("does not have the sizes"),
    ]
});
