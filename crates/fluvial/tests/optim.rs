//! Optimizers in both modes: the same bits, resumable, with clear errors.

use fluvial::optim::{Decay, lookup};
use fluvial::prelude::*;

/// Every optimizer, with settings that use all it remembers.
fn optimizers() -> Vec<Box<dyn Optimizer>> {
    let names = || ["w", "v"];
    vec![
        Box::new(Sgd::new(names(), 0.1).weight_decay(0.01).name("sgd")),
        Box::new(Momentum::new(names(), 0.1).dampening(0.5).name("momentum")),
        Box::new(Momentum::new(names(), 0.1).nesterov(true).name("nesterov")),
        Box::new(Adagrad::new(names(), 0.1).lr_decay(0.1).name("adagrad")),
        Box::new(Adadelta::new(names(), 1.0).name("adadelta")),
        Box::new(RmsProp::new(names(), 0.05).centered(true).momentum(0.5).name("rmsprop")),
        Box::new(Adam::new(names(), 0.05).amsgrad(true).clip(Clip::GlobalNorm(0.5)).name("adam")),
        Box::new(AdamW::new(names(), 0.05).schedule(Schedule::cosine(10, 0.01)).name("adamw")),
        Box::new(Adamax::new(names(), 0.05).clip(Clip::Norm(0.25)).name("adamax")),
        Box::new(
            NAdam::new(["w"], 0.05)
                .group(["v"], |group| group.rule.betas = (0.5, 0.75))
                .name("nadam"),
        ),
        Box::new(RAdam::new(names(), 0.05).betas((0.9, 0.9)).clip(Clip::Value(0.1)).name("radam")),
        Box::new(Ftrl::new(names(), 0.5).l1(0.01).l2(0.1).name("ftrl")),
        Box::new(Lars::new(names(), 1.0).trust(0.1).weight_decay(0.1).name("lars")),
        Box::new(Lamb::new(names(), 0.05).name("lamb")),
        Box::new(Lion::new(names(), 0.05).weight_decay(0.1).name("lion")),
        Box::new(Adam::new(names(), 0.05).accumulate(2).name("twice")),
    ]
}

/// A small network with dropout; `v` starts small.
fn loss_of(x: &Var, y: &Var) -> Result<Var> {
    let w = parameter("w", Type::of(DType::F32, &[3, 4])?, || {
        uniform(&Type::of(DType::F32, &[3, 4])?, -0.5, 0.5)
    })?;
    let v = parameter("v", Type::of(DType::F32, &[4])?, || {
        normal(&Type::of(DType::F32, &[4])?, 0.0, 0.3)
    })?;
    let hidden = dropout(&tanh(&matmul(x, &w)?)?, 0.25)?;
    let error = matmul(&hidden, &v)? - y;
    mean(&(&error * &error), &[], false)
}

fn step(optimizer: &dyn Optimizer, x: &Var, y: &Var) -> Result<Var> {
    let loss = loss_of(x, y)?;
    optimizer.minimize(&loss)?;
    Ok(loss)
}

fn batch(i: usize) -> Result<(Var, Var)> {
    let rows = 3 + i % 3;
    let x: Vec<f32> = (0..rows * 3).map(|k| ((k * 7 + i) % 11) as f32 / 5.0 - 1.0).collect();
    let y: Vec<f32> = (0..rows).map(|k| (k % 3) as f32 - 1.0).collect();
    Ok((Var::of(&x, &[rows, 3])?, Var::of(&y, &[rows])?))
}

fn program_of(optimizer: &dyn Optimizer) -> Result<Program> {
    let rows = Dim::symbol("rows")?;
    let inputs = [
        ("x", Type::new(DType::F32, &[rows, Dim::size(3)])?),
        ("y", Type::new(DType::F32, &[rows])?),
    ];
    Program::build(&inputs, |v| Ok(vec![step(optimizer, &v[0], &v[1])?]))
}

fn same_states(a: &State, b: &State) -> Result<()> {
    assert_eq!(a.names(), b.names());
    for name in a.names() {
        let (left, right) = (a.tensor(&name)?, b.tensor(&name)?);
        assert!(left.bitwise_eq(&right), "{name}: {left:?} and {right:?}");
    }
    Ok(())
}

#[test]
fn every_optimizer_trains_to_the_same_bits_in_both_modes() -> Result<()> {
    for optimizer in optimizers() {
        let (by_line, by_program, mixed) = (State::new(), State::new(), State::new());
        // A program does not depend on the scope in which it is built.
        let program = program_of(&*optimizer)?;
        for i in 0..6 {
            let (x, y) = batch(i)?;
            let loss = {
                let _scope = by_line.enter();
                step(&*optimizer, &x, &y)?.item::<f32>()?
            };
            let again = {
                let _scope = by_program.enter();
                program.apply(&[&x, &y])?[0].item::<f32>()?
            };
            assert_eq!(loss.to_bits(), again.to_bits(), "{} at step {i}", optimizer.name());
            let _scope = mixed.enter();
            match i % 2 {
                0 => drop(program.apply(&[&x, &y])?),
                _ => drop(step(&*optimizer, &x, &y)?),
            }
        }
        same_states(&by_line, &by_program)?;
        same_states(&by_line, &mixed)?;
        let start = State::new();
        program.initialise(&start)?;
        assert!(!by_line.tensor("w")?.bitwise_eq(&start.tensor("w")?), "{}", optimizer.name());
    }
    Ok(())
}

#[test]
fn a_resumed_run_ends_like_an_uninterrupted_one() -> Result<()> {
    for optimizer in optimizers() {
        let whole = State::new();
        let mut resumed = State::new();
        for i in 0..7 {
            let (x, y) = batch(i)?;
            {
                let _scope = whole.enter();
                let _ = step(&*optimizer, &x, &y)?;
            }
            if i == 3 {
                // What is saved is the scope; a new process has nothing else.
                let saved = State::new();
                for name in resumed.names() {
                    let role = resumed.declaration(&name).map(|decl| decl.role);
                    saved.insert(&name, role.unwrap_or(Role::Buffer), resumed.tensor(&name)?)?;
                }
                resumed = saved;
            }
            let _scope = resumed.enter();
            let _ = step(&*optimizer, &x, &y)?;
        }
        same_states(&whole, &resumed)?;
    }
    Ok(())
}

#[test]
fn training_programs_are_files_and_name_the_users_lines() -> Result<()> {
    for optimizer in optimizers() {
        let program = program_of(&*optimizer)?;
        fluvial::core::verify(&program)?;
        let parsed = Program::parse(&program.to_string(), &registry())?;
        assert_eq!(parsed, program, "{}", optimizer.name());
        for (name, decl) in &program.states {
            let expected = match &**name {
                "w" | "v" => Role::Parameter,
                "rng" => Role::Random,
                name if name.ends_with(".step") || name.ends_with(".calls") => Role::Counter,
                _ => Role::Optimizer,
            };
            assert_eq!(decl.role, expected, "{name}");
        }
        assert!(program.for_inference()?.states.keys().all(|name| !name.contains('.')));
    }
    let program = Program::build(&[], |_| {
        let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(1.0)))?;
        Adam::new(["w"], 0.1).minimize(&(&w * &w))?;
        let boxed: Box<dyn Optimizer> = Box::new(Adam::new(["w"], 0.1).name("boxed"));
        boxed.minimize(&read_state("w")?)?;
        Ok(vec![])
    })?;
    for call in program.main.calls.iter().chain(&program.startup.calls) {
        assert!(call.loc.file().ends_with("tests/optim.rs"), "{} {}", call.op.name(), call.loc);
    }
    Ok(())
}

/// A loss that uses `a` or `b`.
fn branching(x: &Var) -> Result<Var> {
    let ty = Type::scalar(DType::F64);
    let a = parameter("a", ty, || Ok(Var::scalar(1.0)))?;
    let b = parameter("b", ty, || Ok(Var::scalar(2.0)))?;
    let positive = gt(x, &Var::scalar(0.0))?;
    let loss = cond(&positive, || Ok(vec![x * &a * &a]), || Ok(vec![x * &b * &b]))?;
    Ok(loss[0].clone())
}

#[test]
fn a_branch_not_taken_means_the_same_in_both_modes() -> Result<()> {
    let optimizer = Adam::new(["a", "b"], 0.1).weight_decay(0.1).name("adam");
    let train = |x: &Var| optimizer.minimize(&branching(x)?);
    let program = Program::build(&[("x", Type::scalar(DType::F64))], |x| {
        train(&x[0])?;
        Ok(vec![])
    })?;
    let (by_line, by_program) = (State::new(), State::new());
    for x in [1.0, -2.0, -0.5, 3.0, 1.5] {
        {
            let _scope = by_line.enter();
            train(&Var::scalar(x))?;
        }
        let _scope = by_program.enter();
        let _ = program.apply(&[&Var::scalar(x)])?;
    }
    same_states(&by_line, &by_program)
}

#[test]
fn accumulated_batches_train_like_one_large_batch() -> Result<()> {
    let (apart, together) = (State::new(), State::new());
    let loss = |from: usize, to: usize| -> Result<Var> {
        let w = parameter("w", Type::of(DType::F64, &[2])?, || Var::of(&[0.5, -0.25], &[2]))?;
        let x: Vec<f64> = (0..8).map(|i| ((i * 3) % 7) as f64 / 4.0 - 0.5).collect();
        let x = slice(&Var::of(&x, &[4, 2])?, from as i64, to as i64)?;
        let error = matmul(&x, &w)? - 1.0;
        mean(&(&error * &error), &[], false)
    };
    let small = Adam::new(["w"], 0.1).accumulate(4).name("adam");
    let large = Adam::new(["w"], 0.1).name("adam");
    for _ in 0..3 {
        for i in 0..4 {
            let _scope = apart.enter();
            small.minimize(&loss(i, i + 1)?)?;
        }
        let _scope = together.enter();
        large.minimize(&loss(0, 4)?)?;
    }
    assert_eq!(apart.tensor("adam.step")?.item::<i64>()?, 3);
    let (a, b) = (apart.tensor("w")?.to_f64s(), together.tensor("w")?.to_f64s());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} {b:?}");
    Ok(())
}

fn slice(x: &Var, from: i64, to: i64) -> Result<Var> {
    gather(x, &Var::of(&(from..to).collect::<Vec<_>>(), &[(to - from) as usize])?, 0)
}

/// A whole training, as a loop of unknown length, with accumulation, schedule, clipping and
/// averages.
fn whole_training(limit: &Var) -> Result<Vec<Var>> {
    let params = ["w"];
    let optimizer = Adam::new(params, 0.2)
        .clip(Clip::GlobalNorm(1.0))
        .schedule(Schedule::warm_up(3, 0.25, Schedule::exponential(0.95)))
        .accumulate(2)
        .name("adam");
    let ema = Ema::new(params, 0.75).warm_up().name("ema");
    let plateau = Plateau::new().name("plateau").factor(0.5).patience(2);
    let slow = Sgd::new(["b"], 0.1).schedule(plateau.schedule()).name("slow");
    let body = |v: &[Var]| {
        let w = parameter("w", Type::of(DType::F64, &[3])?, || Var::of(&[2.0, -1.0, 0.5], &[3]))?;
        let b = parameter("b", Type::scalar(DType::F64), || Ok(Var::scalar(0.5)))?;
        let x = cos(&(Var::of(&[1.0, 2.0, 3.0], &[3])? * cast(&v[0], DType::F64)?))?;
        let error = sum(&(w * x), &[], false)? + b - 1.0;
        let loss = (&error * &error).check()?;
        // Two optimizers share one loss: gradients first, while the tape is there.
        let all = Sgd::new(["w", "b"], 0.0).gradients(&loss)?;
        optimizer.step(&all[..1])?;
        slow.step(&all[1..])?;
        ema.update()?;
        plateau.observe(&loss)?;
        Ok(vec![&v[0] + 1.0, loss.detach()])
    };
    let init = [Var::scalar(0i64), Var::scalar(9.0)];
    let refs: Vec<&Var> = init.iter().collect();
    while_loop(&refs, |v| lt(&v[0], limit), body)
}

#[test]
fn a_whole_training_is_one_program() -> Result<()> {
    let program =
        Program::build(&[("limit", Type::scalar(DType::I64))], |v| whole_training(&v[0]))?;
    let (by_line, by_program) = (State::new(), State::new());
    for limit in [5i64, 8] {
        let limit = Var::scalar(limit);
        let loss = {
            let _scope = by_line.enter();
            whole_training(&limit)?[1].item::<f64>()?
        };
        let _scope = by_program.enter();
        assert_eq!(program.apply(&[&limit])?[1].item::<f64>()?.to_bits(), loss.to_bits());
    }
    same_states(&by_line, &by_program)?;
    assert_eq!(by_line.tensor("adam.step")?.item::<i64>()?, 6);
    assert_eq!(by_line.tensor("slow.step")?.item::<i64>()?, 13);
    Ok(())
}

#[test]
fn parameters_of_layers_bring_their_attributes() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    let net = Sequential::new("net").add(|at| Linear::new(at, 2, 2)).add(|at| {
        Linear::new(at, 2, 1)
            .weight_attr(ParamAttr::new().learning_rate(0.5).regularizer(Regularizer::L1(0.25)))
            .bias_attr(ParamAttr::new().trainable(false))
    });
    let optimizer = Sgd::new(net.parameters(), 0.1).weight_decay(0.5);
    let x = Var::of(&[1.0f32, -2.0, 0.5, 1.5], &[2, 2])?;
    let loss = mean(&net.forward(&x)?, &[], false)?;
    let gradients = optimizer.gradients(&loss)?;
    assert_eq!(gradients.len(), 3);
    let before: Vec<Vec<f64>> = net.parameters().iter().map(value).collect::<Result<_>>()?;
    optimizer.step(&gradients)?;
    let after: Vec<Vec<f64>> = net.parameters().iter().map(value).collect::<Result<_>>()?;
    let grads: Vec<Vec<f64>> =
        gradients.iter().flatten().map(|g| Ok(g.tensor()?.to_f64s())).collect::<Result<_>>()?;
    let expected = |i: usize, k: usize| match i {
        2 => before[2][k] - 0.05 * (grads[2][k] + 0.25 * before[2][k].signum()),
        3 => before[3][k],
        _ => before[i][k] - 0.1 * (grads[i][k] + 0.5 * before[i][k]),
    };
    for (i, values) in after.iter().enumerate() {
        for (k, value) in values.iter().enumerate() {
            assert!((value - expected(i, k)).abs() < 1e-6, "parameter {i}: {value}");
        }
    }
    // What is frozen later is left alone from then on.
    net.freeze();
    net.parameters()[0].set_trainable(true);
    optimizer.minimize(&mean(&net.forward(&x)?, &[], false)?)?;
    let last: Vec<Vec<f64>> = net.parameters().iter().map(value).collect::<Result<_>>()?;
    assert_ne!(last[0], after[0]);
    assert_eq!(last[1..], after[1..]);
    Ok(())
}

fn value(parameter: &Parameter) -> Result<Vec<f64>> {
    Ok(parameter.get()?.tensor()?.to_f64s())
}

#[test]
fn a_penalty_of_its_own_stands_in_place_of_weight_decay() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    let free = || Param::new("b").regularizer(Regularizer::L2(0.0));
    for (prefix, decay) in [("coupled", Decay::Coupled), ("decoupled", Decay::Decoupled)] {
        state.insert("w", Role::Parameter, Tensor::scalar(4.0f64))?;
        state.insert("b", Role::Parameter, Tensor::scalar(4.0f64))?;
        let (w, b) = (read_state("w")?, read_state("b")?);
        let optimizer = Sgd::new(["w".into(), free()], 0.5).weight_decay(0.25).name(prefix);
        optimizer.with(|group| group.decay = decay).minimize(&(w + b))?;
        assert_eq!(state.tensor("w")?.item::<f64>()?, 3.0);
        assert_eq!(state.tensor("b")?.item::<f64>()?, 3.5);
    }
    Ok(())
}

#[test]
fn the_rate_is_state() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    let optimizer = Sgd::new(["w"], 0.5).schedule(Schedule::step(2, 0.5)).name("sgd");
    let program = Program::build(&[], |_| {
        let w = parameter("w", Type::scalar(DType::F32), || Ok(Var::scalar(0.0f32)))?;
        optimizer.minimize(&w)?;
        Ok(vec![optimizer.learning_rate(0)?])
    })?;
    let mut rates = Vec::new();
    for i in 0..5 {
        if i == 3 {
            // A program that is built already follows.
            optimizer.set_learning_rate(0, 8.0)?;
        }
        rates.push(program.apply(&[])?[0].item::<f64>()?);
    }
    assert_eq!(rates, [0.5, 0.25, 0.25, 2.0, 2.0]);
    assert_eq!(state.tensor("w")?.item::<f32>()?, -(0.5 + 0.5 + 0.25 + 4.0 + 2.0));
    assert_eq!(state.tensor("sgd.lr")?.item::<f64>()?, 8.0);
    Ok(())
}

#[test]
fn groups_have_settings_and_names_of_their_own() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(4.0)))?;
    let v = parameter("v", Type::scalar(DType::F32), || Ok(Var::scalar(4.0f32)))?;
    let optimizer = Sgd::new(["w"], 0.25).weight_decay(0.5).group(["v"], |group| {
        group.lr = 0.5;
        group.decay = Decay::Decoupled;
    });
    optimizer.minimize(&(&w * 2.0 + cast(&v, DType::F64)? * 2.0))?;
    assert_eq!(state.tensor("w")?.item::<f64>()?, 4.0 - 0.25 * (2.0 + 0.5 * 4.0));
    assert_eq!(state.tensor("v")?.item::<f32>()?, 4.0 * 0.75 - 0.5 * 2.0);
    assert_eq!(state.tensor("sgd.lr")?.item::<f64>()?, 0.25);
    assert_eq!(state.tensor("sgd.lr.1")?.item::<f64>()?, 0.5);
    optimizer.set_learning_rate(1, 0.0)?;
    assert_eq!(optimizer.learning_rate(1)?.item::<f64>()?, 0.0);
    let fault = optimizer.learning_rate(2).unwrap_err().to_string();
    assert!(fault.contains("has 2 groups, no group 2"), "{fault}");
    Ok(())
}

/// The averages are in place inside the guard, in a program, too.
#[test]
fn averages_are_put_in_place_in_both_modes() -> Result<()> {
    let ema = Ema::new(["w"], 0.5).name("ema");
    let train_and_evaluate = || -> Result<Vec<Var>> {
        let w = parameter("w", Type::scalar(DType::F64), || Ok(Var::scalar(4.0)))?;
        Sgd::new(["w"], 0.25).minimize(&(&w * &w))?;
        ema.update()?;
        let applied = ema.apply()?;
        let averaged = read_state("w")? * 1.0;
        applied.restore()?;
        Ok(vec![averaged, read_state("w")? * 1.0])
    };
    let program = Program::build(&[], |_| train_and_evaluate())?;
    let (by_line, by_program) = (State::new(), State::new());
    for expected in [[2.0, 2.0], [1.5, 1.0], [1.0, 0.5]] {
        for (state, run) in [(&by_line, false), (&by_program, true)] {
            let _scope = state.enter();
            let seen = if run { program.apply(&[])? } else { train_and_evaluate()? };
            assert_eq!([seen[0].item::<f64>()?, seen[1].item::<f64>()?], expected);
        }
    }
    same_states(&by_line, &by_program)
}

#[test]
fn mistakes_are_refused_with_a_remedy() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    let w = parameter("w", Type::of(DType::F64, &[2])?, || Var::of(&[1.0, 2.0], &[2]))?;
    let v = parameter("v", Type::scalar(DType::F64), || Ok(Var::scalar(1.0)))?;
    let loss = || sum(&(&w * &w), &[], false);
    let refused = |done: Result<()>, text: &str| {
        let fault = done.expect_err(text).to_string();
        assert!(fault.contains(text), "{fault}");
        assert!(fault.contains("tests/optim.rs"), "{fault}");
    };
    refused(Sgd::new(["u"], 0.1).minimize(&loss()?), "no state named `u`");
    refused(Sgd::new(["v"], 0.1).minimize(&loss()?), "depends on none of the 1 parameters");
    refused(Sgd::new(["w"], 0.1).minimize(&(&w * &v)), "not a scalar");
    refused(Sgd::new(["w"], -0.1).minimize(&loss()?), "the rate is -0.1");
    refused(Adam::new(["w"], 0.1).betas((0.9, 1.0)).minimize(&loss()?), "second of `betas` is 1");
    refused(Sgd::new(["w"], 0.1).accumulate(0).minimize(&loss()?), "over 0 calls");
    refused(Sgd::new(["w"], 0.1).clip(Clip::Norm(-1.0)).minimize(&loss()?), "clipped at -1");
    let twice = Sgd::new(["w"], 0.1).group(["w"], |_| {});
    refused(twice.minimize(&loss()?), "`w` in two groups");
    refused(Sgd::new(["w"], 0.1).step(&[]), "0 gradients were given for 1 parameters");
    let other = Var::of(&[1.0], &[1])?;
    refused(Sgd::new(["w"], 0.1).step(&[Some(other)]), "but the parameter is f64[2]");
    let good = Var::of(&[1.0, 1.0], &[2])?;
    let second = Sgd::new(["w", "v"], 0.1).step(&[Some(good.clone()), Some(good)]);
    refused(second, "the gradient of `v` is f64[2]");
    let short = Schedule::piecewise(&[1, 2], &[0.1]);
    refused(Sgd::new(["w"], 0.1).schedule(short).minimize(&loss()?), "do not fit 2 borders");
    let wrong = Schedule::new(|_, _| Var::of(&[1.0], &[1]));
    refused(Sgd::new(["w"], 0.1).schedule(wrong).minimize(&loss()?), "the schedule gave f64[1]");
    refused(Plateau::new().observe(&w), "a measure of type f64[2]");
    refused(Ema::new(["w"], 1.5).update(), "the decay of averages is 1.5");
    let _ = declare_state("s", Type::scalar(DType::F64), Role::Buffer, || Ok(Var::scalar(1.0)))?;
    refused(Sgd::new(["w", "s"], 0.1).minimize(&loss()?), "`s` is a state, but not a parameter");
    let boxed: Box<dyn Optimizer> = Box::new(Sgd::new(["u"], 0.1));
    refused(boxed.minimize(&loss()?), "no state named `u`");
    // Nothing was changed by any of them.
    assert_eq!(state.tensor("w")?.to_f64s(), [1.0, 2.0]);
    Ok(())
}

/// A bag of words: the rows of two lookups in one table, one of them twice.
fn bag_loss(table: &Var, other: &Var) -> Result<Var> {
    let weights = Var::of(&[0.5, -1.0, 2.0, 0.25], &[4, 1])?;
    let first = mean(&tanh(&(table * weights))?, &[], false)?;
    Ok(first + mean(&(other * other), &[], false)?)
}

fn ids(step: usize) -> Result<(Var, Var)> {
    let first: Vec<i64> = (0..4).map(|i| ((step * 3 + i * i) % 6) as i64 - 3).collect();
    // Row 3 is looked up in the first step only.
    let rare = if step == 0 { 3i64 } else { 1 };
    Ok((Var::of(&first, &[4])?, Var::of(&[rare, 5, 5, 2, 1, 0], &[3, 2])?))
}

fn table() -> Result<Var> {
    let ty = Type::of(DType::F64, &[7, 3])?;
    parameter("table", ty, || normal(&ty, 0.0, 1.0))
}

fn by_rows(optimizer: &dyn Optimizer, first: &Var, second: &Var) -> Result<()> {
    let _ = table()?;
    let (a, b) = (lookup("table", first)?, lookup("table", second)?);
    optimizer.minimize_rows(&bag_loss(a.values(), b.values())?, &[&a, &b])
}

fn by_whole(optimizer: &dyn Optimizer, first: &Var, second: &Var) -> Result<()> {
    let table = table()?;
    optimizer.minimize(&bag_loss(&gather(&table, first, 0)?, &gather(&table, second, 0)?)?)
}

#[test]
fn rows_are_updated_alone_in_both_modes() -> Result<()> {
    let optimizers: [Box<dyn Optimizer>; 4] = [
        Box::new(Sgd::new(["table"], 0.5).clip(Clip::GlobalNorm(0.25)).name("sgd")),
        Box::new(Adagrad::new(["table"], 0.5).name("adagrad")),
        Box::new(Adam::new(["table"], 0.1).name("adam")),
        Box::new(Momentum::new(["table"], 0.1).weight_decay(0.1).name("momentum")),
    ];
    for optimizer in optimizers {
        let (n, m) = (Dim::symbol("n")?, Dim::symbol("m")?);
        let inputs =
            [("first", Type::of(DType::I64, &[4])?), ("second", Type::new(DType::I64, &[n, m])?)];
        let program = Program::build(&inputs, |v| {
            by_rows(&*optimizer, &v[0], &v[1])?;
            Ok(vec![])
        })?;
        let (by_line, by_program, whole) = (State::new(), State::new(), State::new());
        let start = State::new();
        program.initialise(&start)?;
        for i in 0..4 {
            let (first, second) = ids(i)?;
            {
                let _scope = by_line.enter();
                by_rows(&*optimizer, &first, &second)?;
            }
            {
                let _scope = whole.enter();
                by_whole(&*optimizer, &first, &second)?;
            }
            let _scope = by_program.enter();
            let _ = program.apply(&[&first, &second])?;
        }
        same_states(&by_line, &by_program)?;
        let (rows, all) = (by_line.tensor("table")?.to_f64s(), whole.tensor("table")?.to_f64s());
        let close = rows.iter().zip(&all).all(|(a, b)| (a - b).abs() < 1e-12);
        // Rules without memory of their own, or whose memory does not fade, are exact.
        assert_eq!(close, ["sgd", "adagrad"].contains(&optimizer.name()), "{}", optimizer.name());
        // No id was 6, so the last row stands as it was drawn.
        assert_eq!(rows[18..], start.tensor("table")?.to_f64s()[18..], "{}", optimizer.name());
    }
    Ok(())
}

#[test]
fn rows_that_cannot_be_updated_alone_are_refused() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    let whole = table()?;
    let scalar = parameter("scalar", Type::scalar(DType::F64), || Ok(Var::scalar(1.0)))?;
    let rows = || lookup("table", &Var::of(&[1i64, 2], &[2])?);
    let refused = |optimizer: &dyn Optimizer, with: Option<&Var>, text: &str| -> Result<()> {
        let rows = rows()?;
        let mut loss = sum(rows.values(), &[], false)?;
        if let Some(other) = with {
            loss = loss + sum(other, &[], false)?;
        }
        let fault = optimizer.minimize_rows(&loss, &[&rows]).expect_err(text).to_string();
        assert!(fault.contains(text), "{fault}");
        Ok(())
    };
    refused(&Lamb::new(["table"], 0.1), None, "needs whole parameters")?;
    refused(&Sgd::new(["table"], 0.1).accumulate(2), None, "not accumulated")?;
    refused(&Sgd::new(["scalar"], 0.1), Some(&scalar), "does not train the table `table`")?;
    refused(&Sgd::new(["table"], 0.1), Some(&whole), "both as a whole and by rows")?;
    let fault = lookup("scalar", &Var::of(&[0i64], &[1])?).err().expect("no rows").to_string();
    assert!(fault.contains("which has no rows"), "{fault}");
    Ok(())
}

#[test]
fn rows_are_updated_inside_a_loop_of_a_program() -> Result<()> {
    let all = Var::of(&[0i64, 2, 2, 5, 0, 1, 2, 3, 3, 3, 3, 3], &[4, 3])?;
    let train = |ids: &Var| -> Result<Vec<Var>> {
        let optimizer = Adam::new(["table"], 0.1).clip(Clip::Value(0.5)).name("adam");
        let (_, losses) = scan(&[], &[ids], |_, ids| {
            let _ = table()?;
            let rows = lookup("table", &ids[0])?;
            let loss = sum(&(rows.values() * rows.values()), &[], false)?;
            optimizer.minimize_rows(&loss, &[&rows])?;
            Ok((vec![], vec![loss]))
        })?;
        Ok(losses)
    };
    let program = Program::build(&[("ids", all.ty())], |v| train(&v[0]))?;
    fluvial::core::verify(&program)?;
    assert_eq!(Program::parse(&program.to_string(), &registry())?, program);
    let (by_line, by_program) = (State::new(), State::new());
    for (state, run) in [(&by_line, false), (&by_program, true)] {
        let _scope = state.enter();
        let losses = if run { program.apply(&[&all])? } else { train(&all)? };
        assert_eq!(losses[0].dims()[0].value(), Some(4));
    }
    same_states(&by_line, &by_program)
}
