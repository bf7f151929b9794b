//! `merge_boxes`: boxes that follow each other and overlap become one.

use super::multiclass_nms::overlap;
use crate::prelude::*;

options! {
    /// Which boxes are merged.
    pub struct MergeBoxesOptions {
        /// How much a box overlaps the one before it at least: the share of what both cover that both cover.
        pub threshold: f64 = 0.3,
        /// Whether a box from 0 to 1 has the width 1, and not two pixels.
        pub normalized: bool = true,
    }
}

/// Goes through the boxes of each image in order. A box that overlaps the last one by more than the threshold is merged into
/// it: edges are means, weighted by scores, and scores add up. `boxes`, `[images, boxes, 4]`, has the left, top, right and
/// bottom edge of each; `scores` are `[images, boxes]`.
///
/// Returns both as they are then. A box that was merged into another keeps its place, with the score -inf.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let boxes = Var::of(&[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.8, 2.0, 2.0, 3.0, 3.0], &[1, 3, 4])?;
/// let scores = Var::of(&[1.0, 3.0, 0.5], &[1, 3])?;
/// let (boxes, scores) = merge_boxes(&boxes, &scores, MergeBoxesOptions::default())?;
/// assert_eq!(scores.to_vec::<f64>()?, [4.0, f64::NEG_INFINITY, 0.5]);
/// assert!((boxes.to_vec::<f64>()?[3] - 0.85).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn merge_boxes(boxes: &Var, scores: &Var, options: MergeBoxesOptions) -> Result<(Var, Var)> {
    let MergeBoxesOptions { threshold, normalized } = options;
    let mut outputs = bind(MergeBoxes { threshold, normalized }, &[boxes, scores])?;
    match (outputs.pop(), outputs.pop()) {
        (Some(scores), Some(boxes)) => Ok((boxes, scores)),
        _ => Err(Error::internal("`merge_boxes` has two outputs")),
    }
}

attributes! {
    /// The op behind [`merge_boxes`].
    pub struct MergeBoxes = "merge_boxes" {
        /// How much a box overlaps the one before it at least.
        pub threshold: f64,
        /// Whether a box from 0 to 1 has the width 1.
        pub normalized: bool,
    }
}

impl MergeBoxes {
    /// Merges the boxes of one image in place.
    fn of_image(&self, boxes: &mut [f64], scores: &mut [f64]) {
        let pixel = f64::from(!self.normalized);
        let mut last = 0;
        for i in 1..scores.len() {
            let (before, after) = boxes.split_at_mut(4 * i);
            let (into, from) = (&mut before[4 * last..4 * last + 4], &after[..4]);
            if overlap(from, into, pixel) > self.threshold {
                let total = scores[i] + scores[last];
                for (a, b) in into.iter_mut().zip(from) {
                    *a = (b * scores[i] + *a * scores[last]) / total;
                }
                scores[last] = total;
                scores[i] = f64::NEG_INFINITY;
            } else {
                last = i;
            }
        }
    }
}

impl Op for MergeBoxes {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (boxes, scores) = (inputs[0], inputs[1]);
        let fits = match (boxes.dims(), scores.dims()) {
            (&[a, n, four], &[b, m]) => a == b && n == m && four == Dim::size(4),
            _ => false,
        };
        let is_list = boxes.is_list() || scores.is_list();
        if !fits || is_list || !boxes.is_float() || boxes.dtype() != scores.dtype() {
            return Err(Error::shape(format!(
                "expected boxes [images, boxes, 4] and scores [images, boxes] of one float type, \
                 found {boxes} and {scores}"
            )));
        }
        Ok(smallvec![*boxes, *scores])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (boxes, scores) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let (images, n) = (scores.dims()[0], scores.dims()[1]);
        let (dims, score_dims) = ([images, n, 4], [images, n]);
        let (mut boxes, mut scores) = (boxes.to_f64s(), scores.to_f64s());
        for image in 0..images {
            let edges = &mut boxes[4 * n * image..4 * n * (image + 1)];
            self.of_image(edges, &mut scores[n * image..n * (image + 1)]);
        }
        Ok(smallvec![
            Tensor::from_f64s(outs[0].dtype(), &boxes, &dims)?.into(),
            Tensor::from_f64s(outs[1].dtype(), &scores, &score_dims)?.into()
        ])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("it chooses boxes")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(MergeBoxes::NAME, MergeBoxes::build, || {
    let op = |threshold, normalized| MergeBoxes { threshold, normalized };
    let boxes = || f64s(&[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.5, 2.0, 2.0, 3.0, 3.0], &[1, 3, 4]);
    let scores = || f64s(&[1.0, 3.0, 0.5], &[1, 3]);
    let merged = f64s(&[0.0, 0.0, 1.0, 0.625, 0.0, 0.0, 1.0, 0.5, 2.0, 2.0, 3.0, 3.0], &[1, 3, 4]);
    vec![
        Sample::new(op(0.3, true), [boxes(), scores()])
            .gives([merged, f64s(&[4.0, f64::NEG_INFINITY, 0.5], &[1, 3])]),
        Sample::new(op(0.9, false), [boxes(), scores()]).gives([boxes(), scores()]),
        Sample::new(op(0.3, true), [boxes(), ramp(&[3])]).refused("expected boxes"),
    ]
});
