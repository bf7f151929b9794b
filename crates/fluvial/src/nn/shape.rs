//! Layers that only change the shape.

use fluvial_ops::{channel_shuffle, flatten, pixel_shuffle, pixel_unshuffle};

use super::layer::stateless;

/// Passes its input on.
///
/// ```
/// use fluvial::prelude::*;
///
/// assert_eq!(Identity.forward(&Var::scalar(2.0))?.item::<f64>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Identity;

stateless!(Identity, |_layer, x| x.clone().check());

/// Makes one axis of several: of all but the first, unless said otherwise.
///
/// ```
/// use fluvial::prelude::*;
///
/// let y = Flatten::new().forward(&Var::of(&[0.5; 12], &[2, 3, 2])?)?;
/// assert_eq!(y.ty().to_string(), "f64[2, 6]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Flatten {
    first: i64,
    last: i64,
}

impl Flatten {
    /// All axes but the first.
    pub fn new() -> Flatten {
        Flatten::axes(1, -1)
    }

    /// The axes from `first` to `last`, which is included.
    pub fn axes(first: i64, last: i64) -> Flatten {
        Flatten { first, last }
    }
}

impl Default for Flatten {
    fn default() -> Flatten {
        Flatten::new()
    }
}

stateless!(Flatten, |layer, x| flatten(x, layer.first, layer.last));

/// Layers over images that take one number.
macro_rules! shuffles {
    ($($(#[$doc:meta])* $layer:ident $function:ident $sizes:literal $after:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ```
        /// use fluvial::prelude::*;
        ///
        #[doc = concat!("let x = Var::of(&[0.5; 4], &", $sizes, ")?;")]
        #[doc = concat!("let y = ", stringify!($layer), "::new(2).forward(&x)?;")]
        #[doc = concat!("assert_eq!(y.ty().to_string(), \"f64", $after, "\");")]
        /// # Ok::<(), Error>(())
        /// ```
        #[derive(Clone, Debug)]
        pub struct $layer(usize);

        impl $layer {
            /// With this factor or number of groups.
            pub fn new(number: usize) -> $layer {
                $layer(number)
            }
        }

        stateless!($layer, |layer, x| $function(x, layer.0));
    )*};
}

shuffles! {
    /// Channels become pixels; see [`pixel_shuffle`].
    PixelShuffle pixel_shuffle "[1, 4, 1, 1]" "[1, 1, 2, 2]";
    /// Pixels become channels; see [`pixel_unshuffle`].
    PixelUnshuffle pixel_unshuffle "[1, 1, 2, 2]" "[1, 4, 1, 1]";
    /// Channels of all groups in turn; see [`channel_shuffle`].
    ChannelShuffle channel_shuffle "[1, 4, 1, 1]" "[1, 4, 1, 1]";
}
