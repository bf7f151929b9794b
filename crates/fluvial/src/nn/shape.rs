//! Layers that only change the shape.

use fluvial_core::scope::user_line;
use fluvial_core::{Dim, Error};
use fluvial_ops::reshape;

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

stateless!(Flatten, |layer, x| {
    let dims = x.clone().check()?.dims();
    let rank = dims.len() as i64;
    let [first, last] =
        [layer.first, layer.last].map(|axis| if axis < 0 { axis + rank } else { axis });
    if first < 0 || last < first || last >= rank {
        return Err(Error::index(format!(
            "axes {} to {} of {} cannot be made one",
            layer.first,
            layer.last,
            x.ty()
        ))
        .at(user_line()));
    }
    let (first, last) = (first as usize, last as usize);
    let joined = dims[first..=last].iter().copied().try_fold(Dim::size(1), Dim::mul)?;
    reshape(x, &[&dims[..first], &[joined], &dims[last + 1..]].concat())
});
