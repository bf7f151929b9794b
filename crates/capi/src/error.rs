//! What went wrong last, for each thread.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fluvial::core::{Error, Result};

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// What went wrong in the last call of this thread; empty, if nothing did. It is valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn fluvial_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

fn keep(error: &Error) {
    let text = error.to_string().replace('\0', " ");
    LAST.set(CString::new(text).unwrap_or_default());
}

/// Runs what may fail; an error is kept, and `otherwise` is given. Nothing unwinds into C.
pub fn guarded<T>(otherwise: T, f: impl FnOnce() -> Result<T>) -> T {
    LAST.set(CString::default());
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => {
            keep(&error);
            otherwise
        }
        Err(_) => {
            keep(&Error::internal("a fault of the library"));
            otherwise
        }
    }
}
