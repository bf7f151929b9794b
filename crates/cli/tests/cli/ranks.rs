//! Programs of several ranks. Those that run through MPI are in `make test-dist`.

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
    let done = sandbox.run("transpile train.fl --dist zero1 -o other");
    assert!(done.fault().contains("not spread by `zero1` yet"));
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
