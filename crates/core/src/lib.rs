//! The centre of Fluvial: one value, one `bind`, one definition of each op, two modes.
//!
//! ```text
//!        user code, layers, losses, optimizers, gradient rules  (all written once)
//!                                  │  ops::mul(&a, &b)?
//!                                  ▼
//!                      bind(op, inputs) -> outputs
//!                 infer shapes and dtypes (always, in both modes)
//!         ┌────────────────────────┴──────────────────────────┐
//!  scope: imperative                                 scope: building a program
//!  eval now, record on the tape                      append to the current block
//!  if a gradient may be asked for                    with the user's source line
//! ```
//!
//! The modules in reading order:
//!
//! - [`op`], [`grad`](mod@grad) and [`attrs`]: what an op is; [`options`](mod@options): what its function takes. [`family`] makes elementwise ones from a scalar
//!   expression, [`parametric`] those with numbers as attributes; `structural` holds the few this crate needs itself.
//! - [`mod@autocast`]: which functions compute in narrow types.
//! - [`batch`]: what an op is given to run on a whole batch.
//! - [`var`] and [`bind`](mod@bind): the value users handle, and the door every op passes.
//! - `tape`, `trace`: what `bind` does with an op in the two modes: record a node, append a call.
//! - [`reverse`]: the reverse walk, one function for both; [`audit`]: why it did not arrive.
//! - [`block`], [`program`], `replay`: programs as data, and how a block is applied; [`rewrite`]: how it is
//!   changed, [`form`]: what is found in it.
//! - [`device`]: what runs ops beside the processor.
//! - `cell` and [`state`]: what persists between steps, shared by both modes: values with identity, and their names.
//! - [`tasks`]: what runs at the same time, and channels.
//! - [`text`], [`proto`], [`verify`](mod@verify): programs as files, and their check.

pub mod attrs;
pub mod audit;
pub mod autocast;
pub mod batch;
pub mod bind;
pub mod block;
mod cache;
mod cell;
mod checkpoint;
pub mod decisions;
pub mod device;
pub mod family;
pub mod form;
pub mod grad;
pub mod interrupt;
pub mod kernel;
pub mod limits;
pub mod linearize;
pub mod notes;
pub mod op;
mod operators;
pub mod options;
pub mod parametric;
pub mod program;
pub mod proto;
pub mod registry;
mod replay;
pub mod reverse;
pub mod rewrite;
pub mod sample;
pub mod scope;
pub mod state;
pub mod step;
pub mod structural;
mod tape;
pub mod tasks;
pub mod text;
mod trace;
pub mod update;
pub mod value;
pub mod var;
pub mod verify;

pub use attrs::{Attr, Attribute, Attrs};
pub use audit::{Cut, history, leads_beyond, why_no_gradient};
pub use batch::{Batch, batched_type, element_type};
pub use bind::{Outputs, bind, bind_at, bind1, record};
pub use block::{Block, Call, ValueId, substitute_op};
pub use cache::Cache;
pub use cell::{Cell, WeakCell};
pub use checkpoint::{Again, checkpoint};
pub use device::{Device, DeviceTensor};
pub use family::{Domain, Elementwise, ResultType, Typing};
pub use fluvial_kernels::{Body, S};
pub use fluvial_tensor::{
    Complex, DType, Dim, Element, Error, ErrorKind, Loc, MAX_RANK, Marks, Number, Phase, Result,
    Tensor, Type, Whole, broadcast, memory,
};
pub use form::{Form, Found, Ids, Look};
pub use grad::{Cotangents, Grad, IntoCotangent, Keeps, Pull, Rule, TotalsRule};
pub use kernel::{Arg, Elements, Kernel, ListKernel, Native, Placed, Shader, Source, View};
pub use limits::{Limited, LimitedOutputs, Limits, limit_outputs};
pub use linearize::{Ask, Linear, Residual, Reverse, linearize};
pub use op::{
    Absorbed, Arity, Attributes, Blocks, CallByCall, Carries, Fault, Op, OpRef, Properties, Ranks,
    RunBlock, Takes, Told, Traffic, Types, Values, Weight, Work, bytes_of, eval_by_over, inferred,
};
pub use options::PerAxis;
pub use parametric::{Parametric, ParametricOp};
pub use program::{
    Draft, Program, Role, StateDecl, Stateless, abort_program, begin_program, end_program,
    map_blocks, program_input, resume_program, snapshot_program, suspend_program,
};
pub use registry::{Build, OpDef, Registry};
pub use replay::Sizes;
pub use reverse::{Choose, Present, Sum, nothing, unreached, vjp_perhaps};
pub use reverse::{GradOptions, cotangents, grad, grad_with, vjp, vjp_through};
pub use rewrite::{NewValues, Rewrite};
pub use sample::{Expect, Sample};
pub use scope::{Guard, Mode, at, enable_grad, imperative, is_recording, mode, no_grad};
pub use state::{Bound, State, StateGuard, assign_state, declare_state, read_state};
pub use tape::HookHandle;
pub use tasks::{Channel, World};
pub use trace::{
    Closed, FaultHook, FreedBy, Gradients, LeafHooks, Runs, Traced, abort_block, begin_block,
    building_states, close, end_block, follows_lines, free_block, freed_behind, grad_of_run,
    hold_cell, hold_states, inputs_are_said, is_reached, known_value, leaf_input, new_symbols,
    note_value, on_fault, outline, release_cell, release_states, same_value, trace_block,
    trace_block_at, tracked_input, visit_calls_from,
};
pub use update::{Place, update_in_place};
pub use value::{List, Value};
pub use var::{Var, mode_of};
pub use verify::{Faults, verify};
