//! Readers, the loop over them, and record files.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fluvial::core::{Error, Result, Tensor as CoreTensor, Type, Var};
use fluvial::data::formats::records::{Compression, Options, Writer};
use fluvial::data::reader::{Cursor as CoreCursor, Function, Open, check_sample, stack_samples};
use fluvial::data::{self, Dataset, Field, Position, Sample, Samples, Stream, files};
use fluvial::ops;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::blocks::Block;
use crate::sequence::{List, MANY};
use crate::tensor::Tensor;
use crate::types::TypeArg;
use crate::{args, blocks, call, errors, executor};

/// The description of a reader, which the class `fluvial.Reader` wraps.
#[pyclass(frozen, module = "fluvial._core")]
struct Reader {
    reader: data::Reader,
    /// Once it was opened.
    open: Mutex<Option<Arc<Open>>>,
}

impl Reader {
    fn new(reader: data::Reader) -> Reader {
        Reader { reader, open: Mutex::new(None) }
    }

    fn opened(&self, py: Python<'_>) -> PyResult<Arc<Open>> {
        let known = self.open.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(open) = known {
            return Ok(open);
        }
        let open = call::run_long(py, || self.reader.open())?;
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(open.clone());
        Ok(open)
    }
}

/// Fields from names and types.
fn fields_of(fields: Vec<(String, TypeArg)>) -> Vec<Field> {
    fields.into_iter().map(|(name, ty)| Field { name: name.into(), ty: ty.0 }).collect()
}

fn tensors_of(object: &Bound<'_, PyAny>) -> PyResult<Result<Sample>> {
    let is_group = object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>();
    let vars = if is_group { args::many(object)? } else { vec![args::var(object)?] };
    Ok(vars.iter().map(|var| var.tensor().cloned()).collect::<Result<_, Error>>())
}

fn tuple_of<'py>(py: Python<'py>, sample: &[CoreTensor]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, sample.iter().map(|tensor| Tensor::new(Var::new(tensor.clone()))))
}

/// A Python function that starts an iterator.
struct Iterable {
    fields: Vec<Field>,
    start: Py<PyAny>,
}

impl Stream for Iterable {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn start(&self, epoch: u64) -> Result<Samples> {
        let start =
            |py: Python<'_>| self.start.bind(py).call1((epoch,))?.try_iter().map(Bound::unbind);
        let iterator = Python::attach(start).map_err(errors::callback)?;
        Ok(Box::new(std::iter::from_fn(move || {
            let next = |py: Python<'_>| match iterator.bind(py).clone().next() {
                Some(item) => tensors_of(&item?).map(Some),
                None => Ok(None),
            };
            match Python::attach(next) {
                Ok(sample) => sample,
                Err(exception) => Some(Err(errors::callback(exception))),
            }
        })))
    }
}

/// Samples that a Python function makes by their numbers.
struct Items {
    fields: Vec<Field>,
    len: u64,
    /// Called with the number of the pass and a list of numbers; gives a list of samples.
    fetch: Py<PyAny>,
}

impl Dataset for Items {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn gather(&self, numbers: &[u64]) -> Result<Vec<CoreTensor>> {
        self.gather_in(0, numbers)
    }

    fn get(&self, number: u64) -> Result<Sample> {
        let sample = self.fetch(0, &[number])?.into_iter().next();
        sample.ok_or_else(|| Error::internal("no sample was fetched"))
    }

    fn depends_on_pass(&self) -> bool {
        true
    }

    fn fetch(&self, epoch: u64, numbers: &[u64]) -> Result<Vec<Sample>> {
        numbers.iter().try_for_each(|&number| self.check(number))?;
        let fetch = |py: Python<'_>| {
            let given = self.fetch.bind(py).call1((epoch, numbers.to_vec()))?;
            given.try_iter()?.map(|sample| tensors_of(&sample?)).collect::<PyResult<Vec<_>>>()
        };
        let samples = Python::attach(fetch).map_err(errors::callback)?;
        let samples = samples.into_iter().collect::<Result<Vec<Sample>>>()?;
        if samples.len() != numbers.len() {
            let (n, given) = (numbers.len(), samples.len());
            return Err(Error::internal(format!("{n} samples were asked for, {given} came")));
        }
        for sample in &samples {
            check_sample(sample, &self.fields, "the dataset").map_err(|error| {
                error.remedy(
                    "a size that differs from sample to sample is a name in `fields`: \"f32[n, 3]\"",
                )
            })?;
        }
        Ok(samples)
    }

    fn gather_in(&self, epoch: u64, numbers: &[u64]) -> Result<Vec<CoreTensor>> {
        stack_samples(&self.fetch(epoch, numbers)?, &self.fields)
    }
}

#[pymethods]
impl Reader {
    #[new]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Reader> {
        text.parse().map(Reader::new).map_err(|error| errors::raise(py, error))
    }

    /// The reader with further stages, as text.
    fn then(&self, py: Python<'_>, text: &str) -> PyResult<Reader> {
        // What the reader holds goes on to the new one.
        let stages: data::Reader = match format!("memory(\"\").{text}").parse() {
            Ok(stages) => stages,
            Err(error) => return Err(errors::raise(py, error)),
        };
        let start = self.reader.clone();
        Ok(Reader::new(stages.stages().iter().cloned().fold(start, data::Reader::then)))
    }

    /// Arrays of as many samples each, by name.
    #[staticmethod]
    fn arrays(py: Python<'_>, named: List<(String, Bound<'_, PyAny>), MANY>) -> PyResult<Reader> {
        let mut tensors: Vec<(String, CoreTensor)> = Vec::new();
        for (name, array) in named.0 {
            let var = args::var(&array)?;
            let tensor = var.tensor().cloned().map_err(|error| errors::raise(py, error))?;
            tensors.push((name, tensor));
        }
        let reader = call::run_long(py, || {
            data::Reader::of(tensors.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())))
        })?;
        Ok(Reader::new(reader))
    }

    /// What a Python function gives: called with the number of the pass, it starts an iterator.
    #[staticmethod]
    fn stream(
        py: Python<'_>,
        name: &str,
        fields: List<(String, TypeArg), MANY>,
        start: Py<PyAny>,
    ) -> PyResult<Reader> {
        let stream = Arc::new(Iterable { fields: fields_of(fields.0), start });
        data::reader::register_stream(name, stream);
        Reader::parse(py, &data::Reader::stream(name).to_string())
    }

    /// What a Python function gives by number: called with the number of the pass and a list of numbers, it
    /// gives a list of samples.
    #[staticmethod]
    fn items(
        py: Python<'_>,
        name: &str,
        fields: List<(String, TypeArg), MANY>,
        length: u64,
        fetch: Py<PyAny>,
    ) -> PyResult<Reader> {
        let items = Arc::new(Items { fields: fields_of(fields.0), len: length, fetch });
        let reader = data::Reader::dataset(name, items);
        reader.map(Reader::new).map_err(|error| errors::raise(py, error))
    }

    #[staticmethod]
    fn zip(readers: List<PyRef<'_, Reader>, MANY>) -> Reader {
        Reader::new(data::Reader::zip(readers.iter().map(|reader| reader.reader.clone())))
    }

    #[staticmethod]
    fn interleave(readers: List<PyRef<'_, Reader>, MANY>) -> Reader {
        Reader::new(data::Reader::interleave(readers.iter().map(|reader| reader.reader.clone())))
    }

    /// Each sample through a Python function.
    fn map(
        &self,
        name: &str,
        function: Py<PyAny>,
        fields: Option<Vec<(String, TypeArg)>>,
    ) -> Reader {
        let call = move |sample: Sample| {
            let call =
                |py: Python<'_>| tensors_of(&function.bind(py).call1(tuple_of(py, &sample)?)?);
            Python::attach(call).map_err(errors::callback)?
        };
        let function = Function { call: Box::new(call), fields: fields.map(fields_of) };
        data::reader::register_function(name, Arc::new(function));
        Reader::new(self.reader.clone().map(name))
    }

    /// The samples for which a Python function says yes.
    fn filter(&self, name: &str, function: Py<PyAny>) -> Reader {
        let call = move |sample: &[CoreTensor]| {
            let call = |py: Python<'_>| function.bind(py).call1(tuple_of(py, sample)?)?.is_truthy();
            Python::attach(call).map_err(errors::callback)
        };
        data::reader::register_predicate(name, Arc::new(call));
        Reader::new(self.reader.clone().filter(name))
    }

    /// Lets programs of this process read its files.
    fn allow(&self, py: Python<'_>) -> PyResult<()> {
        self.reader.allow().map_err(|error| errors::raise(py, error))
    }

    /// The description.
    #[getter]
    fn text(&self) -> String {
        self.reader.to_string()
    }

    /// Names and types of what it gives.
    fn fields(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let open = self.opened(py)?;
        let field = |field: &Field| (field.name.to_string(), field.ty.to_string());
        Ok(open.fields().iter().map(field).collect())
    }

    /// How many results a pass has, if that is known.
    fn length(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.opened(py)?.len(0))
    }

    /// What it gives from a position on.
    fn start(&self, py: Python<'_>, epoch: u64, index: u64) -> PyResult<Cursor> {
        let open = self.opened(py)?;
        let cursor = call::run_long(py, || open.start(Position { epoch, index }))?;
        Ok(Cursor(Mutex::new(Some(cursor))))
    }

    /// The types of what it gives, with symbols of their own, for a loop of the program being built.
    fn loop_types(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let open = self.opened(py)?;
        let types = call::run_attached(py, || ops::control::ForEach::fields_of(&open))?;
        Ok(types.iter().map(Type::to_string).collect())
    }

    fn __eq__(&self, other: PyRef<'_, Reader>) -> bool {
        self.reader == other.reader
    }
}

/// Gives the results of a pass one after another.
#[pyclass(frozen, module = "fluvial._core")]
struct Cursor(Mutex<Option<CoreCursor>>);

impl Cursor {
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut CoreCursor) -> Result<R> + Send,
    ) -> PyResult<R> {
        // Taken out while it works, since it may call Python, which may come back here.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut cursor) = lock().take() else {
            return Err(PyRuntimeError::new_err("the reader is at work in another thread"));
        };
        let (result, cursor) = py.detach(move || (f(&mut cursor), cursor));
        *lock() = Some(cursor);
        result.map_err(|error| errors::raise(py, error))
    }
}

#[pymethods]
impl Cursor {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match self.with(py, CoreCursor::next)? {
            Some(sample) => tuple_of(py, &sample),
            None => Err(PyStopIteration::new_err(())),
        }
    }

    /// The number of the pass, and of the next result in it.
    fn position(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let Position { epoch, index } = self.with(py, |cursor| Ok(cursor.position()))?;
        Ok((epoch, index))
    }

    /// Goes to the start of the next pass.
    fn next_epoch(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |cursor| {
            cursor.next_epoch();
            Ok(())
        })
    }
}

/// A loop over a reader, of a block that takes values of its types and carried ones, and returns whether to go
/// on and the next carried values. Gives the position after it, and the carried values.
#[pyfunction]
fn for_each_of(
    py: Python<'_>,
    reader: &Reader,
    passes: usize,
    types: Vec<TypeArg>,
    position: &Tensor,
    init: Vec<Bound<'_, PyAny>>,
    body: &Block,
) -> PyResult<(Tensor, Vec<Tensor>)> {
    let position = position.var(py);
    let numbers = blocks::numbers(&init);
    let init = init.iter().map(blocks::carried).collect::<PyResult<Vec<Var>>>()?;
    let body = body.take()?;
    let refs: Vec<&Var> = init.iter().collect();
    let types: Vec<Type> = types.into_iter().map(|ty| ty.0).collect();
    let (position, results) = call::run_attached(py, || {
        ops::for_each_of(&reader.reader, passes, &types, &position, &refs, body)
    })?;
    Ok((Tensor::new(position), blocks::standing(numbers, results)))
}

/// The elements as those of a field; numbers that are not whole do not become integers.
fn whole(tensor: &CoreTensor, field: &Field) -> Result<CoreTensor> {
    let cast = tensor.cast(field.ty.dtype())?;
    if tensor.dtype().is_float() && cast.dtype().is_int() && cast.to_f64s() != tensor.to_f64s() {
        let fault = format!(
            "field `{}` is {}, but is given numbers that are not whole",
            field.name, field.ty
        );
        return Err(Error::dtype(fault).remedy("round them before, or declare the field as floats"));
    }
    Ok(cast)
}

/// Writes records to a file: chunks with checksums and an index, which survive a crash of the writer.
///
/// Args:
///     path: The file.
///     fields: Names and types of what each record consists of, such as `{"x": "f32[784]", "y": "i64[]"}`.
///         A size that differs from record to record is a name.
///     compression: "none", "snappy" or "zstd".
///     append: Whether a file that is there is continued.
///
/// Example:
///     >>> import os, tempfile
///     >>> path = os.path.join(tempfile.mkdtemp(), "numbers.rec")
///     >>> with fl.RecordWriter(path, {"x": "f32[2]", "y": "i64[]"}) as writer:
///     ...     for i in range(10):
///     ...         writer.write(x=[i, 2 * i], y=i)
///     >>> reader = fl.batch_reader(path, batch_size=4)
///     >>> [y.tolist() for x, y in reader]
///     [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
#[pyclass(frozen, module = "fluvial")]
struct RecordWriter {
    writer: Mutex<Option<Writer>>,
    fields: Vec<Field>,
}

#[pymethods]
impl RecordWriter {
    #[new]
    #[pyo3(signature = (path, fields, *, compression="none", append=false))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        fields: Bound<'_, pyo3::types::PyDict>,
        compression: &str,
        append: bool,
    ) -> PyResult<RecordWriter> {
        let mut known = Vec::new();
        for (name, ty) in fields.iter() {
            known.push((name.extract::<String>()?, ty.extract::<TypeArg>()?));
        }
        let fields = fields_of(known);
        let shown = path.display().to_string();
        let made = || {
            files::allow(&path)?;
            let options =
                Options { compression: Compression::parse(compression)?, ..Options::default() };
            match append && path.exists() {
                true => Writer::append_with(&shown, options),
                false => Writer::create(&shown, fields.clone(), options),
            }
        };
        let writer = made().map_err(|error| errors::raise(py, error))?;
        Ok(RecordWriter { writer: Mutex::new(Some(writer)), fields })
    }

    /// Writes a record: its tensors in order or by name.
    ///
    /// Args:
    ///     *values: In the order of the fields.
    ///     **named: By name.
    #[pyo3(signature = (*values, **named))]
    fn write(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, pyo3::types::PyDict>>,
    ) -> PyResult<()> {
        let given = values.len() + named.map_or(0, |named| named.len());
        let mut tensors = Vec::new();
        for (i, field) in self.fields.iter().enumerate() {
            let value = match i < values.len() {
                true => Some(values.get_item(i)?),
                false => named.map(|named| named.get_item(&*field.name)).transpose()?.flatten(),
            };
            let Some(value) = value else { break };
            let var = executor::feed(&value, &field.ty)?;
            let tensor = var.tensor().and_then(|tensor| whole(tensor, field));
            tensors.push(tensor.map_err(|error| errors::raise(py, error))?);
        }
        if tensors.len() != self.fields.len() || given != self.fields.len() {
            let names: Vec<&str> = self.fields.iter().map(|field| &*field.name).collect();
            let error = Error::argument(format!("a record consists of: {}", names.join(", ")));
            return Err(errors::raise(py, error.remedy("give each once, in order or by name")));
        }
        self.with(py, |writer| writer.write(&tensors.iter().collect::<Vec<_>>()))
    }

    /// Writes what is complete to the disk.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Writer::flush)
    }

    /// Adds the index and closes the file.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        match writer {
            Some(writer) => writer.finish().map(drop).map_err(|error| errors::raise(py, error)),
            None => Ok(()),
        }
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }
}

impl RecordWriter {
    fn with<R>(&self, py: Python<'_>, f: impl FnOnce(&mut Writer) -> Result<R>) -> PyResult<R> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = writer.as_mut() else {
            return Err(PyRuntimeError::new_err("the file is closed"));
        };
        f(writer).map_err(|error| errors::raise(py, error))
    }
}

/// Lets programs of this process touch a file, or what is below a folder.
#[pyfunction]
fn allow_path(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    files::allow(&path).map_err(|error| errors::raise(py, error))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Reader>()?;
    module.add_class::<Cursor>()?;
    module.add_class::<RecordWriter>()?;
    module.add_function(wrap_pyfunction!(allow_path, module)?)?;
    module.add_function(wrap_pyfunction!(for_each_of, module)?)
}
