//! Mixed precision: a scope in which some functions compute in a narrow float type, and others in `f32`.
//!
//! Functions say themselves which they are, by [`low`] or [`full`] in their files; all others take what they are given. The
//! casts are ordinary ops, recorded and appended like any other, so both modes, gradients and files have them. Gradient
//! rules are not touched: cotangents have the types of values.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use fluvial_tensor::{DType, Error, Loc, Result};
use smallvec::smallvec;

use crate::bind::record;
use crate::op::OpRef;
use crate::scope::{self, Guard};
use crate::structural::{self, Cast};
use crate::value::Value;
use crate::var::Var;

thread_local! {
    /// How many scopes this thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// What parameters are in the narrow type, until the outermost scope ends. Their own values are held, so that no
    /// address is taken for another one.
    static CACHE: RefCell<HashMap<(usize, DType), (Var, Value)>> = RefCell::default();
}

/// A scope of [`autocast`]; it ends when dropped.
#[must_use = "the scope ends when the guard is dropped"]
pub struct Scope(#[allow(dead_code)] Guard);

impl Drop for Scope {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if DEPTH.get() == 0 {
            let former = CACHE.take();
            drop(former);
        }
    }
}

/// Has functions that gain by it compute in this type, until the guard is dropped; with nothing, no function does, also
/// inside of another scope.
///
/// ```
/// use fluvial_core::{DType, Var, autocast};
///
/// let x = Var::of(&[1.0f32, 2.0], &[2])?;
/// let _scope = autocast::autocast(Some(DType::BF16))?;
/// assert_eq!(autocast::low().of(&x)?.dtype(), DType::BF16);
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub fn autocast(dtype: Option<DType>) -> Result<Scope> {
    if let Some(dtype) = dtype.filter(|dtype| !matches!(dtype, DType::BF16 | DType::F16)) {
        return Err(Error::dtype(format!("autocast to {} saves nothing", dtype.name()))
            .remedy("use bf16 or f16"));
    }
    DEPTH.set(DEPTH.get() + 1);
    Ok(Scope(scope::with_autocast(dtype)))
}

/// The type of the scope that this thread is in.
pub fn current() -> Option<DType> {
    scope::flags().autocast
}

/// No function casts until the guard is dropped.
pub(crate) fn off() -> Guard {
    match current() {
        Some(_) => scope::with_autocast(None),
        None => Guard::default(),
    }
}

/// What a function does with its inputs. As long as it lives, functions inside cast nothing.
pub struct Precision {
    to: Option<DType>,
    narrows: bool,
    #[allow(dead_code)]
    inside: Guard,
}

/// For functions that compute in the narrow type of the scope: products of matrices and convolutions.
pub fn low() -> Precision {
    let to = current();
    Precision { to, narrows: true, inside: off() }
}

/// For functions that compute in `f32` where they are given narrower floats: losses and decompositions.
pub fn full() -> Precision {
    let to = current().map(|_| DType::F32);
    Precision { to, narrows: false, inside: off() }
}

impl Precision {
    /// An input in the type of the function.
    #[track_caller]
    pub fn of(&self, x: &Var) -> Result<Var> {
        let Some(to) = self.to else { return Ok(x.clone()) };
        let ty = x.clone().check()?.ty();
        let is_cast = ty.is_float() && !ty.is_list() && ty.dtype() != DType::F64;
        if !is_cast || ty.dtype() == to {
            return Ok(x.clone());
        }
        match self.narrows && x.is_leaf() && !x.is_symbolic() {
            true => of_parameter(x, to),
            false => structural::cast(x, to),
        }
    }

    /// The same of an input that may be missing.
    #[track_caller]
    pub fn maybe(&self, x: Option<&Var>) -> Result<Option<Var>> {
        x.map(|x| self.of(x)).transpose()
    }

    /// The same of several.
    #[track_caller]
    pub fn all(&self, xs: &[&Var]) -> Result<Vec<Var>> {
        xs.iter().map(|x| self.of(x)).collect()
    }
}

/// A parameter is cast once within a scope. Each use has a node of its own, so that gradients are added up in the type of
/// the parameter.
fn of_parameter(x: &Var, to: DType) -> Result<Var> {
    let key = (Arc::as_ptr(&x.0) as usize, to);
    if let Some(known) = CACHE.with_borrow(|cache| cache.get(&key).map(|(_, value)| value.clone()))
    {
        let op = OpRef::new(Cast { dtype: to });
        let outputs = match scope::is_recording() {
            true => record(op, &[x], smallvec![known], &[true], Loc::caller()),
            false => smallvec![Var::new(known)],
        };
        return outputs.into_iter().next().ok_or_else(|| Error::internal("a cast has one output"));
    }
    let cast = structural::cast(x, to)?;
    let value = cast.value()?.clone();
    CACHE.with_borrow_mut(|cache| cache.insert(key, (x.clone(), value)));
    Ok(cast)
}
