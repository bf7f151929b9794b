//! `fluvial run`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use fluvial::compile::Options;
use fluvial::core::{Error, ErrorKind, Program, State, Tensor};
use fluvial::data::files;
use fluvial::kernels::threads;
use fluvial::runtime::{
    Checkpoints, Executor, Interpreter, Logger, Observer, Outcome as Ended, Profiler,
};
use serde_json::json;

use super::{Mode, RunArgs};
use crate::checkpoints::{CheckpointArgs, OfRank, checkpointed};
use crate::fault::{self, Outcome, usage};
use crate::feeds::{FeedArgs, Feeds};
use crate::journal::Journal;
use crate::limits::LimitArgs;
use crate::out::{Out, Printing};
use crate::program::{ProgramArgs, is_standard};
use crate::progress::Progress;
use crate::ranks::{Programs, Ranks, SERVERS, Saved, Spread, SpreadArgs};
use crate::table::{bytes, row, table};
use crate::{names, observers, settings, signals, tensors};

/// Run a program.
///
/// Inputs come from files or from `--set`; outputs are shown, and written with `-o`. States have
/// their initial values, unless `--load` or `--set` gives others, and are saved with `--save`.
/// Ctrl-C stops the run between iterations of its loops.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Run {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    feeds: FeedArgs,
    /// An output, or a state as it is after the run. May be repeated; all outputs by default.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    fetch: Vec<String>,
    /// Write what is fetched to a file: `.npz`, `.safetensors`, or `.npy` for one tensor; `-` writes `.safetensors` to
    /// standard output, and nothing else.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How to run it.
    #[arg(long, value_enum, default_value = "compiled")]
    mode: Mode,
    /// Allow passes that may change the last bits of results.
    #[arg(long)]
    fast: bool,
    /// Spread the training over the ranks that `mpirun`, `srun` or `fluvial launch` has started: `dp`, data parallel;
    /// `zero1`, each rank has a part of what the optimizer remembers; `zero3`, and a part of the parameters; `ps`, the last
    /// ranks are parameter servers. Rank 0 shows and writes.
    #[arg(long, value_name = "HOW")]
    dist: Option<String>,
    /// Run one task at a time, in an order that follows from the seed, 0 by default: so the run can be repeated exactly.
    #[arg(long, value_name = "SEED", num_args = 0..=1, default_missing_value = "0")]
    deterministic: Option<u64>,
    #[command(flatten)]
    spread: SpreadArgs,
    /// Number of epochs: how often loops over readers go through their data.
    #[arg(long, value_name = "N")]
    epochs: Option<u32>,
    /// Set a state before the run, or an input: by its name or the end of it. May be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Load states from a file of tensors.
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Save all states after the run.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Write the numbers that loops carry, outputs and events to a folder, for `fluvial view` and TensorBoard.
    #[arg(long, value_name = "DIR")]
    log: Option<PathBuf>,
    /// Write what the compiler does and what each step computes to a file; `-` is standard error.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Measure each step, show where the time goes, and write a trace for chrome://tracing.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    #[command(flatten)]
    common: RunArgs,
}

const EXAMPLES: &str = "Examples:
  fluvial run train.flb --epochs 3 --set lr=0.01 --save model.safetensors
  fluvial run model.fl --load model.safetensors --feed x=x.npy --fetch y -o y.npz
  fluvial run model.fl --feed feeds.npz --profile trace.json
  fluvial run saved_model/ --feed x=x.npy
  fluvial run theirs.flb --limit-memory 2G --limit-time 1h --max-steps 100000
  fluvial run train.py --epochs 3 -- --hidden 64
  fluvial run train.py --log runs/first
  fluvial run train.py --checkpoint runs/a --every 5m --resume
  mpirun -n 2 fluvial run train.flb --dist dp --save model.safetensors";

impl Run {
    /// The file of the program.
    pub fn program(&self) -> &Path {
        &self.program.program
    }

    /// The arguments of a script.
    pub fn script_args(&self) -> &[String] {
        &self.program.args
    }

    /// Whether the program is a script of Python.
    pub fn is_script(&self) -> bool {
        self.program().extension().is_some_and(|ending| ending == "py")
    }

    pub fn run(&self, out: &Out) -> Outcome<u8> {
        signals::watch()?;
        // Who asks for a debugger gets one: by the variable, or later by a signal.
        #[cfg(unix)]
        fluvial_debug::allow()?;
        fluvial_debug::listen_as_asked()?;
        if self.mode == Mode::Interpreted {
            self.check_interpreted()?;
        }
        let alone = || self.alone(out, &self.checkpoints, None);
        let Some(strategy) = &self.dist else {
            self.spread.check_unused()?;
            return fluvial::core::tasks::with_schedule(self.deterministic, alone);
        };
        let ranks = Ranks::join()?;
        let own = if ranks.is_first() { out.clone() } else { out.muted() };
        let status = match self.as_rank(&ranks, strategy, &own) {
            // The run goes on later: where it has stopped, all ranks have written their checkpoints.
            Err(fault) if fault.is_stop() && ranks.have_stopped() => {
                own.note(
                    &format!("{fault}; go on with --resume"),
                    || json!({"event": "stopped", "message": fault.to_string()}),
                );
                0
            }
            ended => ended.map_err(|fault| ranks.fault(fault))?,
        };
        ranks.finish()?;
        Ok(status)
    }

    /// The run as one of several ranks.
    fn as_rank(&self, ranks: &Ranks, strategy: &str, out: &Out) -> Outcome<u8> {
        let (rank, world) = ranks.numbers();
        let mut checkpoints = self.checkpoints.of_rank(rank, world)?;
        let args = &self.spread;
        let mut joined = Joined { ranks, strategy, args, folder: None, saved: None };
        if let Some(folder) = &self.checkpoints.folder {
            joined.folder = Some(folder);
            if self.checkpoints.resume {
                joined.saved = ranks.saved_by_others(folder)?;
            }
            let mut of_rank = OfRank { generation: Some(ranks.begin(folder)?), agree: None };
            if strategy != SERVERS {
                signals::only_note();
                of_rank.agree = Some(Arc::new(ranks.agree()));
            } else if let Some(saved) = joined.saved {
                let what =
                    format!("{} ranks have saved the run, but there are {world}", saved.world);
                return Err(usage(what, "with parameter servers, go on with as many ranks"));
            }
            checkpoints.of_rank = Some(of_rank);
        }
        let kept = checkpoints.checkpoints(Vec::new(), out, None);
        if let Some(kept) = kept.filter(|_| self.checkpoints.resume && joined.saved.is_none()) {
            ranks.settle(&kept)?;
        }
        self.alone(out, &checkpoints, Some(&joined))
    }

    /// The run of this process, perhaps as one of several ranks.
    fn alone(&self, out: &Out, kept: &CheckpointArgs, joined: Option<&Joined<'_>>) -> Outcome<u8> {
        let writes = joined.is_none_or(|joined| joined.ranks.is_first());
        kept.check(out)?;
        let state = State::new();
        let mut program = self.program.load_placed(&state)?;
        let mut given: Vec<String> = state.cells().keys().map(|name| name.to_string()).collect();
        if let Some(epochs) = self.epochs {
            program = settings::with_epochs(&program, epochs)?;
        }
        let original = program.clone();
        let spread = joined.map(|joined| joined.spread(&program)).transpose()?;
        let rank = joined.map_or(0, |joined| joined.ranks.numbers().0);
        let is_server = spread.as_ref().is_some_and(|spread| spread.is_server(rank));
        // Whoever gives and gets states knows whole ones.
        let mut whole = program.clone();
        if let Some(spread) = &spread {
            (program, whole) = (spread.program(rank).clone(), spread.whole());
        }
        let fetched = match is_server {
            true => Fetched { names: Vec::new(), is_output: Vec::new() },
            false => Fetched::new(&program, &self.fetch)?,
        };
        if let Some(path) = &self.output {
            check_output(path, fetched.names.len())?;
        }
        if let Some(path) = &self.save {
            check_output(path, whole.states.len())?;
        }
        // What is written at the end is lost if it cannot be.
        let written = [&self.output, &self.save, &self.profile].into_iter().flatten();
        for path in written.filter(|path| !is_standard(path)) {
            files::check_place(path).map_err(|error| {
                error.note("nothing was run").remedy("give a place that can be written to")
            })?;
        }
        let mut feeds = Feeds::read(&whole, &self.feeds)?;
        if let Some(path) = &self.load {
            given.extend(settings::load(&whole, path, &state, out)?);
        }
        given.extend(settings::set(&whole, &self.set, &state, &mut feeds)?);
        if let Some(spread) = &spread {
            spread.cut(&state)?;
        }
        let inputs = if is_server { Vec::new() } else { feeds.in_order(&program)? };
        self.common.settle()?;
        signals::check()?;
        let adopted = kept.checkpoints(Vec::new(), out, None);
        if let (Some(joined), Some(kept)) = (joined, &adopted) {
            joined.adopt(&original, &program, &fetched, kept, self.fast, out)?;
        }

        let journal = if writes { self.journal(kept, out)? } else { None };
        let began = Instant::now();
        // Standard output is for what is fetched alone, if that goes there.
        let is_beside = self.output.as_deref().is_some_and(is_standard);
        let _printer = Printing::to(out, is_beside);
        let outputs = match self.mode {
            Mode::Compiled => {
                let journal = journal.as_ref();
                let checkpoints = kept.checkpoints(given, out, journal);
                let kept = (checkpoints.as_ref(), journal);
                let ended = self.compiled(&program, &fetched, &state, &inputs, kept, out);
                if let (Err(fault), Some(journal)) = (&ended, journal) {
                    journal.event("end", &fault.to_string());
                }
                ended?
            }
            Mode::Interpreted => {
                let limits = self.limits.limits();
                let _limited = limits.is_any().then(|| limits.enter());
                let interpreter = Interpreter::new(program.clone(), state.clone())?;
                let all = interpreter.run(&inputs).map_err(|error| match error.kind() {
                    ErrorKind::Interrupted => stopped("start again"),
                    _ => error,
                })?;
                fetched.among(&program, &all)?
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        if let Some(spread) = &spread {
            let is_asked =
                |name: &str| self.save.is_some() || self.fetch.iter().any(|it| it == name);
            spread.put_together(&state, is_asked)?;
        }
        let tensors = fetched.tensors(&outputs, &state)?;
        if let Some(journal) = &journal {
            let is_number = |(_, x): &(&String, &Tensor)| x.numel() == 1 && x.dtype().is_float();
            let numbers = fetched.names.iter().zip(&tensors).filter(is_number);
            let numbers: Vec<(&str, f64)> =
                numbers.map(|(name, x)| (name.as_str(), x.to_f64s()[0])).collect();
            journal.numbers(0, &numbers);
            let peak = bytes(fluvial::tensor::memory::stats().peak_bytes as u64);
            journal
                .event("end", &format!("the run is over after {seconds:.1} s; most memory {peak}"));
        }
        // What one file cannot take is not lost for the other, nor for whoever looks.
        let written = match &self.output {
            Some(path) if writes => {
                let named: Vec<(&str, &Tensor)> =
                    fetched.names.iter().map(String::as_str).zip(&tensors).collect();
                match is_standard(path) {
                    true => tensors::to_standard_output(&named),
                    false => tensors::write(path, &named),
                }
            }
            _ => Ok(()),
        };
        let saved = match &self.save {
            Some(path) if writes => settings::save(&whole, path, &state),
            _ => Ok(()),
        };
        if !self.output.as_deref().is_some_and(is_standard) {
            show(&fetched.names, &tensors, out);
        }
        saved?;
        written?;
        if out.is_json() {
            let peak = fluvial::tensor::memory::stats().peak_bytes;
            out.note("", || json!({"event": "done", "seconds": seconds, "peak_bytes": peak}));
        }
        Ok(0)
    }

    /// The journal of the run, if one is wanted.
    fn journal(&self, kept: &CheckpointArgs, out: &Out) -> Outcome<Option<Journal>> {
        let Some(folder) = &self.log else { return Ok(None) };
        let settings = json!({
            "program": self.program().display().to_string(),
            "arguments": self.script_args(),
            "set": self.set,
            "feed": self.feeds.feeds,
            "load": self.load,
            "epochs": self.epochs,
            "fast": self.fast,
            "threads": threads::count(),
        });
        let n_before = match (kept.resume, &kept.folder) {
            (true, Some(folder)) => {
                Checkpoints::new(folder).latest()?.0.map(|checkpoint| checkpoint.step)
            }
            _ => None,
        };
        Journal::new(folder, &settings, n_before, out).map(Some)
    }

    /// Refuses what needs the executor.
    fn check_interpreted(&self) -> Outcome<()> {
        let needs = [
            ("--log", self.log.is_some()),
            ("--trace", self.trace.is_some()),
            ("--profile", self.profile.is_some()),
            ("--checkpoint", self.checkpoints.is_wanted()),
        ];
        match needs.iter().find(|(_, given)| *given) {
            Some((option, _)) => {
                let what = format!("`{option}` works on compiled programs only");
                Err(usage(what, "leave `--mode interpreted` out"))
            }
            None => Ok(()),
        }
    }

    fn compiled(
        &self,
        program: &Program,
        fetched: &Fetched,
        state: &State,
        inputs: &[(&str, Tensor)],
        (checkpoints, journal): (Option<&Checkpoints>, Option<&Journal>),
        out: &Out,
    ) -> Outcome<Vec<Tensor>> {
        let options = Options { fast: self.fast, ..Options::default() };
        let executor = Executor::with(program, &fetched.outputs(), state.clone(), &options)?;
        let is_first = fluvial::dist::current().rank() == 0;
        let (profile, trace) =
            (self.profile.as_ref().filter(|_| is_first), self.trace.as_ref().filter(|_| is_first));
        let file = profile.map(|path| create(path)).transpose()?;
        let profiler = file.map(|file| (Profiler::new(), file));
        let logger = trace.map(|path| logger(path, &executor)).transpose()?;
        let observers: Vec<&dyn Observer> = [
            profiler.as_ref().map(|(profiler, _)| profiler as &dyn Observer),
            logger.as_ref().map(|logger| logger as &dyn Observer),
        ]
        .into_iter()
        .flatten()
        .collect();
        let observers = observers::Several(observers);
        let observer: Option<&dyn Observer> = match observers.0.as_slice() {
            [] => None,
            [one] => Some(*one),
            _ => Some(&observers),
        };
        let progress = Progress::new(out, program, &executor.compiled().program)
            .resumed(self.checkpoints.resume)
            .journal(journal);
        let (kept, limits) = ((checkpoints, self.checkpoints.resume), self.limits.limits());
        let ended = checkpointed(&executor, inputs, observer, kept, limits, &|trip| {
            progress.trip(trip);
        });
        progress.finish();
        if let Some(logger) = logger {
            let named = |error| fault::file(self.trace.as_deref().unwrap_or(Path::new("-")), error);
            logger.into_inner().flush().map_err(named)?;
        }
        if let (Some((profiler, file)), Some(path)) = (&profiler, &self.profile) {
            let named = |error| fault::file(path, error);
            profiler.write_trace(BufWriter::new(file)).map_err(named)?;
            out.note(&profiler.to_string(), || {
                let rows = profiler.by_op().into_iter().map(
                    |(op, time, n)| json!({"op": op, "seconds": time.as_secs_f64(), "steps": n}),
                );
                json!({"event": "profile", "ops": rows.collect::<Vec<_>>()})
            });
        }
        match ended? {
            Ended::Done(outputs) => Ok(outputs),
            Ended::Suspended(suspension) => match suspension.reason() {
                Some(reason) if reason.kind() != ErrorKind::Interrupted => {
                    Err(reason.clone().into())
                }
                _ => Err(stopped("start again; --checkpoint DIR would have kept the work").into()),
            },
        }
    }
}

/// The ranks that this process is one of, and how the program is spread over them.
struct Joined<'a> {
    ranks: &'a Ranks,
    strategy: &'a str,
    /// What is said of how.
    args: &'a SpreadArgs,
    /// Where all ranks save the run.
    folder: Option<&'a Path>,
    /// What another number of ranks has saved there, if the run goes on from it.
    saved: Option<Saved>,
}

impl Joined<'_> {
    /// The programs of the ranks.
    fn spread(&self, program: &Program) -> Outcome<Spread> {
        self.ranks.spread(program, self.strategy, self.args)
    }

    /// Goes on with the checkpoints of another number of ranks, if there are any.
    fn adopt(
        &self,
        original: &Program,
        program: &Program,
        fetched: &Fetched,
        kept: &Checkpoints,
        fast: bool,
        out: &Out,
    ) -> Outcome<()> {
        let (Some(saved), Some(folder)) = (self.saved, self.folder) else { return Ok(()) };
        let options = Options { fast, ..Options::default() };
        let compiled = |program: &Program| -> Outcome<Program> {
            let executor = Executor::with(program, &fetched.outputs(), State::new(), &options)?;
            Ok(executor.compiled().program.clone())
        };
        let of_ranks = |n: usize| {
            compiled(Spread::of(original, self.strategy, Some(n), self.args)?.program(0))
        };
        let programs =
            Programs { then: of_ranks(saved.world)?, alone: of_ranks(1)?, now: compiled(program)? };
        let again = self.ranks.adopt(folder, saved, &programs, kept)?;
        let (_, world) = self.ranks.numbers();
        let mut text = format!(
            "the run of {} ranks goes on with {world}, after step {}",
            saved.world, saved.step
        );
        if again > 0 {
            text += &format!("; {again} batches of the pass come once more");
        }
        out.note(
            &text,
            || json!({"event": "ranks", "before": saved.world, "now": world, "again": again}),
        );
        Ok(())
    }
}

/// The error of a run that was stopped from outside.
fn stopped(remedy: &str) -> Error {
    Error::new(ErrorKind::Interrupted, "the run was stopped before its end").remedy(remedy)
}

/// What is wanted of a run: outputs and states, in order.
struct Fetched {
    names: Vec<String>,
    /// By name: whether it is an output.
    is_output: Vec<bool>,
}

impl Fetched {
    fn new(program: &Program, named: &[String]) -> Outcome<Fetched> {
        let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
        if named.is_empty() {
            let names = outputs.iter().map(|name| name.to_string()).collect();
            return Ok(Fetched { names, is_output: vec![true; outputs.len()] });
        }
        let mut fetched = Fetched { names: Vec::new(), is_output: Vec::new() };
        let states: Vec<&str> = program.states.keys().map(|name| &**name).collect();
        for typed in named {
            let state = typed.strip_prefix('@').unwrap_or(typed);
            let is_output = outputs.contains(&typed.as_str());
            if !is_output && !states.contains(&state) {
                let known = outputs.iter().chain(&states).copied();
                let what = format!("the program has no output and no state `{typed}`");
                let remedy = format!("what there is: {}", names::listed(typed, known));
                return Err(usage(what, remedy));
            }
            let name = if is_output { typed } else { state };
            if !fetched.names.iter().any(|known| known == name) {
                fetched.names.push(name.to_string());
                fetched.is_output.push(is_output);
            }
        }
        Ok(fetched)
    }

    /// The names of the outputs among what is wanted.
    fn outputs(&self) -> Vec<&str> {
        let named = self.names.iter().zip(&self.is_output);
        named.filter(|(_, is)| **is).map(|(name, _)| name.as_str()).collect()
    }

    /// The wanted ones among all outputs.
    fn among(&self, program: &Program, all: &[Tensor]) -> Outcome<Vec<Tensor>> {
        self.outputs().iter().map(|name| Ok(all[program.output(name)?].clone())).collect()
    }

    /// What is wanted, from the outputs among it and the states after the run.
    fn tensors(&self, outputs: &[Tensor], state: &State) -> Outcome<Vec<Tensor>> {
        let mut outputs = outputs.iter();
        let mut all = Vec::new();
        for (name, is_output) in self.names.iter().zip(&self.is_output) {
            match is_output {
                true => all.extend(outputs.next().cloned()),
                false => all.push(state.tensor(name)?),
            }
        }
        Ok(all)
    }
}

/// Refuses a file that cannot take what is fetched, before the program runs.
fn check_output(path: &Path, n_fetched: usize) -> Outcome<()> {
    let shown = path.display();
    if is_standard(path) {
        return Ok(());
    }
    if !tensors::is_named(path) {
        let what = format!("`{shown}` does not name a file of tensors");
        return Err(usage(what, "end it in `.npz`, `.safetensors` or `.npy`"));
    }
    if path.extension().is_some_and(|ending| ending == "npy") && n_fetched != 1 {
        let what = format!("`{shown}` takes one tensor, but there are {n_fetched}");
        return Err(usage(what, "fetch one, or write a `.npz` file"));
    }
    Ok(())
}

/// Shows what was fetched.
fn show(names: &[String], tensors: &[Tensor], out: &Out) {
    if out.is_json() {
        for (name, tensor) in names.iter().zip(tensors) {
            let event = || tensors::event(tensor, json!({"event": "output", "name": name}));
            out.result("", event);
        }
        return;
    }
    if out.is_quiet() || names.is_empty() {
        return;
    }
    let mut rows = vec![row(["output", "type", "value"])];
    for (name, tensor) in names.iter().zip(tensors) {
        rows.push(row([name, &tensor.ty().to_string(), &tensors::short(tensor)]));
    }
    out.result(&table(&rows, &[]), || json!(null));
}

fn create(path: &Path) -> Outcome<File> {
    Ok(File::create(path).map_err(|error| fault::file(path, error))?)
}

/// A logger to a file or standard error, which begins with what the compiler did.
fn logger(path: &Path, executor: &Executor) -> Outcome<Logger<Box<dyn Write + Send>>> {
    let mut to: Box<dyn Write + Send> = match path == Path::new("-") {
        true => Box::new(std::io::stderr()),
        false => Box::new(BufWriter::new(create(path)?)),
    };
    for patch in &executor.compiled().patches {
        writeln!(to, "{}: {}: {}", patch.loc, patch.pass, patch.what)
            .map_err(|error| fault::file(path, error))?;
    }
    Ok(Logger::new(to))
}
