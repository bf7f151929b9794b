//! `fluvial view`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use fluvial::data::files;
use fluvial_view::{Server, Site, export};
use serde_json::json;

use super::convert::{is_onnx, loaded};
use crate::fault::{self, Outcome, usage};
use crate::out::Out;
use crate::{program, signals, tensors};

/// Show runs, programs, memory and time as a page in a browser.
///
/// The page is served on this machine only, at an address that cannot be guessed, until Ctrl-C. Nothing but what is named
/// here is shown, and nothing is loaded from elsewhere.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct View {
    /// Folders of runs (`fluvial run --log`, `fl.summary`, TensorBoard), programs (`.fl`, `.flb`, `.py`, `.onnx`, saved
    /// models), tensors and checkpoints (`.safetensors`, `.npz`, `.npy`), profiles (`.json`); `runs` by default.
    paths: Vec<PathBuf>,
    /// The port; a free one by default.
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Open a browser.
    #[arg(long, conflicts_with = "export")]
    open: bool,
    /// Write the page to a file that needs no server, to share it.
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// A folder below which the sources of programs are; the current one by default. May be repeated.
    #[arg(long, value_name = "DIR")]
    source: Vec<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  fluvial view runs/
  fluvial view train.flb trace.json
  fluvial view old.flb new.flb
  fluvial view runs/ train.flb --export page.html";

/// The folder that is looked at if nothing is named.
const RUNS: &str = "runs";

impl View {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        signals::watch()?;
        let site = self.site()?;
        if let Some(path) = &self.export {
            let page = export(&site);
            let named = |error| files::io(&path.display().to_string(), error);
            files::write_at(path, |file| file.write_all(page.as_bytes()).map_err(named))?;
            let (file, size) = (path.display().to_string(), page.len());
            out.note(
                &format!("wrote {file}"),
                || json!({"event": "wrote", "file": file, "bytes": size}),
            );
            return Ok(0);
        }
        let server = Server::start(site, self.port).map_err(|error| {
            usage(
                format!("port {} cannot be used: {error}", self.port),
                "leave --port out, and a free one is taken",
            )
        })?;
        let url = server.url();
        out.result(&url, || json!({"event": "view", "url": url}));
        if self.open {
            open(&url, out);
        }
        while !signals::has_arrived() {
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(signals::status())
    }

    fn site(&self) -> Outcome<Site> {
        let by_default = [PathBuf::from(RUNS)];
        let paths = match self.paths.is_empty() {
            true if by_default[0].is_dir() => &by_default,
            true => {
                let remedy = "name folders, programs or files; `fluvial run --log runs/first` and `fl.summary` write runs";
                return Err(usage("there is no folder `runs` here to look at", remedy));
            }
            false => &self.paths[..],
        };
        let (mut site, mut folders) = (Site::new(), Vec::new());
        for path in paths {
            let name = path.display().to_string();
            if path.is_dir() {
                match path.join("program.flb").is_file() {
                    true => site = site.program(&name, program::load(path)?),
                    false => folders.push(path.clone()),
                }
                if let Some(file) = latest_checkpoint(path) {
                    site = site.tensors(&file.display().to_string(), tensors::read(&file)?);
                }
            } else if path.extension().is_some_and(|ending| ending == "json") {
                std::fs::File::open(path).map_err(|error| fault::file(path, error))?;
                site = site.profile(path.clone());
            } else if tensors::is_named(path) {
                site = site.tensors(&name, tensors::read(path)?);
                // A saved model has its program inside.
                if let (true, Ok(program)) = (name.ends_with(".safetensors"), program::load(path)) {
                    site = site.program(&name, program);
                }
            } else if is_onnx(path) {
                site = site.program(&name, loaded(path)?);
            } else {
                site = site.program(&name, program::load(path)?);
            }
        }
        let here = [PathBuf::from(".")];
        let sources = if self.source.is_empty() { &here } else { &self.source[..] };
        if let Some(absent) = sources.iter().find(|folder| !folder.is_dir()) {
            return Err(usage(
                format!("`{}` is not a folder", absent.display()),
                "name the folder of the sources",
            ));
        }
        let site = sources.iter().fold(site, |site, folder| site.source(folder.clone()));
        Ok(site.runs(folders))
    }
}

/// The latest checkpoint of a folder, if it has some.
fn latest_checkpoint(folder: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let is_checkpoint = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("step-") && name.ends_with(".safetensors")
    };
    files.filter(is_checkpoint).max()
}

/// Asks the system to show an address.
fn open(url: &str, out: &Out) {
    let command = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut child = Command::new(command);
    child.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = child.spawn() {
        let text = format!("no browser was opened ({command}: {error}); open the address above");
        out.note(&text, || json!({"event": "note", "message": text}));
    }
}
