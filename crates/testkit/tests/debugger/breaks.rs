//! Where programs stop.

use fluvial::prelude::*;
use fluvial_debug::target::{Breakpoint, Fault, FrameKind, Go, On, Reason, Target};

use super::session::{FILE, Session, alone, assert_same_states, fine, line, lines, training};

#[test]
fn a_line_inside_a_compiled_loop() {
    let program = training(2, fine).unwrap();
    let (expected, outputs) = alone(&program);
    let mut session = Session::new();
    let at = lines().hidden;
    assert!(!session.set(&[(line(at), None)])[0].verified);
    let state = State::new().bound_to(&program.bound());
    session.start(&program, &state);
    for step in 0..4u64 {
        let stop = match step {
            0 => session.stop(),
            _ => session.go(Go::Continue),
        };
        assert_eq!(stop.reason, Reason::Breakpoint);
        assert_eq!(stop.breakpoints, [1]);
        let op = &stop.frames[0];
        let place = op.place.as_ref().unwrap();
        assert!(place.file.ends_with(FILE), "{place:?}");
        assert_eq!(place.line, at);
        let kinds: Vec<FrameKind> = stop.frames.iter().map(|frame| frame.kind).collect();
        assert!(
            kinds.contains(&FrameKind::Phase) && kinds.contains(&FrameKind::Program),
            "{kinds:?}"
        );
        assert!(kinds.contains(&FrameKind::Epoch), "{:?}", stop.frames);
        let names: Vec<&str> = stop.frames.iter().map(|frame| &*frame.name).collect();
        assert!(names.contains(&format!("step {step}").as_str()), "{names:?}");
    }
    assert!(session.set(&[(line(at), None)])[0].verified);
    let debugged = session.finish().unwrap();
    assert!(debugged[0].bitwise_eq(&outputs[0]));
    assert_same_states(&state, &expected);
}

#[test]
fn conditions_hits_and_log_points() {
    let program = training(3, fine).unwrap();
    let mut session = Session::new();
    let spec = |id, condition: Option<&str>, hits: Option<&str>, log: Option<&str>| Breakpoint {
        id,
        on: line(lines().update),
        condition: condition.map(String::from),
        hits: hits.map(String::from),
        log: log.map(String::from),
        phase: None,
    };
    session.engine.set_breakpoints(vec![
        spec(1, Some("iteration == 2 and epoch == 1"), None, None),
        spec(2, None, Some("== 10"), None),
        spec(3, None, None, Some("loss is {loss:.3f}")),
        spec(4, Some("no_such_name > 1 +"), None, None),
    ]);
    session.start(&program, &State::new());
    let stop = session.stop();
    assert_eq!(stop.breakpoints, [1]);
    assert_eq!((session.text("iteration"), session.text("epoch")), ("2".into(), "1".into()));
    let logged = session.outputs.iter().filter(|text| text.starts_with("loss is 0.")).count();
    assert_eq!(logged, 7, "{:?}", session.outputs);
    let stop = session.go(Go::Continue);
    assert_eq!(stop.breakpoints, [2]);
    assert_eq!((session.text("iteration"), session.text("epoch")), ("1".into(), "2".into()));
    let verdicts =
        session.engine.set_breakpoints(vec![spec(4, Some("no_such_name > 1 +"), None, None)]);
    assert!(!verdicts[0].verified && verdicts[0].message.is_some());
    session.finish().unwrap();
}

#[test]
fn names_of_ops_and_layers() {
    let program = training(1, fine).unwrap();
    let mut session = Session::new();
    session
        .set(&[(On::Name("net.second".into()), None), (On::Name("backward:first".into()), None)]);
    session.start(&program, &State::new());
    let stop = session.stop();
    assert_eq!((stop.reason.clone(), &stop.breakpoints[..]), (Reason::Function, &[1][..]));
    assert!(
        stop.frames
            .iter()
            .any(|frame| frame.kind == FrameKind::Layer && frame.name == "net.second")
    );
    let out = session.go(Go::OutOfLayer);
    assert!(
        !out.frames.iter().any(|f| f.kind == FrameKind::Layer && f.name == "net.second"),
        "{:?}",
        out.frames
    );
    loop {
        let stop = session.go(Go::Continue);
        if stop.breakpoints == [2] {
            assert!(stop.frames.iter().any(|frame| frame.name == "backward"), "{:?}", stop.frames);
            break;
        }
    }
    session.finish().unwrap();
}

#[test]
fn a_state_that_changes() {
    let program = training(2, fine).unwrap();
    let mut session = Session::new();
    session.set(&[(On::Change("first.weight".into()), Some("max(abs(value)) > 0"))]);
    session.start(&program, &State::new());
    let first = session.stop();
    assert_eq!(first.reason, Reason::Data);
    let before = session.text("hash(net.first.weight)");
    let second = session.go(Go::Continue);
    assert_eq!(second.reason, Reason::Data);
    assert_ne!(before, session.text("hash(net.first.weight)"));
    session.finish().unwrap();
}

/// Makes NaN of the inputs after a while: the logarithm of a number below zero.
fn spoilt(x: &Var) -> Result<Var> {
    let count = declare_state("count", Type::scalar(DType::F32), Role::Counter, || {
        Ok(Var::scalar(0.0f32))
    })?;
    assign_state("count", &(&count + 1.0))?;
    let left = 5.5 - &count;
    let doubtful = log(&left)?; // the doubtful line
    Ok(x * &(&doubtful * 0.0 + 1.0))
}

#[test]
fn nan_stops_at_the_op_that_makes_it() {
    let program = training(3, spoilt).unwrap();
    let mut session = Session::new();
    session.set(&[(On::Fault(Fault::Nan), None)]);
    session.start(&program, &State::new());
    let stop = session.stop();
    assert_eq!(stop.reason, Reason::Exception(Fault::Nan), "{stop:?}");
    let text = include_str!("breaks.rs");
    let doubtful =
        text.lines().position(|line| line.contains("// the doubtful line")).unwrap() as u32 + 1;
    assert_eq!(stop.frames[0].place.as_ref().map(|place| place.line), Some(doubtful), "{stop:?}");
    assert!(stop.text.contains("log"), "{}", stop.text);
    assert_eq!(session.text("count"), "7.0");
    assert_eq!(session.text("left"), "-0.5");
    // The value can be mended, and the training goes on.
    let name = session.engine.variables(0, fluvial_debug::target::ScopeKind::Output).unwrap()[0]
        .name
        .clone();
    session.engine.set(0, None, &name, &[], "0").unwrap();
    session.engine.set_breakpoints(Vec::new());
    assert_eq!(session.engine.edits().len(), 1);
    let _ = session.finish().unwrap();
}

#[test]
fn pause_and_quit() {
    let program = training(100_000, fine).unwrap();
    let mut session = Session::new();
    session.start(&program, &State::new());
    std::thread::sleep(std::time::Duration::from_millis(300));
    session.engine.go(Go::Pause).unwrap();
    let stop = session.stop();
    assert_eq!(stop.reason, Reason::Pause);
    session.engine.go(Go::Quit).unwrap();
    let ended = session.thread.take().unwrap().join().unwrap();
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Interrupted);
}

#[test]
fn attaching_to_a_run_under_way() {
    let program = training(100_000, fine).unwrap();
    let session = Session::new();
    session.engine.go(Go::Detach).unwrap();
    let mut session = session;
    session.start(&program, &State::new());
    std::thread::sleep(std::time::Duration::from_millis(300));
    session.again();
    session.set(&[(line(lines().loss), None)]);
    let stop = session.stop();
    assert_eq!(stop.reason, Reason::Breakpoint);
    session.engine.go(Go::Quit).unwrap();
    assert!(session.thread.take().unwrap().join().unwrap().is_err());
}

/// Makes infinity of the inputs after a while.
fn inflated(x: &Var) -> Result<Var> {
    let count = declare_state("count", Type::scalar(DType::F32), Role::Counter, || {
        Ok(Var::scalar(0.0f32))
    })?;
    assign_state("count", &(&count + 1.0))?;
    let huge = exp(&(&count * 30.0))?;
    Ok(x * &minimum(&huge, &Var::scalar(1.0f32))?)
}

#[test]
fn infinity_stops_at_the_op_that_makes_it() {
    let program = training(2, inflated).unwrap();
    let mut session = Session::new();
    session.set(&[(On::Fault(Fault::Infinity), None)]);
    session.start(&program, &State::new());
    let stop = session.stop();
    assert_eq!(stop.reason, Reason::Exception(Fault::Infinity), "{stop:?}");
    assert_eq!(session.text("step"), "3");
    assert_eq!(session.text("isinf(huge)"), "true");
    session.finish().unwrap();
}

#[test]
fn a_loss_that_jumps() {
    let program = Program::build(&[], |_| {
        let start = [&Var::scalar(0.0f32), &Var::scalar(0.0f32)];
        let last = while_loop(
            &start,
            |carried| lt(&carried[0], &Var::scalar(40.0f32)),
            |carried| {
                let is_due = cast(&eq(&carried[0], &Var::scalar(20.0f32))?, DType::F32)?;
                let usual = exp(&(&carried[0] * -0.05))?;
                let loss = usual + &is_due * 50.0;
                Ok(vec![&carried[0] + 1.0, loss])
            },
        )?;
        Ok(vec![last[1].clone()])
    });
    let program = program.unwrap();
    let mut session = Session::new();
    session.set(&[(On::Fault(Fault::LossSpike), None)]);
    session.start(&program, &State::new());
    let stop = session.stop();
    assert_eq!(stop.reason, Reason::Exception(Fault::LossSpike), "{stop:?}");
    assert_eq!(session.text("step"), "20");
    assert!(stop.text.contains("50."), "{}", stop.text);
    session.finish().unwrap();
}

#[test]
fn an_op_that_fails() {
    let table = Type::of(DType::F32, &[3, 2]).unwrap();
    let program =
        Program::build(&[("table", table), ("index", Type::of(DType::I64, &[2]).unwrap())], |x| {
            let rows = gather(&x[0], &x[1], 0)?;
            Ok(vec![sum(&rows, &[], false)?])
        });
    let program = program.unwrap();
    let mut session = Session::new();
    session.set(&[(On::Fault(Fault::Error), None)]);
    let executor = Executor::new(&program, State::new()).unwrap();
    session.thread = Some(std::thread::spawn(move || {
        let table = Tensor::zeros(DType::F32, &[3, 2])?;
        executor.run(&[("table", table), ("index", Tensor::from_slice(&[0i64, 7], &[2])?)])
    }));
    let stop = session.stop();
    assert_eq!(stop.reason, Reason::Exception(Fault::Error));
    assert!(stop.text.contains("gather"), "{}", stop.text);
    assert!(session.text("index").contains("i64[2]"));
    assert!(session.finish().is_err());
}

#[test]
fn lines_of_the_listing() {
    let program = training(2, fine).unwrap();
    let mut session = Session::new();
    session.set(&[(line(lines().hidden), None)]);
    session.start(&program, &State::new());
    let stop = session.stop();
    let listed = stop.frames[0].listed.clone().unwrap();
    let on = On::Listed { listing: listed.listing.unwrap(), line: listed.line };
    assert!(session.set(&[(on, None)])[0].verified);
    let again = session.go(Go::Continue);
    assert_eq!(again.breakpoints, [1]);
    assert_eq!(again.frames[0].listed.as_ref().map(|place| place.line), Some(listed.line));
    session.finish().unwrap();
}

#[test]
fn who_detaches_changes_nothing() {
    let program = training(3, fine).unwrap();
    let (expected, outputs) = alone(&program);
    let mut session = Session::new();
    session.set(&[(line(lines().hidden), Some("step == 5"))]);
    let state = State::new().bound_to(&program.bound());
    session.start(&program, &state);
    session.stop();
    session.go(Go::BackLine);
    session.engine.go(Go::Detach).unwrap();
    let found = session.thread.take().unwrap().join().unwrap().unwrap();
    assert!(found[0].bitwise_eq(&outputs[0]));
    assert_same_states(&state, &expected);
}
