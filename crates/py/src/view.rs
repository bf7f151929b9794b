//! What runs tell of themselves, and the page that shows it: see `fluvial.summary` and `fl.view`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use fluvial_view::events::{Histogram, Usage, Writer};
use fluvial_view::{Server, Site, export};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::program::Program;

/// A file of events; see `fl.summary.Writer`. Threads may share it.
#[pyclass(frozen, module = "fluvial._core")]
struct EventWriter {
    writer: Mutex<Option<Writer>>,
    usage: Mutex<Usage>,
    #[pyo3(get)]
    path: PathBuf,
}

impl EventWriter {
    fn with(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Writer) -> std::io::Result<()> + Send,
    ) -> PyResult<()> {
        py.detach(|| {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *writer {
                Some(writer) => Ok(f(writer)?),
                None => Err(PyValueError::new_err("this writer is closed")),
            }
        })
    }
}

#[pymethods]
impl EventWriter {
    #[new]
    fn new(folder: PathBuf) -> PyResult<EventWriter> {
        let writer = Writer::new(&folder)?;
        let path = writer.path().to_path_buf();
        Ok(EventWriter { writer: Mutex::new(Some(writer)), usage: Mutex::default(), path })
    }

    fn scalars(&self, py: Python<'_>, values: Vec<(String, f32)>, step: i64) -> PyResult<()> {
        let values = values.iter().map(|(tag, value)| (tag.as_str(), *value));
        let values: Vec<(&str, f32)> = values.collect();
        self.with(py, |writer| writer.scalars(values, step))
    }

    fn histogram(
        &self,
        py: Python<'_>,
        tag: &str,
        moments: [f64; 5],
        limits: Vec<f64>,
        counts: Vec<f64>,
        step: i64,
    ) -> PyResult<()> {
        let histogram = Histogram { moments, limits, counts };
        self.with(py, |writer| writer.histogram(tag, histogram, step))
    }

    fn image(
        &self,
        py: Python<'_>,
        tag: &str,
        sizes: [usize; 3],
        png: Vec<u8>,
        step: i64,
    ) -> PyResult<()> {
        self.with(py, |writer| writer.image(tag, sizes, png, step))
    }

    fn text(&self, py: Python<'_>, tag: &str, text: &str, step: i64) -> PyResult<()> {
        self.with(py, |writer| writer.text(tag, text, step))
    }

    /// Settings as an object of JSON.
    fn config(&self, py: Python<'_>, settings: &str) -> PyResult<()> {
        let settings = serde_json::from_str(settings)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.with(py, |writer| writer.config(&settings))
    }

    /// What the process takes of the machine, unless that was told less than a second ago.
    fn usage(&self, py: Python<'_>, step: i64) -> PyResult<()> {
        let found = self.usage.lock().unwrap_or_else(PoisonError::into_inner).look();
        self.with(py, |writer| match found.is_empty() {
            true => Ok(()),
            false => writer.scalars(found, step),
        })
    }

    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Writer::sync)
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn close(&self) {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A page that is served; see `fl.view`.
#[pyclass(frozen, module = "fluvial._core")]
struct ViewServer {
    server: Mutex<Option<Server>>,
    #[pyo3(get)]
    url: String,
}

fn site(
    py: Python<'_>,
    runs: Vec<PathBuf>,
    programs: &[(String, Bound<'_, Program>)],
    profiles: Vec<PathBuf>,
    sources: Vec<PathBuf>,
) -> PyResult<Site> {
    let mut site = Site::new().runs(runs);
    for (name, program) in programs {
        site = site.program(name, (*program.get().core(py)?).clone());
    }
    let site = profiles.into_iter().fold(site, Site::profile);
    Ok(sources.into_iter().fold(site, Site::source))
}

#[pymethods]
impl ViewServer {
    #[new]
    fn new(
        py: Python<'_>,
        runs: Vec<PathBuf>,
        programs: Vec<(String, Bound<'_, Program>)>,
        profiles: Vec<PathBuf>,
        sources: Vec<PathBuf>,
        port: u16,
    ) -> PyResult<ViewServer> {
        let server = Server::start(site(py, runs, &programs, profiles, sources)?, port)?;
        let url = server.url();
        Ok(ViewServer { server: Mutex::new(Some(server)), url })
    }

    fn close(&self, py: Python<'_>) {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(server));
    }
}

/// The page as one file.
#[pyfunction]
fn view_page(
    py: Python<'_>,
    runs: Vec<PathBuf>,
    programs: Vec<(String, Bound<'_, Program>)>,
    profiles: Vec<PathBuf>,
) -> PyResult<String> {
    let site = site(py, runs, &programs, profiles, Vec::new())?;
    Ok(py.detach(|| export(&site)))
}

/// Programs with more calls than this are not shown in notebooks, whose files would become large.
const MOST_CALLS: usize = 2000;

/// What a notebook shows of a program: the page, with nobody to ask.
pub fn notebook(program: &fluvial::core::Program) -> String {
    let n_calls = fluvial_view::n_calls(&program.main);
    if n_calls > MOST_CALLS {
        return format!(
            "<p>A program of {n_calls} calls; <code>fl.view(program)</code> shows it.</p>"
        );
    }
    let page = export(&Site::new().program("program", program.clone()));
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<iframe title=\"A program of {n_calls} calls\" sandbox=\"allow-scripts allow-downloads\" \
         style=\"width: 100%; height: 560px; border: 0\" srcdoc=\"{page}\"></iframe>"
    )
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<EventWriter>()?;
    module.add_class::<ViewServer>()?;
    module.add_function(wrap_pyfunction!(view_page, module)?)
}
