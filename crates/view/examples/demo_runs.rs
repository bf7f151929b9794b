//! Writes runs, programs and weights to look at, for the tests of the page: `demo_runs DIR`. With `--live N`, goes on
//! with one of the runs for so many steps, slowly.

use std::path::Path;
use std::time::Duration;

use fluvial::prelude::*;
use fluvial_view::events::{Histogram, Writer};
use serde_json::json;

type Done = std::result::Result<(), Box<dyn std::error::Error>>;

/// Numbers from 0 to 1 that look random.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

fn main() -> Done {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(args.first().map_or("demo", String::as_str));
    if let Some(steps) = args.iter().position(|arg| arg == "--live").and_then(|i| args.get(i + 1)) {
        return live(folder, steps.parse()?);
    }
    for (name, rate) in [("rate 0.1", 0.1), ("rate 0.01", 0.01), ("rate 0.5", 0.5)] {
        training(&folder.join("runs").join(name), rate)?;
    }
    million(&folder.join("long/walk"))?;
    step(&[64, 512, 256, 256, 128, 10])?.save(folder.join("step.flb"))?;
    step(&[64, 128, 10])?.save(folder.join("small.flb"))?;
    long(10_000)?.save(folder.join("long.flb"))?;
    Ok(())
}

/// The curves of a training as they may be.
fn training(folder: &Path, rate: f64) -> Done {
    let mut noise = Noise((rate * 1e6) as u64);
    let mut writer = Writer::new(folder)?.patient();
    writer
        .config(&json!({"rate": rate, "batch": 64, "data": {"name": "digits", "augment": true}}))?;
    writer.text("events/start", "the run begins", 0)?;
    writer.text("note", "A run to look at.", 0)?;
    for step in 0..2000i64 {
        let decay = (-(step as f64) * rate / 60.0).exp();
        let mut loss = 2.2 * decay + 0.3 + 0.12 * (noise.next() - 0.5);
        if rate > 0.4 && step >= 1200 {
            loss = f64::NAN;
        }
        writer.scalars([("train/loss", loss as f32)], step)?;
        if step % 40 == 0 {
            let right = 0.96 - 0.85 * (-(step as f64) * rate / 90.0).exp() + 0.01 * noise.next();
            let cosine = 0.5 * rate * (1.0 + (step as f64 / 2000.0 * std::f64::consts::PI).cos());
            let all =
                [("train/accuracy", right), ("held back/accuracy", right - 0.04), ("rate", cosine)];
            writer.scalars(all.map(|(tag, x)| (tag, x as f32)), step)?;
        }
        if step % 100 == 0 {
            let spread = 1.0 - step as f64 / 4000.0;
            let values: Vec<f64> = (0..2000)
                .map(|_| {
                    (0..6).map(|_| noise.next() - 0.5).sum::<f64>() * spread + step as f64 / 2500.0
                })
                .collect();
            writer.histogram("net.0.weight", histogram(&values), step)?;
        }
        if step == 1000 {
            writer.text("events/checkpoint", "step-1000 was written", step)?;
        }
    }
    writer.image("picture", [1, 1, 1], PNG.to_vec(), 0)?;
    writer.text("events/end", "the run is over", 2000)?;
    Ok(writer.flush()?)
}

/// One grey pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\0\0\0\nIDATx\x9ck\0\0\0\x82\0\x81w\xcdr\xb6\0\0\0\0IEND\xaeB`\x82";

fn histogram(values: &[f64]) -> Histogram {
    let (least, largest) =
        values.iter().fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
    let n = 40;
    let mut counts = vec![0.0; n];
    for x in values {
        counts[(((x - least) / (largest - least) * n as f64) as usize).min(n - 1)] += 1.0;
    }
    let limit = |i: usize| least + (largest - least) * (i + 1) as f64 / n as f64;
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    let moments = [least, largest, values.len() as f64, sum, squares];
    Histogram { moments, limits: (0..n).map(limit).collect(), counts }
}

/// A curve of a million points.
fn million(folder: &Path) -> Done {
    let mut noise = Noise(1);
    let mut writer = Writer::new(folder)?.patient();
    let mut at = 0.0;
    for step in 0..1_000_000 {
        at += (noise.next() - 0.5) / 20.0;
        writer.scalars([("walk", at as f32)], step)?;
    }
    Ok(writer.flush()?)
}

/// Tells of one step after the other, as a run under way does.
fn live(folder: &Path, steps: i64) -> Done {
    let mut writer = Writer::new(&folder.join("runs/live"))?;
    for step in 0..steps {
        writer.scalars([("train/loss", 2.0 / (1.0 + step as f32))], step)?;
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// A step of a training, with gradients and an optimizer.
fn step(sizes: &[usize]) -> Result<Program> {
    let batch = Dim::symbol("batch")?;
    let x = Type::new(DType::F32, &[batch, Dim::size(sizes[0])])?;
    let y = Type::new(DType::I64, &[batch])?;
    let mut net = Sequential::new("net");
    for (i, pair) in sizes.windows(2).enumerate() {
        net = net.add(|at| Linear::new(at, pair[0], pair[1]));
        if i + 2 < sizes.len() {
            net = net.then(relu);
        }
    }
    let adam = Adam::new(net.parameters(), 1e-3);
    Program::build(&[("x", x), ("y", y)], |inputs| {
        let logits = net.forward(&inputs[0])?;
        let loss = cross_entropy(&logits, &inputs[1], None, CrossEntropyOptions::default())?;
        adam.minimize(&loss)?;
        Ok(vec![loss])
    })
}

/// A program of so many calls one behind the other.
fn long(calls: usize) -> Result<Program> {
    let ty = Type::of(DType::F32, &[16])?;
    Program::build(&[("x", ty)], |x| {
        let mut y = x[0].clone();
        for i in 0..calls / 2 {
            y = if i % 2 == 0 { sin(&y)? } else { tanh(&y)? };
            y = &y * &x[0];
        }
        Ok(vec![y])
    })
}
