//! Programs that read their data themselves.

use fluvial::data::{Reader, files};
use fluvial::prelude::*;

use crate::sandbox::Sandbox;

/// Writes `train.fl`, which fits a line to the points of `points.rec` and carries the loss.
pub fn prepare(sandbox: &Sandbox) -> Result<()> {
    let points: String = (0..20).map(|i| format!("{0}.5,{0}.0\n", i % 5)).collect();
    sandbox.write("points.csv", &format!("x,y\n{points}"));
    sandbox.run("data convert points.csv points.rec --compression snappy").fine();
    let path = sandbox.path("points.rec").canonicalize().unwrap().display().to_string();
    files::allow(path.as_ref())?;
    let reader = Reader::records(&path).shuffle(1).batch(4, false);
    let program = Program::build(&[], |_| {
        let ty = Type::of(DType::F32, &[])?;
        let _ = declare_state("w", ty, Role::Parameter, || Ok(Var::scalar(0.0f32)))?;
        let _ = declare_state("sgd.lr", ty, Role::Optimizer, || Ok(Var::scalar(0.01f32)))?;
        let start = Var::of(&[0i64, 0], &[2])?;
        let first = Var::scalar(0.0f32);
        let (_, carried) = for_each(&reader, 2, &start, &[&first], |batch, _| {
            let w = read_state("w")?;
            let error = &batch[0] * &w - &batch[1];
            let loss = mean(&square(&error)?, &[], false)?;
            let slope = mean(&(&error * &batch[0]), &[], false)?;
            assign_state("w", &(&w - &slope * &read_state("sgd.lr")?))?;
            Ok((None, vec![loss]))
        })?;
        Ok(carried)
    })?;
    let text = program.to_string().replace(&path, "points.rec");
    sandbox.write("train.fl", &text);
    Ok(())
}

/// The trips that a run made and those that were expected, and its output.
fn trained(sandbox: &Sandbox, options: &str) -> (u64, u64, f64) {
    let done = sandbox.run(&format!("run train.fl --json {options}"));
    assert_eq!(done.status, 0, "{}", done.stdout);
    let events = done.events();
    let find = |kind: &str| events.iter().find(|event| event["event"] == kind).unwrap();
    let (ended, output) = (find("loop"), find("output"));
    let number = |key: &str| ended[key].as_u64().unwrap();
    (number("trips"), number("total"), output["values"].as_f64().unwrap())
}

#[test]
fn epochs_rates_and_states() {
    let sandbox = Sandbox::new();
    prepare(&sandbox).unwrap();
    let (trips, total, short) = trained(&sandbox, "--save short.safetensors");
    assert_eq!((trips, total), (10, 10));
    let (trips, total, long) = trained(&sandbox, "--epochs 30 --save long.safetensors");
    assert_eq!((trips, total), (150, 150));
    assert!(long < short, "{long} {short}");
    // Without a rate nothing is learnt.
    trained(&sandbox, "--set lr=0 --save none.safetensors");
    let shown = sandbox.run("run train.fl --load none.safetensors --fetch w --epochs 1").fine();
    assert_eq!(shown, "output  type   value\nw       f32[]  0.0\n");
    // Another run and the interpreter give the same bits.
    trained(&sandbox, "--save again.safetensors --threads 1");
    assert_eq!(sandbox.run("diff short.safetensors again.safetensors").status, 0);
    sandbox.run("run train.fl -q --mode interpreted --save by_call.safetensors").fine();
    assert_eq!(sandbox.run("diff short.safetensors by_call.safetensors").status, 0);
    assert_eq!(sandbox.run("check train.fl").status, 0);
}

#[test]
fn data_outside_the_root() {
    let sandbox = Sandbox::new();
    prepare(&sandbox).unwrap();
    std::fs::create_dir(sandbox.path("elsewhere")).unwrap();
    let fault = sandbox.run("run train.fl --root elsewhere").fault();
    assert!(fault.starts_with("exit code 1\nerror: ") && fault.contains("points.rec"), "{fault}");
    let full = sandbox.path("points.rec").display().to_string();
    sandbox.write("full.fl", &sandbox.read("train.fl").replace("points.rec", &full));
    let fault = sandbox.run("run full.fl --root elsewhere").fault();
    assert!(fault.contains("is not below the root of files"), "{fault}");
    sandbox.run("run full.fl -q").fine();
}
