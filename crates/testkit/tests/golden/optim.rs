//! Optimizers, schedules, clipping and averages against PyTorch and plain NumPy.

use fluvial::optim::{Rule, clip_gradients};
use fluvial::prelude::*;
use fluvial_testkit::Golden;
use fluvial_testkit::check::Tolerance;
use fluvial_testkit::golden::Given;

/// The loss of a logistic regression, for call `i`.
fn loss_of(c: &Given, i: usize) -> Result<Var> {
    let data = |i: usize| c.x(i).tensor().cloned().map(Var::new);
    let (x, y) = (data(0)?, data(1)?);
    let z = matmul(&x, &read_state("w")?)? + read_state("b")?;
    let softplus = log(&(exp(&z)? + 1.0))?;
    let loss = mean(&softplus, &[], false)? - mean(&(y * z), &[], false)?;
    (loss * (1.0 + (i % 3) as f64 / 4.0)).check()
}

/// A scope with the first parameters, in the element type of the data.
fn start(c: &Given) -> Result<State> {
    let state = State::new();
    let dtype = c.x(0).dtype();
    let w = Tensor::from_f64s(dtype, &c.floats("w"), &[3])?;
    state.insert("w", Role::Parameter, w)?;
    state.insert("b", Role::Parameter, Tensor::from_f64s(dtype, &[c.float("b")], &[])?)?;
    Ok(state)
}

/// The parameters after each step, imperatively.
fn trained(c: &Given, optimizer: &dyn Optimizer) -> Result<Vec<Var>> {
    let state = start(c)?;
    let _scope = state.enter();
    let (mut weights, mut biases) = (Vec::new(), Vec::new());
    for i in 0..c.size("steps") {
        optimizer.minimize(&loss_of(c, i)?)?;
        weights.extend(state.tensor("w")?.to_f64s());
        biases.extend(state.tensor("b")?.to_f64s());
    }
    same_in_a_program(c, optimizer, &state)?;
    let of = |values: &[f64], dims: &[usize]| {
        Tensor::from_f64s(c.x(0).dtype(), values, dims).map(Var::new)
    };
    Ok(vec![of(&weights, &[c.size("steps"), 3])?, of(&biases, &[c.size("steps")])?])
}

/// The same steps as programs end with the same states, to the bit.
fn same_in_a_program(c: &Given, optimizer: &dyn Optimizer, expected: &State) -> Result<()> {
    let state = start(c)?;
    let _scope = state.enter();
    let programs = (0..3).map(|i| {
        Program::build(&[], |_| {
            optimizer.minimize(&loss_of(c, i)?)?;
            Ok(vec![])
        })
    });
    let programs = programs.collect::<Result<Vec<_>>>()?;
    for i in 0..c.size("steps") {
        let _ = programs[i % 3].apply(&[])?;
    }
    assert_eq!(state.names(), expected.names());
    for name in state.names() {
        let (a, b) = (state.tensor(&name)?, expected.tensor(&name)?);
        assert!(a.bitwise_eq(&b), "{name}: {a:?} and {b:?}");
    }
    Ok(())
}

/// Checks an optimizer that `set` gives the hyper-parameters of its own.
fn check<R: Rule + Clone + Default>(
    function: &'static str,
    least: usize,
    set: impl Fn(&Given, &mut R),
) {
    Golden::new("optim", function)
        .within(Tolerance { relative: 1e-10, absolute: 1e-11 })
        .f32_within(Tolerance { relative: 2e-3, absolute: 2e-4 })
        .imperative_only()
        .check(least, |c| {
            let params = if c.has("groups") { vec!["w"] } else { vec!["w", "b"] };
            // Under a name, what it remembers belongs to the scope, of which each mode has its own.
            let mut optimizer =
                fluvial::optim::Descent::<R>::new(params, c.float("lr")).name("golden");
            optimizer = optimizer.with(|group| {
                set(c, &mut group.rule);
                group.weight_decay = c.optional_float("weight_decay").unwrap_or(group.weight_decay);
            });
            if c.flag("decoupled_weight_decay") {
                optimizer = optimizer.decoupled();
            }
            if c.has("groups") {
                let nested = c.nested("groups");
                optimizer = optimizer.group(["b"], |group| {
                    set(&nested, &mut group.rule);
                    group.lr = nested.float("lr");
                    let decay = nested.optional_float("weight_decay");
                    group.weight_decay = decay.unwrap_or(group.weight_decay);
                });
            }
            if c.has("clip") {
                let clip = c.json("clip");
                let limit = clip[1].as_f64().expect("a number");
                optimizer = optimizer.clip(clip_of(clip[0].as_str().expect("a word"), limit));
            }
            if c.has("accumulate") {
                optimizer = optimizer.accumulate(c.size("accumulate") as u32);
            }
            trained(c, &optimizer)
        });
}

fn clip_of(kind: &str, limit: f64) -> Clip {
    match kind {
        "value" => Clip::Value(limit),
        "norm" => Clip::Norm(limit),
        _ => Clip::GlobalNorm(limit),
    }
}

/// Sets hyper-parameters that the case has: `set!(c, rule, eps, rho)`.
macro_rules! set {
    ($c:ident, $rule:ident, $($field:ident),*) => {$(
        $rule.$field = $c.optional_float(stringify!($field)).unwrap_or($rule.$field);
    )*};
    ($c:ident, $rule:ident, $($field:ident),*; betas) => {
        set!($c, $rule, $($field),*);
        if $c.has("betas") {
            let betas = $c.floats("betas");
            $rule.betas = (betas[0], betas[1]);
        }
    };
}

#[test]
fn sgd() {
    check::<fluvial::optim::SgdRule>("sgd", 10, |_, _| {});
}

#[test]
fn momentum() {
    check::<fluvial::optim::MomentumRule>("momentum", 5, |c, rule| {
        set!(c, rule, momentum, dampening);
        rule.nesterov = c.flag("nesterov");
    });
}

#[test]
fn adagrad() {
    check::<fluvial::optim::AdagradRule>("adagrad", 4, |c, rule| {
        set!(c, rule, lr_decay, eps);
        rule.initial_accumulator = c.optional_float("initial_accumulator_value").unwrap_or(0.0);
    });
}

#[test]
fn adadelta() {
    check::<fluvial::optim::AdadeltaRule>("adadelta", 3, |c, rule| {
        set!(c, rule, rho, eps);
    });
}

#[test]
fn rmsprop() {
    check::<fluvial::optim::RmsPropRule>("rmsprop", 5, |c, rule| {
        set!(c, rule, alpha, eps, momentum);
        rule.centered = c.flag("centered");
    });
}

#[test]
fn adam() {
    check::<fluvial::optim::AdamRule>("adam", 13, |c, rule| {
        set!(c, rule, eps; betas);
        rule.amsgrad = c.flag("amsgrad");
    });
}

#[test]
fn adamw() {
    check::<fluvial::optim::AdamWRule>("adamw", 5, |c, rule| {
        set!(c, rule, eps; betas);
        rule.amsgrad = c.flag("amsgrad");
    });
}

#[test]
fn adamax() {
    check::<fluvial::optim::AdamaxRule>("adamax", 3, |c, rule| {
        set!(c, rule, eps; betas);
    });
}

#[test]
fn nadam() {
    check::<fluvial::optim::NAdamRule>("nadam", 5, |c, rule| {
        set!(c, rule, eps, momentum_decay; betas);
    });
}

#[test]
fn radam() {
    check::<fluvial::optim::RAdamRule>("radam", 4, |c, rule| {
        set!(c, rule, eps; betas);
    });
}

#[test]
fn ftrl() {
    check::<fluvial::optim::FtrlRule>("ftrl", 4, |c, rule| {
        set!(c, rule, l1, l2, beta, initial_accumulator);
    });
}

#[test]
fn lars() {
    check::<fluvial::optim::LarsRule>("lars", 3, |c, rule| {
        set!(c, rule, momentum, trust);
    });
}

#[test]
fn lamb() {
    check::<fluvial::optim::LambRule>("lamb", 3, |c, rule| {
        set!(c, rule, eps; betas);
    });
}

#[test]
fn lion() {
    check::<fluvial::optim::LionRule>("lion", 3, |c, rule| {
        set!(c, rule,; betas);
    });
}

#[test]
fn rows() {
    Golden::new("optim", "rows").imperative_only().check(5, |c| {
        let lr = c.float("lr");
        let optimizer: Box<dyn Optimizer> = match c.text("kind") {
            "sgd" => Box::new(Sgd::new(["table"], lr)),
            "adagrad" => Box::new(Adagrad::new(["table"], lr).with(|group| {
                let rule = &mut group.rule;
                set!(c, rule, lr_decay, eps);
            })),
            _ => Box::new(Adam::new(["table"], lr).with(|group| {
                let rule = &mut group.rule;
                set!(c, rule, eps; betas);
            })),
        };
        let state = State::new();
        let _scope = state.enter();
        let (start, ids) = (c.x(0).tensor()?, c.x(1).tensor()?);
        let weights = Var::new(c.x(2).tensor()?.clone());
        state.insert("table", Role::Parameter, start.clone())?;
        let mut seen = Vec::new();
        for i in 0..ids.dims()[0] {
            let rows = fluvial::optim::lookup("table", &Var::new(ids.index(0, i)?))?;
            let loss = sum(&(tanh(rows.values())? * &weights), &[], false)?;
            optimizer.minimize_rows(&loss, &[&rows])?;
            seen.extend(state.tensor("table")?.to_f64s());
        }
        Ok(vec![Tensor::from_f64s(start.dtype(), &seen, &[ids.dims()[0], 7, 3])?.into()])
    });
}

fn schedule_of(c: &Given) -> Schedule {
    let int = |name: &str| c.size(name) as u32;
    match c.text("kind") {
        "step" => Schedule::step(int("size"), c.float("gamma")),
        "multi_step" => {
            let at: Vec<u32> = c.sizes("at").into_iter().map(|at| at as u32).collect();
            Schedule::multi_step(&at, c.float("gamma"))
        }
        "exponential" => Schedule::exponential(c.float("gamma")),
        "delayed" => Schedule::delayed(c.float("factor"), int("size")),
        "linear" => Schedule::linear(c.float("start"), c.float("end"), int("size")),
        "polynomial" => Schedule::polynomial(int("size"), c.float("power")),
        "cosine" => Schedule::cosine(int("size"), c.float("low")),
        "cosine_restarts" => Schedule::cosine_restarts(int("size"), int("factor"), c.float("low")),
        "one_cycle" => {
            let default = OneCycle::new(int("size"));
            let linear = c.has("anneal_strategy") && c.text("anneal_strategy") == "linear";
            let or = |name: &str, default: f64| c.optional_float(name).unwrap_or(default);
            Schedule::one_cycle(OneCycle {
                rising: or("pct_start", default.rising),
                div_factor: or("div_factor", default.div_factor),
                final_div_factor: or("final_div_factor", default.final_div_factor),
                linear,
                three_phases: c.flag("three_phase"),
                ..default
            })
        }
        "noam" => Schedule::noam(int("dim"), int("warm_up")),
        "lambda" => Schedule::lambda(|step| (1.0 / (step / 8.0 + 1.0)).check()),
        "warm_up" => {
            let after = Schedule::cosine(int("cosine"), 0.0);
            Schedule::warm_up(int("size"), c.float("start"), after)
        }
        "sequential" => {
            let parts = vec![
                Schedule::lambda(|step| (step * 0.0 + 0.5).check()),
                Schedule::step(5, 0.5),
                Schedule::exponential(0.9),
            ];
            Schedule::sequential(parts, &[10, 40])
        }
        "chained" => {
            Schedule::chained(vec![Schedule::linear(0.25, 1.0, 20), Schedule::exponential(0.95)])
        }
        "piecewise" => Schedule::piecewise(&[10, 30], &[0.5, 0.125, 0.25]),
        "every" => Schedule::exponential(0.5).every(8),
        other => panic!("no schedule `{other}`"),
    }
}

#[test]
fn schedules() {
    Golden::new("optim", "schedule")
        .f32_within(Tolerance { relative: 1e-6, absolute: 1e-7 })
        .imperative_only()
        .check(44, |c| {
            let (schedule, first) = (schedule_of(c), c.x(0).tensor()?.to_f64s()[0]);
            let scalar = Type::scalar(DType::F64);
            let program = Program::build(&[("step", scalar)], |x| {
                Ok(vec![schedule.rate(&Var::scalar(first), &x[0])?])
            })?;
            let n = if c.text("kind") == "cosine_restarts" { 120 } else { 60 };
            let mut rates = Vec::new();
            for step in 0..n {
                let rate = schedule.at(first, step)?;
                let again = program.apply(&[&Var::scalar(f64::from(step))])?;
                assert_eq!(rate.to_bits(), again[0].item::<f64>()?.to_bits());
                rates.push(rate);
            }
            let rates = Tensor::from_f64s(c.x(0).dtype(), &rates, &[rates.len()])?;
            Ok(vec![rates.into()])
        });
}

#[test]
fn plateaus() {
    Golden::new("optim", "plateau").imperative_only().check(15, |c| {
        let mut plateau = Plateau::new().patience(c.size("patience") as u32);
        if let Some(factor) = c.optional_float("factor") {
            plateau = plateau.factor(factor);
        }
        if let Some(lowest) = c.optional_float("min_lr") {
            plateau = plateau.lowest(lowest);
        }
        if c.has("cooldown") {
            plateau = plateau.cooldown(c.size("cooldown") as u32);
        }
        if let Some(threshold) = c.optional_float("threshold") {
            plateau = match c.has("threshold_mode") {
                true => plateau.absolute_threshold(threshold),
                false => plateau.relative_threshold(threshold),
            };
        }
        if c.has("mode") {
            plateau = plateau.maximize();
        }
        let optimizer = Sgd::new(["w"], 0.5).schedule(plateau.schedule());
        let state = State::new();
        let _scope = state.enter();
        let scalar = Type::scalar(c.x(0).dtype());
        let program = Program::build(&[("measure", scalar)], |x| {
            plateau.observe(&x[0])?;
            Ok(vec![optimizer.learning_rate(0)?])
        })?;
        let mut rates = Vec::new();
        for (i, measure) in c.x(0).tensor()?.to_f64s().into_iter().enumerate() {
            let measure = Var::new(Tensor::from_f64s(scalar.dtype(), &[measure], &[])?);
            // The modes take turns.
            let rate = match i % 2 {
                0 => program.apply(&[&measure])?.remove(0),
                _ => {
                    plateau.observe(&measure)?;
                    optimizer.learning_rate(0)?
                }
            };
            rates.push(rate.item::<f64>()?);
        }
        Ok(vec![Tensor::from_f64s(scalar.dtype(), &rates, &[rates.len()])?.into()])
    });
}

#[test]
fn clips() {
    Golden::new("optim", "clip").check(12, |c| {
        let gradients: Vec<Var> = c.all().into_iter().cloned().collect();
        clip_gradients(&gradients, clip_of(c.text("kind"), c.float("limit")))
    });
}

#[test]
fn averages() {
    Golden::new("optim", "ema").imperative_only().check(3, |c| {
        let state = State::new();
        let _scope = state.enter();
        let ema = Ema::new(["w"], c.float("decay"));
        let values = c.x(0).tensor()?;
        let mut seen = Vec::new();
        for i in 0..values.dims()[0] {
            state.insert("w", Role::Parameter, values.index(0, i)?)?;
            ema.update()?;
            let applied = ema.apply()?;
            seen.extend(state.tensor("w")?.to_f64s());
            applied.restore()?;
            assert!(state.tensor("w")?.bitwise_eq(&values.index(0, i)?.contiguous()?));
        }
        Ok(vec![Tensor::from_f64s(values.dtype(), &seen, values.dims())?.into()])
    });
}
