//! Whatever clients send, the server goes on, and so does the program. The same every time, and bounded in time.

mod mock;

use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fluvial_debug::protocol::codec::{self, Fault, MAX_BODY};
use fluvial_debug::server::{Options, Server};
use mock::client::Client;
use mock::{Mock, Script};
use serde_json::{Value, json};

const BUDGET: Duration = Duration::from_secs(4);

/// Numbers that only look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.roll() % n as u64) as usize
    }

    fn one_of<'a>(&mut self, these: &[&'a str]) -> &'a str {
        these[self.below(these.len())]
    }
}

fn serve() -> (Arc<Mock>, Server) {
    let mock = Mock::start(Script { is_immortal: true, n_rows: 2000, ..Script::default() });
    let options = Options { token: Some("secret".to_string()), ..Options::default() };
    let server = Server::start(mock.clone(), options).unwrap();
    (mock, server)
}

/// A new client can do all that matters, and the program runs behind it.
fn check_health(mock: &Mock, server: &Server) {
    let path = json!({"path": "/mock/train.py"});
    let breakpoints = json!({"source": path, "breakpoints": [{"line": 12}]});
    assert!(mock.wait_until(|_| !server.has_client()));
    let mut client = Client::start(server.port(), &[("setBreakpoints", breakpoints)]);
    assert_eq!(client.find("stopped", |stop| stop["reason"] == "breakpoint")["threadId"], 1);
    assert_eq!(client.stack()[0], "%loss = mean(%a):12");
    assert!(client.variable("Inputs", "x")["value"].as_str().unwrap().starts_with("f32[300, 4]"));
    client.ok("disconnect", Value::Null);
    assert!(client.is_closed());
    assert!(mock.is_moving());
}

fn valid_stream(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = Vec::new();
    for seq in 0..dice.below(6) {
        let (command, arguments) = random_request(dice);
        let message =
            json!({"seq": seq, "type": "request", "command": command, "arguments": arguments});
        codec::write(&mut bytes, &message).unwrap();
    }
    bytes
}

fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>) {
    for _ in 0..dice.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = dice.below(bytes.len());
        match dice.below(6) {
            0 => bytes[at] = dice.roll() as u8,
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, dice.roll() as u8),
            3 => bytes.truncate(at),
            4 => {
                let copy = bytes[at..].to_vec();
                bytes.extend(copy);
            }
            _ => {
                let text = dice.one_of(&[
                    "\r\n",
                    "Content-Length: 99999999999\r\n\r\n",
                    "{",
                    "\"",
                    "\0",
                    "Content-Length: 7",
                ]);
                bytes.splice(at..at, text.bytes());
            }
        }
    }
}

#[test]
fn the_codec_bears_anything() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let begin = Instant::now();
    let (mut n_messages, mut n_faults) = (0, 0);
    for round in 0..100_000 {
        if begin.elapsed() > BUDGET {
            break;
        }
        let mut bytes = match round % 4 {
            0 => (0..dice.below(200)).map(|_| dice.roll() as u8).collect(),
            _ => valid_stream(&mut dice),
        };
        if round % 4 != 1 {
            mutate(&mut dice, &mut bytes);
        }
        let mut from = bytes.as_slice();
        loop {
            match codec::read(&mut from) {
                Ok(_) => n_messages += 1,
                Err(Fault::Json(_)) => n_faults += 1,
                Err(Fault::Framing(_)) => break n_faults += 1,
                Err(Fault::Closed) => break,
            }
        }
    }
    assert!(n_messages > 100 && n_faults > 100, "{n_messages} messages, {n_faults} faults");
}

#[test]
fn a_server_bears_any_bytes() {
    let (mock, server) = serve();
    let mut dice = Dice(42);
    let begin = Instant::now();
    let mut n_rounds = 0;
    while begin.elapsed() < BUDGET && n_rounds < 1500 {
        n_rounds += 1;
        let mut bytes = valid_stream(&mut dice);
        mutate(&mut dice, &mut bytes);
        let mut client = Client::connect(server.port());
        if dice.below(2) == 0 {
            client.send("initialize", json!({}));
            client.send("attach", json!({"token": "secret"}));
        }
        // The server may be the first to close.
        let _ = std::io::Write::write_all(&mut client.stream, &bytes);
        if dice.below(2) == 0 {
            let _ = client.stream.shutdown(Shutdown::Write);
            while client.read().is_some() {}
        }
    }
    assert!(n_rounds > 20);
    check_health(&mock, &server);
}

#[test]
fn messages_that_are_none() {
    let (mock, server) = serve();
    let mut client = Client::attach(server.port());
    let mut bytes = Vec::new();
    for message in [
        json!(null),
        json!([]),
        json!("a"),
        json!({"seq": 5}),
        json!({"command": 1, "seq": 6}),
        json!({"type": "event"}),
    ] {
        codec::write(&mut bytes, &message).unwrap();
    }
    bytes.extend(b"Content-Length: 3\r\n\r\n{]}");
    client.send_bytes(&bytes);
    let answers: Vec<Value> = (0..7).map(|_| client.response().unwrap()).collect();
    assert!(answers.iter().all(|answer| answer["success"] == false));
    let numbers: Vec<i64> =
        answers.iter().map(|answer| answer["request_seq"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [0, 0, 0, 5, 6, 0, 0]);
    client.ok("threads", Value::Null);
    // Not for ever.
    client.send_bytes(&b"Content-Length: 1\r\n\r\n-".repeat(16));
    assert!(client.is_closed());
    for bytes in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_string(),
        format!("Content-Length: {}\r\n\r\n", MAX_BODY + 1),
        "x".repeat(9000),
    ] {
        let mut client = Client::connect(server.port());
        client.send_bytes(bytes.as_bytes());
        assert!(client.is_closed());
    }
    let mut client = Client::connect(server.port());
    client.send_bytes(format!("Content-Length: {MAX_BODY}\r\n\r\n").as_bytes());
    drop(client);
    check_health(&mock, &server);
}

const COMMANDS: [&str; 40] = [
    "initialize",
    "attach",
    "launch",
    "configurationDone",
    "setBreakpoints",
    "setFunctionBreakpoints",
    "setExceptionBreakpoints",
    "setDataBreakpoints",
    "dataBreakpointInfo",
    "breakpointLocations",
    "threads",
    "stackTrace",
    "scopes",
    "variables",
    "variables",
    "setVariable",
    "setExpression",
    "evaluate",
    "completions",
    "exceptionInfo",
    "source",
    "loadedSources",
    "readMemory",
    "continue",
    "next",
    "stepIn",
    "stepOut",
    "stepBack",
    "reverseContinue",
    "restart",
    "gotoTargets",
    "goto",
    "pause",
    "pause",
    "pause",
    "cancel",
    "terminate",
    "fluvial/info",
    "nonsense",
    "evaluate",
];
const FIELDS: [&str; 32] = [
    "threadId",
    "frameId",
    "variablesReference",
    "variablesReference",
    "start",
    "count",
    "filter",
    "name",
    "value",
    "expression",
    "context",
    "source",
    "breakpoints",
    "lines",
    "line",
    "endLine",
    "path",
    "sourceReference",
    "filters",
    "filterOptions",
    "filterId",
    "condition",
    "hitCondition",
    "logMessage",
    "dataId",
    "targetId",
    "memoryReference",
    "offset",
    "startFrame",
    "levels",
    "granularity",
    "text",
];
const TEXTS: [&str; 22] = [
    "",
    " ",
    "w",
    "x",
    "big",
    "w[0, 1]",
    "w = 3",
    "w[0, 0] = 1",
    "step 3",
    "back",
    "help",
    "repl",
    "watch",
    "/mock/train.py",
    "nan",
    "indexed",
    "named",
    "instruction",
    "tensor:3",
    "[1]",
    "ä😀",
    "%100",
];

fn random_value(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth > 2 { 6 } else { 8 }) {
        0 => json!(dice.below(30)),
        1 => json!(dice.roll() as i64),
        2 => json!(dice.below(2) == 0),
        3 => json!(f64::from_bits(dice.roll())),
        4 => Value::Null,
        5 => json!(dice.one_of(&TEXTS)),
        6 => (0..dice.below(4)).map(|_| random_value(dice, depth + 1)).collect(),
        _ => random_arguments(dice, depth + 1),
    }
}

fn random_arguments(dice: &mut Dice, depth: usize) -> Value {
    let mut arguments = json!({});
    for _ in 0..dice.below(6) {
        let field = dice.one_of(&FIELDS);
        arguments[field] = match field {
            "variablesReference" | "targetId" | "line" => json!(dice.below(40)),
            "name" | "expression" | "text" | "path" => json!(dice.one_of(&TEXTS)),
            "breakpoints" | "filterOptions" => {
                (0..dice.below(3)).map(|_| random_arguments(dice, depth + 1)).collect()
            }
            "source" if depth < 3 => random_arguments(dice, depth + 1),
            _ => random_value(dice, depth),
        };
    }
    arguments
}

fn random_request(dice: &mut Dice) -> (&'static str, Value) {
    let command = dice.one_of(&COMMANDS);
    let arguments =
        if dice.below(10) == 0 { random_value(dice, 0) } else { random_arguments(dice, 0) };
    (command, arguments)
}

#[test]
fn a_session_bears_any_requests() {
    let (mock, server) = serve();
    let mut dice = Dice(7);
    let begin = Instant::now();
    let (mut n_met, mut n_refused) = (0, 0);
    while begin.elapsed() < BUDGET && n_met + n_refused < 6000 {
        let kind = dice.below(4);
        let mut client = match kind {
            0 => Client::connect(server.port()),
            1 => Client::attach(server.port()),
            _ => Client::start(server.port(), &[]),
        };
        for _ in 0..200 {
            let (command, arguments) = random_request(&mut dice);
            let seq = client.send(command, arguments);
            // Every request is answered, unless tokens were wrong too often.
            let Some(answer) = client.response() else {
                assert_eq!(kind, 0, "{command} has closed the connection");
                break;
            };
            assert_eq!(
                (&answer["request_seq"], &answer["command"]),
                (&json!(seq), &json!(command))
            );
            assert!(answer.to_string().len() < 70_000);
            if answer["success"] == true {
                n_met += 1;
            } else {
                n_refused += 1;
            }
        }
        if dice.below(2) == 0 {
            client.send("disconnect", random_arguments(&mut dice, 0));
            assert!(client.is_closed());
        }
        drop(client);
        assert!(mock.wait_until(|mock| !server.has_client() && mock.n_breakpoints() == 0));
    }
    assert!(n_met > 200 && n_refused > 200, "{n_met} met, {n_refused} refused");
    check_health(&mock, &server);
}
