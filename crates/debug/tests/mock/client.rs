//! A client that speaks the protocol, for tests.

use std::collections::VecDeque;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use fluvial_debug::protocol::{codec, write};
use serde_json::{Value, json};

/// A connection to a server.
pub struct Client {
    pub stream: TcpStream,
    from: BufReader<TcpStream>,
    seq: i64,
    last_seq: i64,
    events: VecDeque<Value>,
}

impl Client {
    /// Connects. Whatever takes longer than ten seconds fails.
    pub fn connect(port: u16) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let from = BufReader::new(stream.try_clone().unwrap());
        Client { stream, from, seq: 0, last_seq: 0, events: VecDeque::new() }
    }

    /// Connects, and goes through the beginning of a session; `breakpoints` are requests to send on the way.
    pub fn start(port: u16, breakpoints: &[(&str, Value)]) -> Client {
        let mut client = Client::attach(port);
        for (command, arguments) in breakpoints {
            client.ok(command, arguments.clone());
        }
        client.ok("configurationDone", Value::Null);
        client
    }

    /// Connects, and gets control as soon as the client before is gone.
    pub fn attach(port: u16) -> Client {
        let mut client = Client::connect(port);
        client.initialize();
        let is_in = (0..500).any(|_| {
            let answer = client.request("attach", json!({"token": "secret"}));
            if answer["success"] == false {
                std::thread::sleep(Duration::from_millis(5));
            }
            answer["success"] == true
        });
        assert!(is_in, "another client stays in control");
        client.event("initialized");
        client
    }

    /// Tells what this client can do; what the server can do.
    pub fn initialize(&mut self) -> Value {
        let can = json!({"adapterID": "fluvial", "linesStartAt1": true, "columnsStartAt1": true,
            "supportsProgressReporting": true, "supportsInvalidatedEvent": true});
        self.ok("initialize", can)
    }

    /// Sends a request without waiting. A server that is gone does not answer, which is seen later.
    pub fn send(&mut self, command: &str, arguments: Value) -> i64 {
        self.seq += 1;
        let mut message = json!({"seq": self.seq, "type": "request", "command": command});
        if !arguments.is_null() {
            message["arguments"] = arguments;
        }
        let _ = write(&mut self.stream, &message);
        self.seq
    }

    /// Sends bytes.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The next message; nothing if the connection is closed.
    pub fn read(&mut self) -> Option<Value> {
        let message = codec::read(&mut self.from).ok()?;
        let seq = message["seq"].as_i64().unwrap();
        assert_eq!(seq, self.last_seq + 1, "messages are numbered");
        self.last_seq = seq;
        Some(message)
    }

    /// The next response, whatever it answers.
    pub fn response(&mut self) -> Option<Value> {
        loop {
            let message = self.read()?;
            match message["type"].as_str() {
                Some("response") => return Some(message),
                _ => self.events.push_back(message),
            }
        }
    }

    /// Asks for something; the whole response.
    pub fn request(&mut self, command: &str, arguments: Value) -> Value {
        let seq = self.send(command, arguments);
        let response = self.response().expect("an answer");
        assert_eq!(
            (&response["request_seq"], &response["command"]),
            (&json!(seq), &json!(command))
        );
        response
    }

    /// Asks for something that must be met; the body of the answer.
    pub fn ok(&mut self, command: &str, arguments: Value) -> Value {
        let mut response = self.request(command, arguments);
        assert_eq!(response["success"], true, "{response}");
        response["body"].take()
    }

    /// Asks for something that must not be met; why.
    pub fn refused(&mut self, command: &str, arguments: Value) -> String {
        let response = self.request(command, arguments);
        assert_eq!(response["success"], false, "{response}");
        assert_eq!(response["body"]["error"]["showUser"], false);
        response["message"].as_str().unwrap().to_string()
    }

    /// The next event of a name; those before it are forgotten.
    pub fn event(&mut self, name: &str) -> Value {
        self.find(name, |_| true)
    }

    /// The next event of a name that is as wanted; those before it are forgotten.
    pub fn find(&mut self, name: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            assert!(Instant::now() < end, "no event {name} in time");
            let mut event = match self.events.pop_front() {
                Some(event) => event,
                None => self.read().unwrap_or_else(|| panic!("no event {name}")),
            };
            if event["event"] == name && is_wanted(&event["body"]) {
                return event["body"].take();
            }
        }
    }

    /// Waits for the next stop; its reason.
    pub fn stopped(&mut self) -> String {
        self.event("stopped")["reason"].as_str().unwrap().to_string()
    }

    /// The stack: names and lines.
    pub fn stack(&mut self) -> Vec<String> {
        let frames = self.ok("stackTrace", json!({"threadId": 1}));
        let frames = frames["stackFrames"].as_array().unwrap().clone();
        frames
            .iter()
            .map(|frame| format!("{}:{}", frame["name"].as_str().unwrap(), frame["line"]))
            .collect()
    }

    /// The number of the frame at a position.
    pub fn frame(&mut self, at: usize) -> i64 {
        let body = self.ok("stackTrace", json!({"threadId": 1, "startFrame": at, "levels": 1}));
        body["stackFrames"][0]["id"].as_i64().unwrap()
    }

    /// The number of a scope of the innermost frame.
    pub fn scope(&mut self, name: &str) -> i64 {
        let frame = self.frame(0);
        let scopes = self.ok("scopes", json!({"frameId": frame}));
        let mut scopes = scopes["scopes"].as_array().unwrap().iter();
        scopes.find(|scope| scope["name"] == name).unwrap()["variablesReference"].as_i64().unwrap()
    }

    /// The variables of a number.
    pub fn variables(&mut self, arguments: Value) -> Vec<Value> {
        self.ok("variables", arguments)["variables"].as_array().unwrap().clone()
    }

    /// A variable of a scope of the innermost frame.
    pub fn variable(&mut self, scope: &str, name: &str) -> Value {
        let scope = self.scope(scope);
        let variables = self.variables(json!({"variablesReference": scope}));
        variables.into_iter().find(|variable| variable["name"] == name).unwrap()
    }

    /// Whether the server closes the connection, whatever it still sends.
    pub fn is_closed(&mut self) -> bool {
        while self.read().is_some() {}
        let mut rest = [0; 1];
        matches!(std::io::Read::read(&mut self.stream, &mut rest), Ok(0) | Err(_))
    }
}
