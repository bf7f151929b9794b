//! What a name of a graph stands for while it is imported.

use std::sync::Arc;

use fluvial_core::{Cell, Error, Result, Role, Tensor, Type, Var};
use fluvial_ops as ops;

pub use crate::fit::Sizes;

/// A value of a graph.
#[derive(Clone)]
pub enum Val {
    /// A value of the program.
    Var(Var),
    /// A value that is known now.
    Known(Tensor),
    /// An initialiser that becomes a state when it is used.
    Param(Arc<Param>),
    /// Integers that depend on sizes.
    Sizes(Sizes),
    /// A sequence.
    List(Vec<Val>),
    /// An optional value that is missing.
    Nothing,
}

/// An initialiser of floats.
pub struct Param {
    pub cell: Cell,
    pub tensor: Tensor,
    pub role: Role,
}

impl Sizes {
    /// The same value; a tensor if nothing is open.
    pub fn val(self) -> Result<Val> {
        Ok(match self.tensor()? {
            Some(tensor) => Val::Known(tensor),
            None => Val::Sizes(self),
        })
    }
}

impl Val {
    /// It as a value of the program.
    pub fn var(&self) -> Result<Var> {
        match self {
            Val::Var(var) => Ok(var.clone()),
            Val::Known(tensor) => Ok(Var::new(tensor.clone())),
            Val::Param(param) => {
                let tensor = param.tensor.clone();
                param.cell.declare(param.tensor.ty(), param.role, || Ok(Var::new(tensor)))
            }
            Val::Sizes(sizes) => sizes.var(),
            Val::List(items) => {
                let items = items.iter().map(Val::var).collect::<Result<Vec<Var>>>()?;
                let Some(first) = items.first() else {
                    return Err(Error::dtype("the type of an empty sequence is not known"));
                };
                let empty = ops::list_new(first.ty())?;
                items.iter().try_fold(empty, |list, item| ops::list_push(&list, item))
            }
            Val::Nothing => Err(Error::argument("a missing value stands where a tensor is needed")),
        }
    }

    /// Its tensor, if that is known now.
    pub fn tensor(&self) -> Option<Tensor> {
        match self {
            Val::Known(tensor) => Some(tensor.clone()),
            Val::Param(param) => Some(param.tensor.clone()),
            Val::Var(var) => var.tensor().ok().cloned(),
            _ => None,
        }
    }

    /// Its elements as integers that may depend on sizes, if they are known now.
    pub fn sizes(&self) -> Option<Sizes> {
        if let Val::Sizes(sizes) = self {
            return Some(sizes.clone());
        }
        Sizes::of_tensor(&self.tensor()?)
    }

    /// Whether it is settled now, apart from initialisers, which may be trained.
    pub fn is_known(&self) -> bool {
        match self {
            Val::Known(_) | Val::Nothing => true,
            Val::List(items) => items.iter().all(Val::is_known),
            _ => false,
        }
    }

    /// The type, for people.
    pub fn shown(&self) -> String {
        match self {
            Val::Var(var) => var.ty().to_string(),
            Val::Known(tensor) => tensor.ty().to_string(),
            Val::Param(param) => param.tensor.ty().to_string(),
            Val::Sizes(sizes) => match Type::of(sizes.dtype, &sizes.dims) {
                Ok(ty) => ty.to_string(),
                Err(_) => sizes.dtype.to_string(),
            },
            Val::List(items) => match items.first() {
                Some(first) => format!("sequence of {} {}", items.len(), first.shown()),
                None => "empty sequence".to_string(),
            },
            Val::Nothing => "nothing".to_string(),
        }
    }
}

impl From<Var> for Val {
    /// A value that is not of a program being built is known.
    fn from(var: Var) -> Val {
        match var.tensor() {
            Ok(tensor) if !var.is_tracked() => Val::Known(tensor.clone()),
            _ => Val::Var(var),
        }
    }
}
