//! Programs of several ranks. Those that run through MPI are in `make test-dist`.

use expect_test::expect_file;

use crate::sandbox::{Done, Sandbox};

const PROGRAM: &str = "fluvial 1 short

main(%x: f32[4, 2], %y: f32[4, 1]) {
  %first = Linear{outputs=1}(%x)
  %loss = BCEWithLogitsLoss(%first, %y)
  adam{lr=0.05}(%loss)
  return %loss
}
";

#[test]
fn a_program_is_spread() {
    let sandbox = Sandbox::new();
    sandbox.write("train.fl", PROGRAM);
    sandbox.run("transpile train.fl --dist dp -o out").fine();
    sandbox.run("transpile train.fl -o again").fine();
    let text = sandbox.read("out/trainer.fl");
    assert_eq!(text, sandbox.read("again/trainer.fl"));
    assert_eq!(text.matches("= all_reduce{how=\"mean\"}(").count(), 1, "{text}");
    // One rank alone averages with nobody.
    sandbox.run("check out/trainer.flb").fine();
    let done = sandbox.run("transpile train.fl --dist tp -o other");
    assert!(done.fault().contains("not spread by `tp` yet"));
}

/// Golden: what ranks, trainers and servers run, and that it is the same again.
#[test]
fn states_are_cut_and_served() {
    let sandbox = Sandbox::new();
    sandbox.write("train.fl", PROGRAM);
    let exchanges = |file: &str| {
        let text = sandbox.read(file);
        let ops = text.lines().filter_map(|line| {
            let call = line.trim().split("  at ").next()?;
            let names =
                ["_parts", "own_part", "announce", "steps_left", "all_reduce", "adam_update"];
            names.iter().any(|name| call.contains(name)).then(|| format!("{call}\n"))
        });
        ops.collect::<String>()
    };
    for _ in 0..2 {
        sandbox.run("transpile train.fl --dist zero1 -n 2 -o zero1").fine();
        sandbox.run("transpile train.fl --dist zero3 -n 2 -o zero3").fine();
        sandbox.run("transpile train.fl --dist ps -n 3 --servers 1 -o ps").fine();
    }
    for file in ["zero1/trainer", "zero3/trainer", "ps/trainer", "ps/server"] {
        sandbox.run(&format!("show {file}.flb")).fine();
    }
    expect_file!["golden/zero1.txt"].assert_eq(&exchanges("zero1/trainer.fl"));
    expect_file!["golden/zero3.txt"].assert_eq(&exchanges("zero3/trainer.fl"));
    expect_file!["golden/ps_trainer.txt"].assert_eq(&exchanges("ps/trainer.fl"));
    expect_file!["golden/ps_server.txt"].assert_eq(&exchanges("ps/server.fl"));
    assert!(!sandbox.read("ps/trainer.fl").contains("adam"), "trainers remember nothing");
    let alone = sandbox.run("transpile train.fl --dist zero1 -o other");
    assert!(alone.fault().contains("for how many ranks"));
    let few = sandbox.run("transpile train.fl --dist ps -n 2 --servers 2 -o other");
    assert!(few.fault().contains("cannot be parameter servers"));
}

#[test]
fn a_run_needs_a_launcher() {
    let sandbox = Sandbox::new();
    sandbox.write("train.fl", PROGRAM);
    let mut command = sandbox.command(&["run", "train.fl", "--dist", "dp"]);
    for name in ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"] {
        command.env_remove(name);
    }
    let done = Done::of(&mut command);
    assert_eq!(done.status, 2);
    assert!(done.fault().contains("fluvial launch -n 2"));
}
