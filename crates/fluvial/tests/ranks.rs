//! Programs that several ranks run: they train as one process does with the whole batch, and stay equal to the bit.

use std::sync::Arc;

use expect_test::{Expect, expect};
use fluvial::compile::{
    Distribution, Served, Sides, Strategy, distribute, distribute_to_servers, parts_of,
};
use fluvial::data::Reader;
use fluvial::data::reader::{Arrays, register_dataset};
use fluvial::dist::{Comm, Threads};
use fluvial::optim::Clip;
use fluvial::prelude::*;
use fluvial::runtime::{Agreed, Checkpoints, OtherRanks};

#[path = "ranks/checkpoints.rs"]
mod checkpoints;

const STEPS: usize = 6;

fn spread(program: &Program) -> Result<Program> {
    distribute(program, &Distribution::new(Strategy::DataParallel))
}

/// Rows of a batch, as samples from `first` on.
fn rows(first: usize, count: usize) -> Result<(Tensor, Tensor)> {
    let x: Vec<f64> =
        (first * 3..(first + count) * 3).map(|i| ((i * 37) % 64) as f64 / 32.0 - 1.0).collect();
    let y: Vec<f64> = x.chunks(3).map(|x| (x[0] - 2.0 * x[1]).sin() + x[2]).collect();
    Ok((Tensor::from_vec(x, &[count, 3])?, Tensor::from_vec(y, &[count, 1])?))
}

/// A training step over feeds, with what `step` does besides the loss.
fn program(step: impl Fn(&Mlp, &Var) -> Result<()>) -> Result<Program> {
    let net = Mlp;
    let batch = Dim::symbol("batch")?;
    let inputs = [
        ("x", Type::new(DType::F64, &[batch, Dim::size(3)])?),
        ("y", Type::new(DType::F64, &[batch, Dim::size(1)])?),
    ];
    let built = Program::build(&inputs, |v| {
        let error = net.forward(&v[0])? - &v[1];
        let loss = mean(&(&error * &error), &[], false)?;
        step(&net, &loss)?;
        Ok(vec![loss])
    })?;
    Ok(built.unbound())
}

/// Two layers; their parameters are states by name.
struct Mlp;

const NAMES: [&str; 3] = ["first", "bias", "second"];

impl Mlp {
    fn forward(&self, x: &Var) -> Result<Var> {
        let of = |name: &str, dims: &[usize]| {
            let ty = Type::of(DType::F64, dims)?;
            parameter(name, ty, || uniform(&ty, -0.8, 0.8))
        };
        let hidden = matmul(x, &of("first", &[3, 5])?)? + of("bias", &[5])?;
        matmul(&tanh(&hidden)?, &of("second", &[5, 1])?)
    }

    fn parameters(&self) -> [&'static str; 3] {
        NAMES
    }
}

/// All states after the run, by name.
type States = Vec<(String, Tensor)>;

fn states(state: &State) -> Result<States> {
    state.names().iter().map(|name| Ok((name.to_string(), state.tensor(name)?))).collect()
}

fn same_bits(all: &[States]) {
    for other in &all[1..] {
        for ((name, a), (_, b)) in all[0].iter().zip(other) {
            assert!(a.bitwise_eq(b), "{name}: {a:?} and {b:?}");
        }
    }
}

fn near(a: &States, b: &States) {
    assert_eq!(a.len(), b.len());
    for ((name, a), (other, b)) in a.iter().zip(b) {
        assert_eq!(name, other);
        for (x, y) in a.to_f64s().iter().zip(b.to_f64s()) {
            assert!((x - y).abs() < 1e-9, "{name}: {x} and {y}");
        }
    }
}

/// Runs a program of feeds on so many ranks, compiled or not.
fn run(
    program: &Program,
    world: usize,
    batch: usize,
    compiled: bool,
) -> Result<Vec<(States, Vec<f64>)>> {
    Threads::run(world, |comm| {
        let state = State::new();
        let executor = Executor::new(program, state.clone())?;
        let interpreter = Interpreter::new(program.clone(), state.clone())?;
        let mut losses = Vec::new();
        for step in 0..STEPS {
            let (x, y) = rows((step * world + comm.rank()) * batch, batch)?;
            let feeds = [("x", x), ("y", y)];
            let outputs = if compiled { executor.run(&feeds)? } else { interpreter.run(&feeds)? };
            losses.push(outputs[0].item::<f64>()?);
        }
        Ok((states(&state)?, losses))
    })
}

/// The states of a run in parts, put together: by name, of all ranks.
fn whole_states(program: &Program, ranks: &[(States, Vec<f64>)]) -> Result<States> {
    let parts = parts_of(program);
    let mut all = ranks[0].0.clone();
    for (place, (name, value)) in all.iter_mut().enumerate() {
        let Some(ty) = parts.get(&**name) else { continue };
        let sizes = ty.sizes().expect("they are known");
        let own = |(states, _): &(States, Vec<f64>)| states[place].1.to_f64s();
        let mut joined: Vec<f64> = ranks.iter().flat_map(own).collect();
        joined.truncate(sizes.iter().product());
        *value = Tensor::from_f64s(ty.dtype(), &joined, &sizes)?;
    }
    Ok(all)
}

/// Cut states give the bits of whole ones; of what is cut, each rank has a part only.
fn parts_train_alike(program: &Program) -> Result<()> {
    let whole = spread(program)?;
    for strategy in [Strategy::ShardedOptimizer, Strategy::Sharded] {
        for (world, compiled) in [(2, true), (2, false), (3, true)] {
            let cut = distribute(program, &Distribution::new(strategy).world(world))?;
            let expected = run(&whole, world, 4, compiled)?;
            let ranks = run(&cut, world, 4, compiled)?;
            same_bits(&[expected[0].0.clone(), whole_states(&cut, &ranks)?]);
            assert_eq!(expected[0].1, ranks[0].1, "losses");
            let parts = parts_of(&cut);
            for (name, decl) in &program.states {
                let is_cut = decl.ty.rank() > 0
                    && match decl.role {
                        Role::Optimizer => true,
                        Role::Parameter => strategy == Strategy::Sharded,
                        _ => false,
                    };
                assert_eq!(parts.contains_key(name), is_cut, "{name}");
            }
        }
    }
    Ok(())
}

/// Trainers and parameter servers, each as often as there are steps; feeds are those of the trainer.
fn run_served(
    served: &Served,
    (trainers, servers): (usize, usize),
    steps: usize,
    feeds: impl Fn(usize, usize) -> Result<Vec<(&'static str, Tensor)>> + Sync,
) -> Result<Vec<(States, Vec<f64>)>> {
    Threads::run(trainers + servers, |comm| {
        let is_trainer = comm.rank() < trainers;
        let program = if is_trainer { &served.trainer } else { &served.server };
        let state = State::new();
        let executor = Executor::new(program, state.clone())?;
        let mut losses = Vec::new();
        for step in 0..steps {
            let feeds = if is_trainer { feeds(step, comm.rank())? } else { Vec::new() };
            let outputs = executor.run(&feeds)?;
            losses.extend(outputs.first().map(|loss| loss.item::<f64>()).transpose()?);
        }
        Ok((states(&state)?, losses))
    })
}

/// Compares what trainers and servers have in the end with the states of data parallel ranks.
fn same_as_served(
    expected: &States,
    served: &Served,
    ranks: &[(States, Vec<f64>)],
    trainers: usize,
) -> Result<()> {
    let of_server = whole_states(&served.server, &ranks[trainers..])?;
    let of_trainer = &ranks[0].0;
    for (name, value) in expected {
        let find = |states: &States| {
            let found = states.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        let found = [find(of_trainer), find(&of_server)];
        assert!(found.iter().any(Option::is_some), "{name} is nowhere");
        for found in found.into_iter().flatten() {
            assert!(found.bitwise_eq(value), "{name}: {found:?} and {value:?}");
        }
    }
    Ok(())
}

/// Parameter servers give the bits of data parallel trainers, and trainers have nothing of what optimizers remember.
fn servers_train_alike(program: &Program) -> Result<()> {
    let whole = spread(program)?;
    for (trainers, servers) in [(2, 1), (2, 2), (1, 2), (3, 2)] {
        let served = distribute_to_servers(program, Sides::new(trainers, servers), 25 << 20)?;
        let is_kept = |decl: &fluvial::core::StateDecl| decl.role == Role::Optimizer;
        assert!(!served.trainer.states.values().any(is_kept), "{}", served.trainer);
        let expected = run(&whole, trainers, 4, true)?;
        let ranks = run_served(&served, (trainers, servers), STEPS, |step, rank| {
            let (x, y) = rows((step * trainers + rank) * 4, 4)?;
            Ok(vec![("x", x), ("y", y)])
        })?;
        for (step, expected) in expected[0].1.iter().enumerate() {
            let own = ranks[..trainers].iter().map(|(_, losses)| losses[step]);
            let mean = own.sum::<f64>() / trainers as f64;
            assert!((mean - expected).abs() < 1e-12, "losses {mean} and {expected}");
        }
        same_as_served(&expected[0].0, &served, &ranks, trainers)?;
    }
    Ok(())
}

/// `n` ranks with a part of the batch each are one process with the whole batch.
fn trains_alike(program: &Program) -> Result<()> {
    parts_train_alike(program)?;
    servers_train_alike(program)?;
    let spread = spread(program)?;
    for (world, compiled) in [(2, true), (2, false), (3, true)] {
        let ranks = run(&spread, world, 4, compiled)?;
        let alone = run(program, 1, 4 * world, compiled)?;
        let states: Vec<States> = ranks.iter().map(|(states, _)| states.clone()).collect();
        same_bits(&states);
        near(&states[0], &alone[0].0);
        for (rank, one) in ranks[0].1.iter().zip(&alone[0].1) {
            assert!((rank - one).abs() < 1e-9, "losses {rank} and {one}");
        }
    }
    Ok(())
}

#[test]
fn adam_with_global_norm_and_schedule() -> Result<()> {
    trains_alike(&program(|net, loss| {
        let adam = Adam::new(net.parameters(), 0.05).clip(Clip::GlobalNorm(0.1));
        adam.schedule(Schedule::cosine(5, 0.0)).minimize(loss)
    })?)
}

#[test]
fn accumulation_and_rules_of_small_ops() -> Result<()> {
    trains_alike(&program(|net, loss| {
        Momentum::new(net.parameters(), 0.05).accumulate(2).minimize(loss)
    })?)?;
    trains_alike(&program(|net, loss| Lamb::new(net.parameters(), 0.05).minimize(loss))?)?;
    trains_alike(&program(|net, loss| {
        RmsProp::new(net.parameters(), 0.01).clip(Clip::Value(0.01)).minimize(loss)
    })?)
}

#[test]
fn averages_of_parameters_and_all_rules() -> Result<()> {
    trains_alike(&program(|net, loss| {
        Adam::new(net.parameters(), 0.05)
            .clip(Clip::GlobalNorm(0.1))
            .accumulate(2)
            .minimize(loss)?;
        Ema::new(net.parameters(), 0.9).update()
    })?)?;
    trains_alike(&program(|net, loss| {
        AdamW::new(net.parameters(), 0.05).clip(Clip::Norm(0.1)).minimize(loss)
    })?)?;
    trains_alike(&program(|net, loss| Lion::new(net.parameters(), 0.01).minimize(loss))?)?;
    trains_alike(&program(|net, loss| Sgd::new(net.parameters(), 0.01).minimize(loss))?)
}

#[test]
fn updates_that_are_written_out() -> Result<()> {
    trains_alike(&program(|net, loss| {
        loss.backward()?;
        for name in net.parameters() {
            let value = read_state(name)?;
            let grad = value.grad().ok_or_else(|| Error::gradient("none"))?;
            assign_state(name, &(value.detach() - grad * 0.1))?;
            value.zero_grad();
        }
        Ok(())
    })?)
}

/// A loop that begins with a parameter does not make it a state that the loop carries.
#[test]
fn a_parameter_begins_a_loop() -> Result<()> {
    let inputs = [("x", Type::of(DType::F64, &[4, 3])?), ("y", Type::of(DType::F64, &[4, 1])?)];
    let built = Program::build(&inputs, |v| {
        let ty = Type::of(DType::F64, &[3])?;
        let first = parameter("first", ty, || full(ty.dims(), 0.5, DType::F64))?;
        let last = while_loop(
            &[&first, &Var::scalar(0i64)],
            |carried| lt(&carried[1], &Var::scalar(3i64)),
            |carried| {
                let next = tanh(&(&carried[0] + mean(&v[0], &[0], false)?))?;
                Ok(vec![next, (&carried[1] + 1.0).check()?])
            },
        )?;
        let error = sum(&last[0], &[], false)? - mean(&v[1], &[], false)?;
        let loss = (&error * &error).check()?;
        Sgd::new(["first"], 0.1).minimize(&loss)?;
        Ok(vec![loss])
    })?;
    let ranks = run(&spread(&built.unbound())?, 2, 4, true)?;
    same_bits(&[ranks[0].0.clone(), ranks[1].0.clone()]);
    Ok(())
}

fn reader(name: &str, batch: u64) -> Result<Reader> {
    let (x, y) = rows(0, 50)?;
    register_dataset(name, Arc::new(Arrays::new([("x", x), ("y", y)])?));
    Ok(Reader::memory(name).shuffle(3).batch(batch, true).prefetch(2))
}

/// Two passes over a reader.
fn reading(reader: &Reader) -> Result<Program> {
    let net = Mlp;
    let built = Program::build(&[], |_| {
        let adam = Adam::new(net.parameters(), 0.05);
        let start = Var::of(&[0i64, 0], &[2])?;
        let first = [&Var::scalar(0.0f64)];
        let (_, last) = for_each(reader, 2, &start, &first, |batch, _| {
            let error = net.forward(&batch[0])? - &batch[1];
            let loss = mean(&(&error * &error), &[], false)?;
            adam.minimize(&loss)?;
            Ok((None, vec![loss]))
        })?;
        Ok(last)
    })?;
    Ok(built.unbound())
}

#[test]
fn each_rank_reads_its_part() -> Result<()> {
    let whole = reading(&reader("ranks.whole", 8)?)?;
    let program = reading(&reader("ranks.part", 4)?)?;
    let spread = spread(&program)?;
    let train = |program: &Program| {
        let state = State::new();
        let loss = Executor::new(program, state.clone())?.run(&[])?[0].item::<f64>()?;
        Ok((states(&state)?, loss))
    };
    let ranks = Threads::run(2, |_| train(&spread))?;
    let alone = train(&whole)?;
    same_bits(&[ranks[0].0.clone(), ranks[1].0.clone()]);
    near(&ranks[0].0, &alone.0);
    assert!((ranks[0].1 - alone.1).abs() < 1e-9);
    for strategy in [Strategy::ShardedOptimizer, Strategy::Sharded] {
        let cut = distribute(&program, &Distribution::new(strategy).world(2))?;
        let parts = Threads::run(2, |_| train(&cut))?;
        let parts: Vec<(States, Vec<f64>)> =
            parts.into_iter().map(|(states, loss)| (states, vec![loss])).collect();
        assert_eq!(parts[0].1, [ranks[0].1]);
        same_bits(&[ranks[0].0.clone(), whole_states(&cut, &parts)?]);
    }
    let served = distribute_to_servers(&program, Sides::new(2, 2), 64)?;
    let sides = run_served(&served, (2, 2), 1, |_, _| Ok(Vec::new()))?;
    same_as_served(&ranks[0].0, &served, &sides, 2)?;
    assert!(!served.trainer.states.keys().any(|name| name.starts_with("adam.m")));
    assert!(spread.to_string().contains(".batch(4, drop_last=true).shard().prefetch(2)"));
    Ok(())
}

/// A refusal at the user's line.
fn refused(build: impl Fn(&Mlp, &Var) -> Result<()>, expected: Expect) -> Result<()> {
    let error = spread(&program(build)?).expect_err("it is refused");
    assert!(error.loc().is_some(), "{error}");
    expected.assert_eq(error.message());
    Ok(())
}

#[test]
fn what_cannot_be_spread_is_refused() -> Result<()> {
    refused(
        |net, loss| {
            let adam = Adam::new(net.parameters(), 0.05);
            let small = lt(loss, &Var::scalar(0.1))?;
            cond(&small, || Ok(Vec::new()), || adam.minimize(loss).map(|()| Vec::new())).map(drop)
        },
        expect![
            "ranks wait for one another in a branch that depends on the data of the rank, which not all of them would reach"
        ],
    )?;
    refused(
        |net, loss| {
            Sgd::new(net.parameters(), 0.05).minimize(loss)?;
            let ty = Type::scalar(DType::I64);
            let seen = declare_state("seen", ty, Role::Counter, || Ok(Var::scalar(0i64)))?;
            let is_large = cast(&lt(&Var::scalar(0.1), loss)?, DType::I64)?;
            assign_state("seen", &(seen + is_large))
        },
        expect!["the state `seen` would differ from rank to rank: it is given i64[], which does"],
    )?;
    let error =
        spread(&Program::build(&[], |_| Ok(vec![Var::scalar(1.0)]))?).expect_err("no training");
    assert!(error.message().contains("trains nothing"));
    Ok(())
}

/// The same input gives the same bytes; what is spread already stays as it is.
#[test]
fn spreading_is_a_function_of_the_program() -> Result<()> {
    let program = program(|net, loss| Adam::new(net.parameters(), 0.05).minimize(loss))?;
    let once = spread(&program)?;
    assert_eq!(once.to_bytes(), spread(&program)?.to_bytes());
    assert_eq!(once.main, spread(&once)?.main);
    let mut small = Distribution::new(Strategy::DataParallel);
    (small.bucket, small.first_bucket) = (64, 1);
    let exchanges = |program: &Program| {
        let lines: Vec<String> = program
            .to_string()
            .lines()
            .filter(|line| line.contains("all_reduce") || line.contains("broadcast"))
            .map(|line| line.split("  at ").next().unwrap_or(line).trim().to_string())
            .collect();
        lines.join("\n")
    };
    let averages = |program: &Program| {
        let lines = exchanges(program);
        lines.lines().filter(|line| line.contains("all_reduce")).collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
        %1 = broadcast{root=0}(%0) : i64[2]
        %6 = broadcast{root=0}(%5) : f64[3, 5]
        %10 = broadcast{root=0}(%9) : f64[5]
        %14 = broadcast{root=0}(%13) : f64[5, 1]
        %16 = broadcast{root=0}(%15) : i64[]
        %18 = broadcast{root=0}(%17) : f64[]
        %20 = broadcast{root=0}(%19) : f64[3, 5]
        %22 = broadcast{root=0}(%21) : f64[5]
        %24 = broadcast{root=0}(%23) : f64[5, 1]
        %26 = broadcast{root=0}(%25) : f64[3, 5]
        %28 = broadcast{root=0}(%27) : f64[5]
        %30 = broadcast{root=0}(%29) : f64[5, 1]
        %49, %50, %51, %52 = all_reduce{how="mean"}(%13, %second.grad, %bias.grad, %first.grad) : f64[], f64[5, 1], f64[5], f64[3, 5]"#]].assert_eq(&exchanges(&once));
    expect![[r#"
        %14 = all_reduce{how="mean"}(%13) : f64[]
        %29, %30 = all_reduce{how="mean"}(%second.grad, %bias.grad) : f64[5, 1], f64[5]
        %32 = all_reduce{how="mean"}(%first.grad) : f64[3, 5]"#]]
    .assert_eq(&averages(&distribute(&program, &small)?));
    Ok(())
}

/// What an optimizer remembers is never put together, also where the program is a function of Python, in which updates
/// are constants to gradients.
#[test]
fn constants_of_gradients_stay_in_parts() -> Result<()> {
    let program = program(|net, loss| {
        let adam = Adam::new(net.parameters(), 0.01);
        adam.minimize(loss)?;
        for name in net.parameters() {
            let moment = format!("adam.m.{name}");
            let held = read_state(&moment)?;
            assign_state(&moment, &stop_gradient(&held)?)?;
        }
        Ok(())
    })?;
    let options = Distribution::new(Strategy::ShardedOptimizer).world(2);
    let text = distribute(&program, &options)?.to_string();
    let gathered = text.lines().filter(|line| line.contains("= gather_parts"));
    let wholes: usize =
        gathered.map(|line| line.split(" = ").next().unwrap_or("").split(',').count()).sum();
    assert_eq!(wholes, 3, "only parameters are put together:\n{text}");
    Ok(())
}
