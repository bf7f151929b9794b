//! Layers that drop values at random in training.

use fluvial_core::{Result, Var};
use fluvial_ops::{alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout};

use super::layer::Layer;
use super::path::Path;

/// A layer that drops in training, and passes its input on otherwise.
macro_rules! dropouts {
    ($($(#[$doc:meta])* $layer:ident $function:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $layer {
            at: Path,
            p: f64,
        }

        impl $layer {
            /// Drops with probability `p`. The place says when it trains.
            pub fn new(at: impl Into<Path>, p: f64) -> $layer {
                $layer { at: at.into(), p }
            }
        }

        impl Layer for $layer {
            fn path(&self) -> &Path {
                &self.at
            }

            #[track_caller]
            fn forward(&self, x: &Var) -> Result<Var> {
                let _call = self.at.called();
                match self.at.is_training() && self.p != 0.0 {
                    true => $function(x, self.p),
                    false => x.clone().check(),
                }
            }
        }
    )*};
}

dropouts! {
    /// Sets elements to zero in training; see [`dropout`].
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
    Dropout dropout;

    /// Sets whole channels of `[batch, channels, length]` to zero in training; see [`dropout1d`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = Dropout1d::new("drop", 0.5).forward(&Var::of(&[1.0; 4], &[1, 2, 2])?)?;
    /// let y = y.to_vec::<f64>()?;
    /// assert!(y[0] == y[1] && y[2] == y[3]);
    /// # Ok::<(), Error>(())
    /// ```
    Dropout1d dropout1d;

    /// Sets whole channels of images to zero in training; see [`dropout2d`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = Dropout2d::new("drop", 0.5).forward(&Var::of(&[1.0; 4], &[1, 2, 2, 1])?)?;
    /// let y = y.to_vec::<f64>()?;
    /// assert!(y[0] == y[1] && y[2] == y[3]);
    /// # Ok::<(), Error>(())
    /// ```
    Dropout2d dropout2d;

    /// Sets whole channels of volumes to zero in training; see [`dropout3d`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = Dropout3d::new("drop", 0.5).forward(&Var::of(&[1.0; 4], &[1, 2, 2, 1, 1])?)?;
    /// let y = y.to_vec::<f64>()?;
    /// assert!(y[0] == y[1] && y[2] == y[3]);
    /// # Ok::<(), Error>(())
    /// ```
    Dropout3d dropout3d;

    /// Drops in training and keeps mean and variance, for networks with `selu`; see
    /// [`alpha_dropout`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let layer = AlphaDropout::new("drop", 0.5);
    /// assert_eq!(layer.forward(&Var::of(&[1.0; 4], &[4])?)?.ty().to_string(), "f64[4]");
    /// # Ok::<(), Error>(())
    /// ```
    AlphaDropout alpha_dropout;

    /// [`AlphaDropout`] of whole channels; see [`feature_alpha_dropout`].
    ///
    /// ```
    /// use fluvial::prelude::*;
    ///
    /// let y = FeatureAlphaDropout::new("drop", 0.5).forward(&Var::of(&[1.0; 4], &[1, 2, 2])?)?;
    /// let y = y.to_vec::<f64>()?;
    /// assert!(y[0] == y[1] && y[2] == y[3]);
    /// # Ok::<(), Error>(())
    /// ```
    FeatureAlphaDropout feature_alpha_dropout;
}
