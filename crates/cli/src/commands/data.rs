//! `fluvial data`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use fluvial::data::formats::records::{Compression, Options};
use fluvial::data::formats::{self, Setting, Settings};
use fluvial::data::{Dataset, Field};
use serde_json::{Map, Value as Json, json};

use crate::fault::{Outcome, usage};
use crate::out::Out;
use crate::tensors;

/// Look at files of samples, and convert them.
#[derive(Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Data {
    Convert(Convert),
    Head(Head),
    Stat(Stat),
}

const EXAMPLES: &str = "Examples:
  fluvial data convert houses.csv houses.rec --compression zstd
  fluvial data head train-images.gz train-labels.gz --format idx -n 3
  fluvial data stat houses.rec

Formats: records (.rec, .records, .recordio), npy, npz, csv, idx (.idx, .gz, -ubyte), lines (.txt), images (a
folder with a sub-folder per class).";

/// Write samples to a file of another format.
#[derive(Args)]
#[command(after_help = CONVERT_EXAMPLES)]
pub struct Convert {
    /// The files to read, one after another.
    #[arg(required = true)]
    from: Vec<PathBuf>,
    /// The file to write: `.rec`, `.npz`, `.npy` or `.csv`.
    to: PathBuf,
    #[command(flatten)]
    source: Source,
    /// How record files are compressed.
    #[arg(long, value_enum, default_value = "none")]
    compression: Packing,
    /// The bytes of a chunk of a record file, before compression.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    chunk: Option<u32>,
}

const CONVERT_EXAMPLES: &str = "Examples:
  fluvial data convert houses.csv houses.rec --compression zstd
  fluvial data convert houses.csv houses.rec --option 'shape=[[13],[1]]'
  fluvial data convert part-0.rec part-1.rec all.npz";

/// Show the first samples.
#[derive(Args)]
#[command(after_help = HEAD_EXAMPLES)]
pub struct Head {
    /// The files, one after another.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// How many samples.
    #[arg(short, long = "count", value_name = "N", default_value_t = 5)]
    n: u64,
    #[command(flatten)]
    source: Source,
}

const HEAD_EXAMPLES: &str = "Examples:
  fluvial data head houses.csv
  fluvial data head houses.csv -n 1 --option header=false --json";

/// Show what the fields hold: types, extremes, means, bytes.
#[derive(Args)]
#[command(after_help = STAT_EXAMPLES)]
pub struct Stat {
    /// The files, one after another.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    source: Source,
}

const STAT_EXAMPLES: &str = "Examples:
  fluvial data stat houses.rec
  fluvial data stat images/ --format images";

/// How files are read.
#[derive(Args)]
struct Source {
    /// The format; by default the name of the first file says it.
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// A setting of the format: `header=false`, `'shape=[[13],[1]]'`. May be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE")]
    options: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Packing {
    /// Not at all.
    None,
    /// Fast.
    Snappy,
    /// Small.
    Zstd,
}

impl Data {
    pub fn run(&self, out: &Out) -> Outcome<u8> {
        match self {
            Data::Convert(convert) => convert.run(out)?,
            Data::Head(head) => head.run(out)?,
            Data::Stat(stat) => stat.run(out)?,
        }
        Ok(0)
    }
}

impl Convert {
    fn run(&self, out: &Out) -> Outcome<()> {
        let samples = self.source.open(&self.from)?;
        let compression = match self.compression {
            Packing::None => Compression::None,
            Packing::Snappy => Compression::Snappy,
            Packing::Zstd => Compression::Zstd,
        };
        let mut options = Options { compression, ..Options::default() };
        if let Some(bytes) = self.chunk {
            options.chunk_bytes = bytes as usize;
        }
        let n = formats::convert(&*samples, &tensors::allowed(&self.to)?, options)?;
        let to = self.to.display().to_string();
        out.note(
            &format!("wrote {to}: {n} samples"),
            || json!({"event": "wrote", "file": to, "samples": n}),
        );
        Ok(())
    }
}

impl Head {
    fn run(&self, out: &Out) -> Outcome<()> {
        let samples = self.source.open(&self.files)?;
        if !out.is_json() {
            out.result(&formats::head(&*samples, self.n)?, || json!(null));
            return Ok(());
        }
        for number in 0..self.n.min(samples.len()) {
            let tensors = samples.get(number)?;
            let fields = samples.fields().iter().zip(&tensors);
            let fields: Map<String, Json> = fields
                .map(|(field, tensor)| (field.name.to_string(), tensors::to_json(tensor)))
                .collect();
            out.result("", || json!({"event": "sample", "number": number, "fields": fields}));
        }
        Ok(())
    }
}

impl Stat {
    fn run(&self, out: &Out) -> Outcome<()> {
        let samples = self.source.open(&self.files)?;
        let text = formats::stat(&*samples)?;
        out.result(&text, || {
            let about = |field: &Field| json!({"name": &*field.name, "type": field.ty.to_string()});
            let fields: Vec<Json> = samples.fields().iter().map(about).collect();
            json!({"event": "stat", "samples": samples.len(), "fields": fields, "text": text})
        });
        Ok(())
    }
}

impl Source {
    fn open(&self, files: &[PathBuf]) -> Outcome<Arc<dyn Dataset>> {
        let format = match (&self.format, files.first()) {
            (Some(format), _) => format.clone(),
            (None, Some(first)) => format_of(first)?.to_string(),
            (None, None) => return Err(usage("no file is given", "name the files to read")),
        };
        let mut settings = Settings::new();
        for given in &self.options {
            let Some((name, text)) = given.split_once('=') else {
                return Err(usage(format!("`{given}` sets nothing"), "write --option NAME=VALUE"));
            };
            let value = serde_json::from_str(text).unwrap_or_else(|_| Json::from(text));
            let Some(setting) = setting(&value) else {
                let what = format!("`{text}` is not a setting");
                return Err(usage(what, "write a number, a text, true, false, or lists of them"));
            };
            settings.insert(name.into(), setting);
        }
        let mut paths = Vec::new();
        for file in files {
            std::fs::metadata(file).map_err(|error| crate::fault::file(file, error))?;
            paths.push(tensors::allowed(file)?.into());
        }
        Ok(formats::open(&format, &paths, &settings)?)
    }
}

/// The format that the name of a file says.
fn format_of(path: &Path) -> Outcome<&'static str> {
    if path.is_dir() {
        return Ok("images");
    }
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "rec" | "records" | "recordio" => Ok("records"),
        "npy" => Ok("npy"),
        "npz" => Ok("npz"),
        "csv" => Ok("csv"),
        "idx" | "gz" => Ok("idx"),
        _ if name.ends_with("-ubyte") => Ok("idx"),
        "txt" => Ok("lines"),
        "parquet" => Ok("parquet"),
        "arrow" => Ok("arrow"),
        _ => {
            let what = format!("the name of `{}` does not say its format", path.display());
            Err(usage(what, "give it: --format csv"))
        }
    }
}

fn setting(value: &Json) -> Option<Setting> {
    Some(match value {
        Json::Bool(value) => Setting::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Setting::Int(whole),
            None => Setting::Float(number.as_f64()?),
        },
        Json::String(text) => Setting::Text(text.as_str().into()),
        Json::Array(items) => Setting::List(items.iter().map(setting).collect::<Option<_>>()?),
        Json::Null | Json::Object(_) => return None,
    })
}
