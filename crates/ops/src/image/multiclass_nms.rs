//! `multiclass_nms`: the boxes that a detector keeps of those that overlap.

use crate::prelude::*;

options! {
    /// Which boxes are kept.
    pub struct MulticlassNmsOptions {
        /// Boxes count whose score is larger.
        pub score_threshold: f64 = 0.0,
        /// How many boxes of a class are looked at, from the best on; -1 for all.
        pub nms_top_k: i64 = -1,
        /// How much a box may overlap a better one of its class: the share of what both cover that both cover.
        pub nms_threshold: f64 = 0.3,
        /// What the threshold is multiplied with after each box that is kept, while it is above 0.5.
        pub nms_eta: f64 = 1.0,
        /// How many boxes of an image are kept; -1 for all.
        pub keep_top_k: i64 = -1,
        /// Whether a box from 0 to 1 has the width 1, and not two pixels.
        pub normalized: bool = true,
        /// The class that is left out; -1 for none.
        pub background: i64 = 0,
    }
}

/// Non-maximum suppression class by class. `boxes`, `[images, boxes, 4]`, has the left, top, right and bottom edge of
/// each; `scores` are `[images, classes, boxes]`.
///
/// Returns for each box that is kept its class, score and edges, `[kept, 6]`; its number among the boxes of all images,
/// `i64[kept]`; and how many each image keeps, `i64[images]`. Images come one after another, in each class by class,
/// the best first.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let boxes = Var::of(&[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.9, 2.0, 2.0, 3.0, 3.0], &[1, 3, 4])?;
/// let scores = Var::of(&[0.5, 0.9, 0.7], &[1, 1, 3])?;
/// let found = multiclass_nms(&boxes, &scores, MulticlassNmsOptions::default().background(-1i64))?;
/// assert_eq!(found[1].to_vec::<i64>()?, [1, 2]);
/// assert_eq!(found[2].to_vec::<i64>()?, [2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn multiclass_nms(
    boxes: &Var,
    scores: &Var,
    options: MulticlassNmsOptions,
) -> Result<Vec<Var>> {
    let o = options;
    let op = MulticlassNms {
        score_threshold: o.score_threshold,
        nms_top_k: o.nms_top_k,
        nms_threshold: o.nms_threshold,
        nms_eta: o.nms_eta,
        keep_top_k: o.keep_top_k,
        normalized: o.normalized,
        background: o.background,
    };
    bind(op, &[boxes, scores]).map(Outputs::into_vec)
}

attributes! {
    /// The op behind [`multiclass_nms`].
    pub struct MulticlassNms = "multiclass_nms" {
        /// Boxes count whose score is larger.
        pub score_threshold: f64,
        /// How many boxes of a class are looked at.
        pub nms_top_k: i64,
        /// How much a box may overlap a better one.
        pub nms_threshold: f64,
        /// What the threshold is multiplied with.
        pub nms_eta: f64,
        /// How many boxes of an image are kept.
        pub keep_top_k: i64,
        /// Whether a box from 0 to 1 has the width 1.
        pub normalized: bool,
        /// The class that is left out.
        pub background: i64,
    }
}

/// The share of what two boxes cover that both cover.
pub(super) fn overlap(a: &[f64], b: &[f64], pixel: f64) -> f64 {
    if b[0] > a[2] || b[2] < a[0] || b[1] > a[3] || b[3] < a[1] {
        return 0.0;
    }
    let area = |x: &[f64]| match x[2] < x[0] || x[3] < x[1] {
        true => 0.0,
        false => (x[2] - x[0] + pixel) * (x[3] - x[1] + pixel),
    };
    let width = a[2].min(b[2]) - a[0].max(b[0]) + pixel;
    let height = a[3].min(b[3]) - a[1].max(b[1]) + pixel;
    width * height / (area(a) + area(b) - width * height)
}

/// As many of the first as `limit` says; all if it is negative.
fn first(found: &mut Vec<usize>, limit: i64) {
    if let Ok(limit) = usize::try_from(limit) {
        found.truncate(limit);
    }
}

impl MulticlassNms {
    /// The boxes of one class that are kept, the best first.
    fn of_class(&self, boxes: &[f64], scores: &[f64]) -> Vec<usize> {
        let mut left: Vec<usize> =
            (0..scores.len()).filter(|&i| scores[i] > self.score_threshold).collect();
        left.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        first(&mut left, self.nms_top_k);
        let (mut kept, mut limit) = (Vec::new(), self.nms_threshold);
        let pixel = f64::from(!self.normalized);
        let edges = |i: usize| &boxes[4 * i..4 * i + 4];
        for i in left {
            if kept.iter().any(|&other| overlap(edges(i), edges(other), pixel) > limit) {
                continue;
            }
            kept.push(i);
            if self.nms_eta < 1.0 && limit > 0.5 {
                limit *= self.nms_eta;
            }
        }
        kept
    }

    /// Classes and boxes that an image keeps, class by class.
    fn of_image(&self, boxes: &[f64], scores: &[f64], n_boxes: usize) -> Vec<(usize, usize)> {
        let mut kept: Vec<(usize, usize)> = Vec::new();
        for (class, scores) in scores.chunks(n_boxes.max(1)).enumerate() {
            if i64::try_from(class) != Ok(self.background) {
                kept.extend(self.of_class(boxes, scores).into_iter().map(|i| (class, i)));
            }
        }
        let score = |&(class, i): &(usize, usize)| scores[class * n_boxes + i];
        if usize::try_from(self.keep_top_k).is_ok_and(|limit| limit < kept.len()) {
            kept.sort_by(|a, b| score(b).total_cmp(&score(a)));
            kept.truncate(usize::try_from(self.keep_top_k).unwrap_or(usize::MAX));
            kept.sort_by_key(|&(class, _)| class);
        }
        kept
    }
}

impl Op for MulticlassNms {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (boxes, scores) = (inputs[0], inputs[1]);
        let fits = match (boxes.dims(), scores.dims()) {
            (&[a, n, four], &[b, _, m]) => a == b && n == m && four == Dim::size(4),
            _ => false,
        };
        if !fits || !boxes.is_float() || boxes.dtype() != scores.dtype() || boxes.is_list() {
            return Err(Error::shape(format!(
                "expected boxes [images, boxes, 4] and scores [images, classes, boxes] of one \
                 float type, found {boxes} and {scores}"
            )));
        }
        let whole = |dim: Dim| Type::new(DType::I64, &[dim]);
        Ok(smallvec![
            boxes.with_dims(&[Dim::fresh(0), Dim::size(6)])?,
            whole(Dim::fresh(0))?,
            whole(boxes.dim(0))?
        ])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (boxes, scores) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let (images, n) = (boxes.dims()[0], boxes.dims()[1]);
        let per_image = scores.dims()[1] * n;
        let (boxes, scores) = (boxes.to_f64s(), scores.to_f64s());
        let (mut rows, mut numbers, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
        for image in 0..images {
            let boxes = &boxes[image * n * 4..(image + 1) * n * 4];
            let scores = &scores[image * per_image..(image + 1) * per_image];
            let kept = self.of_image(boxes, scores, n);
            lengths.push(kept.len() as i64);
            for (class, i) in kept {
                rows.extend([class as f64, scores[class * n + i]]);
                rows.extend(&boxes[4 * i..4 * i + 4]);
                numbers.push((image * n + i) as i64);
            }
        }
        let n_kept = numbers.len();
        Ok(smallvec![
            Tensor::from_f64s(outs[0].dtype(), &rows, &[n_kept, 6])?.into(),
            Tensor::from_vec(numbers, &[n_kept])?.into(),
            Tensor::from_vec(lengths, &[images])?.into()
        ])
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("it chooses boxes")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(MulticlassNms::NAME, MulticlassNms::build, || {
    let op = |nms_top_k, keep_top_k, background, normalized| MulticlassNms {
        score_threshold: 0.1,
        nms_top_k,
        nms_threshold: 0.6,
        nms_eta: 0.9,
        keep_top_k,
        normalized,
        background,
    };
    let edges = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.8, 2.0, 2.0, 3.0, 3.0, 2.5, 2.0, 3.0, 3.0];
    let boxes = f64s(&edges, &[1, 4, 4]);
    let scores = f64s(&[0.9, 0.8, 0.05, 0.3, 0.2, 0.6, 0.7, 0.5], &[1, 2, 4]);
    let rows = |found: &[(f64, f64, usize)]| {
        let mut all = Vec::new();
        for &(class, score, i) in found {
            all.extend([class, score]);
            all.extend(&edges[4 * i..4 * i + 4]);
        }
        let numbers: Vec<i64> = found.iter().map(|row| row.2 as i64).collect();
        let n = found.len();
        [f64s(&all, &[n, 6]), i64s(&numbers, &[n]), i64s(&[n as i64], &[1])]
    };
    let given = || [boxes.clone(), scores.clone()];
    vec![
        Sample::new(op(-1, -1, -1, true), given()).gives(rows(&[
            (0.0, 0.9, 0),
            (0.0, 0.3, 3),
            (1.0, 0.7, 2),
            (1.0, 0.6, 1),
        ])),
        Sample::new(op(1, -1, -1, true), given()).gives(rows(&[(0.0, 0.9, 0), (1.0, 0.7, 2)])),
        Sample::new(op(-1, 2, -1, true), given()).gives(rows(&[(0.0, 0.9, 0), (1.0, 0.7, 2)])),
        Sample::new(op(-1, -1, 1, false), given()).gives(rows(&[(0.0, 0.9, 0), (0.0, 0.3, 3)])),
        Sample::new(op(-1, -1, 0, true), [boxes.clone(), ramp(&[1, 2, 3])])
            .refused("expected boxes"),
    ]
});
