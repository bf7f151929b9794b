//! `polygon_masks`: the elements of boxes that polygons cover.

use crate::prelude::*;

/// Which elements of boxes lie in polygons, as 1 or 0, `i64[boxes, resolution, resolution]`. `boxes`, `[boxes, 4]`, has left,
/// top, right and bottom edges; each is divided into `resolution` elements each way. `objects`, `i64[boxes]`, is the object of
/// each. An object is covered by several polygons, `i64[objects]`, and a polygon has several corners, `i64[polygons]`;
/// `corners`, `[corners, 2]`, are across and down, those of all polygons one after another.
///
/// Edges are drawn on a grid five times as fine, and an element is covered if its middle is.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let boxes = Var::of(&[0.0, 0.0, 4.0, 4.0], &[1, 4])?;
/// let corners = Var::of(&[0.0, 0.0, 2.0, 0.0, 2.0, 4.0, 0.0, 4.0], &[4, 2])?;
/// let one = |n: i64| Var::of(&[n], &[1]);
/// let found = polygon_masks(&boxes, &one(0)?, &corners, &one(4)?, &one(1)?, 2)?;
/// assert_eq!(found.to_vec::<i64>()?, [1, 0, 1, 0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn polygon_masks(
    boxes: &Var,
    objects: &Var,
    corners: &Var,
    corners_of_polygons: &Var,
    polygons_of_objects: &Var,
    resolution: usize,
) -> Result<Var> {
    bind1(
        PolygonMasks { resolution },
        &[&boxes.detach(), objects, &corners.detach(), corners_of_polygons, polygons_of_objects],
    )
}

attributes! {
    /// The op behind [`polygon_masks`].
    pub struct PolygonMasks = "polygon_masks" {
        /// How many elements a box has each way.
        pub resolution: usize,
    }
}

/// How much finer the grid is on which edges are drawn.
const FINE: f64 = 5.0;
/// The greatest place on that grid: farther corners are cut off there, so that drawing an edge ends.
const FAR: f64 = 1e6;

/// A place on the fine grid.
fn fine(x: f64) -> i64 {
    (FINE * x + 0.5).clamp(-FAR, FAR) as i64
}

/// Inverts what an edge covers in each column below itself, so that what lies between two edges is left.
fn draw(from: (i64, i64), to: (i64, i64), size: usize, mask: &mut [bool]) {
    let (dx, dy) = ((from.0 - to.0).abs(), (from.1 - to.1).abs());
    let is_flat = dx >= dy;
    let is_back = if is_flat { from.0 > to.0 } else { from.1 > to.1 };
    let (from, to) = if is_back { (to, from) } else { (from, to) };
    let slope = match (is_flat, dx.max(dy)) {
        (_, 0) => 0.0,
        (true, length) => (to.1 - from.1) as f64 / length as f64,
        (false, length) => (to.0 - from.0) as f64 / length as f64,
    };
    // A point of the line, by its distance from the beginning along the longer side.
    let point = |t: i64| {
        let other = |start: i64| (start as f64 + slope * t as f64 + 0.5) as i64;
        if is_flat { (from.0 + t, other(from.1)) } else { (other(from.0), from.1 + t) }
    };
    let mut last = point(0);
    for t in 1..=dx.max(dy) {
        let next = point(t);
        if next.0 != last.0 {
            // Where it passes the middle of a column of elements.
            let middle = (next.0.min(last.0) as f64 + 0.5) / FINE - 0.5;
            if middle.fract() == 0.0 && middle >= 0.0 && middle < size as f64 {
                let below = (last.1.min(next.1) as f64 + 0.5) / FINE - 0.5;
                let first = below.clamp(0.0, size as f64).ceil() as usize;
                for row in first..size {
                    mask[row * size + middle as usize] ^= true;
                }
            }
        }
        last = next;
    }
}

/// Where the parts of each begin, and behind the last where all end; an error if they are not `total`.
fn starts(lengths: &[i64], total: usize, what: &str) -> Result<Vec<usize>> {
    let mut found = vec![0usize];
    for &length in lengths {
        let end = usize::try_from(length).ok().and_then(|n| found[found.len() - 1].checked_add(n));
        found.push(end.ok_or_else(|| Error::argument(format!("{length} {what}")))?);
    }
    if found[found.len() - 1] != total {
        return Err(Error::argument(format!(
            "the {what} of {} do not add up to {total}",
            lengths.len()
        )));
    }
    Ok(found)
}

impl Op for PolygonMasks {
    fn arity(&self) -> Arity {
        Arity::Exactly(5)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (boxes, corners) = (inputs[0], inputs[2]);
        let rows_of = |ty: &Type, width: usize| {
            !ty.is_list() && ty.is_float() && ty.rank() == 2 && ty.dim(1) == Dim::size(width)
        };
        let are_numbers = [inputs[1], inputs[3], inputs[4]]
            .iter()
            .all(|ty| !ty.is_list() && ty.dtype() == DType::I64 && ty.rank() == 1);
        if !rows_of(boxes, 4)
            || !rows_of(corners, 2)
            || !are_numbers
            || inputs[1].dim(0) != boxes.dim(0)
        {
            return Err(Error::shape(format!(
                "expected boxes [boxes, 4], i64[boxes], corners [corners, 2], i64[polygons] and \
                 i64[objects], found {boxes}, {}, {corners}, {} and {}",
                inputs[1], inputs[3], inputs[4]
            )));
        }
        if self.resolution == 0 {
            return Err(Error::argument("a box has at least one element each way"));
        }
        let size = Dim::size(self.resolution);
        Ok(smallvec![inputs[1].with_dims(&[boxes.dim(0), size, size])?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let numbers = |i: usize| inputs[i].tensor()?.to_vec::<i64>();
        let (boxes, corners) = (inputs[0].tensor()?.to_f64s(), inputs[2].tensor()?.to_f64s());
        let corner_starts = starts(&numbers(3)?, corners.len() / 2, "corners of polygons")?;
        let polygon_starts = starts(&numbers(4)?, corner_starts.len() - 1, "polygons of objects")?;
        let size = self.resolution;
        let mut found: Vec<i64> = Vec::new();
        for (row, &object) in numbers(1)?.iter().enumerate() {
            let of_object = usize::try_from(object).ok().and_then(|object| {
                Some(*polygon_starts.get(object)?..*polygon_starts.get(object + 1)?)
            });
            let Some(polygons) = of_object else {
                return Err(Error::argument(format!(
                    "box {row} is of object {object}, of {}",
                    polygon_starts.len() - 1
                )));
            };
            let edges = &boxes[4 * row..4 * row + 4];
            let scale = |low: f64, high: f64| size as f64 / (high - low).max(1.0);
            let (wide, high) = (scale(edges[0], edges[2]), scale(edges[1], edges[3]));
            let mut covered = vec![false; size * size];
            for polygon in polygons {
                let points: Vec<(i64, i64)> = corners
                    [2 * corner_starts[polygon]..2 * corner_starts[polygon + 1]]
                    .chunks(2)
                    .map(|p| (fine((p[0] - edges[0]) * wide), fine((p[1] - edges[1]) * high)))
                    .collect();
                let mut mask = vec![false; size * size];
                for (i, &point) in points.iter().enumerate() {
                    draw(point, points[(i + 1) % points.len()], size, &mut mask);
                }
                covered.iter_mut().zip(mask).for_each(|(a, b)| *a |= b);
            }
            found.extend(covered.iter().map(|&is_covered| i64::from(is_covered)));
        }
        Ok(smallvec![Tensor::from_vec(found, &known_sizes(&outs[0])?)?.into()])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn grad(&self) -> Grad {
        Grad::Zero
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(PolygonMasks::NAME, PolygonMasks::build, || {
    let op = |resolution| PolygonMasks { resolution };
    let boxes = || f64s(&[0.0, 0.0, 3.0, 3.0], &[1, 4]);
    // A square, and a triangle beside it.
    let corners = || {
        let square = [0.0, 0.0, 1.0, 0.0, 1.0, 3.0, 0.0, 3.0];
        f64s(&[&square[..], &[1.0, 3.0, 3.0, 1.0, 3.0, 3.0]].concat(), &[7, 2])
    };
    let ones = |numbers: &[i64]| i64s(numbers, &[numbers.len()]);
    let given = |object| [boxes(), ones(&[object]), corners(), ones(&[4, 3]), ones(&[1, 1])];
    vec![
        Sample::new(op(3), given(0)).gives([i64s(&[1, 0, 0, 1, 0, 0, 1, 0, 0], &[1, 3, 3])]),
        Sample::new(op(3), [boxes(), ones(&[0]), corners(), ones(&[4, 3]), ones(&[2])])
            .gives([i64s(&[1, 0, 0, 1, 0, 1, 1, 1, 1], &[1, 3, 3])]),
        Sample::new(op(3), given(2)).refused("box 0 is of object 2, of 2"),
        Sample::new(op(3), [boxes(), ones(&[0]), corners(), ones(&[4, 4]), ones(&[1, 1])])
            .refused("do not add up to 7"),
        Sample::new(op(3), [boxes(), ramp(&[1]), corners(), ones(&[4, 3]), ones(&[2])])
            .refused("expected boxes"),
    ]
});
