//! `dropout`: elements set to zero at random.

use super::generator::draw;
use super::rng_next::{is_stream, seed_and_counter};
use crate::prelude::*;

/// Sets each element to zero with probability `p`, and divides the others by `1 - p`. In a program
/// made [`for_inference`](fluvial_core::Program::for_inference) it passes its input on.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let x = Var::of(&[1.0; 8], &[8])?;
/// assert!(dropout(&x, 0.5)?.to_vec::<f64>()?.iter().all(|&x| x == 0.0 || x == 2.0));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn dropout(x: &Var, p: f64) -> Result<Var> {
    let loc = scope::user_line();
    let _line = at(loc);
    bind1(Dropout { p, train: true }, &[x, &draw()?])
}

/// Dropout in C.
static SOURCE: Source = Source {
    name: "dropout",
    text: include_str!("dropout.c"),
    needs: &[&super::generator::PHILOX],
};

/// The function for devices.
static SHADER: Shader = Shader {
    text: concat!(include_str!("philox.wgsl"), include_str!("dropout.wgsl")),
    args: &["x", "stream", "y", "count", "each", "threshold", "scale", "shift", "floor"],
    count: |n| n[3].int().saturating_mul(n[4].int()),
};

/// Dropout of groups of elements, one for each place on the first axes: kept ones are multiplied and moved, the others are a number.
pub(crate) fn native_dropout(
    x: &Type,
    n_axes: usize,
    p: f64,
    [scale, shift, floor]: [f64; 3],
) -> Result<Option<Kernel>> {
    let threshold = ((1.0 - p) * 2f64.powi(32)).round() as i64;
    let (count, each) = (kernel::count(&x.dims()[..n_axes])?, kernel::count(&x.dims()[n_axes..])?);
    let numbers = [scale, shift, floor].map(Arg::Number);
    let args = [
        Arg::In(0),
        Arg::In(1),
        Arg::Out(0),
        Arg::Size(count),
        Arg::Size(each),
        Arg::Int(threshold),
    ];
    let args = args.into_iter().chain(numbers);
    Native::new(&SOURCE, [x.dtype()], args).with_shader(&SHADER).alone()
}

attributes! {
    /// The op behind [`dropout`]. Its mask is drawn again for the gradient, from the same stream.
    pub struct Dropout = "dropout" {
        /// The probability of a zero.
        pub p: f64,
        /// Whether anything is dropped.
        pub train: bool,
    }
}

impl Op for Dropout {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        is_stream(inputs[1])?;
        super::uniform::is_float_tensor(inputs[0])?;
        if !(0.0..=1.0).contains(&self.p) {
            return Err(Error::argument(format!("{} is not a probability", self.p)));
        }
        Ok(smallvec![*inputs[0]])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        if !self.train {
            return Ok(smallvec![inputs[0].clone()]);
        }
        let (seed, counter) = seed_and_counter(inputs[1])?;
        let x = inputs[0].tensor()?;
        let kept = kernels::bernoulli(seed, counter, x.dims(), 1.0 - self.p)?;
        let scale = if self.p < 1.0 { 1.0 / (1.0 - self.p) } else { 0.0 };
        let scale = Tensor::scalar(scale).cast(outs[0].dtype())?;
        let zero = Tensor::scalar(0.0f64).cast(outs[0].dtype())?;
        // A dropped element is zero also where it was infinite.
        let mut out = Tensor::empty(outs[0].dtype(), x.dims())?;
        let body = Body::build(4, 0, |x, _| x[0].select(x[1] * x[2], x[3]));
        body.run(&[&kept, x, &scale, &zero], &[], outs[0].dtype().compute(), &mut out)?;
        Ok(smallvec![out.into()])
    }

    fn batched(&self, batch: &Batch<'_>) -> Result<Option<Outputs>> {
        match batch.is_batched(1) {
            true => Ok(None),
            false => bind(self.clone(), &[&batch.full(0)?, batch.given(1)]).map(Some),
        }
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::inputs(0b10), |p| {
            let op = p.op::<Dropout>()?.clone();
            grads![p => bind1(op, &[&p.dy(), &p.x(1)]), None]
        })
    }

    fn properties(&self) -> Properties {
        Properties::RANDOM
    }

    fn for_inference(&self) -> Option<OpRef> {
        Some(Dropout { train: false, ..self.clone() }.into())
    }

    fn kernel(&self, inputs: &[&Type], _: &[Type]) -> Result<Option<Kernel>> {
        if !self.train {
            return Ok(Some(Kernel::Same(0)));
        }
        let scale = if self.p < 1.0 { 1.0 / (1.0 - self.p) } else { 0.0 };
        native_dropout(inputs[0], inputs[0].rank(), self.p, [scale, -0.0, 0.0])
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(Dropout::NAME, Dropout::build, || {
    let of = |p| Dropout { p, train: true };
    let stream = i64s(&[5, 7], &[2]);
    let x = ramp(&[2, 3]);
    vec![
        Sample::new(of(0.5), [x.clone(), stream.clone()]),
        Sample::new(of(0.0), [x.clone(), stream.clone()]).gives([x.clone()]),
        Sample::new(of(1.0), [x.clone(), stream.clone()]).gives([f64s(&[0.0; 6], &[2, 3])]),
        Sample::new(Dropout { p: 0.5, train: false }, [x.clone(), stream.clone()])
            .gives([x.clone()]),
        Sample::new(of(1.5), [x.clone(), stream.clone()]).refused("is not a probability"),
        Sample::new(of(0.5), [stream.clone(), stream]).refused("a tensor of floats"),
    ]
});
