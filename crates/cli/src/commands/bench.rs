//! `fluvial bench`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use fluvial::compile::Options;
use fluvial::core::{Program, Result, State, Tensor};
use fluvial::ops::set_printer;
use fluvial::runtime::{Executor, Interpreter};
use serde_json::json;

use super::{Mode, RunArgs, wanted};
use crate::fault::{Fault, Outcome, usage};
use crate::feeds::{FeedArgs, Feeds, SizeArgs};
use crate::limits::LimitArgs;
use crate::out::Out;
use crate::program::ProgramArgs;
use crate::table::{row, seconds, table};
use crate::{settings, signals};

/// Measure how long a run takes, on inputs from files or on made-up ones.
///
/// The states go on from run to run. What the program prints is not shown. Made-up numbers can keep a loop going for
/// ever: a run that, without limits of its own, takes half a minute or 20,000 trips of loops ends with an error.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    feeds: FeedArgs,
    #[command(flatten)]
    sizes: SizeArgs,
    /// Measure these outputs only. May be repeated.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    fetch: Vec<String>,
    /// Set a state before the runs, or an input: by its name or the end of it. May be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Load states from a file of tensors.
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// How to run it. May be given twice, to compare.
    #[arg(long, value_enum, default_value = "compiled")]
    mode: Vec<Mode>,
    /// Allow passes that may change the last bits of results.
    #[arg(long)]
    fast: bool,
    /// How many runs; as many as fit in `--seconds` by default, at least 3.
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
    /// How long to measure.
    #[arg(long, value_name = "X", default_value_t = 2.0)]
    seconds: f64,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    common: RunArgs,
}

const EXAMPLES: &str = "Examples:
  fluvial bench model.fl --size batch=64
  fluvial bench model.fl --mode compiled --mode interpreted --runs 100
  fluvial bench model.fl --feed x=x.npy --threads 1 --json";

/// Few runs say little.
const LEAST_RUNS: usize = 3;

impl Bench {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let wrong_time = !self.seconds.is_finite() || self.seconds < 0.0 || self.seconds > 1e6;
        if wrong_time || self.runs == Some(0) {
            return Err(usage("nothing would be measured", "ask for at least one run"));
        }
        signals::watch()?;
        let state = State::new();
        let program = self.program.load(&state)?;
        let outputs = wanted(&program, &self.fetch)?;
        if let Some(path) = &self.load {
            settings::load(&program, path, &state, out)?;
        }
        let mut feeds = Feeds::read(&program, &self.feeds)?;
        settings::set(&program, &self.set, &state, &mut feeds)?;
        let (inputs, is_made_up) =
            (feeds.made_up(&program, &self.sizes)?, feeds.lacks_any(&program));
        self.common.settle()?;
        set_printer(Some(std::sync::Arc::new(|_: &str| {})));
        let mut rows = vec![row(["mode", "median", "minimum", "mean", "runs", "runs/s"])];
        for &mode in &self.mode {
            let times = self.times(&program, &outputs, &state.fork()?, (&inputs, is_made_up), mode);
            let times = times.inspect_err(|_| set_printer(None))?;
            let (median, least) = (times[times.len() / 2], times[0]);
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let name = if mode == Mode::Compiled { "compiled" } else { "interpreted" };
            let n = times.len();
            rows.push(row([
                name,
                &seconds(median),
                &seconds(least),
                &seconds(mean),
                &n.to_string(),
                &format!("{:.1}", 1.0 / median.max(1e-12)),
            ]));
            if out.is_json() {
                out.result("", || {
                    json!({"event": "bench", "mode": name, "runs": n, "median": median,
                           "minimum": least, "mean": mean})
                });
            }
        }
        set_printer(None);
        if !out.is_json() {
            let given: Vec<String> =
                inputs.iter().map(|(name, x)| format!("{name} {}", x.ty())).collect();
            if !given.is_empty() {
                out.note(&format!("inputs: {}", given.join(", ")), || json!(null));
            }
            out.result(&table(&rows, &[1, 2, 3, 4, 5]), || json!(null));
        }
        Ok(0)
    }

    /// The seconds of each run, the least first.
    fn times(
        &self,
        program: &Program,
        outputs: &[&str],
        state: &State,
        (inputs, is_made_up): (&[(&str, Tensor)], bool),
        mode: Mode,
    ) -> Outcome<Vec<f64>> {
        let run: Box<dyn Fn() -> Result<Vec<Tensor>>> = match mode {
            Mode::Compiled => {
                let options = Options { fast: self.fast, ..Options::default() };
                let executor = Executor::with(program, outputs, state.clone(), &options)?;
                Box::new(move || executor.run(inputs))
            }
            Mode::Interpreted => {
                let interpreter = Interpreter::new(program.clone(), state.clone())?;
                Box::new(move || interpreter.run(inputs))
            }
        };
        let limits = self.limits.on_made_up(is_made_up);
        let run = || {
            let _limited = limits.enter();
            run().map_err(|error| Fault::from(error).on_made_up())
        };
        // The first run makes plans and starts threads.
        run()?;
        let end = Instant::now() + Duration::from_secs_f64(self.seconds);
        let mut times = Vec::new();
        let goes_on = |n: usize| match self.runs {
            Some(runs) => n < runs,
            None => n < LEAST_RUNS || Instant::now() < end,
        };
        while goes_on(times.len()) {
            signals::check()?;
            let began = Instant::now();
            let outputs = run()?;
            times.push(began.elapsed().as_secs_f64());
            drop(outputs);
        }
        times.sort_by(f64::total_cmp);
        Ok(times)
    }
}
