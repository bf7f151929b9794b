//! What programs of real size need: memory, time to compile, time for loops. Prints the minimum over many
//! repetitions. An argument chooses among `transformer`, `resnet`, `lstm` and `loop`; with `--profile`, the time
//! of each op is shown.

use std::hint::black_box;
use std::time::Instant;

use fluvial::compile::Options;
use fluvial::prelude::*;
use fluvial::runtime::Profiler;
use fluvial::tensor::memory;

/// The least seconds of each function, run in turns.
fn in_turns<const N: usize>(
    rounds: usize,
    mut functions: [&mut dyn FnMut() -> Result<()>; N],
) -> Result<[f64; N]> {
    let mut best = [f64::INFINITY; N];
    for round in 0..=rounds {
        for (function, best) in functions.iter_mut().zip(&mut best) {
            let start = Instant::now();
            function()?;
            if round > 0 {
                *best = best.min(start.elapsed().as_secs_f64());
            }
        }
    }
    Ok(best)
}

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn executor(program: &Program, limit: Option<usize>) -> Result<Executor> {
    let outputs: Vec<&str> = program.outputs.iter().map(|name| &**name).collect();
    let options = Options { memory_limit: limit, fast: true, verify: false, ..Options::default() };
    Executor::with(program, &outputs, State::new(), &options)
}

fn profile(executor: &Executor, feeds: &[(&str, Tensor)]) -> Result<()> {
    if std::env::args().any(|arg| arg == "--profile") {
        let profiler = Profiler::new();
        executor.call().feeds(feeds).observe(&profiler).run()?;
        println!("{profiler}");
    }
    Ok(())
}

/// The bytes that a run holds at most beside what was there before.
fn peak_of(run: impl FnOnce() -> Result<()>) -> Result<usize> {
    memory::reset_peak();
    let before = memory::stats().live_bytes;
    run()?;
    Ok((memory::stats().peak_bytes - before) as usize)
}

/// The memory of a training step of a transformer: line by line, as a program, and under a limit.
fn transformer() -> Result<()> {
    let (batch, length, width) = (4, 64, 128);
    let layer =
        |at| TransformerEncoderLayer::new(at, width, 4, 4 * width).batch_first().dropout(0.1);
    let net = TransformerEncoder::new("net", 12, layer);
    let sgd = Sgd::new(net.parameters(), 1e-2);
    let train = |x: &Var| {
        let loss = mean(&square(&net.encode(x, Masks::default())?)?, &[], false)?;
        sgd.minimize(&loss)?;
        Ok(loss)
    };
    let elements: Vec<f32> =
        (0..batch * length * width).map(|i| ((i * 37 + 11) % 64) as f32 / 32.0 - 1.0).collect();
    let x = Var::of(&elements, &[batch, length, width])?;
    let feeds = [("x", x.tensor()?.clone())];
    let program = Program::build(&[("x", x.ty())], |v| Ok(vec![train(&v[0])?]))?;

    let state = State::new();
    let mut imperative = || {
        let _scope = state.enter();
        train(&x).map(|loss| drop(black_box(loss)))
    };
    imperative()?;
    let line_by_line = peak_of(imperative)?;
    let free = executor(&program, None)?;
    let planned = free.report(&feeds)?;
    let tight = executor(&program, Some(line_by_line * 40 / 100))?;
    let limited = tight.report(&feeds)?.peak_bytes;
    let mut run_free = || free.run(&feeds).map(drop);
    let mut run_tight = || tight.run(&feeds).map(drop);
    let times = in_turns(10, [&mut imperative, &mut run_free, &mut run_tight])?;
    println!(
        "transformer, 12 layers    imperative {:.1} MB, {:.1} ms; compiled {:.1} MB ({:.0} %, target 80), {:.1} ms; limited {:.1} MB ({:.0} %, target 40), {:.1} ms ({:.2} x compiled, target 1.35)",
        megabytes(line_by_line),
        times[0] * 1e3,
        megabytes(planned.peak_bytes),
        100.0 * planned.peak_bytes as f64 / line_by_line as f64,
        times[1] * 1e3,
        megabytes(limited),
        100.0 * limited as f64 / line_by_line as f64,
        times[2] * 1e3,
        times[2] / times[1],
    );
    profile(&free, &feeds)
}

/// A part of a network.
type Part = Box<dyn Fn(&Var) -> Result<Var>>;

/// A bottleneck of ResNet-50.
fn bottleneck(
    at: Path,
    inputs: usize,
    inner: usize,
    stride: usize,
) -> impl Fn(&Var) -> Result<Var> {
    let outputs = 4 * inner;
    let norm = |name: &str, n| BatchNorm2d::new(at.join(name), n);
    let first = Conv2d::new(at.join("conv1"), inputs, inner, 1usize).no_bias();
    let second = Conv2d::new(at.join("conv2"), inner, inner, 3usize)
        .stride(stride)
        .padding(1usize)
        .no_bias();
    let third = Conv2d::new(at.join("conv3"), inner, outputs, 1usize).no_bias();
    let norms = [norm("bn1", inner), norm("bn2", inner), norm("bn3", outputs)];
    let shortcut = (stride > 1 || inputs != outputs).then(|| {
        let conv = Conv2d::new(at.join("down"), inputs, outputs, 1usize).stride(stride).no_bias();
        (conv, norm("down_bn", outputs))
    });
    move |x| {
        let y = relu(&norms[0].forward(&first.forward(x)?)?)?;
        let y = relu(&norms[1].forward(&second.forward(&y)?)?)?;
        let y = norms[2].forward(&third.forward(&y)?)?;
        let side = match &shortcut {
            Some((conv, norm)) => norm.forward(&conv.forward(x)?)?,
            None => x.clone(),
        };
        relu(&(y + side))
    }
}

/// The time to compile a training step of ResNet-50, and to plan it for another size of batch.
fn resnet() -> Result<()> {
    let at = Path::from("net");
    let stem = Conv2d::new(at.join("conv"), 3, 64, 7usize).stride(2usize).padding(3usize).no_bias();
    let stem_norm = BatchNorm2d::new(at.join("bn"), 64);
    let mut blocks: Vec<Part> = Vec::new();
    let mut inputs = 64;
    for (stage, (count, inner)) in [(3, 64), (4, 128), (6, 256), (3, 512)].into_iter().enumerate() {
        for i in 0..count {
            let stride = if stage > 0 && i == 0 { 2 } else { 1 };
            blocks.push(Box::new(bottleneck(
                at.join(format!("{stage}.{i}")),
                inputs,
                inner,
                stride,
            )));
            inputs = 4 * inner;
        }
    }
    let head = Linear::new(at.join("head"), inputs, 1000);
    let batch = Dim::symbol("batch")?;
    let images = Type::new(DType::F32, &[batch, Dim::size(3), Dim::size(64), Dim::size(64)])?;
    let start = Instant::now();
    let program = Program::build(&[("x", images), ("y", Type::new(DType::I64, &[batch])?)], |v| {
        let mut x = relu(&stem_norm.forward(&stem.forward(&v[0])?)?)?;
        x = MaxPool2d::new(3usize).stride(2usize).padding(1usize).forward(&x)?;
        for block in &blocks {
            x = block(&x)?;
        }
        let x = head.forward(&mean(&x, &[2, 3], false)?)?;
        let loss = cross_entropy(&x, &v[1], None, CrossEntropyOptions::default())?;
        Momentum::new(at.parameters(), 0.1).minimize(&loss)?;
        Ok(vec![loss])
    })?;
    let build = start.elapsed().as_secs_f64();
    let mut compiled = None;
    let mut compile = || executor(&program, None).map(|done| compiled = Some(done));
    let [compile] = in_turns(5, [&mut compile])?;
    let Some(executor) = compiled else { return Ok(()) };
    let mut n = 1;
    let mut plan = || {
        n += 1;
        let feeds = [
            ("x", Tensor::zeros(DType::F32, &[n, 3, 64, 64])?),
            ("y", Tensor::zeros(DType::I64, &[n])?),
        ];
        executor.plan_for(&feeds).map(drop)
    };
    let [plan] = in_turns(5, [&mut plan])?;
    println!(
        "resnet-50, training step  build {:.1} ms, compile {:.1} ms (target 300), {} -> {} calls; another batch size {:.2} ms ({:.1} % of compiling, target 1)",
        build * 1e3,
        compile * 1e3,
        program.main.calls.len(),
        executor.compiled().program.main.calls.len(),
        plan * 1e3,
        100.0 * plan / compile,
    );
    Ok(())
}

/// The time of an LSTM in small ops beside the layer.
fn lstm() -> Result<()> {
    let (length, batch, inputs, width) = (32, 32, 64, 128);
    let hidden = width as i64;
    let fused = Lstm::new("fused", inputs, width);
    let at = Path::from("small");
    let (of_input, of_state) = (
        Linear::new(at.join("input"), inputs, 4 * width),
        Linear::new(at.join("state"), width, 4 * width),
    );
    let small = |x: &Var| {
        let zero = Var::new(Tensor::zeros(DType::F32, &[batch, width])?);
        let (_, outputs) = scan(&[&zero, &zero], &[x], |state, x| {
            let gates = of_input.forward(&x[0])? + of_state.forward(&state[0])?;
            let gate = |k: i64| slice(&gates, 1, Some(k * hidden), Some((k + 1) * hidden), 1);
            let (input, forget) = (sigmoid(&gate(0)?)?, sigmoid(&gate(1)?)?);
            let (update, output) = (tanh(&gate(2)?)?, sigmoid(&gate(3)?)?);
            let c = forget * &state[1] + input * update;
            let h = output * tanh(&c)?;
            Ok((vec![h.clone(), c], vec![h]))
        })?;
        Ok(outputs[0].clone())
    };
    let big = |x: &Var| fused.run(x, None, None).map(|(y, _, _)| y);
    let parameters = [of_input.parameters(), of_state.parameters()].concat();
    let (with_small, with_big) = (Sgd::new(parameters, 0.1), Sgd::new(fused.parameters(), 0.1));
    let x = Var::new(Tensor::zeros(DType::F32, &[length, batch, inputs])?);
    let feeds = [("x", x.tensor()?.clone())];
    let inputs = [("x", x.ty())];
    let loss = |y: Var| mean(&square(&y)?, &[], false);
    let small = Program::build(&inputs, |v| {
        let loss = loss(small(&v[0])?)?;
        with_small.minimize(&loss)?;
        Ok(vec![loss])
    })?;
    let big = Program::build(&inputs, |v| {
        let loss = loss(big(&v[0])?)?;
        with_big.minimize(&loss)?;
        Ok(vec![loss])
    })?;
    let (small, big) = (executor(&small, None)?, executor(&big, None)?);
    let mut run_small = || small.run(&feeds).map(drop);
    let mut run_big = || big.run(&feeds).map(drop);
    let times = in_turns(30, [&mut run_small, &mut run_big])?;
    println!(
        "lstm, training step       small ops {:.2} ms, layer {:.2} ms: {:.0} % of its speed (target 70)",
        times[0] * 1e3,
        times[1] * 1e3,
        100.0 * times[1] / times[0],
    );
    profile(&small, &feeds)?;
    profile(&big, &feeds)
}

/// The time of a trip of a loop that only counts.
fn empty_loop() -> Result<()> {
    let program = Program::build(&[("n", Type::scalar(DType::I64))], |n| {
        let zero = Var::scalar(0i64);
        while_loop(&[&zero], |i| lt(&i[0], &n[0]), |i| Ok(vec![&i[0] + 1.0]))
    })?;
    let executor = executor(&program, None)?;
    let trips = 100_000i64;
    let feeds = [("n", Tensor::scalar(trips))];
    let [time] = in_turns(10, [&mut || executor.run(&feeds).map(drop)])?;
    println!("empty loop                {:.0} ns a trip (target 200)", time * 1e9 / trips as f64);
    Ok(())
}

fn main() -> Result<()> {
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    type Case = (&'static str, fn() -> Result<()>);
    let cases: [Case; 4] =
        [("transformer", transformer), ("resnet", resnet), ("lstm", lstm), ("loop", empty_loop)];
    for (name, run) in cases {
        if name.contains(&only) {
            run()?;
        }
    }
    Ok(())
}
