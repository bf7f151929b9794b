//! How a session begins, goes on and ends, over real sockets.

mod mock;

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fluvial_debug::server::{Options, Server};
use fluvial_debug::target::{Event, Go, Output, ProgramInfo, Verdict};
use mock::client::Client;
use mock::{Mock, Script};
use serde_json::{Value, json};

fn serve(script: Script) -> (Arc<Mock>, Server) {
    let mock = Mock::start(script);
    let options = Options { token: Some("secret".to_string()), ..Options::default() };
    let server = Server::start(mock.clone(), options).unwrap();
    (mock, server)
}

fn lines(lines: &[u32]) -> (&'static str, Value) {
    let breakpoints: Vec<Value> = lines.iter().map(|line| json!({"line": line})).collect();
    ("setBreakpoints", json!({"source": {"path": "/mock/train.py"}, "breakpoints": breakpoints}))
}

#[test]
fn a_session_from_beginning_to_end() {
    let (mock, server) = serve(Script { waits: true, ..Script::default() });
    assert!(!server.wait_for_client(Some(Duration::from_millis(20))));
    let mut client = Client::connect(server.port());
    let why = client.refused("threads", Value::Null);
    assert_eq!(why, "threads: send `initialize` first");
    let can = client.initialize();
    for name in ["supportsStepBack", "supportsDataBreakpoints", "supportsConfigurationDoneRequest"]
    {
        assert_eq!(can[name], true, "{name}");
    }
    let filters = can["exceptionBreakpointFilters"].as_array().unwrap();
    let defaults: Vec<bool> = filters.iter().map(|one| one["default"].as_bool().unwrap()).collect();
    assert_eq!(defaults, [true, false, false, false, true]);
    client.refused("initialize", Value::Null);
    client.refused("setBreakpoints", Value::Null);
    client.ok("attach", json!({"token": "secret"}));
    client.event("initialized");
    client.refused("attach", json!({"token": "secret"}));
    client.ok(lines(&[11]).0, lines(&[11]).1);
    assert!(!server.has_client());
    client.ok("configurationDone", Value::Null);
    assert_eq!(client.event("thread")["reason"], "started");
    client.refused("configurationDone", Value::Null);
    assert!(server.wait_for_client(None));
    mock.release();
    let stop = client.event("stopped");
    assert_eq!((&stop["reason"], &stop["allThreadsStopped"]), (&json!("breakpoint"), &json!(true)));
    assert_eq!(stop["hitBreakpointIds"], json!([1]));
    assert_eq!(stop["text"], "at %h2 = log(%h)");
    assert_eq!(client.ok("threads", Value::Null)["threads"], json!([{"id": 1, "name": "train"}]));
    assert_eq!(client.stack(), ["%h2 = log(%h):11", "fc1:9", "forward:0", "step 0:0", "train:5"]);
    client.ok("disconnect", json!({"restart": false}));
    client.ok("disconnect", json!({}));
    assert!(client.is_closed());
    assert!(mock.is_moving());
    assert_eq!((mock.orders(), mock.n_breakpoints()), (vec![Go::Detach], 0));
    assert!(!server.has_client());
}

#[test]
fn every_way_to_go_on() {
    let (mock, server) = serve(Script { waits: true, ..Script::default() });
    let mut client = Client::attach(server.port());
    mock.tell(Event::CanGoBack(false));
    assert_eq!(client.event("capabilities"), json!({"capabilities": {"supportsStepBack": false}}));
    client.ok("configurationDone", Value::Null);
    client.ok("pause", json!({"threadId": 1}));
    mock.release();
    assert_eq!(client.stopped(), "pause");
    let thread = json!({"threadId": 1});
    let by_op = json!({"threadId": 1, "granularity": "instruction"});
    let mut at = |command: &str, arguments: &Value, reason: &str| {
        client.ok(command, arguments.clone());
        assert_eq!(client.stopped(), reason, "{command}");
        mock.position()
    };
    assert_eq!(at("next", &thread, "step"), 1);
    assert_eq!(at("next", &thread, "step"), 3);
    assert_eq!(at("stepBack", &thread, "step"), 2);
    assert_eq!(at("stepBack", &by_op, "step"), 1);
    assert_eq!(at("stepIn", &thread, "step"), 2);
    assert_eq!(at("next", &by_op, "step"), 3);
    assert_eq!(at("restart", &thread, "step"), 0);
    assert_eq!(at("stepOut", &thread, "step"), 3);
    assert_eq!(at("goto", &json!({"threadId": 1, "targetId": 8}), "goto"), 35);
    assert_eq!(at("reverseContinue", &thread, "step"), 0);
    let why = client.refused("stepBack", json!({"threadId": 1}));
    assert_eq!(why, "there is nothing before the first op");
    client.refused("goto", json!({"threadId": 1}));
    client.refused("goto", json!({"targetId": i64::MIN}));
    let targets = client.ok("gotoTargets", json!({"source": {}, "line": 10}));
    assert_eq!(targets["targets"][1], json!({"id": 2, "label": "on to step 1", "line": 10}));
    // Somebody who looks at the trip of a loop goes to the next one.
    let frame = client.frame(3);
    client.ok("scopes", json!({"frameId": frame}));
    client.ok("stepOut", json!({"threadId": 1}));
    assert_eq!((client.stopped().as_str(), mock.position()), ("step", 5));
    let body = client.ok("continue", json!({"threadId": 1}));
    assert_eq!(body["allThreadsContinued"], true);
    let why = client.refused("continue", json!({"threadId": 1}));
    assert_eq!(why, "the program is running; pause it first");
    for command in ["stackTrace", "scopes", "variables", "exceptionInfo", "gotoTargets"] {
        let why = client.refused(command, Value::Null);
        assert_eq!(why, "the program is running; pause it first", "{command}");
    }
}

#[test]
fn tokens_are_asked_for() {
    let (mock, server) = serve(Script::default());
    let mut client = Client::connect(server.port());
    client.initialize();
    assert!(client.refused("evaluate", json!({"expression": "w"})).contains("token"));
    assert!(client.refused("attach", Value::Null).contains("missing"));
    assert!(client.refused("launch", json!({"token": "secre"})).contains("wrong"));
    assert!(client.refused("attach", json!({"token": 7})).contains("missing"));
    assert!(client.is_closed());
    let mut client = Client::connect(server.port());
    client.initialize();
    client.refused("attach", json!({"token": "secret "}));
    client.ok("launch", json!({"token": "secret"}));
    assert!(mock.orders().is_empty());
    drop(client);
    drop(server);
    let open = Options { token: None, ..Options::default() };
    let server = Server::start(mock, open).unwrap();
    let mut client = Client::connect(server.port());
    client.initialize();
    client.ok("attach", Value::Null);
    assert_eq!(
        (server.token(), Options::default().token.map(|token| token.len())),
        (None, Some(32))
    );
}

#[test]
fn one_client_has_control() {
    let (mock, server) = serve(Script::default());
    let mut first = Client::start(server.port(), &[]);
    let mut second = Client::connect(server.port());
    second.initialize();
    let why = second.refused("attach", json!({"token": "secret"}));
    assert_eq!(why, "attach: another client debugs this program; disconnect it first");
    second.refused("pause", Value::Null);
    first.ok("threads", Value::Null);
    first.ok("disconnect", Value::Null);
    second.ok("attach", json!({"token": "secret"}));
    second.ok("configurationDone", Value::Null);
    second.ok("pause", Value::Null);
    assert_eq!(second.stopped(), "pause");
    // The farewell of one who has no control any more changes nothing.
    first.ok("disconnect", json!({"terminateDebuggee": true}));
    assert_eq!(mock.orders(), [Go::Detach, Go::Pause]);
}

#[test]
fn of_too_many_connections_the_oldest_idle_one_is_closed() {
    let (_mock, server) = serve(Script::default());
    let mut client = Client::start(server.port(), &[]);
    let mut oldest = Client::connect(server.port());
    // The connection with number 33 is one too many.
    let idle: Vec<Client> = (0..31).map(|_| Client::connect(server.port())).collect();
    assert!(oldest.event("output")["output"].as_str().unwrap().starts_with("Too many"));
    assert!(oldest.is_closed());
    client.ok("threads", Value::Null);
    let mut newest = Client::connect(server.port());
    newest.initialize();
    drop(idle);
}

#[test]
fn who_has_spoken_is_kept_over_who_has_not() {
    let (_mock, server) = serve(Script::default());
    let mut first = Client::start(server.port(), &[]);
    let mut second = Client::connect(server.port());
    second.initialize();
    let mut idle: Vec<Client> = (0..80).map(|_| Client::connect(server.port())).collect();
    // The one that had control answers to the end, though it is the oldest now.
    first.ok("disconnect", Value::Null);
    second.ok("attach", json!({"token": "secret"}));
    second.ok("disconnect", Value::Null);
    let mut third = Client::attach(server.port());
    third.ok("disconnect", Value::Null);
    assert!(idle[0].event("output")["output"].as_str().unwrap().starts_with("Too many"));
    assert!(idle[0].is_closed());
}

/// However many come at the same time and say nothing, whoever speaks at once is let in.
#[test]
fn a_flood_of_idle_connections_keeps_nobody_out() {
    let (_mock, server) = serve(Script::default());
    let (port, is_over) = (server.port(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut idle = VecDeque::new();
                while !is_over.load(Ordering::Relaxed) {
                    idle.extend(TcpStream::connect(("127.0.0.1", port)).ok());
                    idle.drain(..idle.len().saturating_sub(200));
                }
            });
        }
        let tried = std::panic::catch_unwind(|| {
            for _ in 0..10 {
                let mut client = Client::attach(port);
                client.ok("threads", Value::Null);
                client.ok("disconnect", Value::Null);
            }
        });
        is_over.store(true, Ordering::Relaxed);
        assert!(tried.is_ok());
    });
}

#[test]
fn of_many_that_have_spoken_the_oldest_is_closed() {
    let (_mock, server) = serve(Script::default());
    let mut talkers: Vec<Client> = (0..40)
        .map(|_| {
            let mut client = Client::connect(server.port());
            client.initialize();
            client
        })
        .collect();
    for closed in &mut talkers[..8] {
        assert!(closed.event("output")["output"].as_str().unwrap().starts_with("Too many"));
        assert!(closed.is_closed());
    }
    let last = talkers.last_mut().unwrap();
    last.ok("attach", json!({"token": "secret"}));
}

#[test]
fn a_wrong_token_is_answered_late_and_holds_nobody_else_up() {
    assert!(Options::default().wrong_token >= Duration::from_millis(500));
    let mock = Mock::start(Script::default());
    let options = Options {
        token: Some("secret".to_string()),
        wrong_token: Duration::from_secs(3600),
        ..Options::default()
    };
    let server = Server::start(mock, options).unwrap();
    let mut guesser = Client::connect(server.port());
    guesser.initialize();
    guesser.send("attach", json!({"token": "guess"}));
    let mut terminal = Client::connect(server.port());
    terminal.send_bytes(b"fluvial terminal guess 80\n");
    let mut friend = Client::start(server.port(), &[]);
    friend.ok("disconnect", Value::Null);
    for waiting in [&mut guesser, &mut terminal] {
        waiting.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let error = waiting.stream.peek(&mut [0]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    }
    // A server that ends does not wait for them.
    drop(server);
}

#[test]
fn who_takes_too_long_to_attach_is_cut_off() {
    let mock = Mock::start(Script::default());
    let options = Options { patience: Duration::from_millis(100), ..Options::default() };
    let server = Server::start(mock, options).unwrap();
    let mut client = Client::connect(server.port());
    client.initialize();
    let begin = Instant::now();
    assert!(client.is_closed());
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_client_that_vanishes_lets_the_program_go_on() {
    let (mock, server) = serve(Script::default());
    let mut client = Client::start(server.port(), &[lines(&[12])]);
    client.stopped();
    drop(client);
    assert!(mock.wait_until(|mock| mock.orders() == [Go::Detach]));
    assert!(mock.is_moving());
    // While it runs, too.
    let client = Client::start(server.port(), &[]);
    drop(client);
    assert!(mock.wait_until(|mock| mock.orders() == [Go::Detach, Go::Detach]));
    let mut client = Client::start(server.port(), &[lines(&[12])]);
    assert_eq!(client.stopped(), "breakpoint");
}

#[test]
fn the_program_may_be_left_stopped_or_ended() {
    let (mock, server) = serve(Script::default());
    let mut client = Client::start(server.port(), &[]);
    client.ok("disconnect", json!({"suspendDebuggee": true}));
    assert!(client.is_closed());
    assert!(mock.wait_until(|mock| fluvial_debug::target::Target::stopped(mock).is_some()));
    // Whoever comes next is told at once.
    let mut client = Client::start(server.port(), &[]);
    assert_eq!(client.stopped(), "pause");
    client.ok("terminate", Value::Null);
    assert_eq!(client.event("exited")["exitCode"], 1);
    client.event("terminated");
    client.ok("disconnect", json!({"terminateDebuggee": true}));
    assert!(client.is_closed());
    assert_eq!(mock.orders(), [Go::Pause, Go::Quit, Go::Quit, Go::Detach]);
}

#[test]
fn a_program_that_ends_says_so() {
    let (mock, server) = serve(Script { n_steps: 3, waits: true, ..Script::default() });
    let mut client = Client::start(server.port(), &[]);
    mock.release();
    assert_eq!(client.event("progressStart")["title"], "Training");
    client.event("progressEnd");
    assert_eq!(client.event("exited")["exitCode"], 0);
    client.event("terminated");
    client.ok("threads", Value::Null);
    client.refused("next", Value::Null);
}

#[test]
fn a_client_may_stop_at_the_first_op() {
    let (mock, server) = serve(Script { waits: true, ..Script::default() });
    let mut client = Client::connect(server.port());
    client.initialize();
    client.ok("launch", json!({"token": "secret", "stopOnEntry": true}));
    client.ok("configurationDone", Value::Null);
    mock.release();
    assert_eq!((client.stopped().as_str(), mock.position()), ("entry", 0));
}

#[test]
fn what_the_target_tells() {
    let (mock, server) = serve(Script { waits: true, ..Script::default() });
    let mut client = Client::start(server.port(), &[lines(&[99])]);
    mock.tell(Event::Program(ProgramInfo { number: 2, name: "eval".to_string() }));
    let source = client.event("loadedSource");
    assert_eq!(source["source"]["name"], "eval (program 2)");
    let place = Some(mock_place());
    mock.tell(Event::Output { text: "note".to_string(), kind: Output::Note, place });
    let output = client.event("output");
    assert_eq!((&output["category"], &output["output"]), (&json!("console"), &json!("note\n")));
    assert_eq!((&output["line"], &output["source"]["name"]), (&json!(7), &json!("a.py")));
    // The first of these was set by somebody else, the second by the user's own code.
    for id in [77, u32::MAX, 1] {
        let place = Some(mock_place());
        mock.tell(Event::Breakpoint(Verdict { id, verified: true, place, message: None }));
    }
    let breakpoint = client.event("breakpoint");
    assert_eq!(
        (&breakpoint["reason"], &breakpoint["breakpoint"]["id"]),
        (&json!("new"), &json!(u32::MAX))
    );
    let breakpoint = client.event("breakpoint");
    assert_eq!(breakpoint["breakpoint"]["id"], 1);
    assert_eq!(
        (&breakpoint["reason"], &breakpoint["breakpoint"]["line"]),
        (&json!("changed"), &json!(7))
    );
    mock.release();
    client.ok("pause", Value::Null);
    client.stopped();
    // The user's own code may let it go on, and then numbers are no longer good.
    let scope = client.scope("Inputs");
    fluvial_debug::target::Target::go(&*mock, Go::NextOp).unwrap();
    client.event("continued");
    client.stopped();
    assert!(client.refused("variables", json!({"variablesReference": scope})).contains("gone on"));
}

fn mock_place() -> fluvial_debug::target::Place {
    fluvial_debug::target::Place { file: "/mock/a.py".into(), line: 7, column: 0, listing: None }
}

#[test]
fn nothing_stops_for_a_client_that_is_gone() {
    // An op takes so long that what is asked for is still to be done when the client goes.
    let pace = Duration::from_millis(100);
    for (is_back, says_farewell) in [(false, false), (false, true), (true, false), (true, true)] {
        let script = Script { is_immortal: true, pace, ..Script::default() };
        let (mock, server) = serve(script);
        let mut client = Client::start(server.port(), &[lines(&[11])]);
        client.stopped();
        if is_back {
            client.ok("reverseContinue", json!({"threadId": 1}));
        }
        client.ok("terminate", Value::Null);
        if !is_back {
            client.ok("pause", Value::Null);
        }
        if says_farewell {
            client.ok("disconnect", Value::Null);
        }
        drop(client);
        assert!(mock.wait_until(|_| !server.has_client()));
        assert_eq!(mock.orders().last(), Some(&Go::Detach));
        for _ in 0..3 {
            assert!(mock.is_moving());
        }
        assert!(fluvial_debug::target::Target::stopped(&*mock).is_none());
    }
}

#[test]
fn a_terminal_that_is_killed_while_the_program_runs_lets_go() {
    let (mock, server) = serve(Script::default());
    for typed in ["continue\n", ""] {
        let mut terminal = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        terminal.write_all(b"fluvial terminal secret 100 edits\n").unwrap();
        let mut lines = BufReader::new(terminal.try_clone().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().starts_with('\u{1e}')), "it asks for a command");
        terminal.write_all(typed.as_bytes()).unwrap();
        let runs = |mock: &Mock| fluvial_debug::target::Target::stopped(mock).is_none();
        assert!(typed.is_empty() || mock.wait_until(runs));
        drop((terminal, lines));
        // Nothing stops it; the next one gets control all the same.
        assert!(mock.wait_until(|mock| mock.orders().last() == Some(&Go::Detach)), "{typed:?}");
        let mut client = Client::start(server.port(), &[]);
        client.ok("disconnect", Value::Null);
        assert!(mock.is_moving());
    }
}

#[test]
fn a_server_that_stops_lets_go() {
    let (mock, mut server) = serve(Script::default());
    let mut client = Client::start(server.port(), &[lines(&[10])]);
    client.stopped();
    let port = server.port();
    let begin = Instant::now();
    server.stop();
    server.stop();
    assert!(begin.elapsed() < Duration::from_secs(5));
    client.event("terminated");
    assert!(client.is_closed());
    assert!(mock.is_moving());
    assert!(!server.wait_for_client(None));
    // The port is free again, and nobody else holds on to the target.
    drop(server);
    let options = Options { port, token: None, ..Options::default() };
    let again = Server::start(mock.clone(), options).unwrap();
    let taken = Server::start(mock.clone(), Options { port, ..Options::default() });
    assert!(taken.unwrap_err().to_string().contains("choose another port"));
    drop(again);
    assert_eq!(Arc::strong_count(&mock), 1);
}

#[test]
fn a_client_that_does_not_read_holds_nobody_up() {
    for kind in [Output::Log, Output::Note] {
        let (mock, mut server) = serve(Script::default());
        let mut client = Client::start(server.port(), &[lines(&[10])]);
        client.stopped();
        for _ in 0..20_000 {
            mock.tell(Event::Output { text: "x".repeat(1000), kind, place: None });
        }
        drop(client);
        assert!(mock.wait_until(|mock| mock.orders() == [Go::Detach]));
        assert!(mock.is_moving());
        let mut client = Client::start(server.port(), &[lines(&[10])]);
        client.stopped();
        for _ in 0..20_000 {
            mock.tell(Event::Output { text: "x".repeat(1000), kind, place: None });
        }
        let begin = Instant::now();
        server.stop();
        assert!(begin.elapsed() < Duration::from_secs(5));
        assert!(mock.is_moving());
        drop(server);
        assert_eq!(Arc::strong_count(&mock), 1);
    }
}

#[test]
fn unknown_requests_are_answered() {
    let (_mock, server) = serve(Script::default());
    let mut client = Client::start(server.port(), &[]);
    for command in ["enableNetworking", "modules", "disassemble", "", "Threads"] {
        let why = client.refused(command, json!({"a": 1}));
        assert_eq!(why, format!("{command}: this debugger has no such request"));
    }
    client.ok("cancel", json!({"requestId": 1}));
    assert_eq!(client.ok("fluvial/info", Value::Null)["programs"][0]["name"], "train");
}
