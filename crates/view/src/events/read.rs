//! Reading event files, also while they are being written.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use prost::Message;

use super::frame::{FOOT, HEAD, LONGEST, masked};
use super::message::{Event, EventWhat, Tensor, Value, ValueWhat};
use super::write::Histogram;

/// Something that a file tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name.
    pub tag: String,
    /// The step.
    pub step: i64,
    /// The time, in seconds since 1970.
    pub time: f64,
    /// What is told.
    pub what: What,
}

/// What is told.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A number.
    Scalar(f64),
    /// How values are spread.
    Histogram(Histogram),
    /// An image, which stays in the file.
    Image(Image),
    /// A text.
    Text(String),
}

/// Where an image is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    file: PathBuf,
    at: u64,
    tag: String,
}

impl Image {
    /// The bytes of the image's file, such as PNG.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(self.at))?;
        let lost = || io::Error::new(io::ErrorKind::InvalidData, "the image is no longer there");
        let payload = record(&mut file)?.ok_or_else(lost)?;
        let event = Event::decode(&payload[..]).map_err(|_| lost())?;
        let Some(EventWhat::Summary(summary)) = event.what else { return Err(lost()) };
        let value = summary.values.into_iter().find(|value| value.tag == self.tag);
        match value.and_then(|value| value.what) {
            Some(ValueWhat::Image(image)) => Ok(image.encoded),
            // Width and height stand before the images.
            Some(ValueWhat::Tensor(tensor)) => tensor.strings.into_iter().nth(2).ok_or_else(lost),
            _ => Err(lost()),
        }
    }
}

/// A file of which what is new is read.
pub struct Tail {
    path: PathBuf,
    at: u64,
    /// By tag: which view it is for. Only the first value of a tag says so.
    plugins: HashMap<String, String>,
    fault: Option<String>,
}

impl Tail {
    /// Of a file from its beginning.
    pub fn new(path: &Path) -> Tail {
        Tail { path: path.to_path_buf(), at: 0, plugins: HashMap::new(), fault: None }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong with the file. It is read up to there.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Tells of what has been added to the file. A record of which only a part is there waits for the rest.
    pub fn read(&mut self, tell: &mut dyn FnMut(Entry)) {
        self.read_until(None, tell);
    }

    /// [`read`](Tail::read), for so long; and whether the end was reached.
    pub fn read_until(&mut self, until: Option<Instant>, tell: &mut dyn FnMut(Entry)) -> bool {
        if self.fault.is_some() {
            return true;
        }
        self.read_records(until, tell).unwrap_or_else(|error| {
            self.fault = Some(format!("at byte {}: {error}", self.at));
            true
        })
    }

    fn read_records(
        &mut self,
        until: Option<Instant>,
        tell: &mut dyn FnMut(Entry),
    ) -> io::Result<bool> {
        let file = File::open(&self.path)?;
        if file.metadata()?.len() <= self.at {
            return Ok(true);
        }
        let mut file = io::BufReader::with_capacity(1 << 18, file);
        file.seek(SeekFrom::Start(self.at))?;
        for n in 0u64.. {
            // A clock is asked now and then.
            if n % 512 == 511 && until.is_some_and(|until| Instant::now() > until) {
                return Ok(false);
            }
            let Some(payload) = record(&mut file)? else { break };
            let event = Event::decode(&payload[..])
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            self.event(event, tell);
            self.at += (HEAD + payload.len() + FOOT) as u64;
        }
        Ok(true)
    }

    fn event(&mut self, event: Event, tell: &mut dyn FnMut(Entry)) {
        let Some(EventWhat::Summary(summary)) = event.what else { return };
        for value in summary.values {
            let Value { tag, metadata, what } = value;
            if let Some(plugin) = metadata.and_then(|metadata| metadata.plugin) {
                self.plugins.insert(tag.clone(), plugin.name);
            }
            let image = || Image { file: self.path.clone(), at: self.at, tag: tag.clone() };
            let what = match what {
                Some(ValueWhat::Scalar(x)) => Some(What::Scalar(f64::from(x))),
                Some(ValueWhat::Image(_)) => Some(What::Image(image())),
                Some(ValueWhat::Histogram(h)) => Some(What::Histogram(Histogram {
                    moments: [h.min, h.max, h.count, h.sum, h.sum_squares],
                    limits: h.limits,
                    counts: h.counts,
                })),
                Some(ValueWhat::Tensor(tensor)) => match self.plugins.get(&tag).map(String::as_str)
                {
                    Some("scalars") => {
                        tensor.numbers().and_then(|x| x.first().copied()).map(What::Scalar)
                    }
                    Some("histograms") => tensor.numbers().map(|x| What::Histogram(buckets(&x))),
                    Some("images") => Some(What::Image(image())),
                    Some("text") => Some(What::Text(text(&tensor))),
                    _ => None,
                },
                None => None,
            };
            if let Some(what) = what {
                tell(Entry { tag, step: event.step, time: event.wall_time, what });
            }
        }
    }
}

fn text(tensor: &Tensor) -> String {
    let parts = tensor.strings.iter().map(|part| String::from_utf8_lossy(part));
    parts.collect::<Vec<_>>().join("\n")
}

/// A histogram of rows of lower end, upper end and count.
fn buckets(numbers: &[f64]) -> Histogram {
    let rows = numbers.as_chunks::<3>().0;
    let count = rows.iter().map(|row| row[2]).sum();
    let (first, last) =
        (rows.first().map_or(0.0, |row| row[0]), rows.last().map_or(0.0, |row| row[1]));
    let middle = |row: &[f64; 3]| (row[0] + row[1]) / 2.0;
    let sum = rows.iter().map(|row| middle(row) * row[2]).sum();
    let squares = rows.iter().map(|row| middle(row).powi(2) * row[2]).sum();
    Histogram {
        moments: [first, last, count, sum, squares],
        limits: rows.iter().map(|row| row[1]).collect(),
        counts: rows.iter().map(|row| row[2]).collect(),
    }
}

/// The payload of the next record; none if it is not there as a whole.
fn record(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_string());
    let mut head = [0; HEAD];
    if !filled(from, &mut head)? {
        return Ok(None);
    }
    let (length, sum) = head.split_at(8);
    if sum != masked(length).to_le_bytes() {
        return Err(bad(
            "the checksum of a length is wrong; this is not an event file, or it is damaged",
        ));
    }
    let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
    if length > LONGEST {
        return Err(bad("a record is longer than any"));
    }
    // Memory is taken as bytes arrive, whatever the length says.
    let mut payload = Vec::new();
    from.by_ref().take(length).read_to_end(&mut payload)?;
    let mut foot = [0; FOOT];
    if (payload.len() as u64) < length || !filled(from, &mut foot)? {
        return Ok(None);
    }
    match foot == masked(&payload).to_le_bytes() {
        true => Ok(Some(payload)),
        false => Err(bad("the checksum of a record is wrong; the file is damaged from here on")),
    }
}

/// Whether there were enough bytes.
fn filled(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::{self, Metadata, Plugin, Summary};
    use super::*;

    /// Messages with any bytes in them, whose checksums may be right, are read or refused.
    #[test]
    fn junk_inside_of_records() {
        let tensor = |dtype: i32, content: usize| Tensor {
            dtype,
            content: vec![1; content],
            floats: vec![0.5; 3],
            doubles: vec![0.25; 3],
            strings: vec![b"text".to_vec(); 3],
            ..Tensor::default()
        };
        let value = |plugin: &str, what: ValueWhat| Value {
            tag: plugin.to_string(),
            metadata: Some(Metadata { plugin: Some(Plugin { name: plugin.to_string() }) }),
            what: Some(what),
        };
        let plugins = ["scalars", "histograms", "images", "text"];
        let of = |(i, plugin): (usize, &&str)| {
            let dtype = [message::FLOAT, message::DOUBLE, message::STRING, 99][i];
            value(plugin, ValueWhat::Tensor(tensor(dtype, 7 * i)))
        };
        let mut values: Vec<Value> = plugins.iter().enumerate().map(of).collect();
        values.push(value("h", ValueWhat::Histogram(message::Histogram::default())));
        let what = Some(EventWhat::Summary(Summary { values }));
        let payload = Event { wall_time: 1.0, step: 2, what }.encode_to_vec();
        let mut state = 7u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % n
        };
        let mut n_read = 0;
        for _ in 0..20_000 {
            let mut junk = payload.clone();
            for _ in 0..1 + random(4) {
                let at = random(junk.len());
                junk[at] = random(256) as u8;
            }
            junk.truncate(junk.len() - random(3) * random(20));
            let mut tail = Tail::new(Path::new("junk"));
            if let Ok(event) = Event::decode(&junk[..]) {
                tail.event(event, &mut |_| n_read += 1);
            }
        }
        assert!(n_read > 1000, "{n_read}");
    }
}
