//! The crates that run programs also build for the web.

use std::{
    path::Path,
    process::{Command, Output},
};

const TARGET: &str = "wasm32-unknown-unknown";
const PACKAGES: [&str; 3] = ["fluvial-core", "fluvial-ops", "fluvial-runtime"];

#[test]
fn programs_run_on_the_web() {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"])).stdout;
    let sysroot = String::from_utf8(sysroot).unwrap();
    if !Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).exists() {
        println!("not checked: the target {TARGET} is not installed");
        return;
    }
    let mut build = Command::new(env!("CARGO"));
    build.args([
        "build",
        "--no-default-features",
        "--target",
        TARGET,
        "--target-dir",
        env!("CARGO_TARGET_TMPDIR"),
    ]);
    build.args(PACKAGES.map(|package| format!("--package={package}")));
    output(build.current_dir(xtask::tree::root()));
}

fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{stderr}");
    output
}
