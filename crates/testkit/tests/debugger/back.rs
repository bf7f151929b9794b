//! Stepping, forwards and back: the same values, to the bit.

use fluvial::prelude::*;
use fluvial_debug::target::{Go, Reason, Target};

use super::session::{Session, alone, assert_same_states, fine, line, lines, training};

#[test]
fn steps_back_restore_every_bit() {
    let program = training(3, fine).unwrap();
    let (expected, _) = alone(&program);
    let mut session = Session::new();
    session.set(&[(line(lines().hidden), Some("epoch == 1 and iteration == 2"))]);
    let state = State::new().bound_to(&program.bound());
    session.start(&program, &state);
    session.stop();
    session.set(&[]);
    // Ops, over the end of the iteration.
    let mut seen = vec![(session.engine.stopped().unwrap(), session.hashes())];
    for _ in 0..60 {
        let stop = session.go(Go::NextOp);
        seen.push((stop, session.hashes()));
    }
    for (stop, hashes) in seen.iter().rev().skip(1) {
        let back = session.go(Go::BackOp);
        assert_eq!(back.frames, stop.frames);
        assert_eq!(session.hashes(), *hashes, "{:?}", stop.frames[0]);
    }
    // And forwards again: the same.
    for (stop, hashes) in seen.iter().skip(1).take(20) {
        let on = session.go(Go::NextOp);
        assert_eq!(on.frames, stop.frames);
        assert_eq!(session.hashes(), *hashes, "{:?}", stop.frames[0]);
    }
    session.finish().unwrap();
    assert_same_states(&state, &expected);
}

#[test]
fn lines_iterations_and_steps_both_ways() {
    let program = training(4, fine).unwrap();
    let (expected, _) = alone(&program);
    let mut session = Session::new();
    session.set(&[(line(lines().loss), None)]);
    let state = State::new().bound_to(&program.bound());
    session.start(&program, &state);
    session.stop();
    let mut seen = Vec::new();
    for _ in 0..9 {
        session.go(Go::Continue);
        seen.push((session.text("epoch"), session.text("iteration"), session.hashes()));
    }
    // Backwards from breakpoint to breakpoint.
    for (epoch, iteration, hashes) in seen.iter().rev().skip(1) {
        session.go(Go::BackContinue);
        assert_eq!((&session.text("epoch"), &session.text("iteration")), (epoch, iteration));
        assert_eq!(session.hashes(), *hashes);
    }
    session.set(&[]);
    let here = session.engine.stopped().unwrap();
    let next = session.go(Go::NextLine);
    assert_ne!(here.frames[0].place, next.frames[0].place);
    let back = session.go(Go::BackLine);
    assert_eq!(back.frames[0].place, here.frames[0].place);
    let iteration = session.text("iteration");
    session.go(Go::NextIteration);
    assert_ne!(session.text("iteration"), iteration);
    let goto = session.go(Go::ToStep(14));
    assert_eq!((goto.reason.clone(), session.text("step")), (Reason::Goto, "14".into()));
    let goto = session.go(Go::ToStep(5));
    assert_eq!((goto.reason.clone(), session.text("step")), (Reason::Goto, "5".into()));
    session.go(Go::Restart);
    assert!(!session.engine.stopped().unwrap().frames.is_empty());
    session.finish().unwrap();
    assert_same_states(&state, &expected);
}

#[test]
fn an_edit_stays_when_going_back_and_forth() {
    let program = training(2, fine).unwrap();
    let mut session = Session::new();
    session.set(&[(line(lines().hidden), None)]);
    let state = State::new().bound_to(&program.bound());
    session.start(&program, &state);
    session.stop();
    session.go(Go::Continue);
    session.engine.evaluate(0, "first.weight[0, 0] = 7").unwrap();
    assert_eq!(session.text("first.weight[0, 0]"), "7.0");
    let edited = session.hashes();
    session.set(&[(line(lines().loss), None)]);
    session.go(Go::Continue);
    let at_loss = session.hashes();
    session.set(&[(line(lines().hidden), None)]);
    session.go(Go::BackContinue);
    assert_eq!(session.hashes(), edited);
    session.set(&[(line(lines().loss), None)]);
    session.go(Go::Continue);
    assert_eq!(session.hashes(), at_loss);
    assert_eq!(session.engine.edits().len(), 1);
    session.finish().unwrap();
}

#[test]
fn runs_of_a_step_can_be_gone_back_over() {
    let ty = Type::of(DType::F32, &[4]).unwrap();
    let program = Program::build(&[("x", ty)], |x| {
        let w = declare_state("w", Type::of(DType::F32, &[4])?, Role::Parameter, || {
            Var::of(&[1.0f32; 4], &[4])
        })?;
        let loss = sum(&square(&(&x[0] * &w - 1.0))?, &[], false)?;
        Sgd::new(vec![Param::new("w")], 0.1).minimize(&loss)?;
        Ok(vec![loss])
    });
    let program = program.unwrap();
    let mut session = Session::new();
    session.set(&[(super::session::On::Name("assign".into()), Some("run == 5"))]);
    let state = State::new().bound_to(&program.bound());
    let executor = Executor::new(&program, state.clone()).unwrap();
    session.thread = Some(std::thread::spawn(move || {
        let mut last = Vec::new();
        for i in 0..8 {
            let x = Tensor::from_slice(&[i as f32 * 0.1; 4], &[4])?;
            last = executor.run(&[("x", x)])?;
        }
        Ok(last)
    }));
    session.stop();
    let w = session.text("hash(w)");
    let here = session.hashes();
    session.set(&[]);
    for _ in 0..12 {
        session.go(Go::BackOp);
    }
    assert_ne!(session.text("run"), "5");
    assert_ne!(session.text("hash(w)"), w);
    session.set(&[(super::session::On::Name("assign".into()), Some("run == 5"))]);
    session.go(Go::Continue);
    assert_eq!(session.hashes(), here);
    session.finish().unwrap();
    let alone = State::new();
    let again = Executor::new(&program.unbound(), alone.clone()).unwrap();
    for i in 0..8 {
        let x = Tensor::from_slice(&[i as f32 * 0.1; 4], &[4]).unwrap();
        again.run(&[("x", x)]).unwrap();
    }
    assert_same_states(&state, &alone);
}

#[test]
fn what_was_printed_is_not_printed_again() {
    use std::sync::{Arc, Mutex};

    let program = Program::build(&[], |_| {
        let start = [&Var::scalar(0i64)];
        let last = while_loop(
            &start,
            |carried| lt(&carried[0], &Var::scalar(6i64)),
            |carried| {
                let count = print(&carried[0], "count")?;
                Ok(vec![&count + &Var::scalar(1i64)])
            },
        )?;
        Ok(vec![last[0].clone()])
    });
    let program = program.unwrap();
    let mut session = Session::new();
    let printed = Arc::new(Mutex::new(Vec::new()));
    let to = printed.clone();
    set_printer(Some(Arc::new(move |text| to.lock().unwrap().push(text.to_string()))));
    session.set(&[(super::session::On::Name("print".into()), Some("step == 4"))]);
    session.start(&program, &State::new());
    session.stop();
    session.set(&[]);
    session.go(Go::ToStep(1));
    session.go(Go::NextIteration);
    session.finish().unwrap();
    set_printer(None);
    let printed = printed.lock().unwrap().clone();
    assert_eq!(printed.len(), 6, "{printed:?}");
}
