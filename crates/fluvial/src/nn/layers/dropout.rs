//! Layers that drop values at random in training, and pass their input on otherwise.

use fluvial_ops::{alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout};

use crate::nn::stated::layer;

layer! {
    /// Each value is zero with a probability, in training, and the others grow to make up for it; see
    /// [`dropout`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = Dropout::new("drop", 0.5);
    /// let x = Var::of(&[1.0; 8], &[8])?;
    /// assert!(layer.forward(&x)?.to_vec::<f64>()?.iter().all(|&x| x == 0.0 || x == 2.0));
    /// layer.eval();
    /// assert_eq!(layer.forward(&x)?.to_vec::<f64>()?, [1.0; 8]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```python
    /// >>> layer = fl.nn.Dropout(0.5)
    /// >>> sorted(set(layer(fl.full((100,), 1.0)).tolist()))
    /// [0.0, 2.0]
    /// >>> layer.eval()(fl.tensor([1.0])).tolist()
    /// [1.0]
    /// ```
    pub Dropout(0) = "Dropout";
    /// Whole channels of `[batch, channels, length]` are zero with a probability, in training; see
    /// [`dropout1d`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = Dropout1d::new("drop", 0.5).forward(&Var::of(&[1.0; 4], &[1, 2, 2])?)?;
    /// let y = y.to_vec::<f64>()?;
    /// assert!(y[0] == y[1] && y[2] == y[3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub Dropout1d(1) = "Dropout1d" extends Dropout;
    /// Whole channels of images are zero with a probability, in training; see [`dropout2d`].
    pub Dropout2d(2) = "Dropout2d" extends Dropout;
    /// Whole channels of volumes are zero with a probability, in training; see [`dropout3d`].
    pub Dropout3d(3) = "Dropout3d" extends Dropout;
    /// Dropout that keeps mean and variance of values that `selu` gave; see [`alpha_dropout`].
    pub AlphaDropout(4) = "AlphaDropout" extends Dropout;
    /// [`AlphaDropout`] of whole channels; see [`feature_alpha_dropout`].
    pub FeatureAlphaDropout(5) = "FeatureAlphaDropout" extends Dropout;
    DropoutSpec {
        /// The probability.
        p: f64 = 0.5,
    }
    new(at, p)
    forward(x) -> Tensor = |spec, with| match (with.training && spec.p != 0.0, N) {
        (false, _) => x.clone().check(),
        (_, 0) => dropout(x, spec.p),
        (_, 1) => dropout1d(x, spec.p),
        (_, 2) => dropout2d(x, spec.p),
        (_, 3) => dropout3d(x, spec.p),
        (_, 4) => alpha_dropout(x, spec.p),
        _ => feature_alpha_dropout(x, spec.p),
    }
}
