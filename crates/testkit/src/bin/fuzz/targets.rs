//! What inputs are given to.

use fluvial_bridge::{fluid, onnx, weights};
use fluvial_core::{Error, Limits, Program, Registry};
use fluvial_data::Reader;
use fluvial_data::formats::Settings;
use fluvial_debug::expr::{Hits, Statement, Template};
use fluvial_debug::{Recording, protocol};
use fluvial_runtime::Checkpoint;
use fluvial_testkit::random::{Rng, calls::Calls, mutated_bytes, program};

use crate::seeds::{self, Stopped};
use crate::{Done, exercise, repair};

/// The targets, in the order in which they are run.
pub const NAMES: [&str; 21] = [
    "text",
    "short",
    "proto",
    "onnx",
    "fluid",
    "fluid_tensors",
    "gguf",
    "npy",
    "npz",
    "csv",
    "idx",
    "records",
    "recordio",
    "images",
    "safetensors",
    "checkpoints",
    "recordings",
    "readers",
    "expressions",
    "messages",
    "ops",
];

/// What is done with the input of a seed; says whether it was accepted.
pub type Target = Box<dyn Fn(u64) -> bool>;

pub fn target(name: &str) -> Done<Target> {
    let registry = fluvial::short::registry();
    let none = Settings::new();
    let nothing: fn(&mut [u8]) = |_| {};
    Ok(match name {
        "text" => {
            let mut seeds = seeds::programs("")?;
            seeds.extend((0..40).map(|seed| program(seed).to_string().into_bytes()));
            texts(seeds, registry)
        }
        "short" => texts(seeds::programs("short")?, registry),
        "proto" => {
            let seeds = (0..40).map(|seed| program(seed).to_bytes()).collect();
            mutations(seeds, repair::repair_program, move |bytes| {
                let Ok(program) = Program::from_bytes(bytes, &registry) else { return false };
                let written = program.to_bytes();
                let again = Program::from_bytes(&written, &registry).expect("what was written");
                assert_eq!(again.to_bytes(), written);
                true
            })
        }
        "onnx" => mutations(seeds::onnx(), nothing, |bytes| {
            let limits = Limits { memory: Some(1 << 28), trips: Some(1000), ..Limits::default() };
            let _limits = limits.enter();
            match onnx::load_bytes(bytes, &onnx::Options::default()) {
                Ok(program) => !program.to_bytes().is_empty(),
                Err(error) => refused(&error),
            }
        }),
        "fluid" => mutations(seeds::fluid()?, nothing, |bytes| {
            let limits = Limits { memory: Some(1 << 28), trips: Some(1000), ..Limits::default() };
            let _limits = limits.enter();
            match fluid::program_from_bytes(bytes, Some(bytes), &fluid::Options::default()) {
                Ok(program) => !program.to_bytes().is_empty(),
                Err(error) => refused(&error),
            }
        }),
        "fluid_tensors" => mutations(seeds::others(&["pdiparams"])?, nothing, |bytes| {
            fluid::read_tensors(bytes).is_ok()
        }),
        "gguf" => mutations(seeds::others(&["gguf"])?, nothing, |bytes| {
            let mut from = std::io::Cursor::new(bytes);
            weights::read_gguf(&mut from, bytes.len() as u64, "memory").is_ok()
        }),
        "npy" => mutations(seeds::golden(&["npy"])?, nothing, move |bytes| {
            exercise::one_npy(bytes) & exercise::dataset("npy", bytes, &none)
        }),
        "npz" => mutations(seeds::golden(&["npz"])?, nothing, move |bytes| {
            exercise::all_npz(bytes) & exercise::dataset("npz", bytes, &none)
        }),
        "csv" => {
            let seeds =
                [&b"a,\"b\"\"c\"\n3,\"x, y\"\n\n4,\"two\nlines\"\n"[..], b"1,2\r\n3,4e5\r\n"];
            mutations(seeds.map(<[u8]>::to_vec).to_vec(), nothing, move |bytes| {
                exercise::dataset("csv", bytes, &none)
            })
        }
        "idx" => mutations(seeds::golden(&["idx", "gz"])?, nothing, move |bytes| {
            exercise::dataset("idx", bytes, &none) & exercise::dataset("lines", bytes, &none)
        }),
        "records" => mutations(seeds::records()?, repair::repair_records, move |bytes| {
            exercise::dataset("records", bytes, &none)
        }),
        "recordio" => mutations(
            seeds::golden(&["recordio"])?,
            |bytes| match bytes.len() % 2 {
                0 => repair::repair_recordio(bytes, 8, 16),
                _ => repair::repair_recordio(bytes, 4, 12),
            },
            move |bytes| exercise::dataset("recordio", bytes, &none),
        ),
        "images" => mutations(seeds::golden(&["png", "jpg"])?, repair::repair_png, exercise::image),
        "safetensors" => {
            mutations(seeds::safetensors()?, repair::repair_safetensors, exercise::one_safetensor)
        }
        "checkpoints" => {
            let seeds = vec![Stopped::new()?.checkpoint];
            mutations(seeds, repair::repair_safetensors, |bytes| {
                Checkpoint::from_bytes(bytes).is_ok()
            })
        }
        "recordings" => {
            let seeds = vec![Stopped::new()?.recording];
            mutations(seeds, repair::repair_recording, move |bytes| {
                Recording::from_bytes(bytes, &registry).is_ok()
            })
        }
        "readers" => {
            let seeds = [
                r#"csv("points.csv", dtype=["float32", "int64"]).shuffle(1).batch(4)"#,
                r#"zip(npy("x.npy"), lines("a.txt").skip(2)).take(10).repeat(3).prefetch(2)"#,
                r#"interleave(records("a.rec"), memory("b")).shard(0, 2).scale("x", 0.5, 1.0)"#,
            ];
            mutations(seeds.map(|text| text.as_bytes().to_vec()).to_vec(), nothing, |bytes| {
                let Ok(reader) = String::from_utf8_lossy(bytes).parse::<Reader>() else {
                    return false;
                };
                let printed = reader.to_string();
                let again: Reader = printed.parse().expect("what was printed");
                assert_eq!(again.to_string(), printed);
                true
            })
        }
        "expressions" => {
            let seeds = [
                "not any(h[0, :, 3:5] < -1e3) and step >= 3",
                "net.0.weight[1, 2:] = net.0.weight * 0.5 + max(abs(grad(fc.bias)))",
                "step {step}: {mean(guess)} {{}} {shape(x)}",
                ">= 3",
            ];
            mutations(seeds.map(|text| text.as_bytes().to_vec()).to_vec(), nothing, |bytes| {
                let text = String::from_utf8_lossy(bytes);
                let _ = (Template::parse(&text), Hits::parse(&text));
                Statement::parse(&text).is_ok()
            })
        }
        "messages" => {
            let mut seed = Vec::new();
            let values = serde_json::json!({"expression": "w[0]", "start": 3, "lines": [1, null]});
            for seq in 1..3 {
                let message = serde_json::json!({"seq": seq, "type": "request", "command": "evaluate", "arguments": values});
                protocol::write(&mut seed, &message)?;
            }
            mutations(vec![seed], nothing, |mut bytes| {
                let mut is_read = true;
                while !bytes.is_empty() && is_read {
                    is_read = protocol::read(&mut bytes)
                        .is_ok_and(|message| protocol::Request::read(message).is_ok());
                }
                is_read
            })
        }
        "ops" => {
            let calls = Calls::new(registry, &(0..20).map(program).collect::<Vec<_>>());
            Box::new(move |seed| match calls.ask(seed) {
                Ok(accepted) => accepted,
                Err(fault) => panic!("{fault}"),
            })
        }
        other => return Err(format!("there is no target `{other}`: {NAMES:?}").into()),
    })
}

/// What a reader of others' files refuses; an error that is a fault of ours is none.
fn refused(error: &Error) -> bool {
    assert!(error.kind() != fluvial_core::ErrorKind::Internal, "{error}");
    false
}

/// Texts of programs: what is read can be written and read again.
fn texts(seeds: Vec<Vec<u8>>, registry: Registry) -> Target {
    mutations(
        seeds,
        |_| {},
        move |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let Ok(program) = Program::parse(&text, &registry) else { return false };
            let printed = program.to_string();
            let again = Program::parse(&printed, &registry).expect("what was printed");
            assert_eq!(again.to_string(), printed);
            true
        },
    )
}

/// Mutations of the seeds, most of them with their checksums put right again.
fn mutations(
    seeds: Vec<Vec<u8>>,
    repair: impl Fn(&mut [u8]) + 'static,
    read: impl Fn(&[u8]) -> bool + 'static,
) -> Target {
    Box::new(move |seed| {
        let mut rng = Rng::new(seed);
        let bytes = rng.pick(&seeds);
        let mut bytes = mutated_bytes(&mut rng, bytes);
        if !rng.one_in(4) {
            repair(&mut bytes);
        }
        read(&bytes)
    })
}
