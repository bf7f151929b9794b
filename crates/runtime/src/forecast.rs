//! How long a step of several ranks takes, before there are any.

use std::collections::HashMap;

use fluvial_core::{Block, Dim, Error, OpRef, Ranks, Result, Sizes, Traffic, Type, bytes_of};
use fluvial_data::Reader;
use fluvial_data::reader::Stage;
use fluvial_ops::ranks::{CollectParts, PullParts, PushParts, ServeParts};

use crate::plan::readers::batches;

/// A machine on which each rank runs, and the link by which it reaches the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Multiplications and additions in a second.
    pub flops: f64,
    /// Bytes that its memory reads or writes in a second.
    pub bandwidth: f64,
    /// Bytes that the link carries in a second, in each direction.
    pub link: f64,
    /// Seconds until a message arrives, however short it is.
    pub latency: f64,
}

/// What a step of a rank takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forecast {
    /// The seconds of a step.
    pub seconds: f64,
    /// Those in which it computes.
    pub computing: f64,
    /// The bytes that it sends.
    pub sent: u64,
    /// The bytes that it receives.
    pub received: u64,
    /// How many exchanges there are.
    pub n_exchanges: usize,
    /// The most bytes of what is sent and received by one exchange, of which there are copies meanwhile.
    pub buffers: u64,
    /// Whether it may be more: some sizes, or how often a loop goes round, are known to the run only.
    pub is_open: bool,
}

impl Forecast {
    /// The seconds in which it exchanges something, or waits for it.
    pub fn exchanging(&self) -> f64 {
        self.seconds - self.computing
    }
}

/// What a step of ranks takes that all run the same program. A step is a trip of the loop that trains, or the whole
/// program if there is none. Its calls run one after another; what readers do is not counted.
///
/// ```
/// use fluvial_core::{DType, Program, Type};
/// use fluvial_ops::ranks::{Across, all_reduce};
/// use fluvial_runtime::{Machine, forecast};
///
/// let ty = Type::of(DType::F32, &[1000, 1000])?;
/// let program = Program::build(&[("x", ty)], |x| {
///     let y = fluvial_ops::matmul(&x[0], &x[0])?;
///     Ok(vec![all_reduce(&y, Across::Mean)?])
/// })?;
/// let machine = Machine { flops: 2e12, bandwidth: 1e15, link: 4e9, latency: 0.0 };
/// let step = forecast(&program.main, &program.input_types(), 2, &machine)?;
/// assert_eq!((step.sent, step.n_exchanges), (4_000_000, 1));
/// // A millisecond for the product of matrices, one for four megabytes each way.
/// assert!((step.seconds - 0.002).abs() < 1e-4, "{step:?}");
/// # Ok::<(), fluvial_core::Error>(())
/// ```
pub fn forecast(
    main: &Block,
    inputs: &[Type],
    world: usize,
    machine: &Machine,
) -> Result<Forecast> {
    let mut side = Side::new(main, inputs, world, machine)?;
    let mut meetings = Meetings::default();
    match side.advance(&mut meetings) {
        true => Ok(side.done),
        false => Err(Error::internal("ranks of one program wait for others")),
    }
}

/// What a step of trainers and of parameter servers takes, of which each runs a program of its own.
pub fn forecast_served(
    trainer: (&Block, &[Type]),
    server: &Block,
    world: usize,
    machine: &Machine,
) -> Result<[Forecast; 2]> {
    let mut sides =
        [Side::new(trainer.0, trainer.1, world, machine)?, Side::new(server, &[], world, machine)?];
    let mut meetings = Meetings::default();
    loop {
        let before = sides[0].place + sides[1].place;
        let ended = [sides[0].advance(&mut meetings), sides[1].advance(&mut meetings)];
        if ended == [true; 2] {
            // Steps follow one another: the slower side decides.
            let seconds = sides[0].done.seconds.max(sides[1].work);
            let [trainer, server] = sides.map(|side| side.done);
            return Ok([Forecast { seconds, ..trainer }, Forecast { seconds, ..server }]);
        }
        if sides[0].place + sides[1].place == before {
            return Err(Error::internal("trainers and servers wait for one another"));
        }
    }
}

/// By tag: when something begins to be sent, and when all of it is.
#[derive(Default)]
struct Meetings {
    pushed: HashMap<usize, f64>,
    served: HashMap<usize, f64>,
}

/// Ranks that run the same program.
struct Side<'a> {
    calls: Vec<Flat>,
    place: usize,
    world: usize,
    machine: &'a Machine,
    done: Forecast,
    /// The seconds in which it does not wait for the other side.
    work: f64,
}

impl<'a> Side<'a> {
    fn new(main: &Block, inputs: &[Type], world: usize, machine: &'a Machine) -> Result<Side<'a>> {
        let mut calls = Vec::new();
        flatten(&step_of(main, inputs)?, &mut calls);
        Ok(Side { calls, place: 0, world, machine, done: Forecast::default(), work: 0.0 })
    }

    /// Goes on until a call waits for what the other side has not sent yet. Says whether it is at its end.
    fn advance(&mut self, meetings: &mut Meetings) -> bool {
        while let Some(call) = self.calls.get(self.place) {
            let mut work = Work::default();
            work.add(call, self.world, self.machine);
            let op = &call.op;
            let now = self.done.seconds;
            let pushed = op.downcast::<CollectParts>().map(|op| meetings.pushed.get(&op.tag));
            let served = op.downcast::<PullParts>().map(|op| meetings.served.get(&op.tag));
            let (begins, least) = match (pushed, served) {
                (Some(None), _) | (_, Some(None)) => return false,
                (Some(Some(&begun)), _) => (now.max(begun), 0.0),
                // The last trainer has it when the server has sent it to all of them.
                (_, Some(Some(&over))) => (now, over),
                _ => (now, 0.0),
            };
            let ends = (begins + work.exchanging).max(least) + work.computing;
            if let Some(op) = op.downcast::<PushParts>() {
                meetings.pushed.insert(op.tag, now);
            }
            if let Some(op) = op.downcast::<ServeParts>() {
                meetings.served.insert(op.tag, ends);
            }
            self.done.seconds = ends;
            self.done.computing += work.computing;
            self.done.sent += work.sent;
            self.done.received += work.received;
            self.done.n_exchanges += work.n_exchanges;
            self.done.buffers = self.done.buffers.max(work.buffers);
            self.done.is_open |= work.is_open;
            self.work += work.computing + work.exchanging;
            self.place += 1;
        }
        true
    }
}

/// A call with the types of its values.
struct Flat {
    op: OpRef,
    inputs: Vec<Type>,
    outs: Vec<Type>,
}

/// The calls of a block in order. Those of a branch in which ranks exchange stand in its place.
fn flatten(block: &Block, to: &mut Vec<Flat>) {
    for call in &block.calls {
        let branch = call.op.blocks().into_iter().find(|inner| exchanges(inner)).cloned();
        match branch.filter(|_| call.op.carries().is_none()) {
            Some(branch) => flatten(&branch, to),
            None => to.push(Flat {
                op: call.op.clone(),
                inputs: call.inputs.iter().map(|&id| block.types[id as usize]).collect(),
                outs: block.output_types(call).to_vec(),
            }),
        }
    }
}

/// What a call takes.
#[derive(Clone, Copy, Default)]
struct Work {
    computing: f64,
    exchanging: f64,
    sent: u64,
    received: u64,
    n_exchanges: usize,
    buffers: u64,
    is_open: bool,
}

impl Work {
    fn of_block(block: &Block, world: usize, machine: &Machine) -> Work {
        let (mut all, mut calls) = (Work::default(), Vec::new());
        flatten(block, &mut calls);
        calls.iter().for_each(|call| all.add(call, world, machine));
        all
    }

    fn add(&mut self, call: &Flat, world: usize, machine: &Machine) {
        let inputs: Vec<&Type> = call.inputs.iter().collect();
        let outs = &call.outs[..];
        let properties = call.op.properties();
        let inner = call.op.blocks();
        if !inner.is_empty() {
            // Of branches the longest; of a loop one trip.
            let works = inner.iter().map(|inner| Work::of_block(inner, world, machine));
            let time = |work: &Work| work.computing + work.exchanging;
            let longest = works.max_by(|a, b| time(a).total_cmp(&time(b))).unwrap_or_default();
            self.computing += longest.computing;
            self.exchanging += longest.exchanging;
            self.sent += longest.sent;
            self.received += longest.received;
            self.n_exchanges += longest.n_exchanges;
            self.buffers = self.buffers.max(longest.buffers);
            self.is_open |= longest.is_open || call.op.carries().is_some();
            return;
        }
        let is_unknown = |ty: &&Type| ty.is_list() || ty.numel().is_none();
        self.is_open |= inputs.iter().copied().chain(outs).any(|ty| is_unknown(&ty));
        let bytes = bytes_of(inputs.iter().copied()) + bytes_of(outs);
        if let Some(traffic) = call.op.traffic(&inputs, outs, world) {
            self.exchange(traffic, bytes, machine);
            return;
        }
        // What shows other memory, and what reads or keeps a state, moves nothing.
        if properties.view || properties.effect || call.inputs.is_empty() {
            return;
        }
        let n_instructions = call.op.body().map_or(1, |body| body.insts().len());
        let elements: usize = outs.iter().filter_map(Type::numel).sum();
        let read: usize = inputs.iter().filter_map(|ty| ty.numel()).max().unwrap_or(0);
        let few = (n_instructions * elements.max(read)) as f64;
        let flops = call.op.arithmetic(&inputs, outs).unwrap_or(few);
        self.computing += (flops / machine.flops).max(bytes as f64 / machine.bandwidth);
    }

    fn exchange(&mut self, traffic: Traffic, bytes: u64, machine: &Machine) {
        self.exchanging +=
            traffic.rounds as f64 * machine.latency + traffic.most() as f64 / machine.link;
        // Values are put behind one another, and taken apart again.
        self.computing += 2.0 * bytes as f64 / machine.bandwidth;
        self.sent += traffic.sent;
        self.received += traffic.received;
        self.n_exchanges += 1;
        self.buffers = self.buffers.max(bytes);
    }
}

fn exchanges(block: &Block) -> bool {
    block.calls.iter().any(|call| {
        matches!(call.op.ranks(), Some(Ranks::Agree | Ranks::Exchange))
            || call.op.blocks().iter().any(|inner| exchanges(inner))
    })
}

/// The calls of a step, with the sizes that they have on these arguments: of the innermost loop in which ranks exchange.
fn step_of(block: &Block, args: &[Type]) -> Result<Block> {
    let mut sizes = Sizes::default();
    for (declared, found) in block.param_types().iter().zip(args) {
        sizes.unify(declared, found)?;
    }
    let known = block.substitute(&|symbol| sizes.get(symbol))?;
    for call in &known.calls {
        let Some(carries) = call.op.carries() else { continue };
        let Some(body) = call.op.blocks().first().copied().filter(|body| exchanges(body)) else {
            continue;
        };
        // A reader gives its whole batches last.
        let given = call.op.reader().map_or(Vec::new(), batches).pop();
        let fields = match given.filter(|found| found.len() == carries.params) {
            Some(given) => given,
            None => as_declared(&body.param_types()[..carries.params], call.op.reader())?,
        };
        let others = call.inputs.iter().skip(carries.inputs).map(|&id| known.types[id as usize]);
        return step_of(body, &fields.into_iter().chain(others).collect::<Vec<_>>());
    }
    Ok(known)
}

/// What a reader that cannot be opened here gives: as many samples as it says itself.
fn as_declared(fields: &[Type], reader: Option<&str>) -> Result<Vec<Type>> {
    let size = reader.and_then(|text| {
        let stages = text.parse::<Reader>().ok()?;
        stages.stages().iter().rev().find_map(|stage| match stage {
            Stage::Batch { size, .. } => Some(Dim::size(*size as usize)),
            _ => None,
        })
    });
    let rows = fields.first().and_then(|ty| ty.dims().first().copied());
    let of = |symbol: Dim| size.filter(|_| Some(symbol) == rows);
    fields.iter().map(|ty| ty.substitute(&of)).collect()
}
