//! `bincount`: how often each number occurs.

use crate::index::gather;
use crate::prelude::*;
use crate::shape::derived::judged;

/// How often each of the numbers 0, 1, 2, … occurs in `x` (`i64`); or the sums of the weights of its
/// occurrences. The result is as long as the greatest number needs, and `minlength` at least: known only
/// when the op runs.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1i64, 3, 1], &[3])?;
/// assert_eq!(bincount(&x, None, 0)?.to_vec::<i64>()?, [0, 2, 0, 1]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn bincount(x: &Var, weights: Option<&Var>, minlength: usize) -> Result<Var> {
    let _line = at(scope::user_line());
    let dtype = judged("bincount", &[x], |ty| Ok(ty[0].dtype()))?;
    let x = if dtype.is_float() || dtype == DType::I64 { x.clone() } else { cast(x, DType::I64)? };
    match weights {
        None => bind1(Bincount { minlength }, &[&x]),
        Some(weights) => bind1(Bincount { minlength }, &[&x, weights]),
    }
}

attributes! {
    /// The op behind [`bincount`].
    pub struct Bincount = "bincount" {
        /// The least length of the result.
        pub minlength: usize,
    }
}

impl Op for Bincount {
    fn arity(&self) -> Arity {
        Arity::AtLeast(1)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let x = inputs[0];
        if x.dtype() != DType::I64 || x.is_list() || x.rank() != 1 {
            return Err(Error::dtype(format!("expected integers on one axis, found {x}"))
                .remedy("reshape to one axis, and cast to i64"));
        }
        let dtype = match inputs {
            [_] => DType::I64,
            [_, weights] if weights.is_list() || weights.dims() != x.dims() => {
                return Err(Error::shape(format!("weights {weights} do not fit {x}")));
            }
            [_, weights] if weights.is_float() => weights.dtype(),
            [_, weights] => {
                return Err(Error::dtype(format!("weights are floats, found {weights}")));
            }
            _ => return Err(Error::argument("only numbers and their weights are counted")),
        };
        Ok(smallvec![Type::new(dtype, &[Dim::fresh(0)])?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let weights = inputs.get(1).map(|weights| weights.tensor()).transpose()?;
        Ok(smallvec![kernels::bincount(inputs[0].tensor()?, weights, self.minlength)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Index))
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b1), |p| grads![p => None, gather(&p.dy(), &p.x(0), 0)])
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Bincount::NAME, Bincount::build, || {
    let of = |minlength| Bincount { minlength };
    let x = i64s(&[1, 3, 1, 0], &[4]);
    let weights = f64s(&[0.5, 1.0, 0.25, 2.0], &[4]);
    vec![
        Sample::new(of(0), [x.clone()]).gives([i64s(&[1, 2, 0, 1], &[4])]),
        Sample::new(of(6), [x.clone()]).gives([i64s(&[1, 2, 0, 1, 0, 0], &[6])]),
        Sample::new(of(5), [x.clone(), weights]).gives([f64s(&[2.0, 0.75, 0.0, 1.0, 0.0], &[5])]),
        Sample::new(of(2), [i64s(&[], &[0])]).gives([i64s(&[0, 0], &[2])]),
        Sample::new(of(0), [i64s(&[1, -1], &[2])]).refused("-1 cannot be counted"),
        Sample::new(of(0), [ramp(&[2])]).refused("expected integers"),
        Sample::new(of(0), [x.clone(), ramp(&[3])]).refused("do not fit"),
        Sample::new(of(0), [x.clone(), x]).refused("weights are floats"),
    ]
});
