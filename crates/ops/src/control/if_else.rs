//! `if_else`: each row of a batch through its own branch.

use crate::index::{merge_rows, split_rows};
use crate::prelude::*;

/// Splits the rows of `inputs` by a mask, runs `then` on the rows where it holds and `otherwise` on
/// the others, and puts the results back in order. Both branches run; either may get no rows. Each
/// must return the same number of values, with one row for each row it got.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[-1.0, 2.0, -3.0], &[3])?;
/// let mask = lt(&x, &Var::scalar(0.0))?;
/// let y = if_else(&mask, &[&x], |rows| Ok(vec![-&rows[0]]), |rows| Ok(vec![&rows[0] * 10.0]))?;
/// assert_eq!(y[0].to_vec::<f64>()?, [1.0, 20.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn if_else(
    mask: &Var,
    inputs: &[&Var],
    then: impl FnOnce(&[Var]) -> Result<Vec<Var>>,
    otherwise: impl FnOnce(&[Var]) -> Result<Vec<Var>>,
) -> Result<Vec<Var>> {
    let loc = scope::user_line();
    let mut yes = Vec::new();
    let mut no = Vec::new();
    {
        let _line = at(loc);
        for input in inputs {
            let (of_then, of_otherwise) = split_rows(mask, input)?;
            yes.push(of_then);
            no.push(of_otherwise);
        }
        // In a program each split names its sizes anew, but they are the same: those of the mask.
        for rows in [&mut yes, &mut no] {
            let Some(count) = rows.first().map(|first| first.ty().dim(0)) else { continue };
            for row in rows.iter_mut().skip(1) {
                let mut dims = row.dims();
                dims[0] = count;
                *row = crate::shape::assume_dims(row, &dims)?;
            }
        }
    }
    let (of_then, of_otherwise) = (then(&yes)?, otherwise(&no)?);
    if of_then.len() != of_otherwise.len() {
        return Err(Error::argument(format!(
            "one branch returns {} values, the other {}",
            of_then.len(),
            of_otherwise.len()
        ))
        .in_op("if_else", &[&mask.ty()])
        .at(loc));
    }
    let _line = at(loc);
    of_then.iter().zip(&of_otherwise).map(|(a, b)| merge_rows(mask, a, b)).collect()
}
