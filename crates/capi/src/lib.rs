//! The C interface of the runtime, `libfluvial_c`: programs are loaded, fed and run; states are read, set and kept in
//! files. `cargo xtask codegen` makes `include/fluvial.h` of it.
//!
//! Every function may be called from any thread. A program that is used by several threads is used by one after the
//! other. What goes wrong is told by the returned value, and in words by `fluvial_error`, for each thread its own.

mod error;
mod model;
mod view;

pub use error::fluvial_error;
pub use model::{
    Model, fluvial_feed, fluvial_free, fluvial_input_name, fluvial_load, fluvial_load_bytes,
    fluvial_load_states, fluvial_n_inputs, fluvial_n_outputs, fluvial_n_states, fluvial_output,
    fluvial_output_name, fluvial_run, fluvial_save_states, fluvial_set_state, fluvial_state,
    fluvial_state_name,
};
pub use view::*;
