//! Sizes that a model says are equal, though only the run can know, and integers that depend on sizes.

use fluvial_core::{DType, Dim, Error, Result, Tensor, Var, Whole};
use fluvial_ops as ops;

/// Values that are broadcast together: where two have different sizes and one is a symbol, the run
/// checks that they are equal. Axes of size one stay.
pub fn broadcast(values: &[Var]) -> Result<Vec<Var>> {
    let rank = values.iter().map(Var::rank).max().unwrap_or(0);
    let mut wanted = vec![Dim::size(1); rank];
    for var in values {
        let skipped = rank - var.rank();
        for (i, &dim) in var.dims().iter().enumerate() {
            let to = &mut wanted[skipped + i];
            if *to == Dim::size(1) || to.is_symbolic() && !dim.is_symbolic() && dim != Dim::size(1)
            {
                *to = dim;
            }
        }
    }
    let mut fitted = Vec::new();
    for var in values {
        let skipped = rank - var.rank();
        let dims: Vec<Dim> = var
            .dims()
            .iter()
            .enumerate()
            .map(|(i, &dim)| if dim == Dim::size(1) { dim } else { wanted[skipped + i] })
            .collect();
        fitted.push(assumed(var, &dims)?);
    }
    Ok(fitted)
}

/// The value with these sizes; where a symbol becomes another size, the run checks it.
pub fn assumed(var: &Var, dims: &[Dim]) -> Result<Var> {
    let own = var.dims();
    let may_differ = |(&a, &b): (&Dim, &Dim)| a != b && (a.is_symbolic() || b.is_symbolic());
    match own.len() == dims.len() && own.iter().zip(dims).any(may_differ) {
        true => ops::assume_dims(var, dims),
        false => Ok(var.clone()),
    }
}

/// Other sizes; where symbols hide that the numbers of elements agree, the run checks it.
pub fn reshaped(x: &Var, dims: &[Dim]) -> Result<Var> {
    let before = count(&x.dims())?;
    let mut dims = dims.to_vec();
    if let Some(rest) = dims.iter().position(|&dim| dim == Dim::REST) {
        let others: Vec<Dim> = dims.iter().copied().filter(|&dim| dim != Dim::REST).collect();
        let given = count(&others)?;
        if given == Dim::size(0) || !before.is_symbolic() && !given.is_symbolic() {
            return ops::reshape(x, &dims);
        }
        dims[rest] = before.floor_div(given)?;
    }
    let after = count(&dims)?;
    if before == after || !before.is_symbolic() && !after.is_symbolic() {
        return ops::reshape(x, &dims);
    }
    let flat = ops::assume_dims(&ops::reshape(x, &[before])?, &[after])?;
    ops::reshape(&flat, &dims)
}

/// The number of elements.
pub fn count(dims: &[Dim]) -> Result<Dim> {
    dims.iter().try_fold(Dim::size(1), |count, &dim| count.mul(dim))
}

/// A number that is not negative.
pub fn non_negative(value: i64) -> Result<Dim> {
    Whole::Number(value).dim()
}

/// An axis, counted from the front.
pub fn front(axis: i64, rank: usize) -> Result<usize> {
    let found = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    match usize::try_from(found) {
        Ok(found) if found < rank => Ok(found),
        _ => Err(Error::index(format!("axis {axis} is out of range for rank {rank}"))),
    }
}

/// Integers of known sizes, each a number or an expression of symbols.
#[derive(Clone)]
pub struct Sizes {
    pub items: Vec<Whole>,
    pub dims: Vec<usize>,
    pub dtype: DType,
}

impl Sizes {
    /// The sizes of a shape.
    pub fn of_dims(dims: &[Dim]) -> Sizes {
        let items: Vec<Whole> = dims.iter().map(|&dim| Whole::from(dim)).collect();
        Sizes { dims: vec![items.len()], items, dtype: DType::I64 }
    }

    /// The elements of a tensor of integers, if they are few.
    pub fn of_tensor(tensor: &Tensor) -> Option<Sizes> {
        if !tensor.dtype().is_int() || tensor.numel() > 1 << 16 {
            return None;
        }
        let numbers = tensor.cast(DType::I64).ok()?.to_vec::<i64>().ok()?;
        let items = numbers.into_iter().map(Whole::Number).collect();
        Some(Sizes { items, dims: tensor.dims().to_vec(), dtype: tensor.dtype() })
    }

    /// The tensor, if nothing is open.
    pub fn tensor(&self) -> Result<Option<Tensor>> {
        let numbers: Option<Vec<i64>> = self.items.iter().map(|item| item.number()).collect();
        let tensor = |numbers: Vec<i64>| {
            Tensor::from_slice(&numbers, &self.dims).and_then(|tensor| tensor.cast(self.dtype))
        };
        numbers.map(tensor).transpose()
    }

    /// It as a value of the program.
    pub fn var(&self) -> Result<Var> {
        let items = self.items.iter().map(|&item| ops::whole_size(item, self.dtype));
        let items = items.collect::<Result<Vec<Var>>>()?;
        let dims: Vec<Dim> = self.dims.iter().map(|&dim| Dim::size(dim)).collect();
        match items.is_empty() {
            true => ops::zeros(&dims, self.dtype),
            false => ops::reshape(&ops::stack(&items.iter().collect::<Vec<_>>(), 0)?, &dims),
        }
    }
}

/// Applies a function of two integers, with sizes of one broadcast.
pub fn zip(
    inputs: &[Option<Sizes>],
    f: impl Fn(Whole, Whole) -> Result<Option<Whole>>,
) -> Result<Option<Sizes>> {
    let [Some(a), Some(b)] = inputs else { return Ok(None) };
    let dims = if a.dims.len() >= b.dims.len() && a.items.len() >= b.items.len() {
        a.dims.clone()
    } else {
        b.dims.clone()
    };
    let count = dims.iter().product::<usize>();
    let fits = |sizes: &Sizes| sizes.items.len() == 1 || sizes.dims == dims;
    if !fits(a) || !fits(b) {
        return Ok(None);
    }
    let at = |sizes: &Sizes, i: usize| sizes.items[if sizes.items.len() == 1 { 0 } else { i }];
    let mut items = Vec::new();
    for i in 0..count {
        match f(at(a, i), at(b, i))? {
            Some(item) => items.push(item),
            None => return Ok(None),
        }
    }
    Ok(Some(Sizes { items, dims, dtype: a.dtype }))
}
