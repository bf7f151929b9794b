//! `bipartite_match`: which object each candidate stands for.

use crate::prelude::*;

options! {
    /// What is matched.
    pub struct BipartiteMatchOptions {
        /// Whether a column that is left gets the row that is nearest to it, too.
        pub per_prediction: bool = false,
        /// How near that row must be at least.
        pub overlap_threshold: f64 = 0.5,
    }
}

/// Matches rows and columns of nearness one by one, the nearest pair first, until rows or columns are used up. Rows of
/// several groups stand one after another in `x`, `[rows, columns]`; `lengths`, `i64[groups]`, says how many each
/// group has. Each group is matched with all columns.
///
/// Returns for each group and column the number of its row in the group, or -1, `i64[groups, columns]`, and how near it is,
/// or 0. What is nearer than 0.000001 does not count.
///
/// ```
/// # use fluvial_ops::*; use fluvial_core::*;
/// let x = Var::of(&[0.9, 0.8, 0.1, 0.7, 0.2, 0.6], &[2, 3])?;
/// let lengths = Var::of(&[2i64], &[1])?;
/// let (rows, near) = bipartite_match(&x, &lengths, BipartiteMatchOptions::default())?;
/// assert_eq!(rows.to_vec::<i64>()?, [0, -1, 1]);
/// assert_eq!(near.to_vec::<f64>()?, [0.9, 0.0, 0.6]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn bipartite_match(
    x: &Var,
    lengths: &Var,
    options: BipartiteMatchOptions,
) -> Result<(Var, Var)> {
    let BipartiteMatchOptions { per_prediction, overlap_threshold } = options;
    let op = BipartiteMatch { per_prediction, overlap_threshold };
    let mut outputs = bind(op, &[x, lengths])?;
    match (outputs.pop(), outputs.pop()) {
        (Some(near), Some(rows)) => Ok((rows, near)),
        _ => Err(Error::internal("`bipartite_match` has two outputs")),
    }
}

attributes! {
    /// The op behind [`bipartite_match`].
    pub struct BipartiteMatch = "bipartite_match" {
        /// Whether a column that is left gets the row that is nearest to it, too.
        pub per_prediction: bool,
        /// How near that row must be at least.
        pub overlap_threshold: f64,
    }
}

/// What is nearer than this does not count.
const NOTHING: f64 = 1e-6;

impl BipartiteMatch {
    /// For each column its row and how near it is.
    fn of_group(&self, near: &[f64], rows: usize, columns: usize) -> Vec<(i64, f64)> {
        let mut found = vec![(-1, 0.0); columns];
        let at = |row: usize, column: usize| near[row * columns + column];
        let mut pairs: Vec<(usize, usize)> =
            (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).collect();
        pairs.retain(|&(row, column)| at(row, column) >= NOTHING);
        pairs.sort_by(|&a, &b| at(b.0, b.1).total_cmp(&at(a.0, a.1)));
        let mut used = vec![false; rows];
        for (row, column) in pairs {
            if !used[row] && found[column].0 < 0 {
                used[row] = true;
                found[column] = (row as i64, at(row, column));
            }
        }
        if !self.per_prediction {
            return found;
        }
        for (column, place) in found.iter_mut().enumerate().filter(|(_, place)| place.0 < 0) {
            for row in 0..rows {
                let near = at(row, column);
                if near >= NOTHING.max(self.overlap_threshold) && near > place.1 {
                    *place = (row as i64, near);
                }
            }
        }
        found
    }
}

impl Op for BipartiteMatch {
    fn arity(&self) -> Arity {
        Arity::Exactly(2)
    }

    fn infer(&self, inputs: &[&Type]) -> Result<Types> {
        let (x, lengths) = (inputs[0], inputs[1]);
        if x.rank() != 2 || !x.is_float() || x.is_list() {
            return Err(Error::shape(format!("expected floats [rows, columns], found {x}")));
        }
        if lengths.dtype() != DType::I64 || lengths.rank() != 1 || lengths.is_list() {
            return Err(Error::shape(format!("lengths are i64[groups], found {lengths}")));
        }
        let dims = [lengths.dim(0), x.dim(1)];
        Ok(smallvec![Type::new(DType::I64, &dims)?, x.with_dims(&dims)?])
    }

    fn eval(&self, inputs: &[&Value], outs: &[Type]) -> Result<Values> {
        let (x, lengths) = (inputs[0].tensor()?, inputs[1].tensor()?.to_vec::<i64>()?);
        let (n_rows, columns) = (x.dims()[0], x.dims()[1]);
        let total = lengths.iter().try_fold(0usize, |sum, &n| sum.checked_add(n.try_into().ok()?));
        if total != Some(n_rows) {
            return Err(Error::argument(format!(
                "the lengths of {} groups do not add up to {n_rows} rows",
                lengths.len()
            )));
        }
        let near = x.to_f64s();
        let (mut numbers, mut values, mut start) = (Vec::new(), Vec::new(), 0);
        for rows in lengths.iter().map(|&n| n as usize) {
            let part = &near[start * columns..(start + rows) * columns];
            for (row, near) in self.of_group(part, rows, columns) {
                numbers.push(row);
                values.push(near);
            }
            start += rows;
        }
        let dims = [lengths.len(), columns];
        Ok(smallvec![
            Tensor::from_vec(numbers, &dims)?.into(),
            Tensor::from_f64s(outs[1].dtype(), &values, &dims)?.into()
        ])
    }

    fn fails(&self, _: &[&Type]) -> Option<Fault> {
        Some(Fault::of(ErrorKind::Argument))
    }

    fn grad(&self) -> Grad {
        Grad::NonDifferentiable("it chooses pairs")
    }
}

/// What readers of programs and the battery know of it.
pub const DEF: OpDef = OpDef::new(BipartiteMatch::NAME, BipartiteMatch::build, || {
    let op = |per_prediction| BipartiteMatch { per_prediction, overlap_threshold: 0.5 };
    let x = f64s(&[0.9, 0.8, 0.1, 0.7, 0.2, 0.6, 0.0, 0.4, 0.3], &[3, 3]);
    let lengths = i64s(&[2, 1], &[2]);
    vec![
        Sample::new(op(false), [x.clone(), lengths.clone()]).gives([
            i64s(&[0, -1, 1, -1, 0, -1], &[2, 3]),
            f64s(&[0.9, 0.0, 0.6, 0.0, 0.4, 0.0], &[2, 3]),
        ]),
        Sample::new(op(true), [x.clone(), lengths.clone()]).gives([
            i64s(&[0, 0, 1, -1, 0, -1], &[2, 3]),
            f64s(&[0.9, 0.8, 0.6, 0.0, 0.4, 0.0], &[2, 3]),
        ]),
        Sample::new(op(true), [x.clone(), i64s(&[2], &[1])]).refused("do not add up to 3 rows"),
        Sample::new(op(true), [x, ramp(&[1])]).refused("lengths are i64[groups]"),
        Sample::new(op(true), [ramp(&[3]), lengths]).refused("expected floats [rows, columns]"),
    ]
});
