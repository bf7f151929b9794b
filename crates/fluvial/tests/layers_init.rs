//! Initialisers: bounds, means and variances; and the initial values of layers.

use fluvial::prelude::*;

struct Drawn {
    numbers: Vec<f64>,
    mean: f64,
    std: f64,
}

fn drawn(init: &Initializer, dims: &[usize]) -> Result<Drawn> {
    let _scope = State::new().enter();
    seed(3)?;
    let at = Path::new("test").with_dtype(DType::F64);
    let numbers = at.parameter("weight", dims, init.clone()).get()?.to_vec::<f64>()?;
    Ok(statistics(numbers))
}

fn statistics(numbers: Vec<f64>) -> Drawn {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    Drawn { numbers, mean, std: variance.sqrt() }
}

fn check(init: Initializer, dims: &[usize], mean: f64, std: f64, bound: f64) -> Result<()> {
    let drawn = drawn(&init, dims)?;
    let slack = 5.0 * std / (drawn.numbers.len() as f64).sqrt();
    assert!((drawn.mean - mean).abs() < slack, "{init:?}: mean {}", drawn.mean);
    assert!((drawn.std - std).abs() < 0.05 * std, "{init:?}: std {}, not {std}", drawn.std);
    let furthest = drawn.numbers.iter().map(|x| (x - mean).abs()).fold(0.0, f64::max);
    assert!(furthest <= bound, "{init:?}: {furthest} beyond {bound}");
    Ok(())
}

#[test]
fn plain_distributions() -> Result<()> {
    let dims = [50, 80];
    check(Initializer::uniform(-1.0, 3.0), &dims, 1.0, 4.0 / 12f64.sqrt(), 2.0)?;
    check(Initializer::normal(0.5, 0.25), &dims, 0.5, 0.25, 2.0)?;
    // The standard deviation of a normal number between -2 and 2.
    check(Initializer::truncated_normal(0.0, 1.0, -2.0, 2.0), &dims, 0.0, 0.8796, 2.0)?;
    assert_eq!(drawn(&Initializer::constant(0.5), &[3])?.numbers, [0.5; 3]);
    assert_eq!(drawn(&Initializer::zeros(), &[2])?.numbers, [0.0; 2]);
    assert_eq!(drawn(&Initializer::ones(), &[])?.numbers, [1.0]);
    Ok(())
}

#[test]
fn scaled_distributions() -> Result<()> {
    // A convolution from 30 to 60 channels with windows of 2 x 3.
    let dims = [60, 30, 2, 3];
    let (fan_in, fan_out) = (180.0f64, 360.0f64);
    let even = |std: f64| 3f64.sqrt() * std;
    let std = (2.0 / (fan_in + fan_out)).sqrt();
    check(Initializer::xavier_uniform(1.0), &dims, 0.0, std, even(std))?;
    check(Initializer::xavier_normal(2.0), &dims, 0.0, 2.0 * std, 1.0)?;
    let std = (2.0 / fan_in).sqrt();
    check(Initializer::kaiming_uniform(Fan::In, Gain::Relu), &dims, 0.0, std, even(std))?;
    let std = (2.0 / fan_out).sqrt();
    check(Initializer::kaiming_normal(Fan::Out, Gain::Relu), &dims, 0.0, std, 1.0)?;
    let std = 5.0 / 3.0 / fan_in.sqrt();
    check(Initializer::kaiming_normal(Fan::In, Gain::Tanh), &dims, 0.0, std, 1.0)?;
    check(
        Initializer::weight_default(),
        &dims,
        0.0,
        1.0 / (3.0 * fan_in).sqrt(),
        1.0 / fan_in.sqrt(),
    )
}

#[test]
fn given_values() -> Result<()> {
    let value = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
    assert_eq!(drawn(&Initializer::assign(value.clone()), &[2])?.numbers, [1.0, 2.0]);
    let error = drawn(&Initializer::assign(value), &[3]).err().unwrap().to_string();
    assert!(error.contains("f32[2]") && error.contains("f64[3]"), "{error}");
    assert_eq!(drawn(&Initializer::eye(), &[2, 3])?.numbers, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let error = drawn(&Initializer::xavier_uniform(1.0), &[3]).err().unwrap().to_string();
    assert!(error.contains("needs two axes"), "{error}");
    let custom = Initializer::custom(|ty| Initializer::constant(2.0).draw(ty));
    assert_eq!(drawn(&custom, &[2])?.numbers, [2.0; 2]);
    Ok(())
}

#[test]
fn dirac_passes_channels_on() -> Result<()> {
    let layer = Conv1d::new("conv", 2, 2, 3).padding(1).no_bias();
    let layer = layer.weight_attr(Initializer::dirac(1));
    let x = Var::of(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 2, 3])?;
    assert_eq!(layer.forward(&x)?.to_vec::<f32>()?, x.to_vec::<f32>()?);
    Ok(())
}

#[test]
fn layers_begin_as_in_pytorch() -> Result<()> {
    let _scope = State::new().enter();
    let check = |layer: &dyn Layer, name: &str, mean: f64, std: f64, bound: f64| -> Result<()> {
        let dict = layer.state_dict()?;
        let numbers = dict.get(name).expect("the layer has it").to_f64s();
        let count = numbers.len() as f64;
        let drawn = statistics(numbers);
        assert!((drawn.mean - mean).abs() <= 5.0 * std / count.sqrt(), "{name}: {}", drawn.mean);
        let slack = std * (0.02 + 4.0 / count.sqrt());
        assert!((drawn.std - std).abs() <= slack, "{name}: {} not {std}", drawn.std);
        let furthest = drawn.numbers.iter().map(|x| (x - mean).abs()).fold(0.0, f64::max);
        assert!(furthest <= bound * 1.0001, "{name}: {furthest} beyond {bound}");
        Ok(())
    };
    let even = |bound: f64| bound / 3f64.sqrt();
    let linear = Linear::new("a", 64, 200);
    check(&linear, "weight", 0.0, even(0.125), 0.125)?;
    check(&linear, "bias", 0.0, even(0.125), 0.125)?;
    let conv = Conv2d::new("b", 8, 64, 2).groups(2);
    check(&conv, "weight", 0.0, even(0.25), 0.25)?;
    check(&conv, "bias", 0.0, even(0.25), 0.25)?;
    // PyTorch counts the connections of a transposed convolution by its second axis, too.
    let up = ConvTranspose2d::new("c", 64, 4, 2);
    check(&up, "weight", 0.0, even(0.25), 0.25)?;
    let words = Embedding::new("d", 100, 50).padding_idx(-1);
    check(&words, "weight", 0.0, 0.995, 9.0)?;
    assert_eq!(words.state_dict()?.get("weight").unwrap().to_f64s()[99 * 50..], [0.0; 50]);
    let lstm = Lstm::new("e", 3, 16);
    check(&lstm, "weight_ih_l0", 0.0, even(0.25), 0.25)?;
    check(&lstm, "bias_hh_l0", 0.0, even(0.25), 0.25)?;
    let attention = MultiHeadAttention::new("f", 64, 4);
    let bound = (6.0f64 / 256.0).sqrt();
    check(&attention, "in_proj_weight", 0.0, even(bound), bound)?;
    check(&attention, "in_proj_bias", 0.0, 0.0, 0.0)?;
    check(&attention, "out_proj.weight", 0.0, even(0.125), 0.125)?;
    check(&attention, "out_proj.bias", 0.0, 0.0, 0.0)?;
    let bilinear = Bilinear::new("g", 16, 5, 20);
    check(&bilinear, "weight", 0.0, even(0.25), 0.25)?;
    check(&BatchNorm1d::new("h", 3), "weight", 1.0, 0.0, 0.0)?;
    check(&LayerNorm::new("i", &[3]), "bias", 0.0, 0.0, 0.0)
}

#[test]
fn orthogonal_matrices() -> Result<()> {
    for dims in [&[4, 4][..], &[6, 3], &[2, 5], &[3, 2, 2, 2]] {
        let weight = drawn(&Initializer::orthogonal(2.0), dims)?.numbers;
        let (rows, columns) = (dims[0], weight.len() / dims[0]);
        let cell = |i: usize, k: usize| match rows <= columns {
            true => weight[i * columns + k],
            false => weight[k * columns + i],
        };
        for (i, j) in (0..rows.min(columns)).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            let product: f64 = (0..rows.max(columns)).map(|k| cell(i, k) * cell(j, k)).sum();
            let expected = if i == j { 4.0 } else { 0.0 };
            assert!((product - expected).abs() < 1e-10, "{dims:?}: {i}, {j}: {product}");
        }
    }
    let half = Path::new("half").with_dtype(DType::BF16);
    assert!(half.parameter("w", &[2, 2], Initializer::orthogonal(1.0)).get()?.is_tracked());
    Ok(())
}
