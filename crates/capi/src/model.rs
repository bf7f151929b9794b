//! Programs as C sees them.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use fluvial::core::{Error, Program, Registry, Result, Role, State, Tensor};
use fluvial::io::{self, Load};
use fluvial::runtime::Executor;

use crate::error::guarded;
use crate::view::View;

/// A program with its states.
pub struct Model {
    executor: Executor,
    state: State,
    inputs: Vec<CString>,
    outputs: Vec<CString>,
    states: Vec<CString>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    feeds: BTreeMap<String, Tensor>,
    results: Vec<Tensor>,
    /// The last state that was asked for.
    state: Option<Tensor>,
}

impl Model {
    fn new(program: &Program, state: State) -> Result<Model> {
        let text = |name: &str| CString::new(name).unwrap_or_default();
        let executor = Executor::new(program, state.clone())?;
        executor.initialise()?;
        Ok(Model {
            inputs: program.inputs.iter().map(|name| text(name)).collect(),
            outputs: program.outputs.iter().map(|name| text(name)).collect(),
            states: program.states.keys().map(|name| text(name)).collect(),
            state: executor.state().clone(),
            executor,
            held: Mutex::default(),
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What readers of programs know.
fn registry() -> &'static Registry {
    static KNOWN: OnceLock<Registry> = OnceLock::new();
    KNOWN.get_or_init(fluvial::short::registry)
}

/// The text behind a pointer.
///
/// # Safety
///
/// It is null, or points to a text that ends with a zero.
unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(Error::argument("a null pointer in the place of a text"));
    }
    // SAFETY: by the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Error::argument("a text is not UTF-8"))
}

/// The model behind a pointer.
///
/// # Safety
///
/// It is null, or was given by `fluvial_load` and not freed.
unsafe fn model<'a>(pointer: *const Model) -> Result<&'a Model> {
    // SAFETY: by the caller's promise.
    unsafe { pointer.as_ref() }
        .ok_or_else(|| Error::argument("a null pointer in the place of a program"))
}

/// Reads a program: a file `.fl` or `.flb`, or a saved model (its folder, or its `.safetensors` file). Null for an error.
///
/// # Safety
///
/// `path` is a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_load(path: *const c_char) -> *mut Model {
    guarded(ptr::null_mut(), || {
        // SAFETY: by the caller's promise.
        let path = unsafe { text(path) }?;
        let state = State::new();
        let program = match path.ends_with(".fl") || path.ends_with(".flb") {
            true => Program::load(path, registry())?,
            false => io::load_model(path, &state)?,
        };
        Ok(Box::into_raw(Box::new(Model::new(&program, state)?)))
    })
}

/// Reads a program from the bytes of a file `.flb`. Null for an error.
///
/// # Safety
///
/// `bytes` points to `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_load_bytes(bytes: *const c_void, count: usize) -> *mut Model {
    guarded(ptr::null_mut(), || {
        if bytes.is_null() {
            return Err(Error::argument("a null pointer in the place of bytes"));
        }
        // SAFETY: by the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) };
        let program = Program::from_bytes(bytes, registry())?;
        Ok(Box::into_raw(Box::new(Model::new(&program, State::new())?)))
    })
}

/// Gives the memory of a program back; nothing happens for null.
///
/// # Safety
///
/// The pointer was given by `fluvial_load`, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_free(program: *mut Model) {
    if !program.is_null() {
        // SAFETY: by the caller's promise.
        drop(unsafe { Box::from_raw(program) });
    }
}

/// How many names there are; -1 for a null pointer.
///
/// # Safety
///
/// The pointer is null, or was given by `fluvial_load` and not freed.
unsafe fn count(program: *const Model, names: fn(&Model) -> &[CString]) -> i32 {
    // SAFETY: by the caller's promise.
    guarded(-1, || Ok(names(unsafe { model(program) }?).len() as i32))
}

/// One of the names; null, if there is none of this number.
///
/// # Safety
///
/// The pointer is null, or was given by `fluvial_load` and not freed.
unsafe fn name(
    program: *const Model,
    number: i32,
    names: fn(&Model) -> &[CString],
    what: &str,
) -> *const c_char {
    guarded(ptr::null(), || {
        // SAFETY: by the caller's promise.
        let names = names(unsafe { model(program) }?);
        let name = usize::try_from(number).ok().and_then(|number| names.get(number));
        name.map(|name| name.as_ptr())
            .ok_or_else(|| Error::index(format!("there is no {what} of number {number}")))
    })
}

/// The number of inputs; -1 for an error.
///
/// # Safety
///
/// The program was given by `fluvial_load`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_n_inputs(program: *const Model) -> i32 {
    // SAFETY: by the caller's promise.
    unsafe { count(program, |model| &model.inputs) }
}

/// The name of an input; null, if there is none of this number. It is valid as long as the program.
///
/// # Safety
///
/// The program was given by `fluvial_load`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_input_name(program: *const Model, number: i32) -> *const c_char {
    // SAFETY: by the caller's promise.
    unsafe { name(program, number, |model| &model.inputs, "input") }
}

/// The number of outputs; -1 for an error.
///
/// # Safety
///
/// The program was given by `fluvial_load`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_n_outputs(program: *const Model) -> i32 {
    // SAFETY: by the caller's promise.
    unsafe { count(program, |model| &model.outputs) }
}

/// The name of an output; null, if there is none of this number. It is valid as long as the program.
///
/// # Safety
///
/// The program was given by `fluvial_load`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_output_name(program: *const Model, number: i32) -> *const c_char {
    // SAFETY: by the caller's promise.
    unsafe { name(program, number, |model| &model.outputs, "output") }
}

/// The number of states; -1 for an error.
///
/// # Safety
///
/// The program was given by `fluvial_load`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_n_states(program: *const Model) -> i32 {
    // SAFETY: by the caller's promise.
    unsafe { count(program, |model| &model.states) }
}

/// The name of a state; null, if there is none of this number. It is valid as long as the program.
///
/// # Safety
///
/// The program was given by `fluvial_load`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_state_name(program: *const Model, number: i32) -> *const c_char {
    // SAFETY: by the caller's promise.
    unsafe { name(program, number, |model| &model.states, "state") }
}

/// Feeds an input; the elements are copied, and stay until it is fed again. Gives 0, or 1 for an error.
///
/// # Safety
///
/// The program was given by `fluvial_load`, `name` is a text, and `view` points to a view of elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_feed(
    program: *const Model,
    name: *const c_char,
    view: *const View,
) -> i32 {
    guarded(1, || {
        // SAFETY: by the caller's promise.
        let (model, name) = (unsafe { model(program) }?, unsafe { text(name) }?);
        // SAFETY: by the caller's promise.
        let view = unsafe { view.as_ref() }.ok_or_else(|| Error::argument("no view was given"))?;
        if !model.inputs.iter().any(|known| known.to_bytes() == name.as_bytes()) {
            return Err(Error::argument(format!("the program has no input `{name}`")));
        }
        // SAFETY: by the caller's promise.
        let tensor = unsafe { view.copied() }?;
        model.held().feeds.insert(name.into(), tensor);
        Ok(0)
    })
}

/// Runs the program once on what it was fed: a prediction, or a step of a training, which changes states. Gives 0, or 1 for an error.
///
/// # Safety
///
/// The program was given by `fluvial_load`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_run(program: *const Model) -> i32 {
    guarded(1, || {
        // SAFETY: by the caller's promise.
        let model = unsafe { model(program) }?;
        let mut held = model.held();
        let feeds: Vec<(&str, Tensor)> =
            held.feeds.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())).collect();
        let results = model.executor.run(&feeds)?;
        held.results = results.iter().map(Tensor::contiguous).collect::<Result<_>>()?;
        Ok(0)
    })
}

/// An output of the last run; it is valid until the next one. Gives 0, or 1 for an error.
///
/// # Safety
///
/// The program was given by `fluvial_load`, `name` is a text, and `view` points to a view to be filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_output(
    program: *const Model,
    name: *const c_char,
    view: *mut View,
) -> i32 {
    guarded(1, || {
        // SAFETY: by the caller's promise.
        let (model, name) = (unsafe { model(program) }?, unsafe { text(name) }?);
        let number = model.outputs.iter().position(|known| known.to_bytes() == name.as_bytes());
        let number =
            number.ok_or_else(|| Error::argument(format!("the program has no output `{name}`")))?;
        let held = model.held();
        let tensor = held.results.get(number).ok_or_else(|| {
            Error::argument("the program has not run").remedy("call `fluvial_run` first")
        })?;
        // SAFETY: by the caller's promise.
        unsafe { filled(view, View::of(tensor)?) }
    })
}

/// Writes a view where a pointer says.
///
/// # Safety
///
/// The pointer is null, or points to a view.
unsafe fn filled(to: *mut View, view: View) -> Result<i32> {
    if to.is_null() {
        return Err(Error::argument("no view was given"));
    }
    // SAFETY: by the caller's promise.
    unsafe { to.write(view) };
    Ok(0)
}

/// The value of a state; it is valid until a state of the program is asked for again. Gives 0, or 1 for an error.
///
/// # Safety
///
/// The program was given by `fluvial_load`, `name` is a text, and `view` points to a view to be filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_state(
    program: *const Model,
    name: *const c_char,
    view: *mut View,
) -> i32 {
    guarded(1, || {
        // SAFETY: by the caller's promise.
        let (model, name) = (unsafe { model(program) }?, unsafe { text(name) }?);
        let mut held = model.held();
        let tensor = held.state.insert(model.state.tensor(name)?.contiguous()?);
        // SAFETY: by the caller's promise.
        unsafe { filled(view, View::of(tensor)?) }
    })
}

/// Gives a state a value of its type; the elements are copied. Gives 0, or 1 for an error.
///
/// # Safety
///
/// The program was given by `fluvial_load`, `name` is a text, and `view` points to a view of elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_set_state(
    program: *const Model,
    name: *const c_char,
    view: *const View,
) -> i32 {
    guarded(1, || {
        // SAFETY: by the caller's promise.
        let (model, name) = (unsafe { model(program) }?, unsafe { text(name) }?);
        // SAFETY: by the caller's promise.
        let view = unsafe { view.as_ref() }.ok_or_else(|| Error::argument("no view was given"))?;
        // SAFETY: by the caller's promise.
        let tensor = unsafe { view.copied() }?;
        let _held = model.held();
        model.state.assign(name, tensor)?;
        Ok(0)
    })
}

/// Writes all states to a file `.safetensors`: a checkpoint between runs. Gives 0, or 1 for an error.
///
/// # Safety
///
/// The program was given by `fluvial_load`, and `path` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_save_states(program: *const Model, path: *const c_char) -> i32 {
    guarded(1, || {
        // SAFETY: by the caller's promise.
        let (model, path) = (unsafe { model(program) }?, unsafe { text(path) }?);
        let _held = model.held();
        io::save_states(path, &model.state, &Role::ALL)?;
        Ok(0)
    })
}

/// Reads states from a file that `fluvial_save_states` has written. Gives 0, or 1 for an error.
///
/// # Safety
///
/// The program was given by `fluvial_load`, and `path` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fluvial_load_states(program: *const Model, path: *const c_char) -> i32 {
    guarded(1, || {
        // SAFETY: by the caller's promise.
        let (model, path) = (unsafe { model(program) }?, unsafe { text(path) }?);
        let _held = model.held();
        io::load_states(path, &model.state, Load::default())?;
        Ok(0)
    })
}
