//! What waits to be sent to a client.

use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use serde_json::Value;

use crate::protocol::codec;

/// How many messages wait at most.
const CAPACITY: usize = 256;

/// Where messages to a client are put.
#[derive(Clone, Debug)]
pub(super) struct Outbox(SyncSender<Letter>);

/// What the writer is to do.
#[derive(Debug)]
pub(super) enum Letter {
    /// Send a message.
    Message(Value),
    /// Close the connection.
    Close,
}

impl Outbox {
    pub fn new() -> (Outbox, Receiver<Letter>) {
        let (to, from) = sync_channel(CAPACITY);
        (Outbox(to), from)
    }

    /// Puts a message in, waiting for room. Messages to a client that is gone are dropped.
    pub fn send(&self, message: Value) {
        let _ = self.0.send(Letter::Message(message));
    }

    /// Puts a message in if there is room.
    pub fn offer(&self, message: Value) {
        let _ = self.0.try_send(Letter::Message(message));
    }

    /// Closes the connection behind all that was put in so far.
    pub fn close(&self) {
        let _ = self.0.send(Letter::Close);
    }

    /// As [`Outbox::close`], but not if that means to wait.
    pub fn offer_close(&self) {
        let _ = self.0.try_send(Letter::Close);
    }
}

/// Sends messages, numbered from 1, until the connection is to be closed, or breaks.
pub(super) fn write_all(stream: TcpStream, letters: Receiver<Letter>) {
    let mut to = &stream;
    for (number, letter) in letters.into_iter().enumerate() {
        let Letter::Message(mut message) = letter else { break };
        message["seq"] = Value::from(number + 1);
        if codec::write(&mut to, &message).is_err() {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}
