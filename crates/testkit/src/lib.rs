//! What the tests of Fluvial are made with.
//!
//! - [`check`]: comparisons that say what they compared, and with what outcome.
//! - [`modes`]: one function run imperatively and as a program, with its gradients to order two.
//! - [`gradcheck`](mod@gradcheck): gradients against finite differences.
//! - [`battery`]: every check of an op that follows from its samples.
//! - [`device`]: a device on host memory.
//! - [`golden`]: functions against files that PyTorch, NumPy and SciPy computed.
//! - [`random`]: random programs, and random calls of ops.
//! - [`filetest`]: programs in text form that say in comments what comes of them.

pub mod battery;
pub mod check;
pub mod device;
pub mod filetest;
pub mod golden;
pub mod gradcheck;
pub mod modes;
pub mod random;

pub use battery::{check_def, check_op};
pub use golden::Golden;
pub use gradcheck::{gradcheck, gradgradcheck};
pub use modes::{Agreement, Modes, both_modes};
