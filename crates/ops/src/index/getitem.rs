//! `getitem`: `x[…]` with all forms of numpy, derived from `slice`, `reshape` and `gather`.

use super::gather::is_index;
use super::ravel_index::RavelIndex;
use super::{End, Index, argwhere, gather};
use crate::prelude::*;
use crate::shape::derived::{count, judged};
use crate::shape::slice::part_of;
use crate::shape::{assume_dims, narrow, permute, reshape, whole_size};

/// `x[…]` as in numpy. Positions, ranges, [`Index::Ellipsis`](crate::Index::Ellipsis) and
/// [`Index::NewAxis`](crate::Index::NewAxis) give a view;
/// tensors of positions and masks give a copy. Tensors of positions are broadcast together, with
/// single positions beside them; their axes take the place of the first, if all stand side by side,
/// and else come first. With a mask, the size is known only when it is computed; in a program, a
/// mask beside tensors of positions must find as many as they have.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// assert_eq!(getitem(&x, &[1.into(), (..-1).into()])?.to_vec::<f64>()?, [4.0, 5.0]);
/// let column = getitem(&x, &[Index::Ellipsis, (-1).into(), Index::NewAxis])?;
/// assert_eq!(column.ty().to_string(), "f64[2, 1]");
/// let mask = gt(&x, &Var::scalar(4.0))?;
/// assert_eq!(getitem(&x, &[mask.into()])?.to_vec::<f64>()?, [5.0, 6.0]);
/// let (rows, columns) = (Var::of(&[0i64, 1], &[2])?, Var::of(&[2i64, 0], &[2])?);
/// assert_eq!(getitem(&x, &[rows.into(), columns.into()])?.to_vec::<f64>()?, [3.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn getitem(x: &Var, index: &[crate::Index]) -> Result<Var> {
    let _line = at(scope::user_line());
    Selection::new("getitem", x, index)?.of(x)
}

/// An index fitted to the dims of a tensor: masks are positions on axes made one, new axes are
/// there with size one, and each part but the gaps belongs to one axis.
pub(super) struct Selection {
    dims: Vec<Dim>,
    parts: Vec<Part>,
}

enum Part {
    /// A position on an axis that has this number in the tensor that was given.
    At(Whole, usize),
    Slice(Option<End>, Option<End>, i64),
    Positions(Var, usize),
    /// No axis, but tensors on both sides of it do not stand side by side.
    Gap,
}

const WHOLE: Part = Part::Slice(None, None, 1);

impl Selection {
    /// Fits the index to the type of `x`.
    pub(super) fn new(name: &str, x: &Var, index: &[Index]) -> Result<Selection> {
        let tensors = index.iter().filter_map(|part| match part {
            Index::Tensor(positions) => Some(positions),
            _ => None,
        });
        let inputs: Vec<&Var> = std::iter::once(x).chain(tensors).collect();
        let left = judged(name, &inputs, |types| axes_left(&types[0], index))?;
        let own = x.dims();
        let (mut dims, mut parts, mut axis) = (Vec::new(), Vec::new(), 0);
        let mut masks = Vec::new();
        for part in index {
            let mut n_axes = 1;
            match part {
                Index::Ellipsis => {
                    parts.push(Part::Gap);
                    parts.extend((0..left).map(|_| WHOLE));
                    dims.extend_from_slice(&own[axis..axis + left]);
                    n_axes = left;
                }
                Index::NewAxis => {
                    parts.push(WHOLE);
                    dims.push(Dim::size(1));
                    n_axes = 0;
                }
                Index::At(position) => parts.push(Part::At(*position, axis)),
                Index::Slice { start, stop, step } => {
                    parts.push(Part::Slice(start.clone(), stop.clone(), *step));
                }
                Index::Tensor(mask) if mask.dtype().is_bool() => {
                    n_axes = mask.rank();
                    let size = count(&mask.dims())?;
                    let found = argwhere(&reshape(mask, &[size])?)?;
                    masks.push(parts.len());
                    parts.push(Part::Positions(reshape(&found, &found.dims()[..1])?, axis));
                    dims.push(size);
                }
                Index::Tensor(positions) => parts.push(Part::Positions(positions.clone(), axis)),
            }
            if dims.len() < parts.iter().filter(|part| !matches!(part, Part::Gap)).count() {
                dims.push(own[axis]);
            }
            axis += n_axes;
        }
        parts.extend(own[axis..].iter().map(|_| WHOLE));
        dims.extend_from_slice(&own[axis..]);
        align(&mut parts, &masks)?;
        Ok(Selection { dims, parts })
    }

    /// What the index selects of `x`.
    pub(super) fn of(&self, x: &Var) -> Result<Var> {
        let mut x = if x.dims()[..] == self.dims[..] { x.clone() } else { reshape(x, &self.dims)? };
        let parts = || self.parts.iter().filter(|part| !matches!(part, Part::Gap)).enumerate();
        for (axis, part) in parts() {
            if let Part::Slice(start, stop, step) = part
                && (start.is_some() || stop.is_some() || *step != 1)
            {
                x = part_of(&x, axis as i64, start.clone(), stop.clone(), *step)?;
            }
        }
        if parts().any(|(_, part)| matches!(part, Part::Positions(..))) {
            return self.gathered(&x);
        }
        let mut kept = Vec::new();
        for (axis, part) in parts() {
            match part {
                Part::At(i, _) => {
                    let position = position(*i, x.dims()[axis])?;
                    x = narrow(&x, axis as i64, position, Dim::size(1))?;
                }
                _ => kept.push(x.dims()[axis]),
            }
        }
        if x.dims()[..] == kept[..] { Ok(x) } else { reshape(&x, &kept) }
    }

    /// What is left when slices have been taken: positions on some axes, all of the others.
    fn gathered(&self, x: &Var) -> Result<Var> {
        // The axes with positions, the positions, and what errors call the axes.
        let (mut axes, mut positions, mut names) = (Vec::new(), Vec::new(), Vec::new());
        let (mut axis, mut groups, mut inside) = (0, 0, false);
        for part in &self.parts {
            let (index, name) = match part {
                Part::Positions(index, name) => (index.clone(), *name),
                Part::At(Whole::Number(i), name) => (Var::scalar(*i), *name),
                Part::At(i, name) => (whole_size(*i, DType::I64)?, *name),
                Part::Slice(..) | Part::Gap => {
                    axis += usize::from(!matches!(part, Part::Gap));
                    inside = false;
                    continue;
                }
            };
            groups += usize::from(!inside);
            inside = true;
            axes.push(axis);
            positions.push(index);
            names.push(name);
            axis += 1;
        }
        let dims = x.dims();
        let (x, first) = match groups {
            1 => (x.clone(), axes[0]),
            _ => {
                let others = (0..dims.len()).filter(|axis| !axes.contains(axis));
                let order: Vec<i64> =
                    axes.iter().copied().chain(others).map(|axis| axis as i64).collect();
                (permute(x, &order)?, 0)
            }
        };
        if axes.len() == 1 && names[0] == first {
            return gather(&x, &positions[0], first as i64);
        }
        let sizes: Vec<Dim> = axes.iter().map(|&axis| dims[axis]).collect();
        let mut joined = x.dims().to_vec();
        joined.splice(first..first + axes.len(), [count(&sizes)?]);
        let inputs: Vec<&Var> = positions.iter().collect();
        let numbers = bind1(RavelIndex { dims: sizes, axes: names }, &inputs)?;
        gather(&reshape(&x, &joined)?, &numbers, first as i64)
    }
}

/// In a program, what a mask finds has a size of its own. It is taken to be that of the positions
/// it is broadcast with, and the run checks it.
fn align(parts: &mut [Part], masks: &[usize]) -> Result<()> {
    let size = |part: &Part| match part {
        Part::Positions(found, _) => found.dims().last().copied().filter(|&n| n != Dim::size(1)),
        _ => None,
    };
    let others = (0..parts.len()).filter(|i| !masks.contains(i));
    let Some(common) = others.chain(masks.iter().copied()).find_map(|i| size(&parts[i])) else {
        return Ok(());
    };
    for &i in masks {
        if let Part::Positions(found, _) = &mut parts[i]
            && found.dims()[0].is_symbolic()
            && found.dims()[0] != common
        {
            *found = assume_dims(found, &[common])?;
        }
    }
    Ok(())
}

/// Judges an index; the number of axes that no part but an ellipsis names.
fn axes_left(x: &Type, index: &[Index]) -> Result<usize> {
    let (mut axis, mut ellipses) = (0, 0);
    // Parts behind an ellipsis count from the back.
    let named: usize = index.iter().map(n_axes).sum();
    let Some(left) = x.rank().checked_sub(named) else {
        return Err(Error::index(format!("an index of {named} axes is too long for {x}"))
            .remedy("new axes are made with `NewAxis`"));
    };
    for part in index {
        match part {
            Index::At(i) => {
                position(*i, x.dim(axis)).map_err(|_| {
                    let size = x.dim(axis);
                    Error::index(format!(
                        "index {i} is out of range for axis {axis} of size {size}"
                    ))
                })?;
            }
            Index::Slice { step: 0, .. } => {
                return Err(Error::argument("the step of a slice must not be zero"));
            }
            Index::Tensor(mask) if mask.dtype().is_bool() => {
                let (own, theirs) = (&x.dims()[axis..axis + mask.rank()], mask.dims());
                if *own != theirs[..] {
                    return Err(Error::index(format!(
                        "a mask of sizes {theirs:?} does not fit the axes of {x} from {axis} on"
                    )));
                }
            }
            Index::Tensor(positions) => is_index(&positions.ty())?,
            Index::Ellipsis => {
                ellipses += 1;
                axis += left;
            }
            _ => {}
        }
        axis += n_axes(part);
        if ellipses > 1 {
            return Err(Error::argument("an index has at most one ellipsis"));
        }
    }
    Ok(left)
}

fn n_axes(part: &Index) -> usize {
    match part {
        Index::Ellipsis | Index::NewAxis => 0,
        Index::Tensor(mask) if mask.dtype().is_bool() => mask.rank(),
        _ => 1,
    }
}

/// The position counted from the front, which may be a symbolic expression.
fn position(i: Whole, size: Dim) -> Result<Dim> {
    let from_front = match decisions::not_negative(i)? {
        Some(false) => i.add(size.into())?,
        _ => i,
    };
    let behind = Whole::from(size).sub(from_front)?.sub(Whole::Number(1))?;
    for inside in [from_front, behind] {
        if decisions::not_negative(inside)? == Some(false) {
            return Err(Error::index(format!("index {i} is out of range for size {size}")));
        }
    }
    from_front.dim()
}
