//! Layers: names, sharing, state dicts, training and use, both modes.

use fluvial::prelude::*;

fn names(layer: &impl Layer) -> Vec<String> {
    layer.parameters().iter().map(|p| p.name().to_string()).collect()
}

fn numbers(dims: &[usize]) -> Var {
    let count = dims.iter().product();
    let elements: Vec<f32> = (0..count).map(|i| ((i * 7 + 3) % 11) as f32 / 5.0 - 1.0).collect();
    Var::of(&elements, dims).expect("as many elements")
}

fn same(a: &Var, b: &Var) -> bool {
    a.tensor().unwrap().bitwise_eq(b.tensor().unwrap())
}

/// A user's layer made of layers: a struct with fields.
struct Net {
    at: Path,
    conv: Conv2d,
    norm: BatchNorm2d,
    head: Sequential,
}

impl Net {
    fn new(at: impl Into<Path>) -> Net {
        let at = at.into();
        Net {
            conv: Conv2d::new(at.join("conv"), 1, 3, 3).padding(1),
            norm: BatchNorm2d::new(at.join("norm"), 3),
            head: Sequential::new(at.join("head"))
                .then(GlobalAvgPool::new())
                .then(Flatten::new())
                .add(|at| Dropout::new(at, 0.25))
                .add(|at| Linear::new(at, 3, 2)),
            at,
        }
    }
}

impl Layer for Net {
    fn path(&self) -> &Path {
        &self.at
    }

    fn forward(&self, x: &Var) -> Result<Var> {
        self.head.forward(&relu(&self.norm.forward(&self.conv.forward(x)?)?)?)
    }
}

#[test]
fn names_are_made_of_places() -> Result<()> {
    let net = Net::new("net");
    let expected = [
        "net.conv.weight",
        "net.conv.bias",
        "net.norm.weight",
        "net.norm.bias",
        "net.head.3.weight",
        "net.head.3.bias",
    ];
    assert_eq!(names(&net), expected);
    assert_eq!(names(&net.head), expected[4..]);
    let buffers: Vec<String> = net.buffers().iter().map(|b| b.name().to_string()).collect();
    let statistics = ["running_mean", "running_var", "num_batches_tracked"];
    assert_eq!(buffers, statistics.map(|name| format!("net.norm.{name}")));
    assert_eq!(names(&Net::new(""))[0], "conv.weight");
    assert_eq!(names(&Linear::new("a", 1, 1).no_bias()), ["a.weight"]);
    Ok(())
}

#[test]
fn a_layer_that_is_gone_has_no_parameters() {
    let at = Path::new("net");
    let kept = Linear::new(at.join("kept"), 1, 1);
    drop(Linear::new(at.join("gone"), 1, 1));
    assert_eq!(at.parameters().len(), 2);
    assert_eq!(kept.parameters().len(), 2);
}

#[test]
fn layers_of_one_name_are_two() -> Result<()> {
    let _scope = State::new().enter();
    let at = Path::new("net");
    let (a, b) = (Linear::new(at.join("fc"), 2, 2), Linear::new(at.join("fc"), 2, 2));
    let x = numbers(&[3, 2]);
    assert!(!same(&a.forward(&x)?, &b.forward(&x)?));
    sum(&a.forward(&x)?, &[], false)?.backward()?;
    let reached =
        at.parameters().iter().map(|p| Ok(p.grad()?.is_some())).collect::<Result<Vec<_>>>();
    assert_eq!(reached?, [true, true, false, false]);
    assert!(Linear::new(at.join("fc"), 5, 2).forward(&numbers(&[3, 5])).is_ok());

    // A file has one tensor of a name: neither is lost silently.
    let dict = Linear::new("fc", 2, 2).state_dict()?;
    let errors = [at.state_dict().map(drop), at.join("fc").load_state_dict(&dict, false).map(drop)];
    for error in errors {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("two parameters are called `net.fc.weight`"), "{error}");
        assert!(error.contains("tests/layers.rs"), "{error}");
    }
    Ok(())
}

#[test]
fn layers_share_by_an_attribute() -> Result<()> {
    let _scope = State::new().enter();
    let at = Path::new("net");
    let fc = Linear::new(at.join("fc"), 2, 2);
    let tied = Linear::new(at.join("tied"), 2, 2).weight_attr("net.fc.weight").no_bias();
    let x = numbers(&[3, 2]);
    assert_eq!(at.parameters().len(), 2);
    let loss = sum(&(fc.forward(&x)? + tied.forward(&x)?), &[], false)?;
    loss.backward()?;
    let gradient = tied.parameters()[0].grad()?.unwrap().to_vec::<f32>()?;
    let once = sum(&x, &[0], false)?.to_vec::<f32>()?;
    assert!(
        gradient.iter().zip([once.clone(), once].concat()).all(|(g, x)| (g - 2.0 * x).abs() < 1e-5)
    );
    // As in PyTorch, a state dict has a tied parameter at each of its places.
    let keys: Vec<String> = at.state_dict()?.names().map(str::to_string).collect();
    assert_eq!(keys, ["fc.weight", "fc.bias", "tied.weight"]);

    let other = Linear::new("other", 5, 2).weight_attr("net.fc.weight");
    let error = other.forward(&numbers(&[3, 5])).unwrap_err().to_string();
    assert!(error.contains("net.fc.weight") && error.contains("another name"), "{error}");
    assert!(error.contains("tests/layers.rs"), "{error}");
    Ok(())
}

#[test]
fn attributes_reach_their_parameters() -> Result<()> {
    let state = State::new();
    let _scope = state.enter();
    let layer = Linear::new("fc", 2, 3)
        .weight_attr(
            ParamAttr::new()
                .name("w")
                .init(Initializer::constant(0.5))
                .learning_rate(0.1)
                .regularizer(Regularizer::L2(0.01)),
        )
        .bias_attr(ParamAttr::new().trainable(false).init(Initializer::ones()));
    let y = layer.forward(&Var::of(&[1.0f32, 2.0], &[1, 2])?)?;
    assert_eq!(y.to_vec::<f32>()?, [2.5; 3]);
    assert_eq!(state.declaration("w").unwrap().role, Role::Parameter);
    assert_eq!(state.declaration("fc.bias").unwrap().role, Role::Buffer);
    let attr = layer.parameters()[0].attr();
    assert_eq!((attr.learning_rate, attr.regularizer), (0.1, Some(Regularizer::L2(0.01))));
    sum(&y, &[], false)?.backward()?;
    assert!(layer.parameters()[0].grad()?.is_some());
    assert!(layer.parameters()[1].grad()?.is_none());
    Ok(())
}

#[test]
fn parameters_freeze_and_thaw() -> Result<()> {
    let _scope = State::new().enter();
    let layer = Linear::new("fc", 2, 1);
    let x = numbers(&[2, 2]);
    assert!(layer.forward(&x)?.is_tracked());
    layer.freeze();
    assert!(!layer.forward(&x)?.is_tracked());
    let program = Program::build(&[("x", x.ty())], |x| Ok(vec![layer.forward(&x[0])?]))?;
    assert!(program.states.values().all(|decl| decl.role != Role::Parameter));
    layer.unfreeze();
    assert!(layer.forward(&x)?.is_tracked());
    Ok(())
}

#[test]
fn a_model_made_elsewhere_is_refused() {
    let net = Sequential::new("net").then(Linear::new("fc", 2, 2));
    let error = net.forward(&numbers(&[1, 2])).unwrap_err().to_string();
    assert!(error.contains("`fc` was not made at a place of `net`"), "{error}");
}

#[test]
fn faults_of_builders_are_told_at_the_call() {
    let _scope = State::new().enter();
    let layer = Conv2d::new("conv", 3, 4, 3).groups(2);
    let error = layer.initialise().unwrap_err().to_string();
    assert!(error.contains("2 groups do not divide 3 channels"), "{error}");
    let error = layer.forward(&numbers(&[1, 3, 4, 4])).unwrap_err().to_string();
    assert!(error.contains("tests/layers.rs"), "{error}");
    let error = MultiHeadAttention::new("a", 5, 2).initialise().unwrap_err().to_string();
    assert!(error.contains("2 heads do not divide 5 features"), "{error}");
    let error = LazyLinear::new("lazy", 2).initialise().unwrap_err().to_string();
    assert!(error.contains("not known before its layer is called"), "{error}");
    let error = BatchNorm2d::new("b", 3).forward(&numbers(&[2, 4, 1, 1])).unwrap_err().to_string();
    assert!(error.contains("3 channels in axis 1"), "{error}");
    let error = LstmCell::new("c", 3, 3).forward(&numbers(&[2, 3])).unwrap_err().to_string();
    assert!(error.contains("`c` is not a function of one input"), "{error}");
}

#[test]
fn state_dicts_are_copies() -> Result<()> {
    let _scope = State::new().enter();
    let (a, b) = (Net::new("a"), Net::new("b"));
    let dict = a.state_dict()?;
    assert_eq!(dict.names().next(), Some("conv.weight"));
    assert_eq!(dict.len(), 9);
    assert_eq!(b.load_state_dict(&dict, true)?, Loaded::default());
    let x = numbers(&[2, 1, 4, 4]);
    a.eval();
    b.eval();
    assert!(same(&a.forward(&x)?, &b.forward(&x)?));
    let weight = &a.parameters()[0];
    weight.set(&(weight.get()?.detach() + 1.0))?;
    assert!(!same(&a.forward(&x)?, &b.forward(&x)?));
    assert!(same(&Var::new(dict.get("conv.weight").unwrap().clone()), &b.parameters()[0].get()?));
    Ok(())
}

#[test]
fn state_dicts_that_do_not_fit_are_refused() -> Result<()> {
    let _scope = State::new().enter();
    let layer = Linear::new("fc", 2, 3);
    let before = layer.state_dict()?;
    let wrong: StateDict =
        [("weight", Tensor::zeros(DType::F32, &[3, 3])?), ("scale", Tensor::scalar(1.0f32))]
            .into_iter()
            .collect();
    let error = layer.load_state_dict(&wrong, true).unwrap_err().to_string();
    for fault in [
        "`weight` is f32[3, 2] here, but f32[3, 3] was given",
        "`bias` is missing",
        "`scale` is unexpected",
        "tests/layers.rs",
    ] {
        assert!(error.contains(fault), "{fault} in {error}");
    }
    assert!(layer.load_state_dict(&wrong, false).is_err());
    let partial: StateDict =
        [("bias", Tensor::full(&[3], 2.0f64)?), ("scale", Tensor::scalar(1.0f32))]
            .into_iter()
            .collect();
    let loaded = layer.load_state_dict(&partial, false)?;
    assert_eq!((loaded.missing, loaded.unexpected), (vec!["weight".into()], vec!["scale".into()]));
    let after = layer.state_dict()?;
    assert!(after.get("weight").unwrap().bitwise_eq(before.get("weight").unwrap()));
    assert_eq!(after.get("bias").unwrap().to_vec::<f32>()?, [2.0; 3]);
    Ok(())
}

#[test]
fn a_lazy_layer_takes_its_sizes_from_a_file() -> Result<()> {
    let _scope = State::new().enter();
    let dict = Linear::new("fc", 4, 3).state_dict()?;
    let lazy = LazyLinear::new("lazy", 3);
    lazy.load_state_dict(&dict, true)?;
    assert_eq!(lazy.parameters()[0].ty()?.to_string(), "f32[3, 4]");
    Ok(())
}

#[test]
fn parts_train_on_their_own() -> Result<()> {
    let net = Net::new("net");
    assert!(net.is_training() && net.head.is_training());
    net.head.eval();
    assert!(net.is_training() && !net.head.is_training());
    net.eval();
    assert!(!net.norm.is_training());
    net.norm.train();
    assert!(!net.is_training() && net.norm.is_training() && !net.conv.is_training());
    net.train();
    assert!(net.head.is_training() && net.norm.is_training());
    let other = Net::new("network");
    net.eval();
    assert!(other.is_training());
    Ok(())
}

#[test]
fn first_values_do_not_depend_on_order_or_mode() -> Result<()> {
    let x = numbers(&[2, 1, 4, 4]);
    let dict = |prepare: &dyn Fn(&Net) -> Result<()>| {
        let _scope = State::new().enter();
        seed(5)?;
        let net = Net::new("net");
        prepare(&net)?;
        net.state_dict()
    };
    let reference = dict(&|net| net.initialise())?;
    let shuffled = dict(&|net| {
        let _ = uniform(&Type::of(DType::F32, &[3])?, 0.0, 1.0)?;
        net.head.initialise()?;
        net.conv.initialise()
    })?;
    let built = dict(&|net| {
        net.eval();
        let program = Program::build(&[("x", x.ty())], |x| Ok(vec![net.forward(&x[0])?]))?;
        program.apply(&[&x]).map(drop)
    })?;
    for other in [shuffled, built] {
        for (name, tensor) in reference.iter() {
            assert!(other.get(name).unwrap().bitwise_eq(tensor), "{name}");
        }
    }
    Ok(())
}

/// One step of training; returns the loss.
fn step(net: &Net, x: &Var) -> Result<Var> {
    let y = net.forward(x)?;
    let loss = mean(&(&y * &y), &[], false)?;
    loss.backward()?;
    for parameter in net.parameters() {
        if let Some(gradient) = parameter.grad()? {
            parameter.set(&(parameter.get()?.detach() - gradient * 0.1))?;
        }
        parameter.zero_grad()?;
    }
    Ok(loss)
}

#[test]
fn both_modes_train_to_the_same_state() -> Result<()> {
    let imperative = State::new();
    let _scope = imperative.enter();
    let net = Net::new("net");
    let ty =
        Type::new(DType::F32, &[Dim::symbol("batch")?, Dim::size(1), Dim::size(4), Dim::size(4)])?;
    let program = Program::build(&[("x", ty)], |x| Ok(vec![step(&net, &x[0])?]))?;
    let run = Interpreter::new(program.unbound(), State::new())?;
    for rows in [2, 5, 3] {
        let x = numbers(&[rows, 1, 4, 4]);
        let loss = step(&net, &x)?;
        let found = run.run(&[("x", x.tensor()?.clone())])?;
        assert!(found[0].bitwise_eq(loss.tensor()?), "{:?} and {loss:?}", found[0]);
    }
    assert_eq!(run.state().names(), imperative.names());
    for name in imperative.names() {
        let (a, b) = (run.state().tensor(&name)?, imperative.tensor(&name)?);
        assert!(a.bitwise_eq(&b), "{name}: {a:?} and {b:?}");
    }
    assert_eq!(imperative.tensor("net.norm.num_batches_tracked")?.item::<i64>()?, 3);

    // In use, both modes agree, too, and nothing changes; a program of the training made for
    // inference does the same.
    let x = numbers(&[3, 1, 4, 4]);
    let trained = Program::build(&[("x", ty)], |x| Ok(vec![net.forward(&x[0])?]))?;
    let for_use = trained.for_inference()?.apply(&[&x])?;
    net.eval();
    assert!(same(&for_use[0], &net.forward(&x)?));
    let program = Program::build(&[("x", ty)], |x| Ok(vec![net.forward(&x[0])?]))?;
    assert!(program.main.calls.iter().all(|call| call.op.name() != "assign"));
    assert!(same(&program.apply(&[&x])?[0], &net.forward(&x)?));
    assert!(same(&net.forward(&x)?, &net.forward(&x)?));
    Ok(())
}

#[test]
fn every_call_stands_at_a_line_of_the_user() -> Result<()> {
    let net = Net::new("net");
    let encoder =
        TransformerEncoder::new("encoder", 1, |at| TransformerEncoderLayer::new(at, 4, 2, 8));
    let lstm = Lstm::new("lstm", 4, 4);
    let inputs = [
        ("x", Type::of(DType::F32, &[2, 1, 4, 4])?),
        ("tokens", Type::of(DType::F32, &[3, 2, 4])?),
    ];
    let program = Program::build(&inputs, |x| {
        let y = encoder.forward(&x[1])?;
        Ok(vec![net.forward(&x[0])?, lstm.forward(&y)?])
    })?;
    for call in program.main.calls.iter().chain(&program.startup.calls) {
        let file = call.loc.file();
        assert!(file.ends_with("tests/layers.rs"), "`{}` is at {}", call.op.name(), call.loc);
    }
    Ok(())
}

#[test]
fn layers_take_symbolic_batches() -> Result<()> {
    let batch = Dim::symbol("batch")?;
    let ty = Type::new(DType::F32, &[batch, Dim::size(5), Dim::size(4)])?;
    let block = |at| TransformerEncoderLayer::new(at, 4, 2, 8).batch_first().dropout(0.0);
    let encoder = TransformerEncoder::new("encoder", 2, block).norm(4);
    let decoder = TransformerDecoderLayer::new("decoder", 4, 2, 8).batch_first().dropout(0.0);
    let gru = Gru::new("gru", 4, 3).batch_first().bidirectional();
    let f = |x: &Var| {
        let memory = encoder.encode(x, Masks::causal())?;
        gru.forward(&decoder.decode(x, &memory, Masks::causal(), Masks::none())?)
    };
    let state = State::new();
    let _scope = state.enter();
    let program = Program::build(&[("x", ty)], |x| Ok(vec![f(&x[0])?]))?;
    assert_eq!(program.output_types().next().unwrap().to_string(), "f32[batch, 5, 6]");
    for rows in [1, 3] {
        let x = numbers(&[rows, 5, 4]);
        assert!(same(&program.apply(&[&x])?[0], &f(&x)?));
    }
    Ok(())
}

#[test]
fn layers_within_follow_the_builders_of_the_outer_one() -> Result<()> {
    let _scope = State::new().enter();
    let block = TransformerEncoderLayer::new("b", 4, 2, 6).no_bias().dropout(0.0);
    let weights =
        ["self_attn.in_proj_", "self_attn.out_proj.", "linear1.", "linear2.", "norm1.", "norm2."];
    assert_eq!(names(&block), weights.map(|part| format!("b.{part}weight")));
    let x = numbers(&[3, 2, 4]);
    let plain = block.forward(&x)?;
    let other = TransformerEncoderLayer::new("b", 4, 2, 6).no_bias().dropout(0.0).activation(tanh);
    other.load_state_dict(&block.state_dict()?, true)?;
    assert!(!same(&plain, &other.forward(&x)?));

    let one = ParamAttr::from(Initializer::constant(0.5));
    let attention = MultiHeadAttention::new("a", 4, 2).weight_attr(one).key_value_widths(3, 5);
    for name in ["v_proj_weight", "out_proj.weight"] {
        let value = attention.state_dict()?.get(name).unwrap().to_f64s();
        assert!(value.iter().all(|x| *x == 0.5), "{name}");
    }
    let fault = MultiHeadAttention::new("a", 4, 2).add_zero_attn().forward(&x).unwrap_err();
    assert!(fault.to_string().contains("adds no rows"), "{fault}");
    Ok(())
}

#[test]
fn causal_masks_agree_with_explicit_ones() -> Result<()> {
    let _scope = State::new().enter();
    let layer = MultiHeadAttention::new("a", 4, 2).batch_first();
    let x = numbers(&[2, 3, 4]);
    let above = Var::of(&[false, true, true, false, false, true, false, false, false], &[3, 3])?;
    let causal = layer.attend(&x, &x, &x, Masks::causal())?;
    let masked = layer.attend(&x, &x, &x, Masks::none().attention(&above))?;
    let (weighted, weights) = layer.attend_with_weights(&x, &x, &x, Masks::causal(), true)?;
    for other in [masked, weighted] {
        let (a, b) = (causal.to_vec::<f32>()?, other.to_vec::<f32>()?);
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6));
    }
    assert_eq!(weights.to_vec::<f32>()?[1..3], [0.0, 0.0]);
    Ok(())
}

#[test]
fn dropout_is_part_of_training_only() -> Result<()> {
    let x = Var::of(&[1.0f32; 400], &[4, 10, 10])?;
    let layer = Dropout::new("drop", 0.25);
    let dropped = layer.forward(&x)?.to_vec::<f32>()?.iter().filter(|x| **x == 0.0).count();
    assert!((60..140).contains(&dropped), "{dropped}");
    let at = Path::new("net");
    at.set_training(false);
    let layers: [Box<dyn Layer>; 4] = [
        Box::new(Dropout::new(at.join("a"), 0.5)),
        Box::new(Dropout1d::new(at.join("b"), 0.5)),
        Box::new(AlphaDropout::new(at.join("c"), 0.5)),
        Box::new(FeatureAlphaDropout::new(at.join("d"), 0.5)),
    ];
    for layer in layers {
        assert!(same(&layer.forward(&x)?, &x));
    }
    Ok(())
}
