//! A training that is killed again and again ends with the parameters of one that is not.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fluvial::data::formats::records::{Options, Writer};
use fluvial::data::{Field, Reader, files};
use fluvial::prelude::*;

const KILLS: u64 = 20;
const BATCHES: usize = 64;
const PASSES: usize = 30;
const EVERY: &str = "20";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("fluvial-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program that trains with dropout and Adam on records that are shuffled and read ahead; and its data.
fn prepare(folder: &Path) -> Result<()> {
    let path = folder.join("train.rec").display().to_string();
    files::allow(folder)?;
    let field = |name: &str, ty: &str| Ok(Field { name: name.into(), ty: Type::parse(ty)? });
    let fields = vec![field("x", "f32[8]")?, field("y", "f32[1]")?];
    let mut writer = Writer::create(&path, fields, Options::default())?;
    for i in 0..BATCHES * 8 {
        let x: Vec<f32> = (0..8).map(|k| ((i * 37 + k * 11) % 64) as f32 / 32.0 - 1.0).collect();
        let y = Tensor::from_vec(vec![x[0] * x[1] - x[2]], &[1])?;
        writer.write(&[&Tensor::from_vec(x, &[8])?, &y])?;
    }
    writer.finish()?;
    let absolute = Reader::records(&path).shuffle(3).batch(8, false).prefetch(2);
    let net = Sequential::new("net")
        .add(|at| Linear::new(at, 8, 32))
        .then(relu)
        .add(|at| Dropout::new(at, 0.3))
        .add(|at| Linear::new(at, 32, 1));
    let adam = Adam::new(net.parameters(), 0.01);
    let program = Program::build(&[], |_| {
        let position =
            declare_state("position", Type::of(DType::I64, &[2])?, Role::Counter, || {
                Var::of(&[0i64, 0], &[2])
            })?;
        let (position, _) = for_each(&absolute, PASSES, &position, &[], |batch, _| {
            let loss = mean(&square(&(&net.forward(&batch[0])? - &batch[1]))?, &[], false)?;
            adam.minimize(&loss)?;
            Ok((None, vec![]))
        })?;
        assign_state("position", &position)?;
        Ok(vec![])
    })?;
    // The file names its data relative to the root.
    let text = program.to_string().replace(&path, "train.rec");
    std::fs::write(folder.join("train.fl"), text).unwrap();
    Ok(())
}

fn fluvial(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fluvial"));
    command.current_dir(folder).args(["run", "train.fl", "-q", "--threads", "2"]).args(args);
    command.stdin(Stdio::null());
    command
}

/// The steps of the checkpoints in a folder.
fn steps(folder: &Path) -> Vec<u64> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let step = |name: String| name.strip_prefix("step-")?.split('.').next()?.parse().ok();
    names.filter_map(|entry| step(entry.file_name().into_string().ok()?)).collect()
}

#[test]
fn killed_and_resumed() {
    let folder = Folder::new("kill");
    let folder = folder.0.as_path();
    prepare(folder).unwrap();
    let done = fluvial(folder, &["--save", "whole.safetensors"]).status().unwrap();
    assert!(done.success());

    let args =
        ["--checkpoint", "runs", "--every", EVERY, "--resume", "--save", "pieces.safetensors"];
    let runs = folder.join("runs");
    let mut kills = 0;
    let mut random = 12345u64;
    while kills < KILLS {
        let before = steps(&runs).into_iter().max();
        let mut child = fluvial(folder, &args).spawn().unwrap();
        let began = Instant::now();
        // As soon as the run has come further than the last one, it is killed at a random moment.
        while steps(&runs).into_iter().max() <= before {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the run ended with {status} after {kills} kills");
            }
            assert!(began.elapsed() < Duration::from_secs(60), "no checkpoint after a minute");
            std::thread::sleep(Duration::from_millis(1));
        }
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        std::thread::sleep(Duration::from_micros((random >> 33) % 20_000));
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    let done = fluvial(folder, &args).status().unwrap();
    assert!(done.success());
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert!(read("whole.safetensors") == read("pieces.safetensors"), "the states differ");
    // What was being written when a run was killed is gone.
    let left = std::fs::read_dir(&runs).unwrap().flatten();
    let names: Vec<String> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(names.len() == 2 && names.iter().all(|name| name.starts_with("step-")), "{names:?}");
}
