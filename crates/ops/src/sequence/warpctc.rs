//! `warpctc`: connectionist temporal classification of sequences, derived from `ctc_loss`.

use super::rows::{Rows, on_one_axis};
use super::{sequence_pad, sequence_steps};
use crate::loss::{CtcLossOptions, Reduction, ctc_loss};
use crate::prelude::*;
use crate::{log_softmax, maximum, reshape};

options! {
    /// How the loss of [`warpctc`] is computed.
    pub struct WarpctcOptions {
        /// The class that stands for no label.
        pub blank: usize = 0,
        /// Whether the gradient, and only that, is divided by the length of its sequence.
        pub norm_by_times: bool = false,
    }
}

/// The loss of each sequence, `[sequences, 1]`: minus the logarithm of the probability that the classes of its
/// steps, with repeats and blanks taken out, are its labels. `logits`, `[rows, classes]`, are scores before the
/// softmax; `labels` are classes, with lengths of their own.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let (logits, steps) = (Var::of(&[0.0; 4], &[2, 2])?, Var::of(&[2i64], &[1])?);
/// let (labels, one) = (Var::of(&[1i64], &[1])?, Var::of(&[1i64], &[1])?);
/// let loss = warpctc(&logits, &steps, &labels, &one, WarpctcOptions::default())?;
/// // Three of four sequences give the one label.
/// assert!((loss.to_vec::<f64>()?[0] + 0.75f64.ln()).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn warpctc(
    logits: &Var,
    logit_lengths: &Var,
    labels: &Var,
    label_lengths: &Var,
    options: WarpctcOptions,
) -> Result<Var> {
    let _line = at(scope::user_line());
    let rows = Rows::of("warpctc", logits, logit_lengths)?;
    let steps = log_softmax(&sequence_steps(logits, logit_lengths, false)?, -1)?;
    let labels = cast(&on_one_axis("warpctc", labels)?, DType::I64)?;
    // The padding is never looked at.
    let labels = sequence_pad(&labels, label_lengths, None, None)?;
    let settings = CtcLossOptions::default().reduction(Reduction::None).blank(options.blank);
    let mut loss = ctc_loss(&steps, &labels, logit_lengths, label_lengths, settings)?;
    if options.norm_by_times {
        let times = cast(&maximum(logit_lengths, &Var::scalar(1i64))?, loss.dtype())?;
        let slow = div(&loss, &times)?;
        loss = add(&stop_gradient(&sub(&loss, &slow)?)?, &slow)?;
    }
    reshape(&loss, &[rows.sequences, Dim::size(1)])
}
