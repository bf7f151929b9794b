//! `fluvial doctor`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use fluvial::core::{DType, Program, State, Tensor, Type};
use fluvial::kernels::{simd, threads};
use fluvial::runtime::{Executor, Interpreter};
use serde_json::json;

use crate::fault::{FAILED, Outcome};
use crate::out::Out;
use crate::table::{bytes, row, table};
use crate::{fault, program};

/// Show the version, processor, threads, memory and Python, and run a self-test.
///
/// Programs run without Python; only scripts need it. The exit code is 1 if something does not work.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Doctor {
    /// The folder in which programs would write.
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

const EXAMPLES: &str = "Examples:
  fluvial doctor
  fluvial doctor --root runs --json";

/// What was found out: a title, whether it is as it should be, and a text.
struct Finding {
    title: &'static str,
    is_fine: bool,
    text: String,
}

impl Doctor {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        let note = |title, text: String| Finding { title, is_fine: true, text };
        let check = |title, found: Result<String, String>| match found {
            Ok(text) => Finding { title, is_fine: true, text },
            Err(text) => Finding { title, is_fine: false, text },
        };
        let system = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
        let findings = [
            note("version", format!("{} ({system})", env!("CARGO_PKG_VERSION"))),
            note("processor", processor()),
            check("threads", n_threads()),
            note("memory", memory()),
            note("python", python()),
            note("mpi", mpi()),
            check("folder", writable(&self.root)),
            check("self-test", self_test()),
        ];
        if out.is_json() {
            for found in &findings {
                let Finding { title, is_fine, text } = found;
                out.result(
                    "",
                    || json!({"event": "doctor", "title": title, "ok": is_fine, "text": text}),
                );
            }
        } else {
            let line = |found: &Finding| {
                row([found.title, if found.is_fine { "ok" } else { "FAULT" }, &found.text])
            };
            let rows: Vec<Vec<String>> = findings.iter().map(line).collect();
            out.result(&table(&rows, &[]), || json!(null));
        }
        Ok(if findings.iter().all(|found| found.is_fine) { 0 } else { FAILED })
    }
}

/// The library of MPI that runs of several ranks would take, and its launcher. Nobody else needs one.
fn mpi() -> String {
    match fluvial::dist::find(&crate::ranks::folders()) {
        Err(_) => {
            "none; runs of several processes need one (`pip install fluvial[mpi]`)".to_string()
        }
        Ok(found) => {
            let launcher = found
                .launcher()
                .map_or("no launcher".to_string(), |path| path.display().to_string());
            let srun = if found.interface() == "Open MPI" { "pmix" } else { "pmi2" };
            let (path, interface) = (found.path.display(), found.interface());
            format!("{path} (interface of {interface}); {launcher}; srun --mpi={srun}")
        }
    }
}

/// The vector instructions that there are, and those that are used.
fn processor() -> String {
    format!("{}; kernels use {:?}", features().join(" "), simd::level())
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    macro_rules! found {
        ($($name:tt),*) => {
            [$(($name, is_x86_feature_detected!($name))),*]
        };
    }
    let known = found![
        "sse4.2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"
    ];
    known.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<&'static str> {
    vec![std::env::consts::ARCH]
}

fn n_threads() -> Result<String, String> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let by_environment = super::threads_of_environment();
    match by_environment {
        Ok(Some(n)) => Ok(format!("{n} of FLUVIAL_THREADS, {cores} cores")),
        Ok(None) => Ok(format!("{}, {cores} cores", threads::count())),
        Err(_) => Err("FLUVIAL_THREADS is not a number".to_string()),
    }
}

/// What the system says of its memory.
fn memory() -> String {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let entry = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        let kilobytes: u64 =
            line.trim_start_matches(':').split_whitespace().next()?.parse().ok()?;
        Some(bytes(kilobytes.saturating_mul(1024)))
    };
    match (entry("MemAvailable"), entry("MemTotal")) {
        (Some(free), Some(all)) => format!("{free} free of {all}"),
        _ => "unknown".to_string(),
    }
}

/// Which Python scripts would be run by, and whether it has the package.
fn python() -> String {
    let python = program::python();
    let code = "import sys; print('.'.join(map(str, sys.version_info[:3])), sys.executable)";
    let asked = Command::new(&python).args(["-c", code]).stdin(Stdio::null()).output();
    let about = match asked {
        Ok(asked) if asked.status.success() => {
            String::from_utf8_lossy(&asked.stdout).trim().to_string()
        }
        _ => return format!("`{python}` is not found; scripts cannot be built, programs run"),
    };
    match program::has_builder(&python) {
        true => format!("{about}, with the package fluvial"),
        false => format!("{about}, without the package fluvial; programs run, scripts do not"),
    }
}

fn writable(folder: &Path) -> Result<String, String> {
    let named = |error| fault::file(folder, error).message().to_string();
    let draft = fluvial::data::files::draft_in(folder);
    std::fs::write(&draft, b"fluvial").map_err(named)?;
    std::fs::remove_file(&draft).map_err(named)?;
    let full = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    Ok(format!("{} can be written", full.display()))
}

/// Builds a small program, runs it in both modes, and reads its files back.
fn self_test() -> Result<String, String> {
    let run = || {
        let ty = Type::of(DType::F32, &[64, 64])?;
        let program = Program::build(&[("x", ty)], |x| {
            let y = fluvial::ops::tanh(&fluvial::ops::matmul(&x[0], &x[0])?)?;
            Ok(vec![fluvial::ops::sum(&(y * 0.5 + 1.0), &[1], false)?])
        })?;
        let program = Program::from_bytes(&program.to_bytes(), program::registry())?;
        let program = Program::parse(&program.to_string(), program::registry())?;
        let x: Vec<f64> = (0..64 * 64).map(|i| f64::from(i % 7) * 0.125).collect();
        let inputs = [("x", Tensor::from_f64s(DType::F32, &x, &[64, 64])?)];
        let compiled = Executor::new(&program, State::new())?.run(&inputs)?;
        let interpreted = Interpreter::new(program, State::new())?.run(&inputs)?;
        Ok::<bool, fluvial::core::Error>(compiled[0].bitwise_eq(&interpreted[0]))
    };
    match run() {
        Ok(true) => Ok("both modes give the same bits".to_string()),
        Ok(false) => Err("the modes disagree; please report it".to_string()),
        Err(error) => Err(error.message().to_string()),
    }
}
