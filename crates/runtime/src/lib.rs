//! Runs Fluvial programs.
//!
//! [`Executor`] compiles a program and runs it fast. [`Interpreter`] is the reference by which it is judged: it
//! runs a program call by call, block by block, with the same `bind` as imperative code.
//!
//! A [`plan`] is a block for known sizes: a straight list of steps, each an op with its inputs, its outputs and
//! their places in one arena. Blocks of loops and branches have plans of their own. An [`Observer`] is told of
//! every step: [`Profiler`], [`Watch`], [`Logger`] and [`Progress`] are such. [`check()`] finds the first op on which the
//! modes disagree. A debugger may [`attach`] itself to all runs.

pub mod attach;
mod call;
mod check;
mod checkpoint;
mod device;
mod executor;
mod feeds;
mod forecast;
mod interpreter;
mod observe;
pub mod plan;
mod recorded;
mod report;

pub use call::Call;
pub use check::check;
pub use checkpoint::{Agreed, Checkpoint, Checkpoints, Notice, OtherRanks};
pub use executor::{Executor, Outcome};
pub use forecast::{Forecast, Machine, forecast, forecast_served};
pub use interpreter::Interpreter;
pub use observe::{Live, Logger, Observer, PARTS, Profiler, Progress, Record, Step, Watch};
pub use plan::{Suspension, Trip};
pub use report::{Report, ReportBlock, ReportStep, ReportValue};
