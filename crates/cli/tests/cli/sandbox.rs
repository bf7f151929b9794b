//! A folder of its own for each test, and the command in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use fluvial::core::Tensor;
use fluvial::data::{npy, safetensors};

/// A temporary folder, with the programs of the repository in `programs/`.
pub struct Sandbox(pub PathBuf);

/// What the command did.
pub struct Done {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("fluvial-cli-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("programs")).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
        for entry in fs::read_dir(source).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "fl") {
                fs::copy(&path, folder.join("programs").join(path.file_name().unwrap())).unwrap();
            }
        }
        Sandbox(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, contents: &str) {
        fs::write(self.path(name), contents).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn npy(&self, name: &str, tensor: &Tensor) {
        let mut file = Vec::new();
        npy::write(&mut file, tensor, name).unwrap();
        fs::write(self.path(name), file).unwrap();
    }

    pub fn safetensors(&self, name: &str, tensors: &[(&str, &Tensor)]) {
        let mut file = Vec::new();
        safetensors::write(&mut file, tensors, name).unwrap();
        fs::write(self.path(name), file).unwrap();
    }

    /// The command, not started yet.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fluvial"));
        command.args(args).current_dir(&self.0).stdin(Stdio::null());
        command.env_remove("FLUVIAL_THREADS").env_remove("FLUVIAL_PYTHON").env("NO_COLOR", "1");
        command
    }

    /// Runs a line of words without quotes.
    pub fn run(&self, line: &str) -> Done {
        self.words(&line.split_whitespace().collect::<Vec<_>>())
    }

    pub fn words(&self, args: &[&str]) -> Done {
        Done::of(&mut self.command(args))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Done {
    pub fn of(command: &mut Command) -> Done {
        let output = command.output().unwrap();
        Done {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The results, of a command that went well.
    #[track_caller]
    pub fn fine(self) -> String {
        assert_eq!(self.status, 0, "{}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// Exit code and error.
    #[track_caller]
    pub fn fault(self) -> String {
        assert_ne!(self.status, 0, "{}", self.stdout);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        format!("exit code {}\n{}", self.status, self.stderr)
    }

    /// The events.
    #[track_caller]
    pub fn events(&self) -> Vec<serde_json::Value> {
        let event = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        self.stdout.lines().map(event).collect()
    }
}

pub fn tensor(values: &[f64], dims: &[usize]) -> Tensor {
    Tensor::from_slice(values, dims).unwrap()
}
