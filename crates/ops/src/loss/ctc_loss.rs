//! `ctc_loss`: labels without their times.

use super::ctc_grad::ctc_grad;
use super::reduction::{Reduction, reduced};
use crate::prelude::*;
use crate::{maximum, reshape};

options! {
    /// Options of [`ctc_loss`].
    pub struct CtcLossOptions {
        /// What becomes of the losses of single sequences. For the mean, each is first divided by the
        /// length of its target.
        pub reduction: Reduction = Reduction::Mean,
        /// The class that stands for no label.
        pub blank: usize = 0,
        /// Whether a loss that is infinite, since the target does not fit in the time, counts as zero.
        pub zero_infinity: bool = false,
    }
}

/// The negative logarithm of the probability that a sequence of classes, with repeats and blanks
/// taken out, is the target: connectionist temporal classification, reduced.
///
/// `log_probs` holds logarithms of probabilities, `[time, batch, classes]`; `targets` holds labels,
/// `i64[batch, length]`, padded at the end; `input_lengths` and `target_lengths`, `i64[batch]`, say
/// how much of both counts. The gradient is that of `log_probs` as they are; it is right to any
/// order.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let log_probs = Var::of(&[0.5f64.ln(); 4], &[2, 1, 2])?;
/// let (targets, times, length) =
///     (Var::of(&[1i64], &[1, 1])?, Var::of(&[2i64], &[1])?, Var::of(&[1i64], &[1])?);
/// let loss = ctc_loss(&log_probs, &targets, &times, &length, CtcLossOptions::default())?;
/// // Three of four sequences give the one label.
/// assert!((loss.item::<f64>()? + 0.75f64.ln()).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn ctc_loss(
    log_probs: &Var,
    targets: &Var,
    input_lengths: &Var,
    target_lengths: &Var,
    options: CtcLossOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let precision = autocast::full();
    let log_probs = &precision.of(log_probs)?;
    let CtcLossOptions { reduction, blank, zero_infinity } = options;
    let op = CtcLoss { blank, zero_infinity };
    let losses = bind1(op, &[log_probs, targets, input_lengths, target_lengths])?;
    if reduction != Reduction::Mean {
        return reduced(&losses, reduction);
    }
    let lengths = maximum(target_lengths, &Var::scalar(1i64))?;
    reduced(&div(&losses, &cast(&lengths, losses.dtype())?)?, reduction)
}

attributes! {
    /// The op behind [`ctc_loss`]: the loss of each sequence.
    pub struct CtcLoss = "ctc_loss" {
        /// The class that stands for no label.
        pub blank: usize,
        /// Whether a loss that is infinite counts as zero.
        pub zero_infinity: bool,
    }
}

/// Refuses inputs that do not fit together.
pub(super) fn fit(blank: usize, inputs: &[&Type]) -> Result<()> {
    let (log_probs, targets) = (inputs[0], inputs[1]);
    let &[_, batch, classes] = log_probs.dims() else {
        return Err(Error::shape(format!("expected [time, batch, classes], found {log_probs}")));
    };
    if !log_probs.is_float() || log_probs.is_list() {
        return Err(Error::dtype(format!("expected floats, found {log_probs}")));
    }
    for ty in &inputs[1..4] {
        if ty.dtype() != DType::I64 || ty.is_list() {
            return Err(
                Error::dtype(format!("labels and lengths are i64, found {ty}")).remedy("cast them")
            );
        }
    }
    if targets.rank() != 2 || targets.dim(0) != batch {
        return Err(Error::shape(format!("expected targets [{batch}, length], found {targets}"))
            .remedy("pad the targets to one length; `target_lengths` says how much counts"));
    }
    if let Some(ty) = inputs[2..4].iter().find(|ty| ty.dims() != [batch]) {
        return Err(Error::shape(format!("expected lengths [{batch}], found {ty}")));
    }
    match classes.value() {
        Some(classes) if blank >= classes => {
            Err(Error::index(format!("the blank {blank} is not one of {classes} classes")))
        }
        _ => Ok(()),
    }
}

/// The inputs as the kernels take them.
pub(super) fn inputs_of<'a>(
    blank: usize,
    zero_infinity: bool,
    inputs: &[&'a Value],
) -> Result<kernels::Ctc<'a>> {
    Ok(kernels::Ctc {
        log_probs: inputs[0].tensor()?,
        targets: inputs[1].tensor()?,
        input_lengths: inputs[2].tensor()?,
        target_lengths: inputs[3].tensor()?,
        blank,
        zero_infinity,
    })
}

impl Op for CtcLoss {
    fn arity(&self) -> Arity {
        Arity::Exactly(4)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        fit(self.blank, inputs)?;
        Ok(smallvec![inputs[0].with_dims(&inputs[0].dims()[1..2])?])
    }

    fn eval(&self, inputs: &[&Value], _: &[Type]) -> Result<Values> {
        let ctc = inputs_of(self.blank, self.zero_infinity, inputs)?;
        Ok(smallvec![kernels::ctc_loss(&ctc)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn grad(&self) -> Grad {
        Grad::Rule(Keeps::INPUTS, |p| {
            let op = p.op::<CtcLoss>()?;
            let inputs = [p.x(0), p.x(1), p.x(2), p.x(3)];
            let of_each = ctc_grad(op.blank, op.zero_infinity, &inputs.each_ref())?;
            let dy = p.dy();
            let along = reshape(&dy, &[Dim::size(1), dy.dims()[0], Dim::size(1)])?;
            grads![p => mul(&of_each, &along), None, None, None]
        })
    }
}

/// Samples of both ops: log-probabilities, targets, lengths.
pub(super) fn sample_inputs() -> Vec<[Tensor; 4]> {
    let i64_pair = |a: i64, b: i64| i64s(&[a, b], &[2]);
    vec![
        [ramp(&[4, 2, 3]), i64s(&[1, 2, 2, 2, 0, 0], &[2, 3]), i64_pair(4, 3), i64_pair(3, 1)],
        [ramp(&[3, 1, 2]), i64s(&[1], &[1, 1]), i64s(&[3], &[1]), i64s(&[1], &[1])],
        [ramp(&[3, 1, 2]), i64s(&[], &[1, 0]), i64s(&[2], &[1]), i64s(&[0], &[1])],
    ]
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(CtcLoss::NAME, CtcLoss::build, || {
    let by = |blank| CtcLoss { blank, zero_infinity: false };
    let mut samples: Vec<Sample> =
        sample_inputs().into_iter().map(|inputs| Sample::new(by(0), inputs)).collect();
    let half = f64s(&[0.5f64.ln(); 4], &[2, 1, 2]);
    let one = |x: i64| i64s(&[x], &[1]);
    samples.extend([
        Sample::new(by(0), [half.clone(), i64s(&[1], &[1, 1]), one(2), one(1)])
            .gives([f64s(&[-(0.75f64.ln())], &[1])]),
        Sample::new(
            CtcLoss { blank: 1, zero_infinity: true },
            [half.clone(), i64s(&[0, 0], &[1, 2]), one(2), one(2)],
        )
        .gives([f64s(&[0.0], &[1])]),
        Sample::new(by(0), [half.clone(), i64s(&[1], &[1, 1]), one(3), one(1)])
            .refused("input length 3 of sequence 0"),
        Sample::new(by(0), [half.clone(), i64s(&[0], &[1, 1]), one(2), one(1)])
            .refused("label 0 at position 0"),
        Sample::new(by(2), [half.clone(), i64s(&[1], &[1, 1]), one(2), one(1)])
            .refused("the blank 2"),
        Sample::new(by(0), [half.clone(), i64s(&[1], &[1]), one(2), one(1)])
            .refused("expected targets"),
        Sample::new(by(0), [half, i64s(&[1], &[1, 1]), f64s(&[2.0], &[1]), one(1)])
            .refused("lengths are i64"),
    ]);
    samples
});
