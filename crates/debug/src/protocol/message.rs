//! Requests, responses, events.

use serde_json::{Value, json};

use super::Args;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The client's number of the request, 0 if it has none.
    pub seq: i64,
    /// What is asked for.
    pub command: String,
    /// The rest; `null` if there is none.
    pub arguments: Value,
}

impl Request {
    /// The request that a message is. An error, in words, if it is none.
    pub fn read(message: Value) -> Result<Request, String> {
        let args = Args::new(&message);
        if let Some(kind) = args.text("type").filter(|&kind| kind != "request") {
            return Err(format!("a message of type `{kind}`, only requests are expected"));
        }
        let Some(command) = args.text("command") else {
            return Err("a message without a command".to_string());
        };
        let (seq, command) = (args.int("seq").unwrap_or(0), command.to_string());
        let arguments = message.get("arguments").cloned().unwrap_or(Value::Null);
        Ok(Request { seq, command, arguments })
    }

    /// Its arguments.
    pub fn args(&self) -> Args<'_> {
        Args::new(&self.arguments)
    }
}

/// The answer to a request that was met. The writer gives it its number.
pub fn success(request: &Request, body: Value) -> Value {
    let mut message = json!({
        "type": "response",
        "request_seq": request.seq,
        "command": request.command,
        "success": true,
    });
    if !body.is_null() {
        message["body"] = body;
    }
    message
}

/// The answer to a request that could not be met.
pub fn failure(request: &Request, why: &str) -> Value {
    json!({
        "type": "response",
        "request_seq": request.seq,
        "command": request.command,
        "success": false,
        "message": why,
        "body": {"error": {"id": 1, "format": why, "showUser": false}},
    })
}

/// Something that happens without having been asked for. Some clients insist on a body, so there is always one.
pub fn event(name: &str, body: Value) -> Value {
    let body = if body.is_null() { json!({}) } else { body };
    json!({"type": "event", "event": name, "body": body})
}
