//! What the places of a program tell of its ops: the phase, the layer, and the user's line.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use fluvial::compile::{Options, compile};
use fluvial::core::{Block, Phase};
use fluvial::prelude::*;

/// Two layers, one of them in a loop, a loss and an optimizer.
fn training_step() -> Result<Program> {
    let mlp = Sequential::new("mlp").add(|at| Linear::new(at, 4, 3)).add(|_| tanh);
    let cell = Linear::new("cell", 3, 3);
    let params = || [mlp.parameters(), cell.parameters()].concat();
    let x = Type::of(DType::F32, &[2, 4])?;
    Program::build(&[("x", x)], |x| {
        let first = mlp.forward(&x[0])?;
        let turns = while_loop(
            &[&Var::scalar(0i64), &first],
            |v| lt(&v[0], &Var::scalar(3i64)),
            |v| Ok(vec![&v[0] + 1.0, cell.forward(&v[1])?]),
        )?;
        let loss = mean(&(&turns[1] * &turns[1]), &[], false)?;
        Adam::new(params(), 0.1).clip(Clip::GlobalNorm(1.0)).minimize(&loss)?;
        Ok(vec![loss])
    })
}

/// Every call, also those in blocks, with the ops of the blocks that hold it.
fn calls(block: &Block, above: &str, found: &mut Vec<(String, Loc)>) {
    for call in &block.calls {
        let name = format!("{above}{}", call.op.name());
        found.push((name.clone(), call.loc));
        for inner in call.op.blocks() {
            calls(inner, &format!("{name}/"), found);
        }
    }
}

fn all_calls(program: &Program) -> Vec<(String, Loc)> {
    let mut found = Vec::new();
    calls(&program.main, "", &mut found);
    found
}

fn check(of: &[(String, Loc)], phase: Phase, expected: Expect) {
    let lines: BTreeSet<String> = of
        .iter()
        .filter(|(_, loc)| loc.phase() == phase)
        .map(|(name, loc)| format!("{} {name}\n", loc.layer().as_deref().unwrap_or("-")))
        .collect();
    expected.assert_eq(&lines.into_iter().collect::<String>());
}

#[test]
fn every_op_of_a_training_step_has_a_phase_a_layer_and_a_line() -> Result<()> {
    let program = training_step()?;
    let found = all_calls(&program);
    for (name, loc) in &found {
        assert!(loc.file().ends_with("tests/places.rs"), "{name} at {loc}");
    }
    check(
        &found,
        Phase::Forward,
        expect![[r#"
        - constant
        - dim_size
        - div
        - lt
        - mul
        - sum
        - while
        - while/add
        - while/constant
        - while/lt
        cell read
        cell while/add
        cell while/matmul
        mlp.0 add
        mlp.0 matmul
        mlp.0 read
        mlp.1 tanh
    "#]],
    );
    check(
        &found,
        Phase::Backward,
        expect![[r#"
            - accumulate
            - constant
            - div
            - expand
            - fill
            - gt
            - mul
            - reshape
            - stop_gradient
            - while
            - while/constant
            - while/gt
            - while/list_pop
            - while/stop_gradient
            - while/sub
            cell while/accumulate
            cell while/matmul
            cell while/sum_to
            mlp.0 matmul
            mlp.0 sum_to
            mlp.1 constant
            mlp.1 mul
            mlp.1 sub
        "#]],
    );
    check(
        &found,
        Phase::Optimizer,
        expect![[r#"
            - adam_update
            - add
            - assign
            - cast
            - constant
            - div
            - lt
            - mul
            - pow
            - read
            - sqrt
            - sub
            - sum
            - where
        "#]],
    );
    Ok(())
}

#[test]
fn initialisers_belong_to_their_layers() -> Result<()> {
    let program = training_step()?;
    let mut found = Vec::new();
    calls(&program.startup, "", &mut found);
    let layers: BTreeSet<String> = found
        .iter()
        .map(|(_, loc)| format!("{} {}", loc.phase().name(), loc.layer().unwrap_or("-".into())))
        .collect();
    let layers: Vec<&str> = layers.iter().map(String::as_str).collect();
    assert_eq!(layers, ["forward cell", "forward mlp.0", "optimizer -"]);
    Ok(())
}

#[test]
fn texts_and_files_keep_the_marks() -> Result<()> {
    let program = training_step()?;
    assert!(Program::parse(&program.to_string(), &registry())? == program);
    assert!(Program::from_bytes(&program.to_bytes(), &registry())? == program);
    Ok(())
}

#[test]
fn compiled_programs_keep_the_marks() -> Result<()> {
    let compiled = compile(&training_step()?, &["out0"], &Options::default())?;
    let found = all_calls(&compiled.program);
    assert!(found.iter().any(|(name, _)| name.ends_with("fused")));
    for (name, loc) in &found {
        assert!(loc.file().ends_with("tests/places.rs"), "{name} at {loc}");
    }
    for phase in Phase::ALL {
        assert!(found.iter().any(|(_, loc)| loc.phase() == phase), "{}", phase.name());
    }
    let layers: BTreeSet<_> = found.iter().filter_map(|(_, loc)| loc.layer()).collect();
    assert_eq!(layers.iter().map(|name| &**name).collect::<Vec<_>>(), ["cell", "mlp.0", "mlp.1"]);
    Ok(())
}

#[test]
fn equal_ops_of_different_layers_are_still_computed_once() -> Result<()> {
    let x = Type::of(DType::F32, &[2])?;
    let (a, b) = (Path::new("a"), Path::new("b"));
    let one = |at: &Path, x: &Var| {
        let _call = at.called();
        exp(x)
    };
    let program = Program::build(&[("x", x)], |x| Ok(vec![one(&a, &x[0])?, one(&b, &x[0])?]))?;
    let layers: Vec<_> = program.main.calls.iter().map(|call| call.loc.layer()).collect();
    assert_eq!(layers, [Some("a".into()), Some("b".into())]);
    assert_eq!(
        compile(&program, &["out0", "out1"], &Options::default())?.program.main.calls.len(),
        1
    );
    Ok(())
}

#[test]
fn line_by_line_nothing_is_marked() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    let layer = Linear::new("fc", 2, 1);
    let x = Var::of(&[1.0f32, 2.0], &[1, 2])?;
    let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let to = seen.clone();
    {
        let _watch =
            fluvial::core::scope::watch(Box::new(move |ran| to.borrow_mut().push(ran.loc)));
        let loss = sum(&layer.forward(&x)?, &[], false)?;
        Sgd::new(layer.parameters(), 0.1).minimize(&loss)?;
    }
    let seen = seen.borrow();
    assert!(!seen.is_empty());
    assert!(seen.iter().all(|loc| loc.layer().is_none() && loc.phase() == Phase::Forward));
    Ok(())
}
