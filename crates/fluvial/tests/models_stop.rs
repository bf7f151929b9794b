//! A model whose training is stopped somewhere goes on from what it has saved on the way. A request to stop is for
//! whatever runs in the process, so this test is alone in its file.

#[allow(dead_code)]
#[path = "../../../examples/models/mlp.rs"]
mod mlp;

use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use clap::Parser;
use fluvial::core::interrupt;
use fluvial::io::{Load, load_states};
use fluvial::prelude::{ErrorKind, Result, State};
use mlp::common::{Options, Report};

fn train(mode: &str, folder: &Path, steps: u64) -> Result<Report> {
    let line = format!(
        "mlp --mode {mode} --epochs 100000 --every 3 --save {} --resume --steps {steps}",
        folder.display()
    );
    let options = Options::try_parse_from(line.split_whitespace()).expect("options");
    let _scope = State::new().enter();
    mlp::train(&options, &mlp::Mlp::new("mlp", &[784, 16, 10]), 4)
}

/// Trains until something has been saved, and asks for a stop then; how many steps are in the file.
fn train_until_saved(mode: &str, folder: &Path) -> Result<u64> {
    let states = folder.join("states.safetensors");
    let stop = || {
        while !states.exists() {
            thread::sleep(Duration::from_millis(1));
        }
        interrupt::request();
    };
    let fault = thread::scope(|scope| {
        scope.spawn(stop);
        train(mode, folder, 1_000_000).unwrap_err()
    });
    assert_eq!(fault.kind(), ErrorKind::Interrupted, "{fault}");
    let state = State::new();
    let names = ["steps"];
    load_states(&states, &state, Load { names: Some(&names), ..Load::default() })?;
    Ok(state.tensor("steps")?.item::<i64>()? as u64)
}

#[test]
fn a_stopped_training_goes_on_to_the_same_bits() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("fluvial-models-stop-{}", std::process::id()));
    for (mode, other) in [("imperative", "program"), ("program", "imperative")] {
        let stopped = folder.join(mode);
        let steps = train_until_saved(mode, &stopped)? + 4;
        let whole = folder.join(format!("{mode}-whole"));
        assert!(steps > 4);
        assert_eq!(train(other, &stopped, steps)?, train(mode, &whole, steps)?);
        let states = |folder: &Path| fs::read(folder.join("states.safetensors")).expect("states");
        assert!(states(&stopped) == states(&whole), "states differ after {steps} steps");
    }
    fs::remove_dir_all(&folder).ok();
    Ok(())
}
