//! What checkpoints tell on the way, as warnings.

use fluvial::runtime::Notice;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

/// Tells of a checkpoint that is damaged or could not be written, as a warning.
pub(super) fn warn(notice: &Notice<'_>) {
    if !notice.is_warning() {
        return;
    }
    let text = std::ffi::CString::new(notice.to_string().replace('\0', " ")).unwrap_or_default();
    Python::attach(|py| {
        let category = py.get_type::<PyUserWarning>();
        // Where warnings are errors, the run goes on all the same.
        if let Err(error) = PyErr::warn(py, &category, &text, 1) {
            error.write_unraisable(py, None);
        }
    });
}
