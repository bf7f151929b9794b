//! Programs that would go on for ever, or take all memory.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::sandbox::Sandbox;

/// Prints for ever.
const FLOOD: &str = r#"fluvial 1

main(%x: f64[]) {
  %first = constant{value=bool[](true)}() : bool[]
  %y = while{body=(%x: f64[]) {
    %next = print{message="again"}(%x) : f64[]
    %goes_on = constant{value=bool[](true)}() : bool[]
    return %goes_on, %next
  }, n_carried=1}(%first, %x) : f64[]
  return %y
}
"#;

/// A list that becomes longer for ever.
const GROWING: &str = r#"fluvial 1

main(%x: f64[100000]) {
  %first = constant{value=bool[](true)}() : bool[]
  %empty = list_new{element=f64[100000]}() : list f64[100000]
  %y, %last = while{body=(%all: list f64[100000], %x: f64[100000]) {
    %double = add(%x, %x) : f64[100000]
    %more = list_push(%all, %double) : list f64[100000]
    %goes_on = constant{value=bool[](true)}() : bool[]
    return %goes_on, %more, %double
  }, n_carried=2}(%first, %empty, %x) : list f64[100000], f64[100000]
  %n = list_len(%y) : i64[]
  return %n
}
"#;

#[test]
fn checks_and_measurements_end() {
    let sandbox = Sandbox::new();
    for command in ["check programs/while.fl", "bench programs/while.fl --runs 1"] {
        let fault = sandbox.run(command).fault();
        assert!(fault.contains("which is the limit"), "{fault}");
        assert!(fault.contains("feed inputs with which its loops end"), "{fault}");
    }
    sandbox.run("check programs/while.fl --set x=1 --set w=2").fine();
    sandbox.run("bench programs/while.fl --set x=1 --set w=2 --runs 1").fine();
}

#[test]
fn a_pipe_that_nobody_reads_ends_the_run() {
    let sandbox = Sandbox::new();
    sandbox.write("flood.fl", FLOOD);
    let args = ["run", "flood.fl", "--set", "x=1"];
    let mut command = sandbox.command(&args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("again"));
    drop(lines);
    let began = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status.code(),
            None if began.elapsed() > Duration::from_secs(60) => break None,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(status, Some(141));
}

#[test]
fn limits_of_a_run() {
    let sandbox = Sandbox::new();
    sandbox.write("flood.fl", FLOOD);
    for mode in ["compiled", "interpreted"] {
        let done = sandbox.run(&format!("run flood.fl --set x=1 --max-steps 7 --mode {mode}"));
        assert_eq!(done.stdout.lines().count(), 7, "{mode}: {}", done.stdout);
        assert!(done.fault().contains("loops made 7 trips, which is the limit"), "{mode}");
    }
    let done = sandbox.run("run flood.fl --set x=1 -q --limit-time 1s");
    assert!(done.fault().contains("the limit of time"));
    let x = fluvial::core::Tensor::zeros(fluvial::core::DType::F64, &[100_000]).unwrap();
    sandbox.npy("x.npy", &x);
    sandbox.write("growing.fl", GROWING);
    for mode in ["compiled", "interpreted"] {
        let done = sandbox.run(&format!(
            "run growing.fl --feed x=x.npy --limit-memory 300M --limit-time 100s --mode {mode}"
        ));
        let fault = done.fault();
        assert!(fault.contains("limit") && fault.contains("bytes"), "{mode}: {fault}");
    }
    // With a checkpoint, what was done is not lost.
    let endless = "run programs/while.fl --set x=1 --set w=1 --checkpoint runs --max-steps";
    let fault = sandbox.run(&format!("{endless} 20")).fault();
    assert!(fault.contains("a checkpoint was written: runs/step-"), "{fault}");
    let done = sandbox.run(&format!("{endless} 5 --resume"));
    assert!(done.stderr.contains("the run goes on after step 20"), "{}", done.stderr);
}

#[test]
fn plans_of_sizes_that_no_machine_has() {
    let sandbox = Sandbox::new();
    let huge = "fluvial 1\n\nmain(%x: f64[n]) {\n  %y = mul(%x, %x) : f64[n]\n  %z = sum(%y) : f64[]\n  return %z\n}\n";
    sandbox.write("huge.fl", huge);
    for n in ["2305843009213693952", "4611686018427387904", "18446744073709551615"] {
        let done = sandbox.run(&format!("plan huge.fl --size n={n}"));
        assert!(done.status != 0, "n = {n}: {}", done.stdout);
        assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
    }
}
