use fluvial_core::{DType, Result, Tensor, Type, Var};
use fluvial_ops::*;
use fluvial_testkit::golden::Given;
use fluvial_testkit::{Golden, Modes};

fn check(function: &'static str, least: usize, f: impl Fn(&Given<'_>) -> Result<Var>) {
    Golden::new("loss", function).check(least, |c| Ok(vec![f(c)?]));
}

fn reduction(c: &Given<'_>) -> Reduction {
    c.text("reduction").parse().expect("a reduction")
}

#[test]
fn distances_of_elements() {
    check("square_error_cost", 3, |c| square_error_cost(c.x(0), c.x(1)));
    check("mse_loss", 5, |c| mse_loss(c.x(0), c.x(1), reduction(c)));
    check("l1_loss", 5, |c| l1_loss(c.x(0), c.x(1), reduction(c)));
    check("huber_loss", 5, |c| {
        let options = HuberLossOptions { reduction: reduction(c), delta: c.float("delta") };
        huber_loss(c.x(0), c.x(1), options)
    });
    check("smooth_l1_loss", 5, |c| {
        let options = SmoothL1LossOptions { reduction: reduction(c), beta: c.float("beta") };
        smooth_l1_loss(c.x(0), c.x(1), options)
    });
}

#[test]
fn truths() {
    check("binary_cross_entropy", 20, |c| {
        binary_cross_entropy(c.x(0), c.x(1), c.option(2), reduction(c))
    });
    check("binary_cross_entropy_with_logits", 20, |c| {
        let (weight, pos_weight) = (c.option(2), c.option(3));
        binary_cross_entropy_with_logits(c.x(0), c.x(1), weight, pos_weight, reduction(c))
    });
    check("hinge_loss", 9, |c| hinge_loss(c.x(0), c.x(1), reduction(c)));
    check("soft_margin_loss", 10, |c| soft_margin_loss(c.x(0), c.x(1), reduction(c)));
}

#[test]
fn distributions() {
    check("kl_div", 20, |c| {
        let log_target = c.flag("log_target");
        let reduction = c.text("reduction").parse()?;
        kl_div(c.x(0), c.x(1), KlDivOptions { reduction, log_target })
    });
    check("poisson_nll_loss", 20, |c| {
        let options = PoissonNllLossOptions::default()
            .reduction(reduction(c))
            .log_input(c.flag("log_input"))
            .full(c.flag("full"));
        poisson_nll_loss(c.x(0), c.x(1), options)
    });
    check("gaussian_nll_loss", 20, |c| {
        let options =
            GaussianNllLossOptions::default().reduction(reduction(c)).full(c.flag("full"));
        gaussian_nll_loss(c.x(0), c.x(1), c.x(2), options)
    });
}

#[test]
fn labels() {
    check("nll_loss", 20, |c| {
        let options =
            NllLossOptions { reduction: reduction(c), ignore_index: c.int("ignore_index") };
        nll_loss(c.x(0), c.x(1), c.option(2), options)
    });
    check("cross_entropy", 20, |c| {
        let options = CrossEntropyOptions {
            reduction: reduction(c),
            ignore_index: c.int("ignore_index"),
            label_smoothing: c.float("label_smoothing"),
        };
        cross_entropy(c.x(0), c.x(1), c.option(2), options)
    });
    check("multi_margin_loss", 20, |c| {
        let options = MultiMarginLossOptions {
            reduction: reduction(c),
            p: c.int("p"),
            margin: c.float("margin"),
        };
        multi_margin_loss(c.x(0), c.x(1), c.option(2), options)
    });
}

#[test]
fn margins() {
    check("hinge_embedding_loss", 10, |c| {
        let options =
            HingeEmbeddingLossOptions { reduction: reduction(c), margin: c.float("margin") };
        hinge_embedding_loss(c.x(0), c.x(1), options)
    });
    check("margin_ranking_loss", 10, |c| {
        let options =
            MarginRankingLossOptions { reduction: reduction(c), margin: c.float("margin") };
        margin_ranking_loss(c.x(0), c.x(1), c.x(2), options)
    });
    check("triplet_margin_loss", 20, |c| {
        let options = TripletMarginLossOptions::default()
            .reduction(reduction(c))
            .margin(c.float("margin"))
            .p(c.float("p"))
            .swap(c.flag("swap"));
        triplet_margin_loss(c.x(0), c.x(1), c.x(2), options)
    });
}

#[test]
fn vectors() {
    check("pairwise_distance", 20, |c| {
        let options = PairwiseDistanceOptions::default()
            .p(c.text("p").parse::<f64>().expect("a number"))
            .keepdims(c.flag("keepdims"));
        pairwise_distance(c.x(0), c.x(1), options)
    });
    check("cosine_similarity", 5, |c| cosine_similarity(c.x(0), c.x(1), c.int("axis"), 1e-8));
    check("cosine_embedding_loss", 10, |c| {
        let options =
            CosineEmbeddingLossOptions { reduction: reduction(c), margin: c.float("margin") };
        cosine_embedding_loss(c.x(0), c.x(1), c.x(2), options)
    });
}

#[test]
fn alignments() {
    check("ctc_loss", 40, |c| {
        let options = CtcLossOptions {
            reduction: reduction(c),
            blank: c.size("blank"),
            zero_infinity: c.flag("zero_infinity"),
        };
        let log_probs = log_softmax(c.x(0), -1)?;
        ctc_loss(&log_probs, c.x(1), c.x(2), c.x(3), options)
    });
}

#[test]
fn batches_of_symbolic_size() {
    let logits: Vec<f64> = (0..12).map(|i| (i as f64 * 0.7).sin()).collect();
    let inputs = [
        Tensor::from_slice(&logits, &[2, 3, 2]).unwrap(),
        Tensor::from_slice(&[1i64, -100, 2, 0], &[2, 2]).unwrap(),
        Tensor::from_slice(&[0.5, 1.0, 2.0], &[3]).unwrap(),
    ];
    let types =
        ["f64[batch, 3, n]", "i64[batch, n]", "f64[3]"].map(|text| Type::parse(text).unwrap());
    let options = CrossEntropyOptions::default().label_smoothing(0.1);
    let f = |x: &[Var]| Ok(vec![cross_entropy(&x[0], &x[1], Some(&x[2]), options.clone())?]);
    Modes::of(f).types(&types).check(&inputs);
}

#[test]
fn faults() {
    let floats = |dims: &[usize]| Var::from(Tensor::zeros(DType::F64, dims).unwrap());
    let labels = |label: i64| Var::of(&[label, label], &[2]).unwrap();
    let text = |outcome: Result<Var>| {
        let error = outcome.unwrap_err();
        assert!(error.loc().is_some_and(|loc| loc.to_string().contains("loss.rs")), "{error}");
        error.to_string()
    };
    let fault = text(mse_loss(&floats(&[2]), &floats(&[2, 1]), Reduction::Mean));
    assert!(fault.contains("mse_loss(f64[2], f64[2, 1]): the shapes"), "{fault}");
    let entropy = |x: &Var, y: &Var| cross_entropy(x, y, None, CrossEntropyOptions::default());
    assert!(text(entropy(&floats(&[2, 3]), &floats(&[2]))).contains("do not fit"));
    assert!(text(entropy(&floats(&[3]), &labels(0))).contains("do not fit"));
    assert!(text(entropy(&floats(&[2, 3]), &labels(3))).contains("out of range"));
    assert!(text(entropy(&floats(&[2, 3]), &labels(-1))).contains("out of range"));
    let weight = floats(&[2]);
    let outcome = nll_loss(&floats(&[2, 3]), &labels(0), Some(&weight), NllLossOptions::default());
    assert!(text(outcome).contains("a weight for each of 3 classes"));
    let options = CrossEntropyOptions::default().label_smoothing(1.5);
    let outcome = cross_entropy(&floats(&[2, 3]), &labels(0), None, options);
    assert!(text(outcome).contains("label smoothing of 1.5"));
}
