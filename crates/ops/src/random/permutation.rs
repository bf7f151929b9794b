//! `permutation`: a random order, derived from `randint` and `argsort`.

use super::randint;
use crate::prelude::*;
use crate::sort::argsort;

/// The numbers from 0 to `n` (exclusive; it may be a symbol) in random order, `i64`.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// seed(1)?;
/// let mut x = permutation(Dim::size(4))?.to_vec::<i64>()?;
/// x.sort();
/// assert_eq!(x, [0, 1, 2, 3]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn permutation(n: Dim) -> Result<Var> {
    let _line = at(scope::user_line());
    // Among 64-bit keys, equal ones are too rare to matter.
    argsort(&randint(&Type::new(DType::I64, &[n])?, i64::MIN, i64::MAX)?, 0, false)
}
