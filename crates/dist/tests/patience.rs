//! In a process of its own, since the patience is that of a process.

use std::time::Duration;

use fluvial_dist::{Comm, Threads, set_patience};

#[test]
fn nobody_waits_for_ever() {
    set_patience(Duration::from_millis(200));
    let fault = Threads::run(2, |comm| match comm.rank() {
        0 => comm.barrier(),
        _ => {
            std::thread::sleep(Duration::from_millis(900));
            Ok(())
        }
    });
    let text = fault.unwrap_err().to_string();
    assert!(text.contains("rank 0 has waited"), "{text}");
}
