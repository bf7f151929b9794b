//! Data as files, so that programs can read them by themselves.

use std::fs;
use std::path::{self, PathBuf};

use fluvial::data::formats::{Setting, Settings, npz};
use fluvial::data::{Reader, files};
use fluvial::prelude::*;

use super::Options;

/// Synthetic data have so many batches, and so many held back.
const BATCHES: (usize, usize) = (20, 4);

const REMEDY: &str = "give another folder, or `--data synthetic`";

/// What is trained on, and what is held back. A batch is inputs and labels.
pub struct Data {
    /// Shuffled.
    pub train: Feed,
    /// In order.
    pub held: Feed,
    /// Made for this run, and removed after it.
    folder: Option<PathBuf>,
}

impl Data {
    fn new(train: Reader, held: Reader, batch: u64, folder: Option<PathBuf>) -> Result<Data> {
        train.allow()?;
        held.allow()?;
        let train = Feed::new("train", train.shuffle(7).batch(batch, true).prefetch(2));
        if train.reader().open()?.is_empty() {
            let what = format!("there are fewer samples than the {batch} of a batch");
            return Err(files::fault(what).remedy(REMEDY));
        }
        Ok(Data { train, held: Feed::new("held", held.batch(batch, false)), folder })
    }

    /// Writes two pairs of inputs and labels to files, and reads them from there.
    fn of(options: &Options, pairs: [(Var, Var); 2], batch: u64) -> Result<Data> {
        let made = files::draft_in(&std::env::temp_dir());
        let folder = options.save.as_ref().unwrap_or(&made);
        files::allow(folder)?;
        let mut readers = Vec::new();
        for (name, (x, y)) in ["train.npz", "held.npz"].into_iter().zip(pairs) {
            let path = text_of(&folder.join(name))?;
            npz::write(&path, &[("x", x.tensor()?), ("y", y.tensor()?)])?;
            readers.push(Reader::files("npz", [path], Settings::new()));
        }
        let held = readers.remove(1);
        Data::new(readers.remove(0), held, batch, options.save.is_none().then_some(made))
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Digits of a shape with 784 pixels: MNIST, if the options name a folder with its four files, else points
/// around a centre for each class.
pub fn digits(options: &Options, shape: &[usize], batch: u64) -> Result<Data> {
    if is_synthetic(options) {
        let (train, held) = (BATCHES.0 * batch as usize, BATCHES.1 * batch as usize);
        return Data::of(options, [clusters(train, shape, 2)?, clusters(held, shape, 3)?], batch);
    }
    let sizes = shape.iter().map(|&size| Setting::Int(size as i64)).collect();
    let shapes = Setting::List(vec![Setting::List(sizes), Setting::List(vec![])]);
    let reader = |part: &str| -> Result<Reader> {
        let find = |what: &str| {
            let is_it = |name: &str| name.starts_with(&format!("{part}-{what}"));
            let found = listed(&options.data, is_it)?.into_iter().next();
            found.ok_or_else(|| missing(&options.data, &format!("a file `{part}-{what}…`")))
        };
        let paths = [text_of(&find("images")?)?, text_of(&find("labels")?)?];
        let reader =
            Reader::files("idx", paths, Settings::from([("shape".into(), shapes.clone())]));
        // The mean and the deviation of all pixels of MNIST.
        let (factor, offset) = (1.0 / 255.0 / 0.3081, -0.1307 / 0.3081);
        Ok(reader.scale("image", factor, offset).cast("label", DType::I64))
    };
    Data::new(reader("train")?, reader("t10k")?, batch, None)
}

/// Texts of a length, each with the tokens that follow: the `.txt` files of the folder that the options name,
/// else numbers that are counted up with a stride, some of them wrong.
pub fn texts(options: &Options, vocab: usize, length: usize, batch: u64) -> Result<Data> {
    if is_synthetic(options) {
        let (train, held) = (BATCHES.0 * batch as usize, BATCHES.1 * batch as usize);
        let pairs = [counts(train, vocab, length, 2)?, counts(held, vocab, length, 3)?];
        return Data::of(options, pairs, batch);
    }
    let mut tokens = Vec::new();
    for path in listed(&options.data, |name| name.ends_with(".txt"))? {
        let bytes =
            fs::read(&path).map_err(|error| files::io(&path.display().to_string(), error))?;
        tokens.extend(bytes.into_iter().filter_map(token).filter(|&token| token < vocab as i64));
    }
    let n = tokens.len().saturating_sub(1) / length;
    let n_train = n - n / 10;
    if n_train < batch as usize || n_train == n {
        return Err(missing(&options.data, "`.txt` files that are long enough"));
    }
    let part = |from: usize, to: usize| -> Result<(Var, Var)> {
        let (range, dims) = (from * length..to * length, [to - from, length]);
        let next = &tokens[range.start + 1..range.end + 1];
        Ok((Var::of(&tokens[range], &dims)?, Var::of(next, &dims)?))
    };
    Data::of(options, [part(0, n_train)?, part(n_train, n)?], batch)
}

/// The number of a printable ASCII character or of a line end; other bytes are left out.
fn token(byte: u8) -> Option<i64> {
    match byte {
        b'\n' => Some(95),
        b' '..=b'~' => Some(i64::from(byte - b' ')),
        _ => None,
    }
}

/// Points around the centres of ten classes, and their classes.
fn clusters(n: usize, shape: &[usize], number: i64) -> Result<(Var, Var)> {
    let _scope = State::new().enter();
    let dims = |n: usize| [&[n], shape].concat();
    seed(1)?;
    let centres = normal(&Type::of(DType::F32, &dims(10))?, 0.0, 0.5)?;
    seed(number)?;
    let y = randint(&Type::of(DType::I64, &[n])?, 0, 10)?;
    let noise = normal(&Type::of(DType::F32, &dims(n))?, 0.0, 1.0)?;
    Ok(((gather(&centres, &y, 0)? + noise).check()?, y))
}

/// Rows that count up with a stride of their own, a tenth of the tokens random, and the next tokens.
fn counts(n: usize, vocab: usize, length: usize, number: i64) -> Result<(Var, Var)> {
    let _scope = State::new().enter();
    seed(number)?;
    let whole = |dims: &[usize], low, high| randint(&Type::of(DType::I64, dims)?, low, high);
    let high = vocab as i64;
    let (start, stride) = (whole(&[n, 1], 0, high)?, whole(&[n, 1], 1, 8)?);
    let counted = start + stride * arange(0.0, length as f64 + 1.0, 1.0, DType::I64)?;
    let counted = remainder(&counted, &Var::scalar(high))?;
    let drawn = uniform(&Type::of(DType::F32, &[n, length + 1])?, 0.0, 1.0)?;
    let is_noise = lt(&drawn, &Var::scalar(0.1f32))?;
    let tokens = where_(&is_noise, &whole(&[n, length + 1], 0, high)?, &counted)?;
    let part = |from: usize| narrow(&tokens, 1, Dim::size(from), Dim::size(length));
    Ok((part(0)?, part(1)?))
}

fn is_synthetic(options: &Options) -> bool {
    options.data.as_os_str() == "synthetic"
}

/// The files of a folder with names of a kind, in order.
fn listed(folder: &path::Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .map_err(|error| files::io(&folder.display().to_string(), error).remedy(REMEDY))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_wanted = |path: &PathBuf| path.file_name()?.to_str().map(&is_wanted);
    let mut found: Vec<PathBuf> = paths.filter(|path| is_wanted(path) == Some(true)).collect();
    found.sort();
    Ok(found)
}

fn missing(folder: &path::Path, what: &str) -> Error {
    files::fault(format!("`{}` has not got {what}", folder.display())).remedy(REMEDY)
}

fn text_of(path: &path::Path) -> Result<String> {
    let text = path.to_str().map(str::to_string);
    text.ok_or_else(|| files::fault(format!("`{}` is not Unicode", path.display())))
}
