//! Parallel loops, tasks and channels: in both modes, in files, and when something goes wrong.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fluvial::core::tasks::{self, with_schedule};
use fluvial::core::{ErrorKind, grad};
use fluvial::kernels::threads;
use fluvial::ops::control::{Reduce, Trips};
use fluvial::ops::tasks::{
    ChannelClose, ChannelRecv, ChannelSelect, ChannelSend, ChannelTimer, Go, MakeChannel,
};
use fluvial::prelude::*;
use fluvial::runtime::{Checkpoint, Outcome};

/// The number of threads and who is told of tasks that are left are one for the process.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn f64s(values: &[f64]) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).unwrap()
}

fn over<'a>(xs: &'a [&'a Var], reduce: Reduce) -> Trips<'a> {
    Trips { xs, reduce, ..Trips::default() }
}

/// What a program gives by the executor, the interpreter, and after it was written down and read.
fn everywhere(program: &Program, feeds: &[(&str, Tensor)]) -> Result<Vec<Tensor>> {
    let first = Executor::new(program, State::new())?.run(feeds)?;
    let second = Interpreter::new(program.clone(), State::new())?.run(feeds)?;
    let text = Program::parse(&program.to_string(), &registry())?;
    let third = Executor::new(&text, State::new())?.run(feeds)?;
    for other in [&second, &third] {
        assert!(first.iter().zip(other).all(|(a, b)| a.bitwise_eq(b)), "{first:?} {other:?}");
    }
    Ok(first)
}

#[test]
fn a_parallel_loop_gives_the_same_bits_in_both_modes_and_on_any_number_of_threads() -> Result<()> {
    let _turn = turn();
    let xs: Vec<f64> = (0..300).map(|i| f64::from(i).sin()).collect();
    let xs = Tensor::from_slice(&xs, &[100, 3])?;
    let scale = f64s(&[0.1, 0.7, -0.3]);
    for reduce in [Reduce::Stack, Reduce::Sum, Reduce::Mean] {
        let body = |i: &Var, x: &[Var], w: &[Var]| {
            let i = cast(i, DType::F64)?;
            let y = exp(&(&x[0] * &w[0]))? + &i * 0.01;
            Ok(vec![sum(&(&y * &y), &[], false)?, y])
        };
        let ty = |tensor: &Tensor| tensor.ty();
        let program = Program::build(&[("xs", ty(&xs)), ("w", ty(&scale))], |p| {
            let loops = Trips { count: None, xs: &[&p[0]], shared: &[&p[1]], reduce };
            let results = parallel_for(loops, body)?;
            let loss =
                sum(&results[0], &[], false)? + sum(&(&results[1] * &results[1]), &[], false)?;
            let grads = grad(&[&loss], &[&p[0], &p[1]])?;
            Ok(results.into_iter().chain(grads).collect())
        })?;
        let mut found: Option<Vec<Tensor>> = None;
        for n_threads in [1, 2, 5] {
            threads::set_count(n_threads);
            let feeds = [("xs", xs.clone()), ("w", scale.clone())];
            let compiled = everywhere(&program, &feeds)?;
            let (x, w) = (Var::new(xs.clone()).track()?, Var::new(scale.clone()).track()?);
            let loops = Trips { count: None, xs: &[&x], shared: &[&w], reduce };
            let mut lines = parallel_for(loops, body)?;
            let loss = sum(&lines[0], &[], false)? + sum(&(&lines[1] * &lines[1]), &[], false)?;
            lines.extend(grad(&[&loss], &[&x, &w])?);
            for (a, b) in compiled.iter().zip(&lines) {
                assert!(a.bitwise_eq(b.tensor()?), "{reduce:?}: {a:?} {b:?}");
            }
            let known = found.get_or_insert_with(|| compiled.clone());
            assert!(known.iter().zip(&compiled).all(|(a, b)| a.bitwise_eq(b)));
        }
    }
    threads::set_count(2);
    Ok(())
}

#[test]
fn gradients_of_a_parallel_loop_are_those_of_differences() -> Result<()> {
    let loss = |x: &Var, w: &Var| -> Result<Var> {
        let loops = Trips { count: None, xs: &[x], shared: &[w], reduce: Reduce::Sum };
        let y = parallel_for(loops, |_, x, w| Ok(vec![exp(&(&x[0] * &w[0]))? * &x[0]]))?;
        sum(&(&y[0] * &y[0]), &[], false)
    };
    let (xs, ws) = ([0.3, -0.2, 0.7], [0.4]);
    let (x, w) = (Var::new(f64s(&xs)).track()?, Var::new(f64s(&ws)).track()?);
    let found = grad(&[&loss(&x, &w)?], &[&x, &w])?;
    let found: Vec<f64> = [found[0].to_vec::<f64>()?, found[1].to_vec::<f64>()?].concat();
    for i in 0..4 {
        let at = |step: f64| -> Result<f64> {
            let (mut xs, mut ws) = (xs, ws);
            if i < 3 {
                xs[i] += step
            } else {
                ws[0] += step
            }
            loss(&Var::new(f64s(&xs)), &Var::new(f64s(&ws)))?.item()
        };
        let slope = (at(1e-5)? - at(-1e-5)?) / 2e-5;
        assert!((slope - found[i]).abs() < 1e-7, "{i}: {slope} {}", found[i]);
    }
    Ok(())
}

#[test]
fn trips_draw_numbers_of_their_own() -> Result<()> {
    let _turn = turn();
    let ty = Type::of(DType::F64, &[2])?;
    let draws = || -> Result<Vec<Var>> {
        let count = Trips { count: Some(Dim::size(6)), ..Trips::default() };
        let first = parallel_for(count, |_, _, _| {
            Ok(vec![uniform(&ty, 0.0, 1.0)?, uniform(&ty, 0.0, 1.0)?])
        })?;
        let second = parallel_for(count, |_, _, _| Ok(vec![uniform(&ty, 0.0, 1.0)?]))?;
        Ok(first.into_iter().chain(second).collect())
    };
    let program = Program::build(&[], |_| draws())?;
    let mut all: Option<Vec<Tensor>> = None;
    for n_threads in [1, 3] {
        threads::set_count(n_threads);
        let found = everywhere(&program, &[])?;
        assert!(
            all.get_or_insert_with(|| found.clone())
                .iter()
                .zip(&found)
                .all(|(a, b)| a.bitwise_eq(b))
        );
    }
    let state = State::new();
    let _scope = state.enter();
    let lines = draws()?;
    let all = all.unwrap_or_default();
    assert!(all.iter().zip(&lines).all(|(a, b)| a.bitwise_eq(b.tensor().unwrap())));
    let mut numbers: Vec<u64> =
        all.iter().flat_map(|tensor| tensor.to_f64s()).map(f64::to_bits).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 36);
    threads::set_count(2);
    Ok(())
}

#[test]
fn what_trips_cannot_do_is_refused() -> Result<()> {
    let body = |f: &dyn Fn(&Var) -> Result<Vec<Var>>| {
        Program::build(&[("xs", Type::of(DType::F64, &[4])?)], |p| {
            parallel_for(over(&[&p[0]], Reduce::Stack), |_, x, _| f(&x[0]))
        })
    };
    let assigned = body(&|x| {
        let _ = declare_state("total", Type::scalar(DType::F64), Role::Buffer, || {
            Ok(Var::scalar(0.0))
        })?;
        assign_state("total", x)?;
        Ok(vec![x.clone()])
    });
    let error = assigned.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert!(error.to_string().contains("assigns the state `total`"), "{error}");
    let error = body(&|x| Ok(vec![print(x, "x")?])).unwrap_err().to_string();
    assert!(error.contains("has an effect") && error.contains("concurrency.rs"), "{error}");
    let program = body(&|x| {
        assert_(&lt(x, &x.literal(2.5))?, "below 2.5", &[x])?;
        Ok(vec![x.clone()])
    });
    assert!(program.is_err());
    let numbers = Var::of(&[0i64, 1, 7, 9], &[4])?;
    let table = Var::of(&[1.0, 2.0], &[2])?;
    let loops = Trips { count: None, xs: &[&numbers], shared: &[&table], reduce: Reduce::Stack };
    let error = parallel_for(loops, |_, i, t| Ok(vec![gather(&t[0], &i[0], 0)?])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Index);
    let error = error.to_string();
    assert!(
        error.contains("in trip 2 of a parallel loop") && error.contains("concurrency.rs"),
        "{error}"
    );
    Ok(())
}

/// Squares of 0 to 9, by a producer and a consumer.
fn squares(capacity: usize) -> Result<Program> {
    Program::build(&[], |_| {
        let channel = MakeChannel::of(&Type::scalar(DType::I64), capacity)?;
        let task = Go::start(|| {
            let zero = Var::scalar(0i64);
            while_loop(
                &[&zero],
                |i| lt(&i[0], &Var::scalar(10i64)),
                |i| {
                    ChannelSend::to(&channel, &(&i[0] * &i[0]))?;
                    Ok(vec![&i[0] + 1.0])
                },
            )?;
            ChannelClose::of(&channel)?;
            Ok(vec![Var::scalar(7i64)])
        })?;
        let (first, ok) = ChannelRecv::from(&channel)?;
        let total = while_loop(
            &[&first, &ok, &Var::scalar(0i64)],
            |c| Ok(c[1].clone()),
            |c| {
                let (next, ok) = ChannelRecv::from(&channel)?;
                Ok(vec![next, ok, &c[2] + &c[0]])
            },
        )?;
        let result = task.wait()?;
        Ok(vec![total[2].clone(), result[0].clone()])
    })
}

#[test]
fn a_producer_and_a_consumer() -> Result<()> {
    for capacity in [0, 1, 100] {
        let program = squares(capacity)?;
        assert!(program.to_string().contains("chan i64[]"), "{program}");
        let found = everywhere(&program, &[])?;
        assert_eq!((found[0].item::<i64>()?, found[1].item::<i64>()?), (285, 7));
        assert_eq!(Program::from_bytes(&program.to_bytes(), &registry())?, program);
    }
    Ok(())
}

#[test]
fn a_deadlock_names_each_task_and_channel() -> Result<()> {
    let program = Program::build(&[], |_| {
        let (a, b) = (
            MakeChannel::of(&Type::scalar(DType::F64), 0)?,
            MakeChannel::of(&Type::scalar(DType::F64), 0)?,
        );
        Go::start(|| {
            ChannelSend::to(&a, &Var::scalar(1.0))?;
            Ok(vec![])
        })?;
        Ok(vec![ChannelRecv::from(&b)?.0])
    })?;
    for run in [
        Executor::new(&program, State::new())?.run(&[]),
        Interpreter::new(program.clone(), State::new())?.run(&[]),
        with_schedule(Some(3), || Executor::new(&program, State::new())?.run(&[])),
    ] {
        let error = run.unwrap_err().to_string();
        assert!(error.contains("deadlock"), "{error}");
        assert!(error.contains("the main task receives from the channel made at"), "{error}");
        assert!(error.contains("sends to the channel made at"), "{error}");
    }
    Ok(())
}

#[test]
fn closed_channels_and_errors_of_tasks() -> Result<()> {
    let run = |build: &dyn Fn() -> Result<Vec<Var>>| -> Result<Vec<Tensor>> {
        let program = Program::build(&[], |_| build())?;
        Executor::new(&program, State::new())?.run(&[])
    };
    let open = || MakeChannel::of(&Type::scalar(DType::F64), 1);
    let one = Var::scalar(1.0);
    let error = run(&|| {
        let channel = open()?;
        ChannelClose::of(&channel)?;
        ChannelSend::to(&channel, &one)?;
        Ok(vec![one.clone()])
    });
    assert!(error.unwrap_err().to_string().contains("sent on a closed channel"));
    let error = run(&|| {
        let channel = open()?;
        ChannelClose::of(&channel)?;
        ChannelClose::of(&channel)?;
        Ok(vec![one.clone()])
    });
    assert!(error.unwrap_err().to_string().contains("closed already"));
    let error = run(&|| {
        let channel = open()?;
        Go::start(|| {
            let table = Var::of(&[1.0, 2.0], &[2])?;
            ChannelSend::to(&channel, &gather(&table, &Var::scalar(5i64), 0)?)?;
            Ok(vec![])
        })?;
        Ok(vec![ChannelRecv::from(&channel)?.0])
    });
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Index);
    assert!(error.to_string().contains("in the task started at"), "{error}");
    let found = run(&|| {
        let channel = open()?;
        ChannelSend::to(&channel, &one)?;
        ChannelClose::of(&channel)?;
        let (a, first) = ChannelRecv::from(&channel)?;
        let (b, second) = ChannelRecv::from(&channel)?;
        Ok(vec![a, first, b, second])
    })?;
    assert_eq!(found.iter().map(|x| x.to_f64s()[0]).collect::<Vec<_>>(), [1.0, 1.0, 0.0, 0.0]);
    Ok(())
}

#[test]
fn tasks_that_are_left_are_named() -> Result<()> {
    let _turn = turn();
    static LEFT: Mutex<Vec<String>> = Mutex::new(Vec::new());
    tasks::tell_left(|left| LEFT.lock().unwrap().extend_from_slice(left));
    let program = Program::build(&[], |_| {
        let channel = MakeChannel::of(&Type::scalar(DType::F64), 0)?;
        Go::start(|| {
            ChannelSend::to(&channel, &Var::scalar(1.0))?;
            Ok(vec![])
        })?;
        Ok(vec![Var::scalar(5.0) + 1.0])
    })?;
    let found = Executor::new(&program, State::new())?.run(&[])?;
    assert_eq!(found[0].item::<f64>()?, 6.0);
    let left = std::mem::take(&mut *LEFT.lock().unwrap());
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].contains("the task started at") && left[0].contains("sends to"), "{left:?}");
    Ok(())
}

#[test]
fn select_takes_what_comes_first_and_clocks_end_waiting() -> Result<()> {
    let program = Program::build(&[], |_| {
        let (numbers, quit) = (
            MakeChannel::of(&Type::scalar(DType::I64), 0)?,
            MakeChannel::of(&Type::scalar(DType::Bool), 0)?,
        );
        let task = Go::start(|| {
            let sum = while_loop(
                &[&Var::scalar(0i64), &Var::scalar(0i64)],
                |c| lt(&c[0], &Var::scalar(10i64)),
                |c| {
                    let (x, _) = ChannelRecv::from(&numbers)?;
                    Ok(vec![&c[0] + 1.0, &c[1] + &x])
                },
            )?;
            ChannelSend::to(&quit, &Var::scalar(true))?;
            Ok(vec![sum[1].clone()])
        })?;
        while_loop(
            &[&Var::scalar(0i64), &Var::scalar(1i64), &Var::scalar(true)],
            |c| Ok(c[2].clone()),
            |c| {
                let chosen = ChannelSelect::of(&[(&numbers, Some(&c[0])), (&quit, None)], false)?;
                let sent = eq(&chosen.case, &Var::scalar(0i64))?;
                let next = where_(&sent, &c[1], &c[0])?;
                let after = where_(&sent, &(&c[0] + &c[1]), &c[1])?;
                Ok(vec![next, after, sent])
            },
        )?;
        let silent = MakeChannel::of(&Type::scalar(DType::F64), 0)?;
        let clock = ChannelTimer::after(&Var::scalar(0.01))?;
        let late = ChannelSelect::of(&[(&silent, None), (&clock, None)], false)?;
        let none = ChannelSelect::of(&[(&silent, None)], true)?;
        Ok(vec![task.wait()?[0].clone(), late.case, none.case])
    })?;
    let found = everywhere(&program, &[])?;
    // The sum of the first ten numbers of Fibonacci.
    assert_eq!(found.iter().map(|x| x.to_f64s()[0]).collect::<Vec<_>>(), [88.0, 1.0, -1.0]);
    Ok(())
}

#[test]
fn states_that_tasks_assign_arrive_when_they_are_waited_for() -> Result<()> {
    let ty = Type::scalar(DType::F64);
    let count = |name: &str| declare_state(name, ty, Role::Buffer, || Ok(Var::scalar(0.0)));
    let adds = |name: &'static str| {
        Go::start(move || {
            let before = count(name)?;
            assign_state(name, &(before + 1.0))?;
            Ok(vec![])
        })
    };
    let program = Program::build(&[], |_| {
        let (a, b) = (adds("a")?, adds("b")?);
        a.wait()?;
        b.wait()?;
        Ok(vec![count("a")? + count("b")?])
    })?;
    let executor = Executor::new(&program, State::new())?;
    assert_eq!(executor.run(&[])?[0].item::<f64>()?, 2.0);
    assert_eq!(executor.run(&[])?[0].item::<f64>()?, 4.0);
    let lost = Program::build(&[], |_| adds("a").map(|_| vec![Var::scalar(1.0)]));
    assert!(lost.unwrap_err().to_string().contains("nobody waits for it"));
    let both = Program::build(&[], |_| {
        let (a, b) = (adds("a")?, adds("a")?);
        a.wait()?;
        b.wait()?;
        Ok(vec![])
    });
    assert!(both.unwrap_err().to_string().contains("is assigned by a task that may still run"));
    Ok(())
}

#[test]
fn tasks_draw_numbers_of_their_own() -> Result<()> {
    let ty = Type::of(DType::F64, &[3])?;
    let program = Program::build(&[], |_| {
        let task = || Go::start(|| Ok(vec![uniform(&ty, 0.0, 1.0)?]));
        let (a, b) = (task()?, task()?);
        Ok(vec![uniform(&ty, 0.0, 1.0)?, a.wait()?[0].clone(), b.wait()?[0].clone()])
    })?;
    let found = everywhere(&program, &[])?;
    assert!(!found[0].bitwise_eq(&found[1]) && !found[1].bitwise_eq(&found[2]));
    Ok(())
}

#[test]
fn gradients_do_not_get_lost_in_messages() -> Result<()> {
    let w = Var::scalar(2.0).track()?;
    let channel = MakeChannel::of(&Type::scalar(DType::F64), 1)?;
    let error = ChannelSend::to(&channel, &(&w * &w)).unwrap_err();
    assert!(error.to_string().contains("messages carry no gradient"));
    ChannelSend::to(&channel, &(&w * &w).detach())?;
    assert_eq!(ChannelRecv::from(&channel)?.0.item::<f64>()?, 4.0);
    Ok(())
}

#[test]
fn a_schedule_repeats_a_run() -> Result<()> {
    let program = Program::build(&[], |_| {
        let channel = MakeChannel::of(&Type::scalar(DType::I64), 0)?;
        for task in 0..4i64 {
            Go::start(|| {
                for k in 0..3 {
                    ChannelSend::to(&channel, &Var::scalar(10 * task + k))?;
                }
                Ok(vec![])
            })?;
        }
        (0..12).map(|_| ChannelRecv::from(&channel).map(|(x, _)| x)).collect()
    })?;
    let executor = Executor::new(&program, State::new())?;
    let order = |seed: u64| -> Result<Vec<i64>> {
        with_schedule(Some(seed), || executor.run(&[]))?.iter().map(|x| x.item()).collect()
    };
    let mut orders = Vec::new();
    for seed in 0..8 {
        let first = order(seed)?;
        assert_eq!(first, order(seed)?);
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32]);
        orders.push(first);
    }
    orders.sort();
    orders.dedup();
    assert!(orders.len() > 2, "the seed chooses the order");
    Ok(())
}

#[test]
fn a_run_with_tasks_is_not_suspended_or_watched_silently() -> Result<()> {
    let program = squares(0)?;
    let executor = Executor::new(&program, State::new())?;
    let error = executor.call().until(&|_| true).start().map(drop).unwrap_err();
    assert!(error.to_string().contains("other tasks under way"), "{error}");
    let error = executor.call().observe(&fluvial::runtime::Profiler::default()).run().unwrap_err();
    assert!(error.to_string().contains("watched"), "{error}");
    Ok(())
}

/// Tasks come and go within the trips of a loop; channels are there before and after. What is chosen is random.
fn in_trips() -> Result<Program> {
    Program::build(&[], |_| {
        let a = MakeChannel::of(&Type::parse("f64[n]")?, 8)?;
        let b = MakeChannel::of(&Type::scalar(DType::F64), 64)?;
        ChannelSend::to(&a, &Var::of(&[1.0, 2.0, 3.0], &[3])?)?;
        let closed = MakeChannel::of(&Type::scalar(DType::F64), 2)?;
        ChannelSend::to(&closed, &Var::scalar(5.0))?;
        ChannelClose::of(&closed)?;
        let before = Go::start(|| Ok(vec![Var::scalar(0.5)]))?;
        before.wait()?;
        let out = while_loop(
            &[&Var::scalar(0i64), &Var::scalar(0.0)],
            |c| lt(&c[0], &Var::scalar(12i64)),
            |c| {
                let task = Go::start(|| {
                    ChannelSend::to(&b, &cast(&c[0], DType::F64)?)?;
                    Ok(vec![&c[1] * 1.0])
                })?;
                let done = task.wait()?[0].clone();
                ChannelSend::to(&b, &(&done + 100.0))?;
                let chosen = ChannelSelect::of(&[(&b, None), (&closed, None)], false)?;
                let of_b = eq(&chosen.case, &Var::scalar(0i64))?;
                let other = match (&chosen.received[0], &chosen.received[1]) {
                    (Some((x, _)), Some((y, _))) => where_(&of_b, x, y)?,
                    _ => unreachable!(),
                };
                let drained = ChannelSelect::of(&[(&b, None)], true)?;
                let rest = drained.received[0].as_ref().map(|(x, _)| x.clone()).unwrap();
                Ok(vec![&c[0] + 1.0, &c[1] * 1.5 + &other * 0.25 + &rest])
            },
        )?;
        let (first, _) = ChannelRecv::from(&a)?;
        let kept = before.wait()?[0].clone();
        Ok(vec![out[1].clone(), first, kept])
    })
}

#[test]
fn a_run_whose_tasks_have_ended_is_suspended_with_its_channels() -> Result<()> {
    let program = in_trips()?;
    let bits = |found: &[Tensor]| found.iter().flat_map(Tensor::to_f64s).collect::<Vec<_>>();
    for seed in [3, 4, 5] {
        let whole = with_schedule(Some(seed), || Executor::new(&program, State::new())?.run(&[]))?;
        for every in 1..6 {
            let found = with_schedule(Some(seed), || -> Result<Vec<Tensor>> {
                let trips = std::cell::Cell::new(0);
                let wanted = |_: &fluvial::runtime::Trip<'_>| {
                    trips.set(trips.get() + 1);
                    trips.get() % every == 0
                };
                let state = State::new();
                let executor = Executor::new(&program, state.clone())?;
                let mut outcome = executor.call().until(&wanted).start()?;
                loop {
                    let suspension = match outcome {
                        Outcome::Done(found) => return Ok(found),
                        Outcome::Suspended(suspension) => suspension,
                    };
                    // By a file, as after the end of the process.
                    let bytes = Checkpoint::of(1, Vec::new(), suspension).to_bytes()?;
                    let (_, _, suspension) = Checkpoint::from_bytes(&bytes)?.into_parts();
                    let executor = Executor::new(&program, state.clone())?;
                    outcome = executor.call().resume(suspension).until(&wanted).start()?;
                }
            })?;
            assert_eq!(bits(&found), bits(&whole), "seed {seed}, every {every}");
        }
    }
    Ok(())
}
