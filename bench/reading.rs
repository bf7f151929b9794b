//! How fast batches come: passes over a dataset of MNIST's size, shuffled, in batches of 128, with a thread
//! that reads ahead and without. Prints the best of the passes, in gigabytes per second, and how much longer a
//! loop takes that works for about half a millisecond on each batch than the work alone.
//!
//! `cargo bench -p fluvial-data --bench reading -- [memory | record file]...`. With `serve`, it makes one
//! pass for each line of its input, which names a case, and answers with its seconds and bytes, until a line is
//! empty; so `reading.py` takes turns with PyTorch.

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use fluvial_data::reader::Open;
use fluvial_data::{Position, Reader};
use fluvial_tensor::{DType, Tensor};

const SAMPLES: usize = 60_000;
const PASSES: u64 = 15;
const WORK: u32 = 150_000;

/// Images and labels in memory, the images of this element type.
fn arrays(dtype: DType) -> Result<Reader, fluvial_tensor::Error> {
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let images: Vec<u8> = (0..SAMPLES * 784).map(|_| random()).collect();
    let images = Tensor::from_vec(images, &[SAMPLES, 784])?.cast(dtype)?;
    let labels = (0..SAMPLES).map(|_| i64::from(random() % 10)).collect();
    Reader::of([("image", images), ("label", Tensor::from_vec(labels, &[SAMPLES])?)])
}

/// The readers by name: each source without and with a thread.
fn cases(sources: &[String]) -> Result<Vec<(String, Arc<Open>)>, fluvial_tensor::Error> {
    let mut cases = Vec::new();
    for source in sources {
        let readers = match source.as_str() {
            "memory" => vec![
                ("f32".to_owned(), arrays(DType::F32)?),
                ("u8".to_owned(), arrays(DType::U8)?),
                ("u8 scaled".to_owned(), arrays(DType::U8)?.scale("image", 1.0 / 255.0, 0.0)),
            ],
            path => {
                let reader = Reader::records(path);
                reader.allow()?;
                vec![(path.to_owned(), reader)]
            }
        };
        for (name, reader) in readers {
            let reader = reader.shuffle(7).batch(128, false);
            cases.push((format!("{name}, same thread"), reader.open()?));
            cases.push((format!("{name}, prefetch"), reader.prefetch(2).open()?));
        }
    }
    Ok(cases)
}

/// The seconds and bytes of a pass.
fn pass(open: &Arc<Open>, epoch: u64) -> Result<(f64, usize), fluvial_tensor::Error> {
    let start = Instant::now();
    let mut bytes = 0;
    for batch in open.iter_from(Position { epoch, index: 0 })? {
        let batch = black_box(batch?);
        bytes += batch.iter().map(|x| x.numel() * x.dtype().size()).sum::<usize>();
    }
    Ok((start.elapsed().as_secs_f64(), bytes))
}

/// What a training step would do meanwhile: arithmetic that takes no memory.
fn work() {
    let mut x = black_box(1.0_f64);
    for _ in 0..WORK {
        x = x.mul_add(0.999, 0.5);
    }
    black_box(x);
}

/// The seconds of a pass that works on each batch; of the work alone if there is no reader.
fn worked(open: Option<&Arc<Open>>, epoch: u64) -> Result<f64, fluvial_tensor::Error> {
    let start = Instant::now();
    match open {
        Some(open) => {
            for batch in open.iter_from(Position { epoch, index: 0 })? {
                black_box(batch?);
                work();
            }
        }
        None => (0..SAMPLES.div_ceil(128)).for_each(|_| work()),
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Answers each line of the input by a pass.
fn serve(cases: &[(String, Arc<Open>)]) -> Result<(), Box<dyn Error>> {
    for (epoch, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line?;
        if line.is_empty() {
            break;
        }
        let (_, open) = cases
            .iter()
            .find(|(name, _)| *name == line)
            .ok_or_else(|| format!("there is no case `{line}`"))?;
        let (seconds, bytes) = pass(open, epoch as u64)?;
        println!("{seconds} {bytes}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    arguments.retain(|argument| argument != "--bench");
    let serves = arguments.iter().any(|argument| argument == "serve");
    arguments.retain(|argument| argument != "serve");
    if arguments.is_empty() {
        arguments.push("memory".to_owned());
    }
    let cases = cases(&arguments)?;
    if serves {
        return serve(&cases);
    }
    let mut best = vec![f64::INFINITY; cases.len()];
    let mut n_bytes = vec![0; cases.len()];
    let mut least = vec![f64::INFINITY; cases.len()];
    let mut alone = f64::INFINITY;
    for epoch in 0..PASSES {
        for (i, (_, open)) in cases.iter().enumerate() {
            let (seconds, bytes) = pass(open, epoch)?;
            best[i] = best[i].min(seconds);
            n_bytes[i] = bytes;
            if epoch % 3 == 0 {
                least[i] = least[i].min(worked(Some(open), epoch)?);
                alone = alone.min(worked(None, epoch)?);
            }
        }
    }
    for (i, (name, _)) in cases.iter().enumerate() {
        let (rate, longer) = (n_bytes[i] as f64 / best[i] / 1e9, least[i] / alone - 1.0);
        println!("{name:<34} {rate:>8.2} GB/s, a loop takes {:>5.1} % longer", 100.0 * longer);
    }
    Ok(())
}
