//! `fluvial plan --dist`: what a training needs on ranks that are not here.

use std::collections::BTreeMap;

use clap::Args;
use fluvial::core::{Program, Role, State, Tensor, Type, bytes_of};
use fluvial::runtime::{Executor, Forecast, Machine, forecast, forecast_served};
use serde_json::json;

use crate::fault::{FAILED, Outcome, usage};
use crate::out::Out;
use crate::quantity;
use crate::ranks::{Spread, SpreadArgs};
use crate::table::{bytes, row, seconds, table};

/// The ranks, and the machines on which they are to run.
#[derive(Args)]
pub struct RanksArgs {
    /// Predict a training that is spread over ranks: `dp`, `zero1`, `zero3` or `ps`, as for `fluvial run`.
    #[arg(
        long,
        value_name = "HOW",
        requires = "world",
        requires = "link",
        requires = "device_flops"
    )]
    pub dist: Option<String>,
    /// How many ranks there are.
    #[arg(long, value_name = "N", requires = "dist", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    world: Option<u32>,
    #[command(flatten)]
    pub spread: SpreadArgs,
    /// What the link of a rank carries in a second, in each direction: `100Gbit`, `12.5GB`.
    #[arg(long, value_name = "RATE", requires = "dist", value_parser = quantity::link)]
    link: Option<f64>,
    /// How long a message takes, however short it is; 10us by default.
    #[arg(long, value_name = "TIME", requires = "dist", value_parser = quantity::short_time)]
    latency: Option<f64>,
    /// Multiplications and additions of a rank's device in a second: `50G`, `100T`.
    #[arg(long, value_name = "RATE", requires = "dist", value_parser = quantity::flops)]
    device_flops: Option<f64>,
    /// What its memory reads and writes in a second: `50GB`, `2TB`; by default a byte for each 20 of `--device-flops`.
    #[arg(long, value_name = "RATE", requires = "dist", value_parser = quantity::bandwidth)]
    device_bandwidth: Option<f64>,
    /// How much memory it has: `16G`. If a rank needs more, the exit code is 1.
    #[arg(long, value_name = "BYTES", requires = "dist", value_parser = crate::limits::bytes)]
    device_memory: Option<u64>,
    /// How long a step of one process takes on such a device, if it was measured: the device's figures then say only how the
    /// time is divided.
    #[arg(long, value_name = "TIME", requires = "dist", value_parser = quantity::short_time)]
    step_time: Option<f64>,
}

/// Of a message, in seconds, if nobody says it.
const LATENCY: f64 = 10e-6;

/// Sizes of buckets that are tried, in megabytes.
const BUCKETS: [u32; 8] = [1, 2, 5, 10, 25, 50, 100, 250];

/// A bucket is as good as the best if steps are at most so much longer.
const AS_GOOD: f64 = 1.01;

/// What a rank keeps and what it needs besides.
struct Memory {
    /// By role.
    states: BTreeMap<&'static str, u64>,
    /// While it runs, beside states.
    run: u64,
    exchanges: u64,
    is_open: bool,
}

impl Memory {
    fn all(&self) -> u64 {
        self.states.values().sum::<u64>() + self.run + self.exchanges
    }
}

/// A way to spread the program, and what was predicted of it.
struct Predicted {
    /// Of trainers, and of servers if there are any.
    sides: Vec<(&'static str, Memory, Forecast)>,
}

impl Predicted {
    fn seconds(&self) -> f64 {
        self.sides[0].2.seconds
    }
}

/// A program, what is wanted of it and what it is given.
pub struct Planned<'a> {
    pub program: &'a Program,
    pub outputs: &'a [&'a str],
    pub inputs: &'a [(&'a str, Tensor)],
}

impl RanksArgs {
    /// Predicts, and shows it. Gives the exit code.
    pub fn plan(&self, how: &str, planned: &Planned<'_>, out: &Out) -> Outcome<u8> {
        let (Some(world), Some(link), Some(flops)) = (self.world, self.link, self.device_flops)
        else {
            return Err(usage(
                "the ranks are not described",
                "say --world, --link and --device-flops",
            ));
        };
        let world = world as usize;
        let bandwidth = self.device_bandwidth.unwrap_or(flops / 20.0);
        let mut machine =
            Machine { flops, bandwidth, link, latency: self.latency.unwrap_or(LATENCY) };
        let alone =
            planned.predict("dp", 1, &SpreadArgs::default(), &machine)?.sides[0].2.computing;
        let step = self.step_time.unwrap_or(alone);
        if alone > 0.0 {
            machine.flops *= alone / step;
            machine.bandwidth *= alone / step;
        }
        let chosen = planned.predict(how, world, &self.spread, &machine)?;
        let tried = BUCKETS.map(|mb| {
            let args = SpreadArgs { bucket_mb: Some(mb), ..self.spread };
            planned.predict(how, world, &args, &machine).map(|found| (mb, found))
        });
        let tried = tried.into_iter().collect::<Outcome<Vec<(u32, Predicted)>>>()?;
        let least = tried.iter().map(|(_, found)| found.seconds()).fold(f64::INFINITY, f64::min);
        let best = tried.iter().find(|(_, found)| found.seconds() <= least * AS_GOOD);
        let best = best.map_or(BUCKETS[0], |(mb, _)| *mb);
        let most = chosen.sides.iter().map(|(_, memory, _)| memory.all()).max().unwrap_or(0);
        let fits = self.device_memory.is_none_or(|memory| most <= memory);
        let trainers = match chosen.sides.len() {
            1 => world,
            _ => world - self.spread.servers.unwrap_or(1) as usize,
        };
        let gain = trainers as f64 * step / chosen.seconds();
        let told = Told { how, world, step, gain, best, fits, memory: self.device_memory };
        out.result(&told.text(&chosen, &tried), || told.json(&chosen, &tried));
        Ok(if fits { 0 } else { FAILED })
    }
}

impl Planned<'_> {
    fn predict(
        &self,
        how: &str,
        world: usize,
        args: &SpreadArgs,
        machine: &Machine,
    ) -> Outcome<Predicted> {
        let spread = Spread::of(self.program, how, Some(world), args)?;
        let types: Vec<Type> = self.inputs.iter().map(|(_, x)| x.ty()).collect();
        let mut compiled = Vec::new();
        for (name, program) in spread.named() {
            let is_server = name == "server";
            let outputs = if is_server { &[] } else { self.outputs };
            let inputs = if is_server { &[] } else { self.inputs };
            let executor = Executor::with(program, outputs, State::new(), &Default::default())?;
            compiled.push((name, program, executor.report(inputs)?, executor));
        }
        let main = |place: usize| {
            let (_, _, _, executor): &(_, _, _, Executor) = &compiled[place];
            &executor.compiled().program.main
        };
        let forecasts = match compiled.len() {
            1 => vec![forecast(main(0), &types, world, machine)?],
            _ => forecast_served((main(0), &types), main(1), world, machine)?.to_vec(),
        };
        let sides = compiled.iter().zip(forecasts).map(|((name, program, report, _), forecast)| {
            let mut states = BTreeMap::new();
            for decl in program.states.values() {
                *states.entry(role(decl.role)).or_default() += bytes_of([&decl.ty]);
            }
            let memory = Memory {
                states,
                run: report.peak_bytes as u64,
                exchanges: forecast.buffers,
                is_open: report.is_open,
            };
            (*name, memory, forecast)
        });
        Ok(Predicted { sides: sides.collect() })
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Parameter => "parameters",
        Role::Optimizer => "optimizer",
        _ => "other states",
    }
}

/// What is shown.
struct Told<'a> {
    how: &'a str,
    world: usize,
    /// The seconds of a step of one process alone.
    step: f64,
    /// How many times as many batches come through as in one process.
    gain: f64,
    best: u32,
    fits: bool,
    memory: Option<u64>,
}

impl Told<'_> {
    fn text(&self, chosen: &Predicted, tried: &[(u32, Predicted)]) -> String {
        let mut text = String::new();
        for (name, memory, forecast) in &chosen.sides {
            if chosen.sides.len() > 1 {
                text += &format!("{name}\n");
            }
            let least = if memory.is_open { "at least " } else { "" };
            let has = self.memory.map_or(String::new(), |all| {
                let fits = if memory.all() <= all { "it fits" } else { "IT DOES NOT FIT" };
                format!(" of {}: {fits}", bytes(all))
            });
            text += &format!("memory of a rank: {least}{}{has}\n", bytes(memory.all()));
            let mut rows: Vec<Vec<String>> = Vec::new();
            let mut add = |name: &str, n: u64| rows.push(row(["", name, &bytes(n)]));
            memory.states.iter().for_each(|(name, n)| add(name, *n));
            add("a run, beside states", memory.run);
            add("exchanges", memory.exchanges);
            text += &table(&rows, &[2]);
            text += &format!(
                "in a step a rank sends {} and receives {}, in {} exchanges\n\n",
                bytes(forecast.sent),
                bytes(forecast.received),
                forecast.n_exchanges
            );
        }
        let forecast = chosen.sides[0].2;
        text += &format!(
            "step: {}{}, {} of it computing, {} exchanging or waiting; {} alone\n",
            if forecast.is_open { "at least " } else { "" },
            seconds(forecast.seconds),
            seconds(forecast.computing),
            seconds(forecast.exchanging()),
            seconds(self.step),
        );
        text += &format!(
            "{} ranks by {} do the work of {:.2}: {:.0} %\n\n",
            self.world,
            self.how,
            self.gain,
            100.0 * self.gain / self.world as f64
        );
        let mut rows = vec![row(["bucket", "exchanges", "step", ""])];
        for (mb, found) in tried {
            let exchanges = found.sides[0].2.n_exchanges.to_string();
            let mark = if *mb == self.best { "best" } else { "" };
            rows.push(row([&format!("{mb} MB"), &exchanges, &seconds(found.seconds()), mark]));
        }
        text + &table(&rows, &[0, 1, 2])
    }

    fn json(&self, chosen: &Predicted, tried: &[(u32, Predicted)]) -> serde_json::Value {
        let sides = chosen.sides.iter().map(|(name, memory, forecast)| {
            json!({
                "program": name,
                "memory_bytes": memory.all(),
                "states": memory.states,
                "run_bytes": memory.run,
                "exchange_bytes": memory.exchanges,
                "is_open": memory.is_open || forecast.is_open,
                "seconds": forecast.seconds,
                "computing_seconds": forecast.computing,
                "exchanging_seconds": forecast.exchanging(),
                "sent_bytes": forecast.sent,
                "received_bytes": forecast.received,
                "exchanges": forecast.n_exchanges,
            })
        });
        let buckets = tried.iter().map(|(mb, found)| json!({"mb": mb, "seconds": found.seconds()}));
        json!({
            "event": "forecast",
            "dist": self.how,
            "world": self.world,
            "seconds": chosen.seconds(),
            "seconds_alone": self.step,
            "gain": self.gain,
            "fits": self.fits,
            "best_bucket_mb": self.best,
            "buckets": buckets.collect::<Vec<_>>(),
            "sides": sides.collect::<Vec<_>>(),
        })
    }
}
