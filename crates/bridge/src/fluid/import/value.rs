//! What a variable holds while a program is imported.

use fluvial_core::{DType, Dim, Error, Result, Tensor, Type, Var};
use fluvial_ops as ops;

use crate::fit::{self, Sizes};

/// The value of a variable.
#[derive(Clone)]
pub enum Val {
    /// A tensor, with the lengths of its sequences, the outermost first.
    Dense(Var, Vec<Var>),
    /// Integers that depend on sizes.
    Sizes(Sizes),
    /// Some rows of a large tensor; a row may come several times, and counts as the sum.
    Rows(Rows),
    /// A list of tensors; nothing before the first one is written.
    Array(Option<Var>),
}

/// Rows of a tensor.
#[derive(Clone)]
pub struct Rows {
    /// The number of each row, in one axis.
    pub index: Var,
    /// The rows.
    pub values: Var,
    /// How many rows the tensor has.
    pub height: Dim,
}

impl Rows {
    /// The whole tensor.
    pub fn dense(&self) -> Result<Var> {
        ops::index_add(&self.values, &self.index, 0, self.height)
    }

    /// Each row once.
    pub fn merged(&self) -> Result<Rows> {
        let (index, places, _) = ops::unique(&self.index)?;
        let values = ops::index_add(&self.values, &places, 0, index.dims()[0])?;
        Ok(Rows { index, values, height: self.height })
    }

    /// The same rows with other values.
    pub fn with(&self, values: Var) -> Rows {
        Rows { values, ..self.clone() }
    }
}

impl Val {
    /// A tensor without sequences.
    pub fn new(var: Var) -> Val {
        Val::Dense(var, Vec::new())
    }

    /// Integers; a tensor if nothing is open.
    pub fn of_sizes(sizes: Sizes) -> Result<Val> {
        Ok(match sizes.tensor()? {
            Some(tensor) => Val::new(Var::new(tensor)),
            None => Val::Sizes(sizes),
        })
    }

    /// It as a value of the program.
    pub fn var(&self) -> Result<Var> {
        match self {
            Val::Dense(var, _) => Ok(var.clone()),
            Val::Sizes(sizes) => sizes.var(),
            Val::Rows(rows) => rows.dense(),
            Val::Array(Some(list)) => Ok(list.clone()),
            Val::Array(None) => Err(Error::argument("an array has no elements yet")),
        }
    }

    /// The lengths of its sequences.
    pub fn lengths(&self) -> &[Var] {
        match self {
            Val::Dense(_, lengths) => lengths,
            _ => &[],
        }
    }

    /// Its tensor, if that is known now.
    pub fn tensor(&self) -> Option<Tensor> {
        match self {
            Val::Dense(var, _) => var.tensor().ok().cloned(),
            _ => None,
        }
    }

    /// Whether it is settled now.
    pub fn is_known(&self) -> bool {
        self.tensor().is_some() && self.lengths().is_empty()
    }

    /// Its elements as integers that may depend on sizes, if they are known now.
    pub fn sizes(&self) -> Option<Sizes> {
        match self {
            Val::Sizes(sizes) => Some(sizes.clone()),
            _ => Sizes::of_tensor(&self.tensor()?),
        }
    }

    /// The sizes, without making it a value of the program.
    pub fn dims(&self) -> Result<Vec<Dim>> {
        match self {
            Val::Sizes(sizes) => Ok(sizes.dims.iter().map(|&dim| Dim::size(dim)).collect()),
            val => Ok(val.var()?.dims().to_vec()),
        }
    }

    /// The value without its history: gradients stop here.
    pub fn cut(&self) -> Val {
        match self {
            Val::Dense(var, lengths) if var.dtype().is_float() && var.is_symbolic() => {
                Val::Dense(var.detach(), lengths.clone())
            }
            Val::Array(Some(list)) if list.is_symbolic() => Val::Array(Some(list.detach())),
            other => other.clone(),
        }
    }

    /// The type, for people.
    pub fn shown(&self) -> String {
        match self {
            Val::Dense(var, lengths) if lengths.is_empty() => var.ty().to_string(),
            Val::Dense(var, lengths) => format!("{} in {} levels", var.ty(), lengths.len()),
            Val::Sizes(sizes) => match Type::of(sizes.dtype, &sizes.dims) {
                Ok(ty) => ty.to_string(),
                Err(_) => sizes.dtype.to_string(),
            },
            Val::Rows(rows) => format!("rows {} of {}", rows.values.ty(), rows.height),
            Val::Array(Some(list)) => list.ty().to_string(),
            Val::Array(None) => "empty array".to_string(),
        }
    }
}

impl From<Var> for Val {
    fn from(var: Var) -> Val {
        Val::new(var)
    }
}

/// A value without axes; that of one element loses them.
pub fn scalar(x: &Var) -> Result<Var> {
    if x.rank() == 0 { Ok(x.clone()) } else { ops::reshape(x, &[]) }
}

/// The condition of a branch or loop.
pub fn condition(x: &Var) -> Result<Var> {
    let x = scalar(x)?;
    if x.dtype().is_bool() { Ok(x) } else { ops::ne(&x, &x.literal(0.0)) }
}

/// The number of a place or step.
pub fn place(x: &Var) -> Result<Var> {
    scalar(&ops::cast(x, DType::I64)?)
}

/// The value in other sizes where only axes of size one come or go.
pub fn like(x: &Var, dims: &[Dim]) -> Result<Var> {
    if x.dims()[..] == *dims {
        return Ok(x.clone());
    }
    let rest = |dims: &[Dim]| -> Vec<Dim> {
        dims.iter().copied().filter(|&dim| dim != Dim::size(1)).collect()
    };
    match rest(&x.dims()) == rest(dims) {
        true => ops::reshape(x, dims),
        false if x.rank() == dims.len() => fit::assumed(x, dims),
        false => fit::reshaped(x, dims),
    }
}
