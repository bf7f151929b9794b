//! Runs that are stopped from outside.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::sandbox::Sandbox;

/// Goes on for years, and prints when it begins.
const ENDLESS: &str = r#"fluvial 1

main(%x: f64[]) {
  %0 = print{message="begun"}(%x) : f64[]
  %first = constant{value=bool[](true)}() : bool[]
  %zero = constant{value=i64[](0)}() : i64[]
  %count, %loss = while{body=(%count: i64[], %loss: f64[], %x: f64[]) {
    %one = constant{value=i64[](1)}() : i64[]
    %next = add(%count, %one) : i64[]
    %bound = constant{value=i64[](1000000000000)}() : i64[]
    %goes_on = lt(%next, %bound) : bool[]
    %less = mul(%loss, %x) : f64[]
    return %goes_on, %next, %less
  }, n_carried=2}(%first, %zero, %0, %0) : i64[], f64[]
  return %count, %loss
}
"#;

/// A run that does not outlive the test.
struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Run {
    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.0.id().to_string()]).status();
        assert!(status.unwrap().success());
    }
}

/// Sends a signal to a run once an event of this kind is there. Returns exit code and further events.
fn stopped(options: &[&str], after: &str, signal: &str) -> (i32, Vec<serde_json::Value>) {
    let sandbox = Sandbox::new();
    sandbox.write("endless.fl", ENDLESS);
    stopped_in(&sandbox, options, after, signal)
}

fn stopped_in(
    sandbox: &Sandbox,
    options: &[&str],
    after: &str,
    signal: &str,
) -> (i32, Vec<serde_json::Value>) {
    let args = [&["run", "endless.fl", "--set", "x=0.5", "--json"], options].concat();
    let child = sandbox.command(&args).stdout(Stdio::piped()).spawn().unwrap();
    let mut run = Run(child);
    let mut lines = BufReader::new(run.0.stdout.take().unwrap()).lines();
    let mut event = || -> Option<serde_json::Value> {
        lines.next().map(|line| serde_json::from_str(&line.unwrap()).unwrap())
    };
    while event().expect("the run goes on")["event"] != after {}
    run.signal(signal);
    let mut events = Vec::new();
    while let Some(event) = event() {
        events.push(event);
    }
    (run.0.wait().unwrap().code().unwrap_or(-1), events)
}

#[test]
fn ctrl_c_stops_between_trips() {
    let (status, events) = stopped(&[], "progress", "-INT");
    assert_eq!(status, 130);
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["status"]), (&"error".into(), &130.into()));
    assert_eq!(last["kind"], "Interrupted");
    let ended = events.iter().find(|event| event["event"] == "loop").unwrap();
    assert!(ended["trips"].as_u64().unwrap() > 0);
}

#[test]
fn a_request_to_end_stops_as_well() {
    let (status, _) = stopped(&["--mode", "interpreted"], "print", "-TERM");
    assert_eq!(status, 143);
}

#[test]
fn progress_has_the_numbers_of_the_loop() {
    let sandbox = Sandbox::new();
    sandbox.write("endless.fl", ENDLESS);
    let args = ["run", "endless.fl", "--set", "x=0.5", "--json"];
    let child = sandbox.command(&args).stdout(Stdio::piped()).spawn().unwrap();
    let mut run = Run(child);
    let lines = BufReader::new(run.0.stdout.take().unwrap()).lines();
    let mut events =
        lines.map(|line| -> serde_json::Value { serde_json::from_str(&line.unwrap()).unwrap() });
    let progress = events.find(|event| event["event"] == "progress").unwrap();
    assert_eq!(progress["total"], 1_000_000_000_000u64);
    assert!(progress["seconds_left"].as_f64().unwrap() > 0.0);
    assert!(progress["values"]["loss"].as_f64().unwrap() < 0.5);
    run.signal("-INT");
}

#[test]
fn without_a_terminal_progress_is_lines() {
    let sandbox = Sandbox::new();
    sandbox.write("endless.fl", ENDLESS);
    let args = ["run", "endless.fl", "--set", "x=0.5"];
    let child =
        sandbox.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut run = Run(child);
    let mut lines = BufReader::new(run.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    assert!(
        first.starts_with("endless.fl:7: ") && first.contains("/1000000000000 trips, "),
        "{first}"
    );
    assert!(first.contains(" left  loss "), "{first}");
    run.signal("-INT");
    let rest: Vec<String> = lines.collect();
    let error = rest.iter().position(|line| line.starts_with("error: ")).unwrap();
    assert_eq!(rest[error], "error: the run was stopped before its end");
    assert!(!first.contains('\x1b') && !rest.concat().contains('\x1b'));
}

#[test]
fn a_script_that_is_being_built_is_ended() {
    use std::os::unix::fs::PermissionsExt;

    let sandbox = Sandbox::new();
    sandbox.write("train.py", "");
    sandbox.write("python", "#!/bin/sh\necho begun >&2\nexec sleep 60\n");
    let python = sandbox.path("python");
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = sandbox.command(&["run", "train.py"]);
    let child = command.env("FLUVIAL_PYTHON", python).stderr(Stdio::piped()).spawn().unwrap();
    let mut run = Run(child);
    let mut lines = BufReader::new(run.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("begun"));
    run.signal("-TERM");
    assert_eq!(lines.next().as_deref(), Some("error: the build was stopped before its end"));
    assert_eq!(run.0.wait().unwrap().code(), Some(143));
}

#[test]
fn a_stopped_run_goes_on_from_its_checkpoint() {
    let sandbox = Sandbox::new();
    // It takes seconds, and the signal comes most likely while a checkpoint is being written.
    sandbox.write("endless.fl", &ENDLESS.replace("1000000000000", "100000"));
    let keeps = ["--checkpoint", "runs", "--every", "1", "--keep", "1"];
    let (status, events) = stopped_in(&sandbox, &keeps, "progress", "-INT");
    let error = events.last().unwrap();
    assert_eq!((status, &error["kind"]), (130, &"Interrupted".into()), "{error}");
    assert_eq!(error["remedy"], "go on with --resume");
    let files = std::fs::read_dir(sandbox.path("runs")).unwrap();
    let names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let step = |name: &String| name.strip_prefix("step-")?.split('.').next()?.parse::<u64>().ok();
    let [Some(made)] = names.iter().map(step).collect::<Vec<_>>()[..] else { panic!("{names:?}") };
    assert!(made > 0);

    let run = "run endless.fl --set x=0.5 --json --checkpoint runs --resume";
    let events = sandbox.run(run).events();
    let find = |name: &str| events.iter().find(|event| event["name"] == name).unwrap();
    assert_eq!(find("count")["values"], 100_000);
    let ended = events.iter().find(|event| event["event"] == "loop").unwrap();
    // The trip before which the run was stopped is made without being told of.
    assert_eq!(made + ended["trips"].as_u64().unwrap(), 99_999);
}
