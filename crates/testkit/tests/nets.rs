//! Nets beyond golden files: random masks by their statistics, loops of symbolic length, effects.

use std::sync::{Arc, Mutex};

use fluvial_core::{DType, Dim, GradOptions, Program, Result, Tensor, Type, Var, vjp};
use fluvial_ops::*;
use fluvial_testkit::Modes;
use fluvial_testkit::check::Tolerance;

fn ones(dims: &[usize]) -> Var {
    Var::new(Tensor::full(dims, 1.0f64).unwrap())
}

fn wave(dims: &[usize]) -> Tensor {
    let count: usize = dims.iter().product();
    let elements: Vec<f64> = (0..count).map(|i| (i as f64 * 0.7).sin()).collect();
    Tensor::from_vec(elements, dims).unwrap()
}

fn mean_and_variance(x: &[f64]) -> (f64, f64) {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    (mean, x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64)
}

/// What a program made for inference gives.
fn in_inference(x: &Var, f: impl Fn(&Var) -> Result<Var>) -> Vec<f64> {
    let program = Program::build(&[("x", x.ty())], |x| Ok(vec![f(&x[0])?])).unwrap();
    program.for_inference().unwrap().apply(&[x]).unwrap()[0].to_vec().unwrap()
}

#[test]
fn channels_are_dropped_whole() {
    type Drop = fn(&Var, f64) -> Result<Var>;
    let forms: [(Drop, &[usize], usize); 6] = [
        (dropout1d, &[50, 40, 2], 2),
        (dropout1d, &[2000, 2], 2),
        (dropout2d, &[50, 40, 2, 1], 2),
        (dropout2d, &[50, 40, 2], 2),
        (dropout3d, &[50, 40, 1, 2, 1], 2),
        (dropout3d, &[2000, 1, 2, 1], 2),
    ];
    seed(3).unwrap();
    for (drop, dims, inner) in forms {
        let y = drop(&ones(dims), 0.25).unwrap().to_vec::<f64>().unwrap();
        let channels: Vec<&[f64]> = y.chunks(inner).collect();
        assert!(channels.iter().all(|channel| channel.iter().all(|x| x == &channel[0])));
        let kept = channels.iter().filter(|channel| channel[0] != 0.0).count() as f64;
        assert!((kept / channels.len() as f64 - 0.75).abs() < 0.05, "{kept} of {dims:?}");
        assert!(y.iter().all(|&x| x == 0.0 || x == 1.0 / 0.75));
        let x = Var::new(wave(dims));
        assert_eq!(in_inference(&x, |x| drop(x, 0.25)), x.to_vec::<f64>().unwrap());
    }
    assert!(dropout1d(&ones(&[2]), 0.5).is_err());
    assert!(dropout2d(&ones(&[2, 2]), 0.5).unwrap_err().to_string().contains("3 or 4"));
    assert!(dropout3d(&ones(&[2, 2, 2, 2]), 1.5).is_err());
}

#[test]
fn alpha_dropout_keeps_mean_and_variance() {
    seed(4).unwrap();
    let x = normal(&Type::of(DType::F64, &[200, 100]).unwrap(), 0.0, 1.0).unwrap();
    for p in [0.1, 0.5, 0.8] {
        for f in [alpha_dropout, feature_alpha_dropout] {
            let y = f(&x, p).unwrap().to_vec::<f64>().unwrap();
            let (mean, variance) = mean_and_variance(&y);
            assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.08, "{p}: {mean} {variance}");
            assert_eq!(in_inference(&x, |x| f(x, p)), x.to_vec::<f64>().unwrap());
        }
    }
}

#[test]
fn gumbel_softmax_samples_the_distribution() {
    seed(5).unwrap();
    let logs = [0.5f64.ln(), 0.3f64.ln(), 0.2f64.ln()];
    let x = Var::new(Tensor::from_slice(&logs, &[1, 3]).unwrap().expand(&[4000, 3]).unwrap());
    let hard = gumbel_softmax(&x, 0.7, true, -1).unwrap().to_vec::<f64>().unwrap();
    for (class, p) in [0.5, 0.3, 0.2].into_iter().enumerate() {
        let share = hard.iter().skip(class).step_by(3).sum::<f64>() / 4000.0;
        assert!((share - p).abs() < 0.04, "class {class}: {share}");
    }
    assert!(hard.chunks(3).all(|row| row.iter().sum::<f64>() == 1.0));
    let soft = gumbel_softmax(&x, 0.7, false, 1).unwrap().to_vec::<f64>().unwrap();
    assert!(soft.chunks(3).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));

    // Straight through: with the same numbers, the hard sample has the gradient of the soft one.
    let gradient = |hard: bool| {
        seed(6).unwrap();
        let x = Var::new(wave(&[2, 3])).track().unwrap();
        let y = gumbel_softmax(&x, 0.5, hard, 0).unwrap();
        let dy = Var::new(wave(&[2, 3]));
        let dx = vjp(&[&y], &[Some(&dy)], &[&x], GradOptions::default()).unwrap();
        dx[0].as_ref().unwrap().to_vec::<f64>().unwrap()
    };
    assert_eq!(gradient(true), gradient(false));
    assert!(gumbel_softmax(&x, 0.0, false, 1).is_err());
}

#[test]
fn dropout_inside_attention_and_between_layers() {
    let f = |x: &[Var]| {
        let options = AttentionOptions::default().dropout(0.5).causal(true);
        let y = scaled_dot_product_attention(&x[0], &x[0], &x[0], None, options)?;
        let weights: Vec<&Var> = x[1..].iter().collect();
        let options = RnnOptions::default().layers(2usize).bias(false).dropout(0.5);
        let (out, h) = gru(&y, None, &weights, None, options)?;
        Ok(vec![out, h])
    };
    let inputs = [&[3, 2, 2][..], &[6, 2], &[6, 2], &[6, 2], &[6, 2]].map(wave);
    let tolerance = Tolerance { relative: 1e-10, absolute: 1e-12 };
    Modes::of(f).order(1).first_order(tolerance).check(&inputs);
}

#[test]
fn loops_of_symbolic_length() {
    let (t, n) = (Dim::symbol("t").unwrap(), Dim::symbol("n").unwrap());
    let f = |x: &[Var]| {
        let weights: Vec<&Var> = x[2..].iter().collect();
        let options = RnnOptions::default().bidirectional(true).bias(false);
        let (out, h, c) = lstm(&x[0], None, None, &weights, Some(&x[1]), options)?;
        Ok(vec![out, h, c])
    };
    let floats = |dims: &[Dim]| Type::new(DType::F64, dims).unwrap();
    let (two, eight) = (Dim::size(2), Dim::size(8));
    let mut types = vec![floats(&[t, n, Dim::size(3)]), Type::new(DType::I64, &[n]).unwrap()];
    let wide = [eight, Dim::size(3)];
    types.extend([&wide[..], &[eight, two], &wide, &[eight, two]].map(floats));
    let tolerance = Tolerance { relative: 1e-10, absolute: 1e-12 };
    for (steps, lengths) in [(3, vec![2i64, 3]), (5, vec![5]), (1, vec![1, 1, 1])] {
        let mut inputs = vec![wave(&[steps, lengths.len(), 3])];
        inputs.push(Tensor::from_slice(&lengths, &[lengths.len()]).unwrap());
        inputs.extend([&[8, 3][..], &[8, 2], &[8, 3], &[8, 2]].map(wave));
        let modes = Modes::of(f).types(&types).order(1).without_differences();
        modes.first_order(tolerance).check(&inputs);
    }
}

#[test]
fn attention_and_norms_of_symbolic_sizes() {
    let (n, s) = (Dim::symbol("n").unwrap(), Dim::symbol("s").unwrap());
    let f = |x: &[Var]| {
        let q = &x[0];
        let options = AttentionOptions::default().causal(true);
        let mask = gt(q, &Var::scalar(-0.5f64))?;
        let mask = any(&mask, &[-1], true)?;
        let (cos, sin) = rotary_tables(q.ty().dim(2), 4, 100.0, DType::F64)?;
        let q = rotary_embedding(q, &cos, &sin, true)?;
        let y = scaled_dot_product_attention(&q, &q, &x[0], Some(&mask), options)?;
        let y = layer_norm(&y, 1, None, None, 1e-3)?;
        let (y, mean, _) = batch_norm_train(&y, None, None, 1e-3)?;
        let y = group_norm(&y, 2, None, None, 1e-3)?;
        Ok(vec![
            rms_norm(&y, 2, None, 1e-3)?,
            mean,
            local_response_norm(&y, LrnOptions::default())?,
        ])
    };
    let types = [Type::new(DType::F64, &[n, Dim::size(2), s, Dim::size(4)]).unwrap()];
    for (batch, steps) in [(2, 3), (1, 5)] {
        let modes = Modes::of(f).types(&types).order(1);
        modes.check(&[wave(&[batch, 2, steps, 4])]);
    }
}

#[test]
fn prints_are_counted_and_cut() {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = lines.clone();
    set_printer(Some(Arc::new(move |line: &str| {
        if line.starts_with("nets.") {
            sink.lock().unwrap().push(line.to_string());
        }
    })));
    let x = Var::new(wave(&[2, 2]));
    let show = |x: &Var| {
        print_with(x, "nets.x", PrintOptions::default().first_n(2usize).summarize(1usize))
    };
    for _ in 0..4 {
        let _ = show(&x).unwrap();
    }
    let program = Program::build(&[("x", x.ty())], |x| {
        let y = print_grad(&x[0], "nets.dx", PrintOptions::default())? * 3.0;
        let _ = print(&y, "nets.y")?;
        let dx = vjp(&[&sum(&y, &[], false)?], &[None], &[&x[0]], GradOptions::default())?;
        Ok(dx.into_iter().flatten().collect())
    })
    .unwrap();
    let dx = program.apply(&[&x]).unwrap();
    assert_eq!(dx[0].to_vec::<f64>().unwrap(), [3.0; 4]);
    set_printer(None);
    let found = lines.lock().unwrap().clone();
    let cut = "nets.x: f64[2, 2] [0.0, ..]";
    assert_eq!(found[..2], [cut, cut]);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(
        found.iter().any(|line| line == "nets.dx: f64[2, 2] [[3.0, 3.0], [3.0, 3.0]]"),
        "{found:?}"
    );
    assert_eq!(found.iter().filter(|line| line.starts_with("nets.y")).count(), 1);
}

#[test]
fn assertions_fail_at_their_line() {
    let x = Var::of(&[1.0, -2.0], &[2]).unwrap();
    let mut line = 0;
    let program = Program::build(&[("x", x.ty())], |x| {
        line = line!() + 1;
        assert_(&gt(&x[0], &Var::scalar(0.0f64))?, "all are positive", &[&x[0]])?;
        Ok(vec![])
    })
    .unwrap();
    assert!(program.apply(&[&ones(&[2])]).is_ok());
    let fault = program.apply(&[&x]).unwrap_err().to_string();
    for part in [
        "all are positive",
        "[1.0, -2.0]",
        "1 of 2 places, first at [1]",
        &format!("nets.rs:{line}"),
    ] {
        assert!(fault.contains(part), "{part}: {fault}");
    }
}

#[test]
fn files_of_other_bytes_are_refused() {
    let folder = std::env::temp_dir().join(format!("fluvial-nets-{}", std::process::id()));
    fluvial::data::files::set_root(Some(&folder));
    let x = Var::new(wave(&[2, 3]));
    let b = Var::of(&[true, false], &[2]).unwrap();
    save("x.npy", &[&x], &[]).unwrap();
    save("deep/er/x.safetensors", &[&x, &b], &["x", "b"]).unwrap();
    assert_eq!(
        load("deep/er/x.safetensors", Some("b"), &b.ty()).unwrap().to_vec::<bool>().unwrap(),
        [true, false]
    );
    for (path, name) in [("x.npy", None), ("deep/er/x.safetensors", Some("x"))] {
        let found = load(path, name, &x.ty()).unwrap();
        assert!(found.tensor().unwrap().bitwise_eq(x.tensor().unwrap()));
        let good = std::fs::read(folder.join(path)).unwrap();
        // Cut anywhere, or with any byte changed, a file is refused or gives a tensor of the type.
        for at in 0..good.len() {
            let mut changed = good.clone();
            changed[at] = changed[at].wrapping_add(if at % 2 == 0 { 1 } else { 129 });
            for bytes in [&good[..at], &changed] {
                let bad = path.replace("x.", "bad.");
                std::fs::write(folder.join(&bad), bytes).unwrap();
                if let Ok(found) = load(&bad, name, &x.ty()) {
                    assert_eq!(found.ty(), x.ty());
                }
            }
        }
    }
    let huge = [&(u64::MAX / 2).to_le_bytes()[..], b"{}"].concat();
    std::fs::write(folder.join("bad.safetensors"), huge).unwrap();
    assert!(load("bad.safetensors", None, &x.ty()).is_err());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/", folder.join("out")).unwrap();
        let fault = save("out/tmp/x.npy", &[&x], &[]).unwrap_err();
        assert!(fault.to_string().contains("not below the root"), "{fault}");
        assert!(load("out/etc/x.npy", None, &x.ty()).is_err());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn faults_say_what_does_not_fit() {
    let x = |dims: &[usize]| Var::new(wave(dims));
    let ids = Var::of(&[0i64], &[1]).unwrap();
    let expect = |found: Result<()>, part: &str| {
        let line = "nets.rs";
        let text = found.expect_err(part).to_string();
        assert!(text.contains(part) && text.contains(line), "{part}: {text}");
    };
    expect(linear(&x(&[2, 3]), &x(&[4, 2]), None).map(drop), "the weight takes 2");
    expect(linear(&x(&[2, 3]), &x(&[4, 3]), Some(&x(&[3]))).map(drop), "linear(");
    expect(embedding(&x(&[2]), &x(&[2, 2]), EmbeddingOptions::default()).map(drop), "i64");
    let options = EmbeddingOptions::default().padding_idx(5);
    expect(embedding(&ids, &x(&[2, 2]), options).map(drop), "none of 2 rows");
    let options = EmbeddingOptions::default().max_norm(0.0);
    expect(embedding(&ids, &x(&[2, 2]), options).map(drop), "a norm above zero");
    expect(layer_norm(&x(&[2]), 2, None, None, 0.0).map(drop), "layer_norm(");
    expect(layer_norm(&x(&[2]), 1, Some(&x(&[3])), None, 0.0).map(drop), "should be [2]");
    expect(group_norm(&x(&[2, 3]), 2, None, None, 0.0).map(drop), "do not make 2 groups");
    expect(batch_norm_train(&x(&[1, 3]), None, None, 0.0).map(drop), "only one element");
    expect(instance_norm(&x(&[2, 3, 1]), None, None, 0.0).map(drop), "only one element");
    expect(rms_norm(&ids, 1, None, 0.0).map(drop), "only floats");
    expect(rms_norm(&x(&[2]), 1, None, -1.0).map(drop), "cannot be negative");
    let attend = |q: &[usize], k: &[usize], v: &[usize], mask: Option<&Var>| {
        let options = AttentionOptions::default();
        scaled_dot_product_attention(&x(q), &x(k), &x(v), mask, options).map(drop)
    };
    expect(attend(&[2, 3], &[2, 4], &[2, 4], None), "have width 4");
    expect(attend(&[2, 3], &[2, 3], &[3, 3], None), "differ in more than");
    expect(attend(&[3, 2, 3], &[2, 2, 3], &[2, 2, 3], None), "cannot share 2 heads");
    expect(attend(&[2, 3], &[2, 3], &[2, 3], Some(&ids)), "a mask is of bools or floats");
    expect(rotary_embedding(&x(&[2, 3]), &x(&[2, 2]), &x(&[2, 2]), true).map(drop), "2 pairs");
    let run = |x: Var, weights: &[&Var], lengths: Option<&Var>, options: RnnOptions| {
        gru(&x, None, weights, lengths, options).map(drop)
    };
    let (w_ih, w_hh, options) = (x(&[6, 3]), x(&[6, 2]), RnnOptions::default().bias(false));
    expect(run(x(&[4]), &[&w_ih, &w_hh], None, options.clone()), "a sequence is");
    expect(run(x(&[4, 1, 3]), &[&w_ih], None, options.clone()), "2 are needed");
    expect(run(x(&[4, 1, 2]), &[&w_ih, &w_hh], None, options.clone()), "`w_ih` is");
    expect(run(x(&[4, 2, 3]), &[&w_ih, &w_hh], Some(&ids), options.clone()), "i64[2]");
    expect(run(x(&[4, 1, 3]), &[&w_ih, &w_hh], None, options.layers(0usize)), "at least one layer");
    expect(gru_cell(&x(&[1, 3]), &x(&[2, 2]), &w_ih, &w_hh, None, None).map(drop), "does not fit");
    expect(gumbel_softmax(&x(&[2]), -1.0, false, 0).map(drop), "above zero");
}

#[test]
fn half_floats_are_normalised_in_f32() {
    let x = Var::new(wave(&[3, 4]).cast(DType::F16).unwrap());
    let wide = Var::new(x.tensor().unwrap().cast(DType::F64).unwrap());
    let run = |x: &Var| -> Result<Vec<Var>> {
        Ok(vec![
            layer_norm(x, 1, None, None, 1e-5)?,
            rms_norm(x, 1, None, 1e-5)?,
            group_norm(x, 2, None, None, 1e-5)?,
            batch_norm_train(x, None, None, 1e-5)?.0,
        ])
    };
    for (half, wide) in run(&x).unwrap().iter().zip(run(&wide).unwrap()) {
        assert_eq!(half.dtype(), DType::F16);
        let (half, wide) = (half.tensor().unwrap().to_f64s(), wide.to_vec::<f64>().unwrap());
        assert!(half.iter().zip(wide).all(|(a, b)| (a - b).abs() < 2e-3));
    }
}
