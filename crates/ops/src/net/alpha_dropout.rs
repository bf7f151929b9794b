//! `alpha_dropout`: dropout that keeps mean and variance, for self-normalising networks.

use super::channel_dropout::{is_droppable, mask_type};
use crate::prelude::*;
use crate::random::Dropout;
use crate::random::generator::draw;
use crate::random::rng_next::{is_stream, seed_and_counter};

/// What `selu` tends to for very negative inputs, without its sign.
const FLOOR: f64 = 1.758_099_340_847_376_6;

/// Sets each element with probability `p` to the floor of `selu`, and scales and shifts all so that inputs
/// of mean 0 and variance 1 stay so. In a program made
/// [`for_inference`](fluvial_core::Program::for_inference) it passes its input on.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let y = alpha_dropout(&Var::of(&[0.0; 64], &[64])?, 0.5)?.to_vec::<f64>()?;
/// assert!(y.iter().any(|&y| y > 0.0) && y.iter().any(|&y| y < 0.0));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn alpha_dropout(x: &Var, p: f64) -> Result<Var> {
    let _line = at(scope::user_line());
    bind1(AlphaDropout { p, train: true, channels: false }, &[x, &draw()?])
}

/// [`alpha_dropout`] of whole channels, which are axis 1 of `x`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let y = feature_alpha_dropout(&Var::of(&[0.0; 4], &[1, 2, 2])?, 0.5)?.to_vec::<f64>()?;
/// assert!(y[0] == y[1] && y[2] == y[3]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn feature_alpha_dropout(x: &Var, p: f64) -> Result<Var> {
    let _line = at(scope::user_line());
    bind1(AlphaDropout { p, train: true, channels: true }, &[x, &draw()?])
}

attributes! {
    /// The op behind [`alpha_dropout`] and [`feature_alpha_dropout`].
    pub struct AlphaDropout = "alpha_dropout" {
        /// The probability that an element is dropped.
        pub p: f64,
        /// Whether anything is dropped.
        pub train: bool,
        /// Whether whole channels are dropped.
        pub channels: bool,
    }
}

impl AlphaDropout {
    /// The type of the mask for such inputs.
    fn mask_type(&self, x: &Type) -> Result<Type> {
        mask_type(x, if self.channels { 2 } else { x.rank() })
    }

    /// The factor of an element that is kept.
    fn scale(&self) -> f64 {
        match self.p {
            1.0 => 0.0,
            p => ((FLOOR * FLOOR * p + 1.0) * (1.0 - p)).sqrt().recip(),
        }
    }
}

impl Op for AlphaDropout {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_stream(inputs[1])?;
        is_droppable(inputs[0], self.p)?;
        match self.channels && inputs[0].rank() < 2 {
            true => Err(Error::shape("channels are axis 1: at least two axes are needed")),
            false => Ok(smallvec![*inputs[0]]),
        }
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        if !self.train {
            return Ok(smallvec![inputs[0].clone()]);
        }
        let (seed, counter) = seed_and_counter(inputs[1])?;
        let x = inputs[0].tensor()?;
        let kept = kernels::bernoulli(
            seed,
            counter,
            &known_sizes(&self.mask_type(&outs[0])?)?,
            1.0 - self.p,
        )?;
        let compute = outs[0].dtype().compute();
        let number = |number: f64| Tensor::scalar(number).cast(compute);
        let (scale, shift) = (self.scale(), self.scale() * FLOOR * self.p);
        let floor = number(shift - self.scale() * FLOOR)?;
        let mut out = Tensor::empty(outs[0].dtype(), x.dims())?;
        let body = Body::build(5, 0, |x, _| x[0].select(x[1] * x[2] + x[3], x[4]));
        body.run(&[&kept, x, &number(scale)?, &number(shift)?, &floor], &[], compute, &mut out)?;
        Ok(smallvec![out.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        match batch.is_batched(1) || self.channels {
            true => Ok(None),
            false => bind(self.clone(), &[&batch.full(0)?, batch.given(1)]).map(Some),
        }
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b10), |p| {
            let op = p.op::<AlphaDropout>()?;
            if !op.train {
                return grads![p => p.dy(), None];
            }
            // The same stream gives the same mask.
            let ones = fill(1.0, &op.mask_type(&p.in_type(0)?)?)?;
            let mask = bind1(Dropout { p: op.p, train: true }, &[&ones, &p.x(1)])?;
            grads![p => p.dy() * (mask * (op.scale() * (1.0 - op.p))), None]
        })
    }

    fn properties(&self) -> Properties {
        Properties::RANDOM
    }

    fn for_inference(&self) -> Option<OpRef> {
        Some(AlphaDropout { train: false, ..self.clone() }.into())
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        if !self.train {
            return Ok(Some(Kernel::Same(0)));
        }
        let (scale, shift) = (self.scale(), self.scale() * FLOOR * self.p);
        let n_axes = if self.channels { 2 } else { inputs[0].rank() };
        let numbers = [scale, shift, shift - self.scale() * FLOOR];
        crate::random::dropout::native_dropout(inputs[0], n_axes, self.p, numbers)
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(AlphaDropout::NAME, AlphaDropout::build, || {
    let of = |p, channels| AlphaDropout { p, train: true, channels };
    let stream = i64s(&[5, 7], &[2]);
    let x = ramp(&[2, 3]);
    vec![
        Sample::new(of(0.5, false), [x.clone(), stream.clone()]),
        Sample::new(of(0.25, true), [ramp(&[2, 3, 2]), stream.clone()]),
        Sample::new(of(0.0, false), [x.clone(), stream.clone()]).gives([x.clone()]),
        Sample::new(of(1.0, false), [x.clone(), stream.clone()]).gives([f64s(&[0.0; 6], &[2, 3])]),
        Sample::new(
            AlphaDropout { p: 0.5, train: false, channels: true },
            [x.clone(), stream.clone()],
        )
        .gives([x.clone()]),
        Sample::new(of(-0.5, false), [x, stream.clone()]).refused("is not a probability"),
        Sample::new(of(0.5, true), [ramp(&[2]), stream.clone()]).refused("at least two axes"),
        Sample::new(of(0.5, false), [stream.clone(), stream]).refused("a tensor of floats"),
    ]
});
