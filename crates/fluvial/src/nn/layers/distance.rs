//! How far apart vectors are.

use fluvial_core::{Result, Var};
use fluvial_ops::loss::PairwiseDistanceOptions;
use fluvial_ops::{cosine_similarity, pairwise_distance};

use crate::nn::stated::layer;

layer! {
    /// The cosines of the angles between vectors along an axis; see [`cosine_similarity`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let (a, b) = (Var::of(&[1.0, 0.0], &[1, 2])?, Var::of(&[0.0, 2.0], &[1, 2])?);
    /// assert_eq!(CosineSimilarity::new().forward2(&a, &b)?.to_vec::<f64>()?, [0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.CosineSimilarity()(fl.tensor([[1.0, 0.0]]), fl.tensor([[3.0, 0.0]])).tolist()
    /// [1.0]
    /// ```
    pub CosineSimilarity = "CosineSimilarity";
    CosineSimilaritySpec {
        /// The axis.
        axis | dim: i64 = 1,
        /// The least length that counts.
        eps: f64 = 1e-8,
    }
    new()
    forward(a | x1, b | x2) -> Tensor = |spec, with| cosine_similarity(a, b, spec.axis, spec.eps)
}

macro_rules! forward2 {
    ($($layer:ident)*) => {$(
        impl $layer {
            /// The output for `a` and `b`.
            #[track_caller]
            pub fn forward2(&self, a: &Var, b: &Var) -> Result<Var> {
                self.call(&[a.into(), b.into()])?.into_tensor()
            }
        }
    )*};
}
forward2!(CosineSimilarity PairwiseDistance);

layer! {
    /// The distances of vectors in the last axis; see [`pairwise_distance`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let (a, b) = (Var::of(&[3.0, 4.0], &[1, 2])?, Var::of(&[0.0, 0.0], &[1, 2])?);
    /// let layer = PairwiseDistance::new().eps(0.0);
    /// assert_eq!(layer.forward2(&a, &b)?.to_vec::<f64>()?, [5.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> fl.nn.PairwiseDistance(1.0, eps=0.0)(fl.tensor([[1.0, 2.0]]), fl.tensor([[0.0, 0.0]])).tolist()
    /// [3.0]
    /// ```
    pub PairwiseDistance = "PairwiseDistance";
    PairwiseDistanceSpec {
        /// Which norm measures it.
        p: f64 = 2.0,
        /// Added to each difference.
        eps: f64 = 1e-6,
        /// Whether the last axis stays, with size one.
        keepdims | keepdim: bool = false,
    }
    new()
    forward(a | x1, b | x2) -> Tensor = |spec, with| {
        let options = PairwiseDistanceOptions::default().p(spec.p).eps(spec.eps);
        pairwise_distance(a, b, options.keepdims(spec.keepdims))
    }
}
