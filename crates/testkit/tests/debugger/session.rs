//! A program that runs in a thread of its own, and who debugs it.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use fluvial::data::Reader;
use fluvial::prelude::*;
use fluvial_debug::Engine;
use fluvial_debug::inspect;
pub use fluvial_debug::target::On;
use fluvial_debug::target::{Breakpoint, Event, Go, ScopeKind, Stop, Target, Verdict};

/// One process has one debugger, so one test at a time has it.
static ONE: Mutex<()> = Mutex::new(());

/// A program under the debugger.
pub struct Session {
    pub engine: Arc<Engine>,
    events: Receiver<Event>,
    pub thread: Option<JoinHandle<Result<Vec<Tensor>>>>,
    pub outputs: Vec<String>,
    _one: MutexGuard<'static, ()>,
}

pub const FILE: &str = "session.rs";

/// The lines of the training below that tests break at.
pub struct Lines {
    pub hidden: u32,
    pub loss: u32,
    pub update: u32,
}

pub fn lines() -> Lines {
    let text = include_str!("session.rs");
    let line = |mark: &str| {
        let at = text.lines().position(|line| line.trim_end().ends_with(mark));
        at.expect("the mark is there") as u32 + 1
    };
    Lines {
        hidden: line("// the hidden line"),
        loss: line("// the loss line"),
        update: line("// the update line"),
    }
}

/// A training in epochs over shuffled batches, with dropout; what it does to the inputs is said.
pub fn training(epochs: i64, spoil: fn(&Var) -> Result<Var>) -> Result<Program> {
    let numbers = |seed: u64, n: usize| -> Vec<f32> {
        (0..n as u64).map(|i| ((i * 37 + seed * 11) % 101) as f32 / 50.0 - 1.0).collect()
    };
    let x = Tensor::from_slice(&numbers(1, 32 * 8), &[32, 8])?;
    let y = Tensor::from_slice(&numbers(2, 32 * 3), &[32, 3])?;
    let reader = Reader::of([("x", x), ("y", y)])?.shuffle(7).batch(8, false);
    let feed = Feed::new("train", reader);
    // A reader of arrays must live as long as programs that read it.
    std::mem::forget(feed.clone());
    Program::build(&[], |_| {
        let (first, second) = (Linear::new("net.first", 8, 16), Linear::new("net.second", 16, 3));
        let dropout = Dropout::new("net.dropout", 0.25);
        let optimizer = {
            let mut parameters = first.parameters();
            parameters.extend(second.parameters());
            AdamW::new(parameters, 1e-2)
        };
        let start = [&Var::scalar(0i64), &Var::scalar(0.0f32)];
        let last = while_loop(
            &start,
            |carried| lt(&carried[0], &Var::scalar(epochs)),
            |carried| {
                let last = feed.each(1, &[&carried[1]], |batch, _| {
                    let x = spoil(&batch[0])?;
                    let hidden = tanh(&(first.forward(&x)? * 2.0 + 0.5))?; // the hidden line
                    let kept = dropout.forward(&hidden)?;
                    let out = second.forward(&kept)?;
                    let loss = mean(&square(&(&out - &batch[1]))?, &[], false)?; // the loss line
                    optimizer.minimize(&loss)?; // the update line
                    Ok(vec![loss])
                })?;
                Ok(vec![&carried[0] + &Var::scalar(1i64), last[0].clone()])
            },
        )?;
        Ok(vec![last[1].clone()])
    })
}

/// Leaves inputs as they are.
pub fn fine(x: &Var) -> Result<Var> {
    Ok(x.clone())
}

impl Session {
    /// A debugger, before anything runs.
    pub fn new() -> Session {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let engine = Engine::new(false);
        let events = engine.events();
        Session { engine, events, thread: None, outputs: Vec::new(), _one: one }
    }

    /// Somebody debugs again.
    pub fn again(&mut self) {
        self.events = self.engine.events();
    }

    pub fn set(&self, points: &[(On, Option<&str>)]) -> Vec<Verdict> {
        let spec = |(i, (on, condition)): (usize, &(On, Option<&str>))| Breakpoint {
            id: i as u32 + 1,
            on: on.clone(),
            condition: condition.map(String::from),
            hits: None,
            log: None,
            phase: None,
        };
        self.engine.set_breakpoints(points.iter().enumerate().map(spec).collect())
    }

    /// Runs a program on a state.
    pub fn start(&mut self, program: &Program, state: &State) {
        let executor = Executor::new(program, state.clone()).expect("it compiles");
        self.thread = Some(std::thread::spawn(move || executor.run(&[])));
    }

    /// The next stop.
    pub fn stop(&mut self) -> Arc<Stop> {
        self.until(|event| match event {
            Event::Stopped(stop) => Some(stop.clone()),
            _ => None,
        })
    }

    pub fn until<T>(&mut self, f: impl Fn(&Event) -> Option<T>) -> T {
        loop {
            match self.events.recv_timeout(Duration::from_secs(20)) {
                Ok(Event::Output { text, .. }) => self.outputs.push(text),
                Ok(event) => {
                    if let Some(found) = f(&event) {
                        return found;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("nothing happens; said so far: {:?}", self.outputs)
                }
                Err(RecvTimeoutError::Disconnected) => panic!("the debugger is gone"),
            }
        }
    }

    /// All that was said, also what nobody has listened to yet.
    pub fn outputs_until_quiet(&mut self) -> &[String] {
        while let Ok(event) = self.events.try_recv() {
            if let Event::Output { text, .. } = event {
                self.outputs.push(text);
            }
        }
        &self.outputs
    }

    /// Goes on, to the next stop.
    pub fn go(&mut self, how: Go) -> Arc<Stop> {
        self.engine.go(how).expect("it is stopped");
        self.stop()
    }

    /// Goes on to the end, without breakpoints.
    pub fn finish(&mut self) -> Result<Vec<Tensor>> {
        self.set(&[]);
        if self.engine.stopped().is_some() {
            self.engine.go(Go::Continue).expect("it is stopped");
        }
        self.thread.take().expect("it was started").join().expect("it does not panic")
    }

    /// All that can be seen, as hashes.
    pub fn hashes(&self) -> Vec<(String, u64)> {
        let scopes =
            [ScopeKind::Inputs, ScopeKind::Parameters, ScopeKind::Optimizer, ScopeKind::Live];
        let variables =
            scopes.iter().flat_map(|&scope| self.engine.variables(0, scope).expect("stopped"));
        // While a loop over a reader is under way, the state has the position of the last snapshot.
        let variables = variables.filter(|variable| !variable.name.ends_with(".position"));
        let mut hashes: Vec<(String, u64)> =
            variables.map(|variable| (variable.name, inspect::hash(&variable.value))).collect();
        hashes.sort();
        hashes
    }

    pub fn text(&self, expression: &str) -> String {
        match self.engine.evaluate(0, expression) {
            Ok(fluvial_debug::target::Evaluated::Value(value)) => inspect::line(&value),
            Ok(fluvial_debug::target::Evaluated::Text(text)) => text,
            Err(error) => format!("error: {}", error.message()),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.engine.go(Go::Detach);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub fn line(line: u32) -> On {
    On::Line { file: FILE.into(), line }
}

/// The states after a run that nobody debugs, of which the cells of the program see nothing.
pub fn alone(program: &Program) -> (State, Vec<Tensor>) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let state = State::new();
    let executor = Executor::new(&program.unbound(), state.clone()).expect("it compiles");
    let outputs = executor.run(&[]).expect("it runs");
    (state, outputs)
}

pub fn assert_same_states(a: &State, b: &State) {
    assert_eq!(a.names(), b.names());
    for name in a.names() {
        let (x, y) = (a.tensor(&name).unwrap(), b.tensor(&name).unwrap());
        assert!(x.bitwise_eq(&y), "the state `{name}` differs");
    }
}
