//! `fluvial check`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use fluvial::compile::Options;
use fluvial::core::{Error, ErrorKind, Program, State, Tensor, verify};
use fluvial::kernels::threads;
use fluvial::ops::set_printer;
use fluvial::runtime::{self, Executor};
use serde_json::json;

use super::RunArgs;
use crate::compare::{Tolerance, compare};
use crate::fault::{Fault, Outcome};
use crate::feeds::{FeedArgs, Feeds, SizeArgs};
use crate::limits::LimitArgs;
use crate::out::Out;
use crate::program::ProgramArgs;
use crate::table::count;
use crate::{program, settings, signals};

/// Check a program: verify it, and run it in all modes, which must give the same bits.
///
/// It is run several times, on inputs from files or on made-up ones, so files that it writes are written. What it
/// prints is not shown. If the modes disagree, the first op on which they do is named, or the pass at fault. Made-up
/// numbers can keep a loop going for ever: without limits of its own, a check ends after half a minute or 20,000 trips of
/// loops, with an error.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    feeds: FeedArgs,
    #[command(flatten)]
    sizes: SizeArgs,
    /// Set a state before the runs, or an input: by its name or the end of it. May be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Load states from a file of tensors.
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Verify only; run nothing.
    #[arg(long)]
    no_run: bool,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    common: RunArgs,
}

const EXAMPLES: &str = "Examples:
  fluvial check model.fl
  fluvial check model.flb --size batch=3 --seed 7
  fluvial check model.flb --feed feeds.npz --load model.safetensors";

impl Check {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let state = State::new();
        let program = self.program.load(&state)?;
        verify(&program)?;
        self.passed(out, "verify", &count(program.states.len(), "state"));
        forms(&program).map_err(|fault| fault.note("in the check of the forms"))?;
        self.passed(out, "forms", "text and binary");
        if self.no_run {
            return Ok(0);
        }
        signals::watch()?;
        let mut feeds = Feeds::read(&program, &self.feeds)?;
        if let Some(path) = &self.load {
            settings::load(&program, path, &state, out)?;
        }
        settings::set(&program, &self.set, &state, &mut feeds)?;
        let inputs = feeds.made_up(&program, &self.sizes)?;
        self.common.settle()?;
        set_printer(Some(Arc::new(|_: &str| {})));
        let limited = self.limits.on_made_up(feeds.lacks_any(&program)).enter();
        let done = self.modes(&program, &state, &inputs, out);
        drop(limited);
        set_printer(None);
        done.map_err(Fault::on_made_up)?;
        Ok(0)
    }

    fn modes(
        &self,
        program: &Program,
        state: &State,
        inputs: &[(&str, Tensor)],
        out: &Out,
    ) -> Outcome<()> {
        let given: Vec<String> =
            inputs.iter().map(|(name, x)| format!("{name} {}", x.ty())).collect();
        let given = format!("inputs: {}", given.join(", "));
        let tensors: Vec<Tensor> = inputs.iter().map(|(_, x)| x.clone()).collect();
        let expected = {
            let own = state.fork()?;
            let _scope = own.enter();
            runtime::check(|vars| program.apply(&vars.iter().collect::<Vec<_>>()), &tensors)
                .map_err(|error| error.note("in the check of the modes").note(&given))?
        };
        let what = "line by line, op by op and compiled agree by bits";
        self.passed(out, "modes", &format!("{what}; {given}"));

        let n_threads = threads::count();
        threads::set_count(if n_threads == 1 { 2 } else { 1 });
        let others = compiled(program, state, inputs, false);
        threads::set_count(n_threads);
        same(program, &expected, &others?).map_err(|fault| fault.note("with other threads"))?;
        self.passed(out, "threads", "the bits do not depend on their number");

        let fast = compiled(program, state, inputs, true)?;
        let differs = |(a, b): (&Tensor, &Tensor)| compare(a, b, Tolerance::EXACT).largest_relative;
        let largest = expected.iter().zip(&fast).map(differs).fold(0.0, f64::max);
        let what =
            format!("passes that are not exact change outputs by at most {largest:.1e}, relative");
        self.passed(out, "passes", &what);
        Ok(())
    }

    fn passed(&self, out: &Out, check: &str, what: &str) {
        if out.is_quiet() {
            return;
        }
        let event = || json!({"event": "check", "check": check, "ok": true, "about": what});
        out.result(&format!("{check:8} fine: {what}"), event);
    }
}

/// Both forms of files give the program back.
fn forms(program: &Program) -> Outcome<()> {
    let registry = program::registry();
    let by_text = Program::parse(&program.to_string(), registry)?;
    let by_bytes = Program::from_bytes(&program.to_bytes(), registry)?;
    match by_text == *program && by_bytes == *program {
        true => Ok(()),
        false => {
            Err(Error::internal("a program that is written and read again is another one").into())
        }
    }
}

fn compiled(
    program: &Program,
    state: &State,
    inputs: &[(&str, Tensor)],
    fast: bool,
) -> Outcome<Vec<Tensor>> {
    let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
    let options = Options { fast, ..Options::default() };
    Ok(Executor::with(program, &outputs, state.fork()?, &options)?.run(inputs)?)
}

fn same(program: &Program, expected: &[Tensor], found: &[Tensor]) -> Result<(), Fault> {
    let mut pairs = expected.iter().zip(found);
    match pairs.position(|(a, b)| !a.bitwise_eq(b)) {
        Some(i) => {
            let what = format!("the output `{}` differs", program.outputs[i]);
            Err(Error::new(ErrorKind::Check, what).into())
        }
        None => Ok(()),
    }
}
