//! Tensors that are parts of others, or others seen otherwise: `x[0]`, `x.T`, `x.view(-1)`, `x.detach()`.
//!
//! A part has a value of its own. It knows weakly what it is a part of, so that a change of it in place reaches the
//! whole, as it does where parts share memory: `x[0].zero_()`, `x[0][1] = 5.0`, `x.view(-1)[0] = 1.0`. Before such a change
//! it is brought up to date with the whole. What a change cannot be handed on through is refused.

use std::sync::Arc;

use fluvial::core::{Dim, Error, Mode, Result, Var, is_reached, is_recording, mode};
use fluvial::ops::{self, Index, getitem, setitem};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyWeakrefMethods, PyWeakrefReference};

use super::{Tensor, leaf, outer};
use crate::{call, errors, index, protocol};

/// How a part is got from the whole.
pub enum Step {
    /// `x[index]`, without positions and masks, which copy.
    Index(Vec<Index>),
    /// The same elements in order, in this shape.
    Reshape(Vec<Dim>),
    /// Two axes exchanged.
    Transpose(i64, i64),
    /// The axes in another order.
    Permute(Vec<i64>),
    /// The whole off the tape.
    Detach,
    /// `x.data`, which writes by itself.
    Data,
    /// By a function through which no change is handed on.
    Other(&'static str),
}

impl Step {
    /// The part as the whole is now, where that can be said.
    fn view(&self, whole: &Var) -> Result<Option<Var>> {
        match self {
            Step::Index(index) => getitem(whole, index).map(Some),
            Step::Reshape(dims) => ops::reshape(whole, dims).map(Some),
            Step::Transpose(a, b) => ops::transpose(whole, *a, *b).map(Some),
            Step::Permute(axes) => ops::permute(whole, axes).map(Some),
            Step::Detach | Step::Data => whole.detach().check().map(Some),
            Step::Other(_) => Ok(None),
        }
    }

    /// The whole with another value in the place of the part.
    fn put(&self, whole: &Var, part: &Var) -> Result<Var> {
        match self {
            Step::Index(index) => setitem(whole, index, part),
            Step::Reshape(_) => ops::reshape(part, &whole.dims()),
            Step::Transpose(a, b) => ops::transpose(part, *a, *b),
            Step::Permute(axes) => ops::permute(part, &inverse(axes)),
            Step::Detach if !whole.is_leaf() && is_reached(whole) != Some(false) => Err(refused(
                "a detached tensor is to be changed, which has the elements of one that gradients pass",
                "take a copy first: `x.detach().clone()`",
            )),
            Step::Detach | Step::Data => Ok(part.clone()),
            Step::Other(function) => Err(refused(
                &format!(
                    "the result of `{function}` is to be changed, which is a part of another tensor or the same elements"
                ),
                "index the tensor itself, `x[...] = value`, or take a copy first with `.clone()`",
            )),
        }
    }

    /// Whether the part lies in memory as a whole does, so that another shape of it is not a copy.
    fn keeps_order(&self) -> bool {
        match self {
            Step::Index(index) => index.iter().all(|part| matches!(part, Index::At(_))),
            Step::Reshape(_) | Step::Detach | Step::Data => true,
            Step::Transpose(..) | Step::Permute(_) | Step::Other(_) => false,
        }
    }
}

fn inverse(axes: &[i64]) -> Vec<i64> {
    let rank = axes.len() as i64;
    let place = |axis: i64| axes.iter().position(|&old| (old + rank) % rank == axis);
    (0..rank).map(|axis| place(axis).map_or(axis, |place| place as i64)).collect()
}

#[cold]
fn refused(what: &str, remedy: &'static str) -> Error {
    Error::argument(what.to_string()).remedy(remedy)
}

/// Who is the whole.
enum Whole {
    /// A tensor, as long as it lives.
    Weak(Py<PyWeakrefReference>),
    /// A handle of a parameter's value, or of a gradient, which nobody else has.
    Handle(Py<Tensor>),
    /// Not known, as of what a function gave.
    Unknown,
}

/// What a tensor is a part of.
pub struct Part {
    whole: Whole,
    step: Step,
    /// What the whole is a part of.
    beyond: Option<Arc<Part>>,
}

impl Part {
    fn of(whole: &Bound<'_, Tensor>, step: Step) -> PyResult<Part> {
        let beyond = whole.get().part(whole.py());
        let step = match (step, &beyond) {
            (Step::Reshape(_), Some(part)) if !part.step.keeps_order() => Step::Other("reshape"),
            (step, _) => step,
        };
        let whole = match whole.get().is_handle(whole.py()) {
            true => Whole::Handle(whole.clone().unbind()),
            false => Whole::Weak(PyWeakrefReference::new(whole)?.unbind()),
        };
        Ok(Part { whole, step, beyond })
    }

    fn whole<'py>(&self, py: Python<'py>) -> Option<Bound<'py, Tensor>> {
        match &self.whole {
            Whole::Weak(whole) => whole.bind(py).upgrade_as::<Tensor>().ok()?,
            Whole::Handle(whole) => Some(whole.bind(py).clone()),
            Whole::Unknown => None,
        }
    }

    /// Whether somebody may see a change of the part elsewhere.
    fn matters(&self, py: Python<'_>) -> bool {
        matches!(self.whole, Whole::Unknown)
            || self.whole(py).is_some()
            || self.beyond.as_ref().is_some_and(|beyond| beyond.matters(py))
    }

    /// The value of the whole, as it is now.
    fn value_of_whole(&self, py: Python<'_>) -> PyResult<Option<Var>> {
        if let Some(whole) = self.whole(py) {
            whole.get().renew(py)?;
            return Ok(Some(whole.get().var(py)));
        }
        match &self.beyond {
            Some(beyond) => beyond.value(py),
            None => Ok(None),
        }
    }

    /// The value of the part, as the whole is now.
    fn value(&self, py: Python<'_>) -> PyResult<Option<Var>> {
        let Some(whole) = self.value_of_whole(py)? else { return Ok(None) };
        call::run(py, &[&whole], || self.step.view(&whole))
    }

    /// The numbers of its elements in a tensor of which it is a part; nothing if that cannot be said.
    fn places_in(&self, py: Python<'_>, common: &Bound<'_, Tensor>) -> Result<Option<Var>> {
        let whole = match (self.whole(py), &self.beyond) {
            (Some(whole), _) if whole.is(common) => {
                let dims = whole.get().var(py).dims();
                let numbers = (0..).take(dims.iter().filter_map(|dim| dim.value()).product());
                let numbers: Vec<i64> = numbers.collect();
                Some(ops::reshape(&Var::of(&numbers, &[numbers.len()])?, &dims)?)
            }
            (_, Some(beyond)) => beyond.places_in(py, common)?,
            _ => None,
        };
        whole.map_or(Ok(None), |whole| self.step.view(&whole))
    }

    /// Gives the whole another value in the place of the part.
    fn write(&self, py: Python<'_>, part: &Var) -> PyResult<()> {
        if !self.matters(py) {
            return Ok(());
        }
        let whole = self.whole(py);
        let Some(before) = self.value_of_whole(py)? else {
            // Nothing can be handed on through this part, or one before it.
            let by = self.beyond.as_ref().filter(|_| !matches!(self.step, Step::Other(_)));
            let step = by.map_or(&self.step, |beyond| &beyond.step);
            let error = step.put(part, part).err();
            let error = error.unwrap_or_else(|| Error::internal("a part without a whole"));
            return Err(errors::raise(py, error));
        };
        let after = call::run(py, &[&before, part], || self.step.put(&before, part))?;
        match (whole, &self.beyond) {
            (Some(whole), _) if matches!(self.step, Step::Data) && whole.get().is_value(py) => {
                leaf::put_off_tape(py, whole.get(), &after)
            }
            (Some(whole), _) => whole.get().put_whole(py, after),
            (None, Some(beyond)) => beyond.write(py, &after),
            (None, None) => Ok(()),
        }
    }
}

impl Tensor {
    /// A tensor that is a part of another one.
    pub fn part_of(whole: &Bound<'_, Tensor>, step: Step, var: Var) -> PyResult<Tensor> {
        Tensor::new(var).with_part(whole, step)
    }

    /// The tensor as a part of another one.
    pub fn with_part(self, whole: &Bound<'_, Tensor>, step: Step) -> PyResult<Tensor> {
        let part = Part::of(whole, step)?;
        self.has_seen(whole.py(), &part);
        self.set_part(whole.py(), part);
        Ok(self)
    }

    /// Several tensors that a function has made of another object, of whose elements they are.
    pub fn parts_of(
        whole: &Bound<'_, PyAny>,
        vars: Vec<Var>,
        function: &'static str,
    ) -> PyResult<Vec<Tensor>> {
        vars.into_iter().map(|var| Tensor::seen_of(whole, Step::Other(function), var)).collect()
    }

    fn part(&self, _: Python<'_>) -> Option<Arc<Part>> {
        // SAFETY: as for `var`.
        unsafe { &*self.part.get() }.clone()
    }

    fn set_part(&self, _: Python<'_>, part: Part) {
        // SAFETY: as for `var`; the former one is dropped after the new one is in its place.
        drop(std::mem::replace(unsafe { &mut *self.part.get() }, Some(Arc::new(part))));
    }

    /// How often it has got another value; nothing of tensors whose value is elsewhere.
    fn version(&self, py: Python<'_>) -> Option<u32> {
        self.is_value(py).then(|| self.version.get())
    }

    /// A tensor that a function has computed of another object, and that is the same elements.
    pub fn seen_of(whole: &Bound<'_, PyAny>, step: Step, var: Var) -> PyResult<Tensor> {
        match whole.cast::<Tensor>() {
            Ok(whole) => Tensor::part_of(whole, step, var),
            Err(_) => Ok(Tensor::new(var)),
        }
    }

    /// Whether a change of it would be seen elsewhere.
    pub fn is_part(&self, py: Python<'_>) -> bool {
        self.part(py).is_some_and(|part| part.matters(py))
    }

    /// Brings a part up to date with what it is a part of.
    pub fn renew(&self, py: Python<'_>) -> PyResult<()> {
        let Some(part) = self.part(py) else { return Ok(()) };
        if !self.is_value(py) || self.is_from_outside(py) {
            return Ok(());
        }
        if let Some(whole) = part.whole(py) {
            whole.get().renew(py)?;
            if whole.get().version(py).is_some_and(|version| version == self.seen.get()) {
                return Ok(());
            }
        }
        let before = self.var(py);
        let Some(value) = part.value(py)? else { return Ok(()) };
        if !value.same(&before) {
            outer::touched(py, self)?;
            self.put_untold(py, value)?;
        }
        self.has_seen(py, &part);
        Ok(())
    }

    /// Hands a new value on to what this is a part of, before it gets it.
    pub(super) fn hand_on(&self, py: Python<'_>, var: &Var) -> PyResult<()> {
        let Some(part) = self.part(py) else { return Ok(()) };
        if !self.is_value(py) || self.is_from_outside(py) {
            return Ok(());
        }
        let off_tape = if var.is_leaf() { Some(var.detach()) } else { None };
        part.write(py, off_tape.as_ref().unwrap_or(var))?;
        self.has_seen(py, &part);
        Ok(())
    }

    fn has_seen(&self, py: Python<'_>, part: &Part) {
        if let Some(version) = part.whole(py).and_then(|whole| whole.get().version(py)) {
            self.seen.set(version);
        }
    }

    /// Whether a function being built sees an input in its place: calls change the object of the user's, and hand that on.
    fn is_from_outside(&self, py: Python<'_>) -> bool {
        mode() == Mode::Building && outer::is_older(self.born) && !self.is_number(py)
    }

    /// Gives a whole another value, of which a part has changed.
    fn put_whole(&self, py: Python<'_>, var: Var) -> PyResult<()> {
        let before = self.var(py);
        let is_leaf = before.is_leaf() || self.own(py).is_some_and(|own| own.is_leaf());
        if !is_leaf {
            return self.put(py, var);
        }
        if is_recording() {
            return Err(leaf::refused(
                py,
                "a part of a leaf, whose gradient accumulates, cannot be changed",
                "change it inside `fl.no_grad()`, or take a copy first with `.clone()`",
            ));
        }
        match self.is_value(py) {
            true => leaf::put_off_tape(py, self, &var),
            false => self.put(py, var),
        }
    }
}

/// `x[key]`.
pub fn item(x: &Bound<'_, Tensor>, key: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let (found, index) = index::get(&x.get().var(key.py()), key)?;
    match index {
        Some(index) => Tensor::part_of(x, Step::Index(index), found),
        None => Ok(Tensor::new(found)),
    }
}

/// The rows of a tensor, one after another.
pub fn rows<'py>(x: &Bound<'py, Tensor>) -> PyResult<Bound<'py, PyIterator>> {
    let (py, var) = (x.py(), x.get().var(x.py()));
    let row = |i| {
        let step = Step::Index(vec![Index::from(i)]);
        let row = Tensor::part_of(x, step, index::row(py, &var, i)?)?;
        Ok(Bound::new(py, row)?.into_any())
    };
    protocol::list_of(py, protocol::length(py, &var)?, row)?.try_iter()
}

/// The value off the tape.
pub fn detached(x: &Bound<'_, Tensor>) -> PyResult<Tensor> {
    let (py, var) = (x.py(), x.get().var(x.py()));
    let detached = call::run(py, &[], || var.detach().check())?;
    Tensor::part_of(x, Step::Detach, detached)
}

/// The last two axes exchanged.
pub fn transposed(x: &Bound<'_, Tensor>) -> PyResult<Tensor> {
    let (py, var) = (x.py(), x.get().var(x.py()));
    let transposed = call::run(py, &[&var], || ops::transpose(&var, -2, -1))?;
    Tensor::part_of(x, Step::Transpose(-2, -1), transposed)
}

/// Says that a tensor that a function gave is a part of another one: changing it is refused.
#[pyfunction]
fn mark_part(py: Python<'_>, tensor: &Tensor) {
    let step = Step::Other("a function");
    tensor.set_part(py, Part { whole: Whole::Unknown, step, beyond: None });
}

/// Says that a tensor is a row of another one, at a place that perhaps only the run knows.
#[pyfunction]
fn mark_row(row: &Bound<'_, Tensor>, whole: &Bound<'_, Tensor>, at: &Tensor) -> PyResult<()> {
    let py = row.py();
    let part = Part::of(whole, Step::Index(vec![Index::Tensor(at.var(py))]))?;
    row.get().has_seen(py, &part);
    row.get().set_part(py, part);
    Ok(())
}

/// The same elements as another tensor has, by a function through which no change is handed on.
#[pyfunction]
fn same_elements(tensor: &Bound<'_, Tensor>) -> PyResult<Tensor> {
    let var = tensor.get().var(tensor.py());
    Tensor::part_of(tensor, Step::Other("contiguous"), var)
}

/// What a tensor is a part of, the nearest first, as far as that is alive.
#[pyfunction]
fn wholes<'py>(py: Python<'py>, tensor: &Tensor) -> Vec<Bound<'py, Tensor>> {
    let mut found = Vec::new();
    let mut part = tensor.part(py);
    while let Some(known) = part {
        found.extend(known.whole(py));
        part = known.beyond.clone();
    }
    found
}

/// Whether a tensor is a part of another one, or the same elements otherwise.
#[pyfunction]
fn has_whole(py: Python<'_>, tensor: &Tensor) -> bool {
    tensor.is_part(py)
}

/// Whether what a tensor is a part of was changed since it was taken, so that a change of it would renew it first.
#[pyfunction]
fn is_stale(py: Python<'_>, tensor: &Tensor) -> PyResult<bool> {
    let Some(part) = tensor.part(py).filter(|_| tensor.is_value(py)) else { return Ok(false) };
    let _lines = fluvial::core::imperative();
    let Some(whole) = part.whole(py) else { return Ok(false) };
    let is_seen = whole.get().version(py).is_none_or(|version| version == tensor.seen.get());
    Ok(!is_seen || is_stale(py, whole.get())?)
}

/// Whether two tensors have elements in common: one is a part of the other, or both are parts of a third one.
#[pyfunction]
fn share_elements<'py>(one: &Bound<'py, Tensor>, other: &Bound<'py, Tensor>) -> PyResult<bool> {
    let py = one.py();
    let line = |tensor: &Bound<'py, Tensor>| -> Vec<Bound<'py, Tensor>> {
        std::iter::once(tensor.clone()).chain(wholes(py, tensor.get())).collect()
    };
    let (ours, theirs) = (line(one), line(other));
    let Some(common) = ours.iter().find(|whole| theirs.iter().any(|x| x.is(*whole))) else {
        return Ok(false);
    };
    if common.is(one) || common.is(other) {
        return Ok(true);
    }
    let _lines = fluvial::core::imperative();
    let places = |tensor: &Bound<'py, Tensor>| -> PyResult<Option<Vec<i64>>> {
        let Some(steps) = tensor.get().part(py) else { return Ok(None) };
        let seen = call::run_attached(py, || steps.places_in(py, common))?;
        seen.map(|seen| seen.to_vec::<i64>().map_err(|error| errors::raise(py, error))).transpose()
    };
    // What cannot be said may be.
    let (Some(ours), Some(theirs)) = (places(one)?, places(other)?) else { return Ok(true) };
    Ok(ours.iter().any(|place| theirs.contains(place)))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(has_whole, module)?)?;
    module.add_function(wrap_pyfunction!(is_stale, module)?)?;
    module.add_function(wrap_pyfunction!(share_elements, module)?)?;
    module.add_function(wrap_pyfunction!(mark_part, module)?)?;
    module.add_function(wrap_pyfunction!(mark_row, module)?)?;
    module.add_function(wrap_pyfunction!(same_elements, module)?)?;
    module.add_function(wrap_pyfunction!(wholes, module)?)
}
