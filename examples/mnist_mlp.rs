//! A network with one hidden layer learns to read handwritten digits: line by line, and as one
//! program that contains the whole training, interpreted and compiled. All end with the same parameters,
//! to the bit.

use std::time::Instant;

use fluvial::prelude::*;

const DIGITS: &[u8] = include_bytes!("data/digits/digits.bin");
const EPOCHS: usize = 12;
const BATCH: usize = 64;

/// The network and its optimizer, which own all that is trained: they are made once and used in every step.
struct Digits {
    net: Sequential,
    optimizer: AdamW,
}

impl Digits {
    /// To be trained in so many steps.
    fn new(steps: usize) -> Digits {
        let net = Sequential::new("net")
            .add(|at| Linear::new(at, 64, 256))
            .then(relu)
            .add(|at| Dropout::new(at, 0.3))
            .add(|at| Linear::new(at, 256, 10));
        let optimizer = AdamW::new(net.parameters(), 2e-2)
            .clip(Clip::GlobalNorm(5.0))
            .schedule(Schedule::warm_up(20, 0.1, Schedule::cosine(steps as u32, 0.0)));
        Digits { net, optimizer }
    }

    /// Trains on the batches whose images `order` lists; returns the loss of each. This is one function
    /// for both modes: in a program, the loop, the gradients and the optimizer are part of it.
    fn train(&self, images: &Var, labels: &Var, order: &Var) -> Result<Vec<Var>> {
        let (_, losses) = scan(&[], &[order], |_, batch| {
            let logits = self.net.forward(&gather(images, &batch[0], 0)?)?;
            let labels = gather(labels, &batch[0], 0)?;
            let loss = cross_entropy(&logits, &labels, None, CrossEntropyOptions::default())?;
            self.optimizer.minimize(&loss)?;
            Ok((vec![], vec![loss]))
        })?;
        Ok(losses)
    }

    /// The part of the images that the network reads right.
    fn accuracy(&self, images: &Var, labels: &Var) -> Result<f64> {
        let _no_grad = no_grad();
        self.net.eval();
        let right = eq(&argmax(&self.net.forward(images)?, -1, false)?, labels)?;
        mean(&cast(&right, DType::F64)?, &[], false)?.item()
    }
}

/// Images (pixels with mean 0 and variance 1, nearly) and labels of the digits for which `wanted` holds.
fn digits(wanted: impl Fn(usize) -> bool) -> Result<(Var, Var)> {
    let (mut images, mut labels) = (Vec::new(), Vec::new());
    let chosen = DIGITS.chunks_exact(65).enumerate().filter(|(i, _)| wanted(*i));
    for (_, digit) in chosen {
        images.extend(digit[..64].iter().map(|&pixel| (f32::from(pixel) - 4.9) / 6.0));
        labels.push(i64::from(digit[64]));
    }
    let n = labels.len();
    Ok((Var::of(&images, &[n, 64])?, Var::of(&labels, &[n])?))
}

/// The batches of all epochs, shuffled: one row of positions for each.
fn shuffled(n: usize) -> Result<Var> {
    let mut random = 7u64;
    let mut order = Vec::new();
    for _ in 0..EPOCHS {
        let mut epoch: Vec<i64> = (0..n as i64).collect();
        for i in (1..n).rev() {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            epoch.swap(i, (random >> 33) as usize % (i + 1));
        }
        order.extend_from_slice(&epoch[..n / BATCH * BATCH]);
    }
    Var::of(&order, &[order.len() / BATCH, BATCH])
}

fn main() -> Result<()> {
    // Every fifth digit is held back.
    let (images, labels) = digits(|i| i % 5 != 4)?;
    let (held_images, held_labels) = digits(|i| i % 5 == 4)?;
    let order = shuffled(images.dims()[0].value().unwrap_or(0))?;
    let inputs = [("images", images.ty()), ("labels", labels.ty()), ("order", order.ty())];
    let data = [&images, &labels, &order].map(|var| var.tensor().cloned());
    let [x, y, z] = data;
    let feeds = [("images", x?), ("labels", y?), ("order", z?)];

    println!(
        "mode        steps  loss of the first  of the last epoch  held back read right  seconds"
    );
    let mut trained: Vec<(State, Digits)> = Vec::new();
    for mode in ["imperative", "program", "compiled"] {
        // In a scope of its own, so that all begin with the same random numbers.
        let state = State::new();
        let _scope = state.enter();
        let digits = Digits::new(order.dims()[0].value().unwrap_or(1));
        let program = || Program::build(&inputs, |v| digits.train(&v[0], &v[1], &v[2]));
        let start = Instant::now();
        let losses = match mode {
            "imperative" => digits.train(&images, &labels, &order)?[0].tensor()?.clone(),
            "program" => Interpreter::new(program()?, state.clone())?.run(&feeds)?.remove(0),
            _ => Executor::new(&program()?, state.clone())?.run(&feeds)?.remove(0),
        };
        let seconds = start.elapsed().as_secs_f64();
        let losses = losses.to_vec::<f32>()?;
        let per_epoch = losses.len() / EPOCHS;
        let mean_of = |part: &[f32]| part.iter().sum::<f32>() / part.len() as f32;
        let right = digits.accuracy(&held_images, &held_labels)?;
        println!(
            "{mode:10} {:6} {:18.4} {:18.4} {:20.1}% {seconds:8.1}",
            losses.len(),
            mean_of(&losses[..per_epoch]),
            mean_of(&losses[losses.len() - per_epoch..]),
            100.0 * right
        );
        assert!(right >= 0.97, "only {right} of the digits were read right");
        trained.push((state, digits));
    }

    // Parameters, moments, counters, rates: all states are equal.
    let (by_line, _) = &trained[0];
    for (other, _) in &trained[1..] {
        assert_eq!(by_line.names(), other.names());
        for name in by_line.names() {
            let same = by_line.tensor(&name)?.bitwise_eq(&other.tensor(&name)?);
            assert!(same, "`{name}` differs between the modes");
        }
    }
    println!("all {} states are equal to the bit", by_line.names().len());
    Ok(())
}

#[test]
fn the_example_runs() -> Result<()> {
    main()
}

#[test]
fn its_modes_agree_step_by_step() -> Result<()> {
    let (images, labels) = digits(|i| i < 200)?;
    let order: Vec<i64> = (0..3 * BATCH as i64).collect();
    let order = Tensor::from_slice(&order, &[3, BATCH])?;
    let inputs = [images.tensor()?.clone(), labels.tensor()?.clone(), order];
    let _scope = State::new().enter();
    let digits = Digits::new(3);
    fluvial::runtime::check(|v| digits.train(&v[0], &v[1], &v[2]), &inputs).map(drop)
}
