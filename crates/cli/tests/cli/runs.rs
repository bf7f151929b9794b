//! Runs and their folders: whose checkpoints are whose, and what a run that goes on may be given.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::sandbox::{Done, Sandbox};
use crate::training::prepare;

/// Counts trips in a state and halves a number.
const COUNTING: &str = r#"fluvial 1

state @factor : f64[] parameter

startup {
  %factor = constant{value=f64[](0.5)}() : f64[]
  assign{state="factor"}(%factor)
}

main(%x: f64[]) {
  %factor = read{state="factor", ty=f64[]}() : f64[]
  %first = constant{value=bool[](true)}() : bool[]
  %zero = constant{value=i64[](0)}() : i64[]
  %count, %loss = while{body=(%count: i64[], %loss: f64[], %factor: f64[]) {
    %one = constant{value=i64[](1)}() : i64[]
    %next = add(%count, %one) : i64[]
    %bound = constant{value=i64[](100)}() : i64[]
    %goes_on = lt(%next, %bound) : bool[]
    %less = mul(%loss, %factor) : f64[]
    return %goes_on, %next, %less
  }, n_carried=2}(%first, %zero, %x, %factor) : i64[], f64[]
  return %count, %loss
}
"#;

fn counting() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("count.fl", COUNTING);
    sandbox
}

fn steps(sandbox: &Sandbox, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(sandbox.path(folder)).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const FIRST: &str = "run count.fl --set x=8 --checkpoint runs --every 30 --keep 2";

#[test]
fn a_used_folder_is_left_alone() {
    let sandbox = counting();
    sandbox.run(FIRST).fine();
    let before = steps(&sandbox, "runs");
    assert_eq!(before, ["step-000000000060.safetensors", "step-000000000090.safetensors"]);
    let fault = sandbox.run(FIRST).fault();
    assert!(
        fault.starts_with(
            "exit code 1\nerror: `runs` has checkpoints of another run, up to step 90"
        ),
        "{fault}"
    );
    assert!(fault.contains("--resume"), "{fault}");
    assert_eq!(steps(&sandbox, "runs"), before);
    // What a run goes on from is said in one line.
    let done = sandbox.run(&format!("{FIRST} --resume"));
    assert_eq!(done.status, 0, "{}", done.stderr);
    let said = "note: the run goes on after step 90, from `runs/step-000000000090.safetensors`";
    assert!(done.stderr.lines().any(|line| line == said), "{}", done.stderr);
    let done = sandbox.run("run count.fl --set x=8 --checkpoint other --resume");
    assert!(done.stderr.contains("there is no checkpoint in `other`"), "{}", done.stderr);
}

#[test]
fn a_folder_belongs_to_one_run_at_a_time() {
    let sandbox = counting();
    sandbox.write("long.fl", &COUNTING.replace("i64[](100)", "i64[](100000000000)"));
    let args =
        ["run", "long.fl", "--set", "x=8", "--json", "--checkpoint", "runs", "--every", "1000"];
    let mut child = sandbox.command(&args).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !lines.next().unwrap().unwrap().contains("\"progress\"") {}
    let second = sandbox.run("run long.fl --set x=8 --checkpoint runs --resume");
    let (process, alive) = (child.id(), child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(alive, "the first run died");
    let fault = second.fault();
    assert!(
        fault.contains(&format!(
            "another run (process {process}) writes its checkpoints to `runs` now"
        )),
        "{fault}"
    );
    // A run that was killed has no lock any more.
    let done = sandbox.run("run long.fl --set x=8 --checkpoint runs --resume --max-steps 10");
    assert!(done.stderr.contains("the run goes on after step"), "{}", done.stderr);
}

#[test]
fn checkpoints_of_several_runs_are_not_mixed_up() {
    let sandbox = counting();
    sandbox.run(FIRST).fine();
    sandbox.run(&FIRST.replace("runs", "others").replace("--every 30", "--every 20")).fine();
    let name = "step-000000000080.safetensors";
    fs::copy(sandbox.path("others").join(name), sandbox.path("runs").join(name)).unwrap();
    let fault = sandbox.run(&format!("{FIRST} --resume")).fault();
    assert!(fault.contains("`runs` has checkpoints of several runs"), "{fault}");
}

#[test]
fn folders_that_cannot_be_used_are_noticed_at_the_start() {
    let sandbox = counting();
    sandbox.write("file", "x");
    for folder in ["file", "file/runs", "/proc/runs"] {
        let fault = sandbox.run(&FIRST.replace("runs", folder)).fault();
        assert!(fault.contains("checkpoints cannot be written there"), "{fault}");
    }
}

#[test]
fn places_for_results_are_looked_at_before_the_run() {
    let sandbox = counting();
    sandbox.write("file", "x");
    let base = FIRST.split(" --checkpoint").next().unwrap_or_default();
    for option in ["--save", "--profile"] {
        for place in ["file/x.npz", "/proc/x.npz", "."] {
            let fault = sandbox.run(&format!("{base} {option} {place}")).fault();
            assert!(
                !fault.contains("trips") && fault.contains("remedy"),
                "{option} {place}: {fault}"
            );
        }
    }
    let fault = sandbox.run(&format!("{base} --save states.txt")).fault();
    assert!(fault.contains("does not name a file of tensors"), "{fault}");
}

#[test]
fn what_a_run_began_with_must_be_the_same() {
    let sandbox = counting();
    let expected = sandbox.run(&format!("{FIRST} --set factor=0.75")).fine();
    let resumed = |options: &str| {
        let first = FIRST.replace("--set x=8", "");
        sandbox.run(&format!("{first} --resume {options}"))
    };
    for options in ["--set x=8 --set factor=0.75", "--set x=8"] {
        assert_eq!(resumed(options).fine(), expected, "{options}");
    }
    let fault = resumed("--set x=8 --set factor=0.5").fault();
    assert!(
        fault.contains("`factor` is given a value that is not what the run began with"),
        "{fault}"
    );
    let fault = resumed("--set x=9").fault();
    assert!(fault.contains("the input `x` is not what the run began with"), "{fault}");
}

#[test]
fn more_epochs_and_other_data() {
    let sandbox = Sandbox::new();
    prepare(&sandbox).unwrap();
    let run = |options: &str| sandbox.run(&format!("run train.fl {options}"));
    run("--epochs 60 --save whole.safetensors").fine();
    run("--epochs 40 --checkpoint runs --every 50").fine();
    run("--epochs 60 --checkpoint runs --resume --save more.safetensors").fine();
    assert_eq!(sandbox.run("diff whole.safetensors more.safetensors").status, 0);
    // The same number of samples, of which one is another.
    let points = sandbox.read("points.csv").replacen("0.5,0.0", "0.5,9.0", 1);
    sandbox.write("points.csv", &points);
    sandbox.run("data convert points.csv points.rec --compression snappy").fine();
    let fault = run("--epochs 60 --checkpoint runs --resume").fault();
    assert!(
        fault.contains("the contents of `points.rec` are, by their checksum, not what"),
        "{fault}"
    );
}

#[test]
fn a_batch_size_that_divides_the_samples_is_not_fixed() {
    let sandbox = Sandbox::new();
    prepare(&sandbox).unwrap();
    let more: String = (0..23).map(|i| format!("{0}.5,{0}.0\n", i % 5)).collect();
    sandbox.write("points.csv", &format!("x,y\n{more}"));
    sandbox.run("data convert points.csv points.rec").fine();
    sandbox.run("run train.fl -q").fine();
}

/// Runs in a shell that allows files of so many blocks of 512 or 1024 bytes.
fn with_short_files(sandbox: &Sandbox, blocks: usize, line: &str) -> Done {
    let mut shell = std::process::Command::new("sh");
    let command = format!("ulimit -f {blocks}; exec {} {line}", env!("CARGO_BIN_EXE_fluvial"));
    Done::of(shell.args(["-c", &command]).current_dir(&sandbox.0).env("NO_COLOR", "1"))
}

#[test]
fn a_full_disk_does_not_end_a_run() {
    let sandbox = counting();
    // A state of 40 KB, which files of 8 KB do not take.
    let wide = COUNTING.replace("constant{value=f64[](0.5)}()", "fill{value=0.5, ty=f64[]}()");
    let wide = wide.replace("f64[]", "f64[5000]");
    let x = fluvial::core::Tensor::from_vec(vec![8.0f64; 5000], &[5000]).unwrap();
    sandbox.write("wide.fl", &wide);
    sandbox.npy("x.npy", &x);
    let line = "run wide.fl --feed x=x.npy --fetch count --checkpoint runs --every 30";
    let done = with_short_files(&sandbox, 8, line);
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert!(done.stdout.contains("100"), "{}", done.stdout);
    let warning = "warning: a checkpoint could not be written; the run goes on";
    assert!(done.stderr.contains(warning), "{}", done.stderr);
    assert_eq!(steps(&sandbox, "runs"), Vec::<String>::new());
    // What is fetched is shown, though it cannot be saved.
    let done = with_short_files(
        &sandbox,
        8,
        &line.replace("--checkpoint runs --every 30", "--save s.safetensors"),
    );
    assert!(done.status == 1 && done.stdout.contains("100"), "{}{}", done.stdout, done.stderr);
    assert!(!sandbox.path("s.safetensors").exists());
}
