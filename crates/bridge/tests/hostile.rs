//! Files that are damaged or meant to harm give errors, and no more.

mod common;

use std::fs;
use std::path::PathBuf;

use common::*;
use fluvial_bridge::onnx::proto::{GraphProto, StringStringEntryProto, TensorProto};
use fluvial_bridge::onnx::{Options, load, load_bytes};
use fluvial_core::{Limits, Tensor};
use prost::Message;

/// A model with a bit of everything.
fn sample() -> Vec<u8> {
    let body = graph(
        vec![node("Add", &["a", "a"], &["b"]), node("Identity", &["go"], &["on"])],
        vec![info("i", 7, &[]), info("go", 9, &[]), info("a", 1, &["batch", "2"])],
        vec![info("on", 9, &[]), info("b", 1, &["batch", "2"])],
        vec![],
    );
    let mut whole = mlp();
    whole.node.extend([
        node("Shape", &["y"], &["s"]),
        node("Concat", &["s", "one"], &["to"]).int("axis", 0),
        node("Reshape", &["y", "to"], &["z3"]),
        node("Squeeze", &["z3", "last"], &["z2"]),
        node("Loop", &["n", "", "z2"], &["z"]).graph("body", body),
    ]);
    whole.initializer.extend([
        ints("one", &[1], &[1]),
        ints("last", &[2], &[1]),
        ints("n", &[2], &[]),
    ]);
    whole.output = vec![info("z", 1, &["batch", "2"])];
    bytes(whole)
}

/// Loads and, if that is possible, runs; only that it ends counts.
fn survives(bytes: &[u8]) {
    let _limits = Limits { memory: Some(1 << 30), trips: Some(1000), ..Limits::default() }.enter();
    if let Ok(program) = load_bytes(bytes, &Options::default()) {
        let _ = program.to_string();
    }
}

#[test]
fn truncated_files_are_errors() {
    let whole = sample();
    assert!(load_bytes(&whole, &Options::default()).is_ok());
    for len in 0..whole.len() {
        survives(&whole[..len]);
    }
}

#[test]
fn flipped_bits_are_survived() {
    let whole = sample();
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    for round in 0..3000 {
        let mut damaged = whole.clone();
        for _ in 0..=round % 4 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) as usize % damaged.len();
            damaged[at] ^= 1 << (seed >> 60 & 7);
        }
        survives(&damaged);
    }
}

#[test]
fn cycles_and_missing_names_are_errors() {
    let cyclic = graph(
        vec![node("Add", &["a", "b"], &["c"]), node("Neg", &["c"], &["a"])],
        vec![info("b", 1, &["2"])],
        vec![info("c", 1, &["2"])],
        vec![],
    );
    let error = load_bytes(&bytes(cyclic), &Options::default()).unwrap_err().to_string();
    assert!(error.contains("nothing in the graph gives `a`"), "{error}");
    let error = load_bytes(&[], &Options::default()).unwrap_err().to_string();
    assert!(error.contains("no graph"), "{error}");
    assert!(load_bytes(b"not a model", &Options::default()).is_err());
}

#[test]
fn enormous_sizes_are_errors() {
    let huge = TensorProto {
        name: "w".into(),
        data_type: 1,
        dims: vec![i64::MAX, i64::MAX],
        ..TensorProto::default()
    };
    let with = |tensor: TensorProto| -> GraphProto {
        let out = vec![info("y", 1, &[])];
        graph(vec![node("Neg", &["w"], &["y"])], vec![], out, vec![tensor])
    };
    assert!(load_bytes(&bytes(with(huge.clone())), &Options::default()).is_err());
    let many = TensorProto { dims: vec![1 << 40], ..huge };
    assert!(load_bytes(&bytes(with(many)), &Options::default()).is_err());
    let filled = graph(
        vec![node("ConstantOfShape", &["n"], &["c"]), node("Exp", &["c"], &["y"])],
        vec![],
        vec![info("y", 1, &[])],
        vec![ints("n", &[1 << 40], &[1])],
    );
    // It is what a run computes, and refused there.
    let _limits = Limits { memory: Some(1 << 30), ..Limits::default() }.enter();
    let program = load_bytes(&bytes(filled), &Options::default()).unwrap();
    assert!(program.apply(&[]).is_err());
}

/// What small constants would become is left to the program, and not computed while the file is read.
#[test]
fn constants_do_not_explode() {
    let ints_of = |name: &str, value: i64| ints(name, &[value], &[]);
    let range = |to: &str, limit: &str| node("Range", &["zero", limit, "one"], &[to]);
    let constants = || {
        let mut all = vec![ints_of("zero", 0), ints_of("one", 1), ints_of("many", 1 << 31)];
        all.extend([ints_of("some", 1 << 16), ints("rows", &[-1, 1], &[2])]);
        all.extend([ints("shape", &[1 << 31], &[1]), ints("row", &[1, -1], &[2])]);
        all
    };
    let loads = |nodes: Vec<fluvial_bridge::onnx::proto::NodeProto>, elem_type: i32| {
        let _limits = Limits { memory: Some(1 << 30), ..Limits::default() }.enter();
        let sizes: &[&str] = if elem_type == 7 { &["n"] } else { &[] };
        let whole = graph(nodes, vec![], vec![info("y", elem_type, sizes)], constants());
        load_bytes(&bytes(whole), &Options::default()).map(|program| program.main.calls.len())
    };
    assert!(loads(vec![range("y", "many")], 7).unwrap() > 0);
    let filled = node("ConstantOfShape", &["shape"], &["c"]);
    assert!(loads(vec![filled, node("Exp", &["c"], &["y"])], 1).unwrap() > 1);
    let outer = vec![
        range("a", "some"),
        node("Reshape", &["a", "rows"], &["b"]),
        node("Reshape", &["a", "row"], &["c"]),
        node("Mul", &["b", "c"], &["y"]),
    ];
    assert!(loads(outer, 7).unwrap() > 1);
    // Each of them is small, and all of them are not.
    let mut chain = vec![range("a0", "some")];
    for i in 0..4000 {
        chain.push(node("Neg", &[&format!("a{i}")], &[&format!("a{}", i + 1)]));
    }
    chain.push(node("Neg", &["a4000"], &["y"]));
    assert!(loads(chain, 7).unwrap() > 1);
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("fluvial-onnx-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("model")).unwrap();
    folder
}

/// `mlp` with its weight in this file.
fn external(location: &str, offset: &str, length: &str) -> Vec<u8> {
    let mut whole = mlp();
    let weight = &mut whole.initializer[0];
    weight.float_data.clear();
    weight.data_location = 1;
    for (key, value) in [("location", location), ("offset", offset), ("length", length)] {
        weight.external_data.push(StringStringEntryProto { key: key.into(), value: value.into() });
    }
    model(whole).encode_to_vec()
}

#[test]
fn elements_beside_the_model_are_read_and_no_others() {
    let folder = folder("external");
    let weight = Tensor::from_slice(&[0.5f32, -1.0, 2.0, 1.5, 0.25, -0.75], &[6]).unwrap();
    let mut content = vec![7u8; 16];
    content.extend(weight.as_bytes().unwrap());
    fs::write(folder.join("model/weights.bin"), &content).unwrap();
    fs::write(folder.join("secret.bin"), &content).unwrap();
    let path = folder.join("model/m.onnx");
    let outcome = |location: &str, offset: &str, length: &str| {
        fs::write(&path, external(location, offset, length)).unwrap();
        load(&path, &Options::default()).map(|program| program.states.len())
    };
    assert_eq!(outcome("weights.bin", "16", "24").unwrap(), 2);
    for location in ["../secret.bin", "/etc/hostname", "", "missing.bin", "a\0b", "./../secret.bin"]
    {
        assert!(outcome(location, "16", "24").is_err(), "{location:?}");
    }
    for (offset, length) in
        [("17", "24"), ("16", "23"), ("-1", "24"), ("18446744073709551615", "24")]
    {
        assert!(outcome("weights.bin", offset, length).is_err(), "{offset} {length}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.join("secret.bin"), folder.join("model/link.bin"))
            .unwrap();
        assert!(outcome("link.bin", "16", "24").is_err());
    }
    assert!(load_bytes(&external("weights.bin", "16", "24"), &Options::default()).is_err());
    fs::remove_dir_all(&folder).ok();
}
