//! The initialisers of Rust, as `fluvial.initializer` names them.

use fluvial::init::{self, Fan, Gain};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::tensor::Tensor;
use crate::types::{DTypeArg, ShapeArg, type_of};
use crate::{args, call, errors};

/// How a parameter gets its initial value: a function of shape and dtype.
///
/// Args:
///     kind: Its name in Rust, such as "uniform".
///     fields: What it takes, in order.
///
/// Example:
///     >>> fl._core.Initializer("constant", 0.5)((2,), fl.float32).tolist()
///     [0.5, 0.5]
#[pyclass(frozen, module = "fluvial._core", name = "Initializer")]
pub struct Initializer(pub init::Initializer);

#[pymethods]
impl Initializer {
    #[new]
    #[pyo3(signature = (kind, *fields))]
    fn new(kind: &str, fields: &Bound<'_, PyTuple>) -> PyResult<Initializer> {
        let py = fields.py();
        Ok(Initializer(match kind {
            "constant" => init::Initializer::constant(fields.extract::<(f64,)>()?.0),
            "uniform" => {
                let (low, high) = fields.extract()?;
                init::Initializer::uniform(low, high)
            }
            "normal" => {
                let (mean, std) = fields.extract()?;
                init::Initializer::normal(mean, std)
            }
            "truncated_normal" => {
                let (mean, std, low, high) = fields.extract()?;
                init::Initializer::truncated_normal(mean, std, low, high)
            }
            "scaled" => {
                let (gain, fan, normal) = fields.extract::<(f64, String, bool)>()?;
                let fan: Fan = args::choice(py, &fan)?;
                init::Initializer::Scaled { gain, fan, normal }
            }
            "orthogonal" => init::Initializer::orthogonal(fields.extract::<(f64,)>()?.0),
            "assign" => {
                let value = args::var(&fields.get_item(0)?)?.detach();
                let value = value.tensor().map_err(|error| errors::raise(py, error))?;
                init::Initializer::assign(value.clone())
            }
            "eye" => init::Initializer::eye(),
            "dirac" => init::Initializer::dirac(fields.extract::<(usize,)>()?.0),
            "bilinear" => init::Initializer::Bilinear,
            "zero_row" => {
                let (rest, row) = fields.extract::<(Bound<'_, Initializer>, i64)>()?;
                rest.get().0.clone().zero_row(row)
            }
            _ => {
                let what = format!("no initialiser is named \"{kind}\"");
                return Err(PyTypeError::new_err(what));
            }
        }))
    }

    /// The value of a parameter of this shape and element type.
    fn __call__(&self, py: Python<'_>, shape: ShapeArg, dtype: DTypeArg) -> PyResult<Tensor> {
        let ty = type_of(py, dtype, &shape)?;
        call::run_attached(py, || self.0.draw(&ty)).map(Tensor::new)
    }

    /// Whether random numbers are drawn.
    #[getter]
    fn is_random(&self) -> bool {
        self.0.is_random()
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, _memo: &Bound<'_, PyAny>) -> Bound<'py, Self> {
        slf.clone()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        (slf.get_type(), fields(py, &slf.get().0)?).into_bound_py_any(py)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// What makes an initialiser of the same kind.
fn fields<'py>(py: Python<'py>, init: &init::Initializer) -> PyResult<Bound<'py, PyAny>> {
    use init::Initializer as Init;
    match init {
        Init::Constant(value) => ("constant", *value).into_bound_py_any(py),
        Init::Uniform { low, high } => ("uniform", *low, *high).into_bound_py_any(py),
        Init::Normal { mean, std } => ("normal", *mean, *std).into_bound_py_any(py),
        Init::TruncatedNormal { mean, std, low, high } => {
            ("truncated_normal", *mean, *std, *low, *high).into_bound_py_any(py)
        }
        Init::Scaled { gain, fan, normal } => {
            ("scaled", *gain, fan.word(), *normal).into_bound_py_any(py)
        }
        Init::Orthogonal { gain } => ("orthogonal", *gain).into_bound_py_any(py),
        Init::Assign(value) => {
            let value = Tensor::new(fluvial::core::Var::new(value.clone()));
            ("assign", Bound::new(py, value)?).into_bound_py_any(py)
        }
        Init::Eye => ("eye",).into_bound_py_any(py),
        Init::Dirac(groups) => ("dirac", *groups).into_bound_py_any(py),
        Init::Bilinear => ("bilinear",).into_bound_py_any(py),
        Init::ZeroRow(rest, row) => {
            let rest = Bound::new(py, Initializer((**rest).clone()))?;
            ("zero_row", rest, *row).into_bound_py_any(py)
        }
        _ => Err(PyTypeError::new_err(
            "an initialiser that is a function of Rust's cannot be pickled\n  \
             remedy: call the layer first, and save its `state_dict`",
        )),
    }
}

/// The initialiser of Rust's that an object is, or stands for.
pub fn stated(object: &Bound<'_, PyAny>) -> PyResult<Option<init::Initializer>> {
    if let Ok(own) = object.cast::<Initializer>() {
        return Ok(Some(own.get().0.clone()));
    }
    let Some(stands_for) = object.getattr_opt("_stated")? else { return Ok(None) };
    let own = stands_for.call0()?;
    Ok(own.cast::<Initializer>().ok().map(|own| own.get().0.clone()))
}

/// The factor on weights that makes up for the function that follows a layer.
#[pyfunction]
fn gain(py: Python<'_>, function: &str, slope: f64) -> PyResult<f64> {
    let gain = Gain::named(function, slope).map_err(|error| errors::raise(py, error))?;
    Ok(gain.factor())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Initializer>()?;
    module.add_function(wrap_pyfunction!(gain, module)?)
}
