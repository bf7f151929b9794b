//! Layers own their parameters: what is made twice is two, what is shared is one, in both modes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use fluvial::core::Cell;
use fluvial::io::{Load, load_states, save_states};
use fluvial::prelude::*;

fn numbers(dims: &[usize]) -> Var {
    let count = dims.iter().product();
    let elements: Vec<f32> = (0..count).map(|i| ((i * 7 + 3) % 11) as f32 / 5.0 - 1.0).collect();
    Var::of(&elements, dims).expect("as many elements")
}

/// The names of all states but the random stream.
fn names(state: &State) -> Vec<String> {
    state.names().iter().map(ToString::to_string).filter(|name| name != "rng").collect()
}

fn values(layer: &impl Layer) -> Result<Vec<Tensor>> {
    layer.parameters().iter().map(|parameter| parameter.get()?.tensor().cloned()).collect()
}

fn same(a: &[Tensor], b: &[Tensor]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.bitwise_eq(b))
}

fn program_of(f: &dyn Fn(&Var) -> Result<Var>, x: &Var) -> Result<Program> {
    Program::build(&[("x", x.ty())], |x| Ok(vec![f(&x[0])?]))
}

/// What a function gives, which is the same in every way of running it, in any scope.
fn given(f: &dyn Fn(&Var) -> Result<Var>, x: &Var) -> Result<Tensor> {
    let program = program_of(f, x)?;
    let by_line = f(x)?.tensor()?.clone();
    let by_calls = program.apply(&[x])?[0].tensor()?.clone();
    let feeds = [("x", x.tensor()?.clone())];
    let interpreted = Interpreter::new(program.clone(), State::new())?.run(&feeds)?;
    let compiled = Executor::new(&program, State::new())?.run(&feeds)?;
    for other in [&by_calls, &interpreted[0], &compiled[0]] {
        assert!(by_line.bitwise_eq(other), "{by_line:?} and {other:?}");
    }
    Ok(by_line)
}

/// A step that lessens the squares of what a layer gives.
fn step(layer: &impl Layer, x: &Var) -> Result<Var> {
    let loss = mean(&square(&layer.forward(x)?)?, &[], false)?;
    loss.backward()?;
    for parameter in layer.parameters() {
        if let Some(gradient) = parameter.grad()? {
            parameter.set(&(parameter.get()?.detach() - gradient * 0.1))?;
        }
        parameter.zero_grad()?;
    }
    Ok(loss)
}

/// Makes steps, line by line or as a program.
fn train(is_program: bool, layer: &impl Layer, x: &Var) -> Result<()> {
    let program = program_of(&|x| step(layer, x), x)?;
    for _ in 0..3 {
        match is_program {
            true => drop(program.apply(&[x])?),
            false => drop(step(layer, x)?),
        }
    }
    Ok(())
}

/// A file that is gone afterwards, with the states of a scope.
struct Saved(PathBuf);

impl Saved {
    fn new(state: &State) -> Result<Saved> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("fluvial-ownership-{}-{number}.safetensors", std::process::id());
        let path = std::env::temp_dir().join(name);
        save_states(&path, state, &Role::ALL)?;
        Ok(Saved(path))
    }

    fn load(&self, state: &State) -> Result<()> {
        load_states(&self.0, state, Load::default()).map(drop)
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

#[test]
fn two_nets_of_one_name_are_two() -> Result<()> {
    for is_program in [false, true] {
        let state = State::new();
        let _scope = state.enter();
        let (a, b) = (Linear::new("fc", 2, 1), Linear::new("fc", 2, 1));
        let x = numbers(&[3, 2]);
        let both = |x: &Var| concat(&[&a.forward(x)?, &b.forward(x)?], 1);
        let [of_a, of_b] = [given(&|x| a.forward(x), &x)?, given(&|x| b.forward(x), &x)?];
        assert!(!of_a.bitwise_eq(&of_b));
        let together = concat(&[&Var::new(of_a), &Var::new(of_b)], 1)?;
        assert!(given(&both, &x)?.bitwise_eq(together.tensor()?));
        let expected = ["fc.bias", "fc.weight", "fc_1.bias", "fc_1.weight"];
        let known = program_of(&both, &x)?.bound();
        assert_eq!(known.keys().map(|name| &**name).collect::<Vec<_>>(), expected);
        assert_eq!(names(&state), expected);

        let before = [values(&a)?, values(&b)?];
        train(is_program, &b, &x)?;
        assert!(same(&values(&a)?, &before[0]) && !same(&values(&b)?, &before[1]));
        assert!(state.tensor("fc_1.weight")?.bitwise_eq(&values(&b)?[0]));
    }
    Ok(())
}

#[test]
fn nets_made_alike_begin_alike_in_scopes_of_their_own() -> Result<()> {
    let x = numbers(&[3, 2]);
    let make = |is_program: bool| {
        let _scope = State::new().enter();
        let nets = [Linear::new("fc", 2, 1), Linear::new("fc", 2, 1)];
        let both = |x: &Var| (nets[0].forward(x)? + nets[1].forward(x)?).check();
        match is_program {
            true => drop(program_of(&both, &x)?.apply(&[&x])?),
            false => drop(both(&x)?),
        }
        Ok([values(&nets[0])?, values(&nets[1])?].concat())
    };
    assert!(same(&make(false)?, &make(true)?));
    Ok(())
}

#[test]
fn a_net_is_the_same_in_every_scope_and_thread() -> Result<()> {
    let x = numbers(&[3, 2]);
    for is_program in [false, true] {
        let state = State::new();
        let net = {
            let _scope = state.enter();
            Linear::new("fc", 2, 1)
        };
        // Its initial values are made where it is used first.
        let first = thread::scope(|scope| scope.spawn(|| given(&|x| net.forward(x), &x)).join());
        let first = first.expect("no panic")?;
        let here = || given(&|x| net.forward(x), &x);
        assert!(here()?.bitwise_eq(&first));
        let elsewhere = State::new();
        let _scope = elsewhere.enter();
        assert!(here()?.bitwise_eq(&first));
        train(is_program, &net, &x)?;
        let trained = here()?;
        assert!(!trained.bitwise_eq(&first));
        {
            let _scope = state.enter();
            assert!(here()?.bitwise_eq(&trained));
        }
        assert!(state.tensor("fc.weight")?.bitwise_eq(&values(&net)?[0]));
        assert!(!elsewhere.contains("fc.weight"));
        let again = thread::scope(|scope| scope.spawn(here).join()).expect("no panic")?;
        assert!(again.bitwise_eq(&trained));
    }
    Ok(())
}

/// Two layers with one weight.
struct Tied {
    at: Path,
    weight: Parameter,
    again: Parameter,
}

impl Tied {
    fn new() -> Tied {
        let at = Path::new("tied");
        let weight = at.parameter("weight", &[2, 2], Initializer::uniform(-1.0, 1.0));
        Tied { at, again: weight.clone(), weight }
    }
}

impl Layer for Tied {
    fn path(&self) -> &Path {
        &self.at
    }

    fn forward(&self, x: &Var) -> Result<Var> {
        fluvial::ops::linear(&tanh(&matmul(x, &self.weight.get()?)?)?, &self.again.get()?, None)
    }
}

#[test]
fn a_parameter_in_two_places_is_one() -> Result<()> {
    let x = numbers(&[3, 2]);
    let trained = |is_program: bool| {
        let state = State::new();
        let _scope = state.enter();
        let net = Tied::new();
        assert_eq!(net.parameters().len(), 1);
        assert_eq!(program_of(&|x| net.forward(x), &x)?.bound().len(), 1);
        train(is_program, &net, &x)?;
        assert!(net.weight.same(&net.again) && net.weight.cell().same(&net.again.cell()));
        assert_eq!(state.tensor("tied.weight")?.dims(), [2, 2]);
        values(&net)
    };
    let expected = trained(false)?;
    assert!(same(&trained(true)?, &expected));

    // The gradient is the sum over both places.
    let _scope = State::new().enter();
    let net = Tied::new();
    sum(&net.forward(&x)?, &[], false)?.backward()?;
    let apart = [net.weight.get()?.detach().track()?, net.weight.get()?.detach().track()?];
    let y = fluvial::ops::linear(&tanh(&matmul(&x, &apart[0])?)?, &apart[1], None)?;
    sum(&y, &[], false)?.backward()?;
    let [a, b] = apart.map(|part| part.grad().expect("a gradient"));
    let (a, b) = ((a + b).to_vec::<f32>()?, net.again.grad()?.expect("it is one").to_vec::<f32>()?);
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6), "{a:?} and {b:?}");
    Ok(())
}

#[test]
fn what_is_frozen_is_kept_until_it_is_thawed() -> Result<()> {
    let x = numbers(&[3, 2]);
    let trained = |is_program: bool| {
        let _scope = State::new().enter();
        let net = Sequential::new("net")
            .add(|at| Linear::new(at, 2, 2))
            .then(tanh)
            .add(|at| Linear::new(at, 2, 1));
        let frozen = &net.parameters()[..2];
        let before = values(&net)?;
        frozen.iter().for_each(|parameter| parameter.set_trainable(false));
        train(is_program, &net, &x)?;
        let while_frozen = values(&net)?;
        assert!(same(&while_frozen[..2], &before[..2]));
        assert!(!while_frozen[2].bitwise_eq(&before[2]));
        frozen.iter().for_each(|parameter| parameter.set_trainable(true));
        train(is_program, &net, &x)?;
        assert!(!values(&net)?[0].bitwise_eq(&before[0]));
        values(&net)
    };
    let expected = trained(false)?;
    assert!(same(&trained(true)?, &expected));
    Ok(())
}

#[test]
fn a_net_that_is_gone_holds_no_memory() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    let net = Linear::new("fc", 64, 64);
    let _ = net.forward(&numbers(&[2, 64]))?;
    let kept = values(&net)?;
    assert_eq!(names(&state), ["fc.bias", "fc.weight"]);
    drop(net);
    assert_eq!(names(&state), [] as [&str; 0]);
    assert!(kept.iter().all(Tensor::is_unique));
    // A net that is made anew begins anew.
    let again = Linear::new("fc", 64, 64);
    again.initialise()?;
    assert!(same(&values(&again)?, &kept));
    Ok(())
}

#[test]
fn a_program_keeps_what_it_was_built_of() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    let x = numbers(&[3, 2]);
    let net = Linear::new("fc", 2, 1);
    let expected = net.forward(&x)?.tensor()?.clone();
    let program = program_of(&|x| net.forward(x), &x)?;
    let kept = values(&net)?;
    drop(net);
    assert_eq!(names(&state), ["fc.bias", "fc.weight"]);
    let executor = Executor::new(&program, State::new())?;
    drop(program);
    assert!(executor.run(&[("x", x.tensor()?.clone())])?[0].bitwise_eq(&expected));
    let again = executor.on(State::new());
    drop(executor);
    assert!(again.run(&[("x", x.tensor()?.clone())])?[0].bitwise_eq(&expected));
    assert!(state.contains("fc.weight"));
    drop(again);
    assert_eq!(names(&state), [] as [&str; 0]);
    assert!(kept.iter().all(Tensor::is_unique));
    Ok(())
}

#[test]
fn values_that_were_loaded_wait_for_their_layer() -> Result<()> {
    let x = numbers(&[3, 2]);
    let (saved, expected) = {
        let state = State::new();
        let _scope = state.enter();
        seed(7)?;
        let nets = [Linear::new("fc", 2, 1), Linear::new("fc", 2, 1)];
        let lazy = LazyLinear::new("lazy", 3);
        let _ = lazy.forward(&x)?;
        let _ = nets[0].forward(&x)? + nets[1].forward(&x)?;
        let expected = [values(&nets[0])?, values(&nets[1])?, values(&lazy)?].concat();
        (Saved::new(&state)?, expected)
    };
    for is_early in [false, true] {
        for is_program in [false, true] {
            let state = State::new();
            let _scope = state.enter();
            let make =
                || ([Linear::new("fc", 2, 1), Linear::new("fc", 2, 1)], LazyLinear::new("lazy", 3));
            let early = is_early.then(make);
            saved.load(&state)?;
            let waiting = names(&state);
            let (nets, lazy) = early.unwrap_or_else(make);
            let all = |x: &Var| {
                let y = nets[0].forward(x)? + nets[1].forward(x)?;
                (y + lazy.forward(x)?).check()
            };
            match is_program {
                true => drop(program_of(&all, &x)?.apply(&[&x])?),
                false => drop(all(&x)?),
            }
            let found = [values(&nets[0])?, values(&nets[1])?, values(&lazy)?].concat();
            assert!(same(&found, &expected), "early: {is_early}, program: {is_program}");
            assert_eq!(names(&state), waiting);
        }
    }
    Ok(())
}

#[test]
fn values_that_were_loaded_and_do_not_fit_are_refused() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    state.load("fc.weight", Role::Parameter, Tensor::zeros(DType::F32, &[1, 3])?)?;
    let error = Linear::new("fc", 2, 1).forward(&numbers(&[3, 2])).unwrap_err().to_string();
    assert!(error.contains("f32[1, 3]") && error.contains("f32[1, 2]"), "{error}");
    assert!(error.contains("tests/ownership.rs"), "{error}");
    Ok(())
}

#[test]
fn a_fork_changes_nothing_outside() -> Result<()> {
    let x = numbers(&[3, 2]);
    for is_program in [false, true] {
        let state = State::new();
        let _scope = state.enter();
        let (net, unused) = (Linear::new("fc", 2, 1), Linear::new("unused", 2, 1));
        net.initialise()?;
        let (before, listed) = (values(&net)?, names(&state));
        let program = program_of(&|x| step(&net, x), &x)?;
        let fork = state.fork()?;
        let (in_fork, first) = {
            let _scope = fork.enter();
            train(is_program, &net, &x)?;
            Executor::new(&program, fork.clone())?.run(&[("x", x.tensor()?.clone())])?;
            match is_program {
                true => drop(program_of(&|x| unused.forward(x), &x)?.apply(&[&x])?),
                false => drop(unused.forward(&x)?),
            }
            assert!(fork.contains("unused.weight"));
            net.load_state_dict(&net.state_dict()?, true)?;
            (values(&net)?, values(&unused)?)
        };
        assert!(!same(&in_fork, &before) && same(&values(&net)?, &before));
        assert!(fork.tensor("fc.weight")?.bitwise_eq(&in_fork[0]));
        assert_eq!(names(&state), listed);
        // Outside, the same steps lead to the same numbers.
        train(is_program, &net, &x)?;
        Executor::new(&program, state.clone())?.run(&[("x", x.tensor()?.clone())])?;
        assert!(same(&values(&net)?, &in_fork) && same(&values(&unused)?, &first));
    }
    Ok(())
}

#[test]
fn values_wait_in_a_fork_too() -> Result<()> {
    let x = numbers(&[3, 2]);
    for is_program in [false, true] {
        let state = State::new();
        let _scope = state.enter();
        state.load("fc.weight", Role::Parameter, Tensor::full(&[1, 2], 0.5f32)?)?;
        let net = Linear::new("fc", 2, 1).no_bias();
        let program = program_of(&|x| net.forward(x), &x)?;
        let run = || match is_program {
            true => Ok(program.apply(&[&x])?.remove(0)),
            false => net.forward(&x),
        };
        let expected = matmul(&x, &Var::of(&[0.5f32; 2], &[2, 1])?)?;
        let fork = state.fork()?;
        {
            let _scope = fork.enter();
            assert!(run()?.tensor()?.bitwise_eq(expected.tensor()?));
            net.parameters()[0].set(&Var::of(&[2.0f32; 2], &[1, 2])?)?;
        }
        assert!(run()?.tensor()?.bitwise_eq(expected.tensor()?));
        assert_eq!(names(&state), ["fc.weight"]);
    }
    Ok(())
}

#[test]
fn an_unbound_program_knows_names_only() -> Result<()> {
    let x = numbers(&[3, 2]);
    let state = State::new();
    let _scope = state.enter();
    let net = Linear::new("fc", 2, 1);
    let program = program_of(&|x| step(&net, x), &x)?;
    net.initialise()?;
    let before = values(&net)?;
    let feeds = [("x", x.tensor()?.clone())];
    let elsewhere = State::new();
    let by_name = Executor::new(&program.unbound(), elsewhere.clone())?;
    assert!(program.unbound().bound().is_empty());
    let losses = [by_name.run(&feeds)?, by_name.run(&feeds)?];
    assert!(same(&values(&net)?, &before));

    // It is what a file has.
    let parsed = Program::parse(&program.to_string(), &registry())?;
    assert_eq!(parsed, program);
    let from_file = Interpreter::new(parsed, State::new())?;
    assert!(same(&losses.concat(), &[from_file.run(&feeds)?, from_file.run(&feeds)?].concat()));

    // The bound one goes to the same numbers, in the net.
    let bound = Executor::new(&program, State::new())?;
    assert!(same(&losses.concat(), &[bound.run(&feeds)?, bound.run(&feeds)?].concat()));
    let by_name = ["fc.weight", "fc.bias"].map(|name| elsewhere.tensor(name));
    assert!(same(&values(&net)?, &by_name.into_iter().collect::<Result<Vec<_>>>()?));
    Ok(())
}

#[test]
fn a_program_inside_another_keeps_its_cells() -> Result<()> {
    let _scope = State::new().enter();
    let x = numbers(&[3, 2]);
    let (a, b) = (Linear::new("fc", 2, 2), Linear::new("fc", 2, 2));
    let calls = Cell::of("calls", Role::Counter, Tensor::scalar(0i64));
    let count = || calls.assign(&(calls.read()? + Var::scalar(1i64)));
    // What is `fc` inside is `fc_1` outside, and the other way round.
    let inner = program_of(
        &|x| {
            count()?;
            a.forward(&tanh(&b.forward(x)?)?)
        },
        &x,
    )?;
    let nested = |x: &Var| a.forward(&(b.forward(&inner.apply(&[x])?[0])? + a.forward(x)?));
    let plain =
        |x: &Var| a.forward(&(b.forward(&a.forward(&tanh(&b.forward(x)?)?)?)? + a.forward(x)?));
    let outer = program_of(
        &|x| {
            let y = a.forward(x)? + b.forward(x)?;
            count()?;
            (nested(x)? + y).check()
        },
        &x,
    )?;
    assert_eq!(outer.bound().len(), 5, "{outer}");
    let expected = (plain(&x)? + (a.forward(&x)? + b.forward(&x)?)).check()?;
    let got = Executor::new(&outer, State::new())?.run(&[("x", x.tensor()?.clone())])?;
    assert!(got[0].bitwise_eq(expected.tensor()?));
    assert_eq!(calls.read()?.item::<i64>()?, 2);
    assert!(given(&nested, &x)?.bitwise_eq(plain(&x)?.tensor()?));
    // Four runs: line by line, by calls, interpreted, compiled.
    assert_eq!(calls.read()?.item::<i64>()?, 6);

    // Gradients pass through it to the same cells.
    let gradients = |f: &dyn Fn(&Var) -> Result<Var>| -> Result<Vec<f32>> {
        sum(&f(&x)?, &[], false)?.backward()?;
        let gradient = a.parameters()[0].grad()?.expect("a gradient").to_vec()?;
        [&a, &b].iter().flat_map(|net| net.parameters()).try_for_each(|p| p.zero_grad())?;
        Ok(gradient)
    };
    assert_eq!(gradients(&nested)?, gradients(&plain)?);

    // A state that is known by its name alone is not taken for a cell that only happens to be called so.
    let fault = program_of(&|x| Ok(a.forward(x)? + &inner.unbound().apply(&[x])?[0]), &x);
    let fault = fault.unwrap_err().to_string();
    assert!(fault.contains("two states of the program are called `fc."), "{fault}");
    assert!(fault.contains("tests/ownership.rs"), "{fault}");
    Ok(())
}
