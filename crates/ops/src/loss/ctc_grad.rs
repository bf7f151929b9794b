//! The derivatives of `ctc_loss`, to any order.

use super::ctc_loss::{fit, inputs_of, sample_inputs};
use crate::prelude::*;

/// The derivative of the sum of the losses, in the shape of the log-probabilities. The inputs are
/// those of `ctc_loss`, then directions: the result is differentiated once more in each.
#[track_caller]
pub(super) fn ctc_grad(blank: usize, zero_infinity: bool, inputs: &[&Var]) -> Result<Var> {
    bind1(CtcGrad { blank, zero_infinity }, inputs)
}

attributes! {
    /// The derivative of `ctc_loss`; with further inputs, its derivative in these directions.
    pub struct CtcGrad = "ctc_grad" {
        /// The class that stands for no label.
        pub blank: usize,
        /// Whether a loss that is infinite counts as zero.
        pub zero_infinity: bool,
    }
}

impl Op for CtcGrad {
    fn arity(&self) -> Arity {
        Arity::AtLeast(4)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        fit(self.blank, inputs)?;
        match inputs[4..].iter().find(|ty| **ty != inputs[0]) {
            None => Ok(smallvec![*inputs[0]]),
            Some(ty) => Err(Error::shape(format!("a direction {ty} for {}", inputs[0]))),
        }
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let ctc = inputs_of(self.blank, self.zero_infinity, inputs)?;
        let directions = inputs[4..].iter().map(|x| x.tensor()).collect::<Result<Vec<_>>>()?;
        Ok(smallvec![kernels::ctc_grad(&ctc, &directions)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn grad(&self) -> Grad {
        // Derivatives of one function are symmetric in their directions: a cotangent is one more,
        // or takes the place of the one whose own cotangent is asked for.
        Grad::Rule(Keeps::INPUTS, |p| {
            let op = p.op::<CtcGrad>()?;
            let inputs: Vec<Var> = (0..p.n_inputs()).map(|i| p.x(i)).collect();
            let dy = cast(&p.dy(), inputs[0].dtype())?;
            let mut cotangents = Cotangents::new();
            for i in 0..inputs.len() {
                let mut with: Vec<&Var> = inputs.iter().collect();
                match i {
                    0 => with.push(&dy),
                    i => with[i] = &dy,
                }
                let is_float = i == 0 || i >= 4;
                cotangents.push(match p.wanted(i) && is_float {
                    true => Some(ctc_grad(op.blank, op.zero_infinity, &with)?),
                    false => None,
                });
            }
            Ok(cotangents)
        })
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(CtcGrad::NAME, CtcGrad::build, || {
    let by = CtcGrad { blank: 0, zero_infinity: false };
    let mut samples = Vec::new();
    for inputs in sample_inputs() {
        let direction = ramp(inputs[0].dims());
        samples.push(Sample::new(by.clone(), inputs.clone()));
        samples.push(Sample::new(by.clone(), inputs.into_iter().chain([direction])));
    }
    let third = -1.0 / 3.0;
    let [half, one] = [f64s(&[0.5f64.ln(); 4], &[2, 1, 2]), i64s(&[1], &[1])];
    let targets = i64s(&[1], &[1, 1]);
    samples.push(
        Sample::new(by.clone(), [half.clone(), targets.clone(), i64s(&[2], &[1]), one.clone()])
            .gives([f64s(&[third, 2.0 * third, third, 2.0 * third], &[2, 1, 2])]),
    );
    let short = ramp(&[1, 1, 2]);
    samples.push(
        Sample::new(by, [half, targets, i64s(&[2], &[1]), one, short]).refused("a direction"),
    );
    samples
});
