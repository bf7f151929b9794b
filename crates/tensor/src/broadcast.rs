//! The broadcasting rule.

use crate::dim::Dim;
use crate::error::{Error, Result};
use crate::ty::Shape;
use smallvec::SmallVec;

/// The shape in which two shapes meet, by NumPy's rule: shapes are aligned at their last axes, and
/// along each axis the sizes are equal or one of them is 1.
///
/// A symbol meets only itself and 1.
///
/// ```
/// use fluvial_tensor::{Dim, broadcast};
/// let batch = Dim::symbol("batch")?;
/// let shape = broadcast(&[batch, Dim::size(1)], &[Dim::size(3)])?;
/// assert_eq!(shape.as_slice(), [batch, Dim::size(3)]);
/// # Ok::<(), fluvial_tensor::Error>(())
/// ```
pub fn broadcast(a: &[Dim], b: &[Dim]) -> Result<SmallVec<[Dim; 8]>> {
    const ONE: Dim = Dim::size(1);
    let rank = a.len().max(b.len());
    let size_at = |dims: &[Dim], axis: usize| match (axis + dims.len()).checked_sub(rank) {
        Some(i) => dims[i],
        None => ONE,
    };
    (0..rank)
        .map(|axis| match (size_at(a, axis), size_at(b, axis)) {
            (x, y) if x == y || y == ONE => Ok(x),
            (ONE, y) => Ok(y),
            (x, y) => Err(mismatch(a, b, x, y)),
        })
        .collect()
}

#[cold]
fn mismatch(a: &[Dim], b: &[Dim], x: Dim, y: Dim) -> Error {
    let error = Error::shape(format!("shapes {} and {} do not broadcast", Shape(a), Shape(b)));
    match (x.is_symbolic(), y.is_symbolic()) {
        (false, false) => error.remedy(
            "aligned from the right, sizes must be equal or 1: transpose, reshape or expand one of them",
        ),
        (true, true) => error
            .remedy(format!("use the same symbol for both axes, if {x} and {y} are always equal")),
        (symbolic, _) => {
            let (symbol, size) = if symbolic { (x, y) } else { (y, x) };
            error.remedy(format!(
                "{symbol} broadcasts with itself and with 1 only: give the axis the size {size} \
                 if it is always {size}"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    fn sizes(sizes: &[usize]) -> Vec<Dim> {
        sizes.iter().map(|&n| Dim::size(n)).collect()
    }

    #[test]
    fn sizes_follow_numpy() {
        let cases: [(&[usize], &[usize], &[usize]); 6] = [
            (&[], &[], &[]),
            (&[], &[2, 3], &[2, 3]),
            (&[3, 1], &[1, 4], &[3, 4]),
            (&[5, 1, 4], &[3, 1], &[5, 3, 4]),
            (&[0], &[1], &[0]),
            (&[2, 0], &[2, 1], &[2, 0]),
        ];
        for (a, b, expected) in cases {
            assert_eq!(broadcast(&sizes(a), &sizes(b)).unwrap().to_vec(), sizes(expected));
            assert_eq!(broadcast(&sizes(b), &sizes(a)).unwrap().to_vec(), sizes(expected));
        }
        assert!(broadcast(&sizes(&[0]), &sizes(&[3])).is_err());
    }

    #[test]
    fn a_shape_and_a_part_of_it_give_the_shape() {
        let mut rng = Rng::new(3);
        for _ in 0..200 {
            let shape: Vec<usize> = (0..rng.below(5)).map(|_| rng.below(4)).collect();
            let cut = rng.below(shape.len() + 1);
            let part: Vec<usize> =
                shape[cut..].iter().map(|&n| if rng.below(2) == 0 { 1 } else { n }).collect();
            assert_eq!(broadcast(&sizes(&shape), &sizes(&part)).unwrap().to_vec(), sizes(&shape));
        }
    }

    #[test]
    fn symbols_meet_themselves_and_one() {
        let (n, m) = (Dim::symbol("bc_n").unwrap(), Dim::symbol("bc_m").unwrap());
        assert_eq!(broadcast(&[n], &[n]).unwrap().as_slice(), [n]);
        assert_eq!(broadcast(&[n], &[Dim::size(1)]).unwrap().as_slice(), [n]);
        assert_eq!(broadcast(&[], &[n, m]).unwrap().as_slice(), [n, m]);
        assert_eq!(
            broadcast(&[n, Dim::size(2)], &[Dim::size(3), Dim::size(2)]).unwrap_err().to_string(),
            "shapes [bc_n, 2] and [3, 2] do not broadcast\n  remedy: bc_n broadcasts with itself \
             and with 1 only: give the axis the size 3 if it is always 3"
        );
        assert_eq!(
            broadcast(&[n], &[m]).unwrap_err().to_string(),
            "shapes [bc_n] and [bc_m] do not broadcast\n  remedy: use the same symbol for both \
             axes, if bc_n and bc_m are always equal"
        );
        let error = broadcast(&sizes(&[3]), &sizes(&[2])).unwrap_err();
        assert!(error.to_string().starts_with("shapes [3] and [2] do not broadcast\n  remedy: "));
    }
}
