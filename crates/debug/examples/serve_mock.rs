//! Serves the mock of the tests, so that real clients can be tried on it.
//!
//! It prints `port N`, and runs until its input ends. The token is `secret`; `FLUVIAL_MOCK_NAN` is the step with NaN.

#[path = "../tests/mock/mod.rs"]
mod mock;

use std::io::Read;
use std::thread;

use fluvial_debug::server::{Options, Server};
use mock::{Mock, Script};

fn main() -> fluvial_core::Result<()> {
    let nan_at = std::env::var("FLUVIAL_MOCK_NAN").ok().and_then(|step| step.parse().ok());
    let mock = Mock::start(Script { nan_at, waits: true, ..Script::default() });
    let options = Options { token: Some("secret".to_string()), ..Options::default() };
    let server = Server::start(mock.clone(), options)?;
    println!("port {}", server.port());
    thread::spawn(move || {
        server.wait_for_client(None);
        mock.release();
        // The server stays open as long as the process.
        loop {
            thread::park();
        }
    });
    // What comes is of no interest, only that it ends.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}
