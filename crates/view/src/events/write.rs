//! Writing event files.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prost::Message;
use serde_json::{Value as Json, json};

use super::frame::record;
use super::message::{self, Event, EventWhat, Metadata, Plugin, Shape, Size, Summary, Tensor};
use super::message::{Value, ValueWhat};

/// Makes names of files unique within a process.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// What is not written at once waits no longer than this for the next record.
const WAIT: Duration = Duration::from_millis(250);

/// Bytes that wait at most.
const ROOM: usize = 1 << 16;

/// How values are spread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// Least, largest, count, sum and sum of squares.
    pub moments: [f64; 5],
    /// The upper ends of buckets.
    pub limits: Vec<f64>,
    /// How many values each of them has.
    pub counts: Vec<f64>,
}

/// A file of events, in a folder that is a run. What another one wrote is never overwritten.
pub struct Writer {
    path: PathBuf,
    file: File,
    /// Records that wait, and since when.
    waiting: Vec<u8>,
    since: Instant,
    is_patient: bool,
}

impl Writer {
    /// Begins a file in a folder, which is made if it is not there. Each record is written at once, as a whole: who
    /// looks at the file sees it, and a process that ends early loses nothing.
    pub fn new(folder: &Path) -> io::Result<Writer> {
        std::fs::create_dir_all(folder)?;
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host: String =
            host.trim().chars().filter(|c| c.is_alphanumeric() || *c == '-').collect();
        let host = if host.is_empty() { "here" } else { &host };
        let (seconds, process) = (now() as u64, std::process::id());
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let path =
            folder.join(format!("events.out.tfevents.{seconds:010}.{host}.{process}.{number}"));
        let file = OpenOptions::new().append(true).create_new(true).open(&path)?;
        let (waiting, since) = (Vec::new(), Instant::now());
        let mut writer = Writer { path, file, waiting, since, is_patient: false };
        writer.event(0, EventWhat::Version("brain.Event:2".to_string()))?;
        Ok(writer)
    }

    /// For those who tell of each of many short steps: records may wait for the next, a quarter of a second at most,
    /// and until [`flush`](Writer::flush).
    #[must_use]
    pub fn patient(mut self) -> Writer {
        self.is_patient = true;
        self
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a point to each of several curves.
    pub fn scalars<'a>(
        &mut self,
        values: impl IntoIterator<Item = (&'a str, f32)>,
        step: i64,
    ) -> io::Result<()> {
        self.values(values.into_iter().map(|(tag, x)| value(tag, ValueWhat::Scalar(x))), step)
    }

    /// Adds how values are spread.
    pub fn histogram(&mut self, tag: &str, histogram: Histogram, step: i64) -> io::Result<()> {
        let [min, max, count, sum, sum_squares] = histogram.moments;
        let Histogram { limits, counts, .. } = histogram;
        let histogram = message::Histogram { min, max, count, sum, sum_squares, limits, counts };
        self.values([value(tag, ValueWhat::Histogram(histogram))], step)
    }

    /// Adds an image: height, width and channels, and the bytes of a PNG file.
    pub fn image(
        &mut self,
        tag: &str,
        sizes: [usize; 3],
        png: Vec<u8>,
        step: i64,
    ) -> io::Result<()> {
        let [height, width, channels] = sizes.map(|n| i32::try_from(n).unwrap_or(i32::MAX));
        let image = message::Image { height, width, channels, encoded: png };
        self.values([value(tag, ValueWhat::Image(image))], step)
    }

    /// Adds a text.
    pub fn text(&mut self, tag: &str, text: &str, step: i64) -> io::Result<()> {
        let tensor = Tensor {
            dtype: message::STRING,
            shape: Some(Shape { dims: vec![Size { size: 1 }] }),
            strings: vec![text.as_bytes().to_vec()],
            ..Tensor::default()
        };
        let plugin = Some(Plugin { name: "text".to_string() });
        let metadata = Some(Metadata { plugin });
        self.values([Value { metadata, ..value(tag, ValueWhat::Tensor(tensor)) }], step)
    }

    /// Says with which settings the run was begun, as an object, and on which machine.
    pub fn config(&mut self, settings: &Json) -> io::Result<()> {
        self.text("config", &settings.to_string(), 0)?;
        self.text("machine", &machine().to_string(), 0)
    }

    /// Writes what waits.
    pub fn flush(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.file.write_all(&waiting)
    }

    /// Waits until everything is on the disk.
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_all()
    }

    fn values(&mut self, values: impl IntoIterator<Item = Value>, step: i64) -> io::Result<()> {
        let values = values.into_iter().collect();
        self.event(step, EventWhat::Summary(Summary { values }))
    }

    fn event(&mut self, step: i64, what: EventWhat) -> io::Result<()> {
        let event = Event { wall_time: now(), step, what: Some(what) };
        let record = record(&event.encode_to_vec());
        if !self.is_patient {
            // One call, so that no reader sees a part of a record.
            return self.file.write_all(&record);
        }
        if self.waiting.is_empty() {
            self.since = Instant::now();
        }
        self.waiting.extend(record);
        match self.waiting.len() > ROOM || self.since.elapsed() > WAIT {
            true => self.flush(),
            false => Ok(()),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Who wants to know of faults has flushed.
        let _ = self.flush();
    }
}

fn value(tag: &str, what: ValueWhat) -> Value {
    Value { tag: tag.to_string(), metadata: None, what: Some(what) }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// What the machine is: system, processor, cores and bytes of memory.
pub fn machine() -> Json {
    let line = |file: &str, key: &str| {
        let text = std::fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let memory = line("/proc/meminfo", "MemTotal")
        .and_then(|text| text.strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024));
    json!({
        "system": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
        "processor": line("/proc/cpuinfo", "model name"),
        "cores": std::thread::available_parallelism().map_or(1, |n| n.get()),
        "memory_bytes": memory,
        "fluvial": env!("CARGO_PKG_VERSION"),
    })
}
