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

/// Ten layers of a million parameters each: 40 MB of gradients.
fn large() -> String {
    let mut text =
        "fluvial 1 short\n\nmain(%x: f32[batch, 1000], %y: f32[batch, 1]) {\n".to_string();
    let mut last = "x".to_string();
    for layer in 0..10 {
        text += &format!(
            "  %h{layer} = Linear{{outputs=1000}}(%{last})\n  %r{layer} = relu(%h{layer})\n"
        );
        last = format!("r{layer}");
    }
    text += &format!("  %last = Linear{{outputs=1}}(%{last})\n");
    text + "  %loss = BCEWithLogitsLoss(%last, %y)\n  adam{lr=0.05}(%loss)\n  return %loss\n}\n"
}

/// Golden: what is predicted of ranks that are not here.
#[test]
fn ranks_are_planned() {
    let sandbox = Sandbox::new();
    sandbox.write("train.fl", &large());
    let machine = "--link 10Gbit --latency 20us --device-flops 1T --device-bandwidth 100GB";
    let plan =
        |options: &str| sandbox.run(&format!("plan train.fl --size batch=256 {machine} {options}"));
    expect_file!["golden/plan_zero1.txt"].assert_eq(&plan("--dist zero1 --world 4").fine());
    expect_file!["golden/plan_ps.txt"].assert_eq(&plan("--dist ps --world 6 --servers 2").fine());
    let events = |options: &str| {
        let done = plan(&format!("{options} --json"));
        let found = done.events().remove(0);
        (done.status, found)
    };
    let side = |event: &serde_json::Value, name: &str| event["sides"][0][name].as_f64().unwrap();
    let (_, dp) = events("--dist dp --world 4");
    let (status, zero1) = events("--dist zero1 --world 4 --device-memory 100M");
    assert_eq!((status, zero1["fits"].as_bool()), (1, Some(false)));
    assert_eq!(events("--dist zero1 --world 4 --device-memory 10G").0, 0);
    // Gradients of 40 MB, summed up and put together: each element is sent twice but for the rank's own.
    let bytes = 4.0 * (10.0 * 1001.0 * 1000.0 + 1001.0);
    for event in [&dp, &zero1] {
        assert!((side(event, "sent_bytes") / (1.5 * bytes) - 1.0).abs() < 1e-4, "{event}");
        assert_eq!(side(event, "sent_bytes"), side(event, "received_bytes"));
    }
    let optimizer =
        |event: &serde_json::Value| event["sides"][0]["states"]["optimizer"].as_f64().unwrap();
    assert!((optimizer(&zero1) / optimizer(&dp) - 0.25).abs() < 1e-4);
    // A link of 1.25 GB/s, and twice as fast.
    let exchanging = |event: &serde_json::Value| side(event, "exchanging_seconds");
    assert!((exchanging(&dp) / (1.5 * bytes / 1.25e9) - 1.0).abs() < 0.01, "{dp}");
    // What was measured decides how long a rank computes.
    let (_, measured) = events("--dist dp --world 4 --step-time 100ms");
    assert!((measured["seconds_alone"].as_f64().unwrap() - 0.1).abs() < 1e-9);
    assert!((side(&measured, "computing_seconds") - 0.1).abs() < 0.05, "{measured}");
    let (_, small) = events("--dist dp --world 4 --bucket-mb 4");
    assert!(side(&small, "exchanges") > side(&dp, "exchanges"));
    for (wrong, said) in [
        ("plan train.fl --dist zero1 --world 4", "--link"),
        ("plan train.fl --servers 2", "say `--dist`"),
        ("plan train.fl --dist dp --world 4 --link 10 --device-flops 1T", "100Gbit"),
        ("plan train.fl --latency 5us", "--dist"),
        ("run train.fl --bucket-mb 4", "say `--dist`"),
    ] {
        let done = sandbox.run(wrong);
        assert_eq!(done.status, 2, "{wrong}");
        assert!(done.stderr.contains(said), "{wrong}: {}", done.stderr);
    }
}
