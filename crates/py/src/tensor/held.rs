//! Where the value of a tensor is, and how it is read and assigned.

use std::cell::{Cell, UnsafeCell};

use fluvial::core::Var;
use fluvial::nn::Parameter;
use pyo3::prelude::*;

use super::{Tensor, leaf, outer};
use crate::{call, parameter};

/// Whether a tensor stands for a Python number, and for which.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// It is a tensor.
    Itself,
    /// For a bool, an int or a float, as its element type says.
    Number,
    /// For an int or a float: only the run knows.
    Either,
}

/// Where the value of a tensor is.
pub(super) enum Held {
    Value(Var),
    /// The tensor stands for a Python number that only the run of a program knows: a `bool`, `i64` or
    /// `f64` without an element type of its own.
    Number(Var),
    /// The same, for one that is an int or a float, as the run chooses; it is carried as `f64`.
    Either(Var),
    /// The tensor is the parameter: it is read and assigned.
    Parameter(Parameter),
    /// The tensor is the value of the parameter, off the tape: `parameter.data`.
    Data(Parameter),
    /// The tensor is the value of another one, off the tape: `x.data`.
    OffTape(Py<Tensor>),
    /// The tensor is the gradient of another one, which gets what is assigned.
    Grad(Var, Py<PyAny>),
}

impl Tensor {
    /// A tensor with this value.
    #[inline]
    pub fn new(var: Var) -> Tensor {
        Tensor::holding(Held::Value(var))
    }

    #[inline]
    fn holding(held: Held) -> Tensor {
        let (born, part) = (outer::next_number(), UnsafeCell::new(None));
        let held = UnsafeCell::new(held);
        Tensor { held, born, part, version: Cell::new(0), seen: Cell::new(0) }
    }

    /// A tensor, or the Python number that a value of a program stands for.
    pub fn standing(stands: Stands, var: Var) -> Tensor {
        Tensor::holding(match stands {
            Stands::Itself => Held::Value(var),
            Stands::Number => Held::Number(var),
            Stands::Either => Held::Either(var),
        })
    }

    /// What it stands for.
    #[inline]
    pub fn stands(&self, _: Python<'_>) -> Stands {
        // SAFETY: as for `var`.
        match unsafe { &*self.held.get() } {
            Held::Number(_) => Stands::Number,
            Held::Either(_) => Stands::Either,
            _ => Stands::Itself,
        }
    }

    /// Whether it stands for a Python number.
    #[inline]
    pub fn is_number(&self, py: Python<'_>) -> bool {
        self.stands(py) != Stands::Itself
    }

    /// The tensor that is this parameter.
    pub fn of_parameter(parameter: Parameter) -> Tensor {
        Tensor::holding(Held::Parameter(parameter))
    }

    /// The tensor that is the value of this parameter, off the tape.
    pub fn of_data(parameter: Parameter) -> Tensor {
        Tensor::holding(Held::Data(parameter))
    }

    /// The tensor that is the value of another one, off the tape.
    pub fn off_tape(tensor: &Bound<'_, Tensor>) -> Tensor {
        Tensor::holding(Held::OffTape(tensor.clone().unbind()))
    }

    /// The tensor that is the gradient of a leaf or a parameter.
    pub fn of_grad(grad: Var, leaf: &Bound<'_, PyAny>) -> Tensor {
        Tensor::holding(Held::Grad(grad, leaf.clone().unbind()))
    }

    /// The value it has now; a failed one if a parameter cannot be read. While a function is built,
    /// the value of a tensor from outside is an input of its program.
    #[inline]
    pub fn var(&self, py: Python<'_>) -> Var {
        // SAFETY: the thread is attached, and nothing here can let another one run before the
        // value or the parameter was cloned.
        match unsafe { &*self.held.get() } {
            Held::Value(var) if outer::is_outer(self.born, var) => {
                let var = var.clone();
                outer::adopted(py, self).unwrap_or(var)
            }
            Held::Value(var) | Held::Number(var) | Held::Either(var) => var.clone(),
            Held::Parameter(parameter) => parameter::read(py, parameter.clone()),
            Held::Data(parameter) => parameter::read_data(py, parameter.clone()),
            Held::OffTape(tensor) => tensor.clone_ref(py).get().var(py).detach(),
            Held::Grad(var, _) => var.clone(),
        }
    }

    /// The value it holds itself, also while a function is built; nothing for a parameter.
    pub fn own(&self, _: Python<'_>) -> Option<Var> {
        // SAFETY: as for `var`.
        match unsafe { &*self.held.get() } {
            Held::Value(var) | Held::Number(var) | Held::Either(var) | Held::Grad(var, _) => {
                Some(var.clone())
            }
            Held::Parameter(_) | Held::Data(_) | Held::OffTape(_) => None,
        }
    }

    /// Gives it another value: the object, or the parameter that it is. A function being built is
    /// told before.
    pub fn put(&self, py: Python<'_>, var: Var) -> PyResult<()> {
        self.hand_on(py, &var)?;
        self.put_own(py, var)
    }

    /// [`Tensor::put`] that reaches nothing of which this is a part.
    pub(super) fn put_own(&self, py: Python<'_>, var: Var) -> PyResult<()> {
        if self.is_value(py) {
            outer::touched(py, self)?;
        }
        self.put_untold(py, var)
    }

    /// [`Tensor::put`] for those who know of it.
    pub fn put_untold(&self, py: Python<'_>, var: Var) -> PyResult<()> {
        // SAFETY: as for `var`; the former value is dropped after the new one is in its place.
        let parameter = match unsafe { &mut *self.held.get() } {
            Held::Value(value) | Held::Number(value) | Held::Either(value) => {
                self.version.set(self.version.get().wrapping_add(1));
                drop(std::mem::replace(value, var));
                return Ok(());
            }
            Held::OffTape(tensor) => {
                let tensor = tensor.clone_ref(py);
                return leaf::put_off_tape(py, tensor.get(), &var);
            }
            Held::Grad(value, leaf) => {
                let leaf = leaf.clone_ref(py);
                drop(std::mem::replace(value, var.clone()));
                return leaf.setattr(py, "grad", Tensor::new(var));
            }
            Held::Parameter(parameter) | Held::Data(parameter) => parameter.clone(),
        };
        call::run_attached(py, || parameter.set(&var))
    }

    /// Whether it is a handle of what a parameter or a leaf holds.
    pub(super) fn is_handle(&self, _: Python<'_>) -> bool {
        // SAFETY: as for `var`.
        matches!(unsafe { &*self.held.get() }, Held::Data(_) | Held::Grad(..))
    }

    /// Whether it holds a value of its own, and is not a parameter.
    pub fn is_value(&self, _: Python<'_>) -> bool {
        // SAFETY: as for `var`.
        matches!(unsafe { &*self.held.get() }, Held::Value(_))
    }
}
