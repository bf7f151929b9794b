//! Files that are not as they were written are noticed before anything is made of them.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fluvial::core::interrupt;
use fluvial::data::safetensors;
use fluvial::io::{self, Load};
use fluvial::prelude::*;
use fluvial::runtime::{Checkpoint, Checkpoints};

/// A stop is asked of the whole process: while one test does, no other may run a loop.
static ALONE: Mutex<()> = Mutex::new(());

/// A folder that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("fluvial-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Numbers that are the same in each run of the test.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

/// 70 copies of a file with a page of zeros, and 70 with one bit that is wrong: each must be refused. Then the file as it
/// was, which must not.
fn all_are_noticed(path: &Path, load: &dyn Fn() -> Result<()>) {
    let whole = std::fs::read(path).unwrap();
    let mut random = Random(7);
    let n_pages = whole.len().div_ceil(4096);
    for k in 0..140 {
        let mut bytes = whole.clone();
        if k % 2 == 0 {
            let start = random.below(n_pages) * 4096;
            let end = (start + 4096).min(bytes.len());
            bytes[start..end].fill(0);
        } else {
            // The first bytes more often: they are the most important ones.
            let most = if k % 4 == 1 { bytes.len() } else { bytes.len().min(600) };
            bytes[random.below(most)] ^= 1 << random.below(8);
        }
        if bytes == whole {
            continue;
        }
        std::fs::write(path, &bytes).unwrap();
        assert!(load().is_err(), "{}: copy {k} was taken for whole", path.display());
    }
    // Cut, and with something behind.
    for bytes in [&whole[..whole.len() - 1], &[&whole[..], &[0]].concat()] {
        std::fs::write(path, bytes).unwrap();
        assert!(load().is_err(), "{}: {} bytes", path.display(), bytes.len());
    }
    std::fs::write(path, &whole).unwrap();
    load().unwrap();
}

/// A model with parameters that fill some pages.
fn model() -> Result<(Program, State)> {
    let state = State::new();
    let _scope = state.enter();
    let net = Linear::new("fc", 70, 60);
    let ty = Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(70)])?;
    let program = Program::build(&[("x", ty)], |x| Ok(vec![tanh(&net.forward(&x[0])?)?]))?;
    program.initialise(&state.bound_to(&program.bound()))?;
    Ok((program, state.clone()))
}

#[test]
fn models_and_states() -> Result<()> {
    let folder = Folder::new("damaged-models");
    let (program, state) = model()?;
    let single = folder.at("model.safetensors");
    io::save_model(&single, &program, &state)?;
    all_are_noticed(&single, &|| io::load_model(&single, &State::new()).map(drop));
    let both = folder.at("model");
    io::save_model(&both, &program, &state)?;
    for file in ["program.flb", "model.safetensors"] {
        all_are_noticed(&both.join(file), &|| io::load_model(&both, &State::new()).map(drop));
    }
    let states = folder.at("states.safetensors");
    io::save_states(&states, &state.bound_to(&program.bound()), &Role::ALL)?;
    let load = || io::load_states(&states, &State::new(), Load::default()).map(drop);
    all_are_noticed(&states, &load);
    let flb = folder.at("program.flb");
    program.save(&flb)?;
    all_are_noticed(&flb, &|| Program::load(&flb, &fluvial::ops::registry()).map(drop));
    Ok(())
}

/// Counts to a hundred, with a state that is carried.
fn counting() -> Result<Program> {
    Program::build(&[], |_| {
        let ty = Type::of(DType::F32, &[3000])?;
        let init = || fluvial::ops::arange(0.0, 3000.0, 1.0, DType::F32);
        let _ = declare_state("w", ty, Role::Parameter, init)?;
        let zero = Var::scalar(0i64);
        let out = while_loop(
            &[&zero],
            |c| lt(&c[0], &Var::scalar(100i64)),
            |c| {
                let w = read_state("w")?;
                assign_state("w", &(&w * 0.99))?;
                Ok(vec![&c[0] + 1.0])
            },
        )?;
        Ok(vec![out[0].clone(), read_state("w")?])
    })
}

fn last(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    Checkpoints::new(folder).list()
}

#[test]
fn checkpoints() -> Result<()> {
    let _alone = ALONE.lock();
    let folder = Folder::new("damaged-checkpoints");
    let program = counting()?;
    let kept = Checkpoints::new(&folder.0).every_steps(30).keep(3);
    let expected = Executor::new(&program, State::new())?.call().checkpoints(&kept, false).run()?;
    let all = last(&folder.0)?;
    assert_eq!(all.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [90, 60, 30]);
    let newest = &all[0].1;
    all_are_noticed(newest, &|| Checkpoint::read(newest).map(drop));

    // A damaged one is told of, and the one before is taken; the result is the same.
    let mut bytes = std::fs::read(newest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(newest, &bytes).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = {
        let told = told.clone();
        kept.keep(2).tell(move |notice| told.lock().unwrap().push(notice.to_string()))
    };
    let found = Executor::new(&program, State::new())?.call().checkpoints(&kept, true).run()?;
    assert!(found.iter().zip(&expected).all(|(a, b)| a.bitwise_eq(b)));
    let told = told.lock().unwrap().clone();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("is damaged") && told[0].contains("step-000000000090"), "{told:?}");
    assert!(told[1].contains("after step 60"), "{told:?}");
    Ok(())
}

#[test]
fn damaged_ones_are_not_counted_among_those_that_are_kept() -> Result<()> {
    let _alone = ALONE.lock();
    let folder = Folder::new("damaged-kept");
    let program = counting()?;
    let kept = Checkpoints::new(&folder.0).every_steps(10).keep(2);
    // The one of step 40 is damaged while the run goes on.
    let seen = Cell::new(0);
    let damage = |_: &fluvial::runtime::Trip<'_>| {
        seen.set(seen.get() + 1);
        if seen.get() == 45 {
            let (step, path) = last(&folder.0).unwrap().remove(0);
            assert_eq!(step, 40);
            let mut bytes = std::fs::read(&path).unwrap();
            let end = bytes.len() - 10;
            bytes[end] ^= 1;
            std::fs::write(path, bytes).unwrap();
        }
        if seen.get() == 53 {
            // Without the damaged one, there are two.
            let steps: Vec<u64> = last(&folder.0).unwrap().iter().map(|(step, _)| *step).collect();
            assert_eq!(steps, [50, 40, 30]);
        }
        if seen.get() == 56 {
            interrupt::request();
        }
        false
    };
    let executor = Executor::new(&program, State::new())?;
    let stopped = executor.call().checkpoints(&kept, false).until(&damage).run();
    assert_eq!(stopped.err().map(|error| error.kind()), Some(ErrorKind::Interrupted));
    let steps: Vec<u64> = last(&folder.0)?.into_iter().map(|(step, _)| step).collect();
    // 55 was written when the run was stopped; of those before it, 50 is the second that is whole.
    assert_eq!(steps, [55, 50]);
    Ok(())
}

#[test]
fn files_without_checksums_are_read_and_others_read_ours() -> Result<()> {
    // As other programs write them.
    let header = r#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend([1.5f32, 2.5].iter().flat_map(|x| x.to_le_bytes()));
    let file = safetensors::read_all(&mut &bytes[..], bytes.len() as u64, "theirs")?;
    assert_eq!(file.tensors[0].1.to_vec::<f32>()?, [1.5, 2.5]);

    // Ours are of the same form: a length, a header of JSON whose metadata are texts, the elements.
    let mut ours = Vec::new();
    safetensors::write_noted(&mut ours, &[("w", &file.tensors[0].1)], &[("a", "b")], "ours")?;
    let len = u64::from_le_bytes(ours[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&ours[8..8 + len]).unwrap();
    assert_eq!(header["w"]["data_offsets"], serde_json::json!([0, 8]));
    let notes = header["__metadata__"].as_object().unwrap();
    assert!(notes.values().all(|note| note.is_string()) && notes["a"] == "b");
    let again = safetensors::read_all(&mut &ours[..], ours.len() as u64, "ours")?;
    assert_eq!(again.notes, [("a".to_string(), "b".to_string())]);
    // Notes that were read with other programs and written again do not count as ours.
    let sums = notes["fluvial.checksum"].as_str().unwrap();
    let mut stale = Vec::new();
    let other = Tensor::from_slice(&[3.5f32], &[1])?;
    safetensors::write_noted(&mut stale, &[("w", &other)], &[("fluvial.checksum", sums)], "x")?;
    assert!(safetensors::read_all(&mut &stale[..], stale.len() as u64, "x").is_ok());
    Ok(())
}
