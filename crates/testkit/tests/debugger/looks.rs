//! What can be seen.

use fluvial::prelude::*;
use fluvial_debug::target::{Go, Listing, ScopeKind, Target};

use super::session::{Session, fine, line, lines, training};

#[test]
fn scopes_and_expressions() {
    let program = training(2, fine).unwrap();
    let mut session = Session::new();
    session.set(&[(line(lines().update), Some("iteration == 1"))]);
    session.start(&program, &State::new());
    session.stop();
    let names = |kind| -> Vec<String> {
        session
            .engine
            .variables(0, kind)
            .unwrap()
            .into_iter()
            .map(|variable| variable.name)
            .collect()
    };
    let parameters = names(ScopeKind::Parameters);
    for name in ["net.first.weight", "net.first.bias", "net.second.weight", "net.second.bias"] {
        assert!(parameters.iter().any(|known| known == name), "{parameters:?}");
    }
    assert!(names(ScopeKind::Gradients).contains(&"grad(net.first.weight)".to_string()));
    assert!(!names(ScopeKind::Optimizer).is_empty());
    assert!(names(ScopeKind::Loop).contains(&"iteration".to_string()));
    assert!(!names(ScopeKind::Live).is_empty());
    assert_eq!(session.text("first.weight.shape[0]"), "16");
    assert!(session.text("norm(grad(first.weight)) > 0").contains("true"));
    assert!(session.text("no_such_thing").starts_with("error"));
    assert!(session.engine.names(0).contains(&"norm".to_string()));
    let listing = session.engine.listing(Listing::Compiled(1)).unwrap();
    let stop = session.engine.stopped().unwrap();
    let listed = stop.frames[0].listed.clone().unwrap();
    let call = listing.lines().nth(listed.line as usize - 1).unwrap();
    assert!(call.contains('('), "{call}");
    assert!(session.engine.listing(Listing::Source(1)).unwrap().contains("for_each"));
    assert!(session.engine.listing(Listing::Source(9)).is_err());
    session.finish().unwrap();
}

#[test]
fn fused_ops_are_opened_where_somebody_looks() {
    let program = training(2, fine).unwrap();
    let mut session = Session::new();
    session.set(&[(line(lines().hidden), None)]);
    session.start(&program, &State::new());
    session.stop();
    let mut ops = Vec::new();
    while session.engine.stopped().unwrap().frames[0].place.as_ref().unwrap().line <= lines().hidden
    {
        ops.push(session.engine.stopped().unwrap().frames[0].name.clone());
        session.go(Go::NextOp);
    }
    assert!(ops.iter().any(|op| op.contains("tanh(")), "{ops:?}");
    session.finish().unwrap();
}

#[test]
fn a_fused_op_with_other_bits_is_told_of() {
    let ty = Type::of(DType::F32, &[16, 64]).unwrap();
    let program = Program::build(&[("x", ty)], |x| {
        // Spelled with small ops, it is found to be a softmax, whose last bits are others.
        let powers = exp(&(&x[0] - &max(&x[0], &[-1], true)?))?;
        let shares = &powers / &sum(&powers, &[-1], true)?; // the shares line
        Ok(vec![shares])
    });
    let program = program.unwrap();
    let numbers: Vec<f32> = (0..16 * 64).map(|i| (i * 37 % 101) as f32 / 7.0 - 6.0).collect();
    let x = Tensor::from_slice(&numbers, &[16, 64]).unwrap();
    let options = fluvial::compile::Options { fast: true, ..Default::default() };
    let executor = Executor::with(&program, &["out0"], State::new(), &options).unwrap();
    let expected = executor.run(&[("x", x.clone())]).unwrap();
    let mut session = Session::new();
    let text = include_str!("looks.rs");
    let at = text.lines().position(|line| line.ends_with("// the shares line")).unwrap() as u32 + 1;
    session.set(&[(super::session::On::Line { file: "looks.rs".into(), line: at }, None)]);
    session.thread = Some(std::thread::spawn(move || executor.run(&[("x", x)])));
    let stop = session.stop();
    assert!(stop.frames.iter().any(|frame| frame.name.contains("fused op")), "{:?}", stop.frames);
    let kernel = session.engine.listing(Listing::Kernel(1)).unwrap();
    assert!(kernel.contains("exp(") && kernel.contains("div("), "{kernel}");
    let found = session.finish().unwrap();
    session
        .until(|event| matches!(event, fluvial_debug::target::Event::Continued(_)).then_some(()));
    assert!(session.outputs_until_quiet().iter().any(|text| text.contains("other bits")));
    // The run goes on with the bits of the fused op.
    assert!(found[0].bitwise_eq(&expected[0]));
}

#[test]
fn nothing_can_be_seen_of_what_runs() {
    let session = Session::new();
    assert!(session.engine.scopes(0).is_err());
    assert!(session.engine.evaluate(0, "1 + 1").is_err());
    assert!(session.engine.go(Go::Continue).is_err());
    assert!(session.engine.names(0).is_empty());
}
