//! What the models have in common: options, data, and a training that is the same code line by line and as a
//! program.
//!
//! Everything that persists is state: parameters, moments, the position in the data, the number of steps. So
//! the states, saved between two steps, are all that a run needs to go on, in either mode.

#[allow(dead_code, reason = "a model needs one kind of data")]
pub mod data;
mod watch;

use std::fmt;
use std::path::PathBuf;

use fluvial::core::state;
use fluvial::io::{self, Load};
use fluvial::prelude::*;
use fluvial::runtime::{Outcome, Trip};

use data::Data;
use watch::Watch;

/// Trains a model, as one program or line by line, by the same code and to the same bits.
#[derive(clap::Parser)]
pub struct Options {
    /// How to run.
    #[arg(long, default_value = "program", value_parser = ["imperative", "program"])]
    pub mode: String,
    /// A folder with data, or `synthetic`.
    #[arg(long, default_value = "synthetic")]
    pub data: PathBuf,
    /// How often to go through the data.
    #[arg(long, default_value_t = 1)]
    pub epochs: u64,
    /// Ends earlier, after so many steps.
    #[arg(long)]
    pub steps: Option<u64>,
    /// A folder for states, model and synthetic data.
    #[arg(long)]
    pub save: Option<PathBuf>,
    /// Saves after so many steps, and at the end.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub every: u64,
    /// Goes on from what was saved, if anything was.
    #[arg(long, requires = "save")]
    pub resume: bool,
    /// Writes the whole training as a program, to be run by `fluvial run FILE`.
    #[arg(long, value_name = "FILE", requires = "save")]
    pub export: Option<PathBuf>,
}

/// How a training ended.
#[derive(Debug, PartialEq)]
pub struct Report {
    /// The steps made, those before a resumption included.
    pub steps: u64,
    /// The loss of the last step; NaN if there was none left to make.
    pub loss: f32,
    /// The mean loss of what was held back.
    pub held_loss: f64,
    /// The part of it for which the likeliest class is the right one.
    pub right: f64,
    /// A number that tells different parameters apart.
    pub parameters: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { steps, loss, held_loss, right, parameters } = self;
        let right = 100.0 * right;
        write!(
            f,
            "{steps} steps, loss {loss:.6}; held back: loss {held_loss:.6}, {right:.1} % right; "
        )?;
        write!(f, "parameters {parameters:016x}")
    }
}

/// Trains and evaluates a network as the options say. The network and its optimizer were made in the state scope
/// of the thread, so their states are there beside the others.
pub fn train<N: Layer, O: Optimizer>(
    options: &Options,
    net: &N,
    optimizer: &O,
    data: &Data,
) -> Result<Report> {
    let state = state::current();
    let saved = options.save.as_ref().map(|folder| folder.join("states.safetensors"));
    if let Some(saved) = saved.as_ref().filter(|saved| options.resume && saved.exists()) {
        io::load_states(saved, &state, Load::default())?;
    }
    let per_epoch = data.train.reader().open()?.len(0).unwrap_or(0);
    let all = options.epochs.saturating_mul(per_epoch);
    let limit = options.steps.map_or(all, |steps| steps.min(all));
    let watch = Watch::new(saved, options.every, n_steps(&state)?, limit);
    let training = Training { net, optimizer, data, limit, watch: &watch };
    if let Some(file) = &options.export {
        training.program()?.save(file)?;
    }

    let outputs: Vec<Tensor> = if options.mode == "imperative" {
        training.whole()?.iter().map(|var| var.tensor().cloned()).collect::<Result<_>>()?
    } else {
        let run = Executor::new(&training.program()?, state.clone())?;
        let is_due = |trip: &Trip<'_>| watch.trip(trip, data.train.reader());
        let mut outcome = run.call().until(&is_due).start()?;
        loop {
            match outcome {
                Outcome::Done(outputs) => break outputs,
                Outcome::Suspended(suspension) => {
                    watch.save(&state)?;
                    if suspension.is_stop {
                        return Err(Error::new(ErrorKind::Interrupted, "stopped on request"));
                    }
                    outcome = run.call().resume(suspension).until(&is_due).start()?;
                }
            }
        }
    };
    watch.end(outputs[0].item()?);
    watch.save(&state)?;
    if let Some(folder) = &options.save {
        io::save_model(folder.join("model.safetensors"), &for_use(net, data)?, &state)?;
    }
    Ok(Report {
        steps: n_steps(&state)?,
        loss: outputs[0].item()?,
        held_loss: outputs[1].item()?,
        right: outputs[2].item()?,
        parameters: fingerprint(net)?,
    })
}

struct Training<'a, N, O> {
    net: &'a N,
    optimizer: &'a O,
    data: &'a Data,
    limit: u64,
    watch: &'a Watch,
}

impl<N: Layer, O: Optimizer> Training<'_, N, O> {
    /// All steps that are left, and an evaluation: the last loss, the loss of what was held back, and the part
    /// of it that is right.
    fn whole(&self) -> Result<Vec<Var>> {
        let limit = Var::scalar(self.limit as i64);
        let is_due = |_: &[Var]| lt(&steps()?, &limit);
        let loss = while_loop(&[&Var::scalar(f32::NAN)], is_due, |before| {
            self.data.train.each_while(1, &[&before[0]], |batch, _| {
                let loss = self.step(&batch[0], &batch[1])?;
                Ok((Some(lt(&steps()?, &limit)?), vec![loss]))
            })
        })?;
        let held = self.evaluate()?;
        Ok(vec![loss[0].clone(), held[0].clone(), held[1].clone()])
    }

    fn step(&self, x: &Var, y: &Var) -> Result<Var> {
        let loss = loss(self.net, x, y)?;
        self.optimizer.minimize(&loss)?;
        assign_state(STEPS, &(steps()? + Var::scalar(1i64)))?;
        // A program tells of its steps by the trips of its loop.
        if mode() == Mode::Imperative && self.watch.step(loss.item()?) {
            self.watch.save(&state::current())?;
        }
        Ok(loss)
    }

    /// The mean loss of what was held back, and the part of it that is right.
    fn evaluate(&self) -> Result<Vec<Var>> {
        let _no_grad = no_grad();
        let zero = Var::scalar(0.0f64);
        let sums = self.data.held.pass(&[&zero, &zero, &zero], |batch, sums| {
            let (logits, y) = rows(&self.net.forward(&batch[0])?, &batch[1])?;
            let options = CrossEntropyOptions::default().reduction(Reduction::None);
            let losses = cross_entropy(&logits, &y, None, options)?;
            let right = eq(&argmax(&logits, -1, false)?, &y)?;
            let add = |k: usize, x: &Var| add(&sums[k], &sum(&cast(x, DType::F64)?, &[], false)?);
            Ok(vec![add(0, &losses)?, add(1, &right)?, add(2, &ones_like(&losses)?)?])
        })?;
        Ok(vec![div(&sums[0], &sums[2])?, div(&sums[1], &sums[2])?])
    }

    fn program(&self) -> Result<Program> {
        let mut program = Program::build(&[], |_| self.whole())?;
        program.outputs = ["loss", "held_loss", "right"].map(Into::into).to_vec();
        Ok(program)
    }
}

/// The network alone, for any number of samples.
fn for_use<N: Layer>(net: &N, data: &Data) -> Result<Program> {
    let batch = data.held.reader().open()?.fields()[0].ty;
    let dims: Vec<Dim> =
        std::iter::once(Dim::symbol("batch")?).chain(batch.dims()[1..].iter().copied()).collect();
    Program::build(&[("x", batch.with_dims(&dims)?)], |x| Ok(vec![net.forward(&x[0])?]))
}

/// The mean cross entropy of what a network gives for `x`, and labels.
pub fn loss<N: Layer>(net: &N, x: &Var, y: &Var) -> Result<Var> {
    let (logits, y) = rows(&net.forward(x)?, y)?;
    cross_entropy(&logits, &y, None, CrossEntropyOptions::default())
}

/// One row for each label.
fn rows(logits: &Var, y: &Var) -> Result<(Var, Var)> {
    Ok((flatten(logits, 0, -2)?, flatten(y, 0, -1)?))
}

/// The state that has the number of steps made.
const STEPS: &str = "steps";

fn steps() -> Result<Var> {
    declare_state(STEPS, Type::scalar(DType::I64), Role::Counter, || Ok(Var::scalar(0i64)))
}

fn n_steps(state: &State) -> Result<u64> {
    match state.contains(STEPS) {
        true => Ok(state.tensor(STEPS)?.item::<i64>()? as u64),
        false => Ok(0),
    }
}

/// A sum over all parameters (FNV-1a).
fn fingerprint<N: Layer>(net: &N) -> Result<u64> {
    let mut sum = 0xcbf29ce484222325u64;
    for parameter in net.parameters() {
        for x in parameter.get()?.to_vec::<f32>()? {
            sum = (sum ^ u64::from(x.to_bits())).wrapping_mul(0x100000001b3);
        }
    }
    Ok(sum)
}
