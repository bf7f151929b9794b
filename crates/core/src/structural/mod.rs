//! The structural ops: the few that operators, the reverse walk and programs themselves need. All
//! other ops live outside this crate.

mod accumulate;
mod arithmetic;
mod cast;
mod constant;
mod expand;
mod fill;
mod parts;
mod state;
mod stop_gradient;
mod sum_to;
mod zeros_like;

pub use accumulate::accumulate;
pub use arithmetic::{ADD, DIV, MUL, NEG, SUB, add, div, mul, neg, sub};
pub use cast::{Cast, cast};
pub use constant::{Constant, constant};
pub use expand::{Expand, expand};
pub use fill::{Fill, fill};
pub use parts::{CONJ, IMAG, REAL, conj, imag, real};
pub use state::{Assign, Note, Read};
pub use stop_gradient::{StopGradient, stop_gradient};
pub use sum_to::{SumTo, sum_to};
pub use zeros_like::zeros_like;

use crate::registry::OpDef;

/// The structural ops.
pub const OPS: &[OpDef] = &[
    arithmetic::ADD_DEF,
    arithmetic::SUB_DEF,
    arithmetic::MUL_DEF,
    arithmetic::DIV_DEF,
    arithmetic::NEG_DEF,
    accumulate::DEF,
    cast::DEF,
    constant::DEF,
    expand::DEF,
    fill::DEF,
    parts::CONJ_DEF,
    parts::REAL_DEF,
    parts::IMAG_DEF,
    state::READ_DEF,
    state::ASSIGN_DEF,
    state::NOTE_DEF,
    stop_gradient::DEF,
    sum_to::DEF,
    zeros_like::DEF,
];
