//! Inputs for the readers of files and calls of ops, each following from its seed: `fuzz TARGET FIRST LAST BOARD`.
//!
//! Whoever runs it watches it: the seed under way stands in the file `BOARD` (8 bytes; -2 at the end), a panic is a
//! line `fault panic SEED …`, and the counts are the last line. `make fuzz` does.

#[path = "../../../data/tests/common/exercise.rs"]
mod exercise;
#[path = "../../../data/tests/common/repair.rs"]
mod repair;

use std::error::Error;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use fluvial_core::{DType, Program, Tensor, Type};
use fluvial_data::formats::Settings;
use fluvial_data::formats::records::{Compression, Options, Writer};
use fluvial_data::{Field, files, safetensors};
use fluvial_testkit::random::{Rng, calls::Calls, mutated_bytes, program};

/// The targets, in the order in which they are run.
const TARGETS: [&str; 11] = [
    "text",
    "proto",
    "npy",
    "npz",
    "csv",
    "idx",
    "records",
    "recordio",
    "images",
    "safetensors",
    "ops",
];

type Done<T = ()> = Result<T, Box<dyn Error>>;

/// What is done with the input of a seed; says whether it was accepted.
type Target = Box<dyn Fn(u64) -> bool>;

fn main() -> Done {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, first, last, board] = &args[..] else {
        println!("{}", TARGETS.join(" "));
        return Ok(());
    };
    let target = target(name)?;
    let (first, last): (u64, u64) = (first.parse()?, last.parse()?);
    let mut board = File::options().write(true).open(board)?;
    let (mut accepted, mut refused, mut panics) = (0, 0, 0);
    for seed in first..last {
        tell(&mut board, seed as i64)?;
        match catch_unwind(AssertUnwindSafe(|| target(seed))) {
            Ok(true) => accepted += 1,
            Ok(false) => refused += 1,
            Err(_) => {
                panics += 1;
                println!("fault panic {seed} {name}");
            }
        }
    }
    println!("made returned={accepted} refused={refused} panic={panics}");
    tell(&mut board, -2)
}

fn tell(board: &mut File, seed: i64) -> Done {
    board.rewind()?;
    Ok(board.write_all(&seed.to_le_bytes())?)
}

fn target(name: &str) -> Done<Target> {
    let registry = fluvial_ops::registry();
    let none = Settings::new();
    let nothing: fn(&mut [u8]) = |_| {};
    Ok(match name {
        "text" => {
            let mut seeds = in_folder(&root().join("../../programs"), &["fl"])?;
            seeds.extend((0..40).map(|seed| program(seed).to_string().into_bytes()));
            mutations(seeds, nothing, move |bytes| {
                let text = String::from_utf8_lossy(bytes);
                let Ok(program) = Program::parse(&text, &registry) else { return false };
                let printed = program.to_string();
                let again = Program::parse(&printed, &registry).expect("what was printed");
                assert_eq!(again.to_string(), printed);
                true
            })
        }
        "proto" => {
            let seeds = (0..40).map(|seed| program(seed).to_bytes()).collect();
            mutations(seeds, nothing, move |bytes| {
                let Ok(program) = Program::from_bytes(bytes, &registry) else { return false };
                let written = program.to_bytes();
                let again = Program::from_bytes(&written, &registry).expect("what was written");
                assert_eq!(again.to_bytes(), written);
                true
            })
        }
        "npy" => mutations(golden(&["npy"])?, nothing, move |bytes| {
            exercise::one_npy(bytes) & exercise::dataset("npy", bytes, &none)
        }),
        "npz" => mutations(golden(&["npz"])?, nothing, move |bytes| {
            exercise::all_npz(bytes) & exercise::dataset("npz", bytes, &none)
        }),
        "csv" => {
            let seeds =
                [&b"a,\"b\"\"c\"\n3,\"x, y\"\n\n4,\"two\nlines\"\n"[..], b"1,2\r\n3,4e5\r\n"];
            mutations(seeds.map(<[u8]>::to_vec).to_vec(), nothing, move |bytes| {
                exercise::dataset("csv", bytes, &none)
            })
        }
        "idx" => mutations(golden(&["idx", "gz"])?, nothing, move |bytes| {
            exercise::dataset("idx", bytes, &none) & exercise::dataset("lines", bytes, &none)
        }),
        "records" => mutations(records()?, repair::repair_records, move |bytes| {
            exercise::dataset("records", bytes, &none)
        }),
        "recordio" => mutations(
            golden(&["recordio"])?,
            |bytes| match bytes.len() % 2 {
                0 => repair::repair_recordio(bytes, 8, 16),
                _ => repair::repair_recordio(bytes, 4, 12),
            },
            move |bytes| exercise::dataset("recordio", bytes, &none),
        ),
        "images" => mutations(golden(&["png", "jpg"])?, repair::repair_png, exercise::image),
        "safetensors" => {
            let (a, b) = (Tensor::zeros(DType::F32, &[2, 3])?, Tensor::zeros(DType::BF16, &[3])?);
            let mut seeds = vec![Vec::new(), Vec::new()];
            safetensors::write(&mut seeds[0], &[("weight", &a), ("bias", &b)], "x")?;
            safetensors::write(&mut seeds[1], &[("weight", &b)], "x")?;
            mutations(seeds, nothing, exercise::one_safetensor)
        }
        "ops" => {
            let calls = Calls::new(registry, &(0..20).map(program).collect::<Vec<_>>());
            Box::new(move |seed| match calls.ask(seed) {
                Ok(accepted) => accepted,
                Err(fault) => panic!("{fault}"),
            })
        }
        other => return Err(format!("there is no target `{other}`: {TARGETS:?}").into()),
    })
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

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn golden(endings: &[&str]) -> Done<Vec<Vec<u8>>> {
    in_folder(&root().join("../data/tests/golden"), endings)
}

fn in_folder(folder: &Path, endings: &[&str]) -> Done<Vec<Vec<u8>>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| endings.contains(&ending)) {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| Ok(fs::read(path)?)).collect()
}

/// Record files of our own, of each compression.
fn records() -> Done<Vec<Vec<u8>>> {
    let folder = std::env::temp_dir().join(format!("fluvial-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    files::allow(&folder)?;
    let path = folder.join("a.rec").display().to_string();
    let mut seeds = Vec::new();
    for compression in [Compression::None, Compression::Snappy, Compression::Zstd] {
        let field = Field { name: "x".into(), ty: Type::parse("f32[n]")? };
        let options = Options { compression, chunk_bytes: 150 };
        let mut writer = Writer::create(&path, vec![field], options)?;
        for i in 0..20 {
            writer.write(&[&Tensor::zeros(DType::F32, &[i % 4])?])?;
        }
        writer.finish()?;
        seeds.push(fs::read(&path)?);
    }
    fs::remove_dir_all(&folder)?;
    Ok(seeds)
}
