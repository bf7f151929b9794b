//! Layers that drop values at random in training.

use fluvial_core::scope::user_line;
use fluvial_core::{Result, Var, at};
use fluvial_ops::dropout;

use super::layer::Layer;
use super::path::Path;

/// Sets elements to zero at random in training; see [`dropout`].
///
/// ```
/// use fluvial::prelude::*;
///
/// let layer = Dropout::new("drop", 0.5);
/// let x = Var::of(&[1.0; 8], &[8])?;
/// assert!(layer.forward(&x)?.to_vec::<f64>()?.iter().all(|&x| x == 0.0 || x == 2.0));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dropout {
    at: Path,
    p: f64,
}

impl Dropout {
    /// Drops with probability `p`.
    pub fn new(at: impl Into<Path>, p: f64) -> Dropout {
        Dropout { at: at.into(), p }
    }
}

impl Layer for Dropout {
    fn path(&self) -> &Path {
        &self.at
    }

    #[track_caller]
    fn forward(&self, x: &Var) -> Result<Var> {
        let _line = at(user_line());
        match self.at.is_training() && self.p > 0.0 {
            true => dropout(x, self.p),
            false => Ok(x.clone()),
        }
    }
}
