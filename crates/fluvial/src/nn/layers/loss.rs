//! Losses as layers: of predictions and targets, with a reduction.

use fluvial_ops::{self as ops, KlReduction, Reduction};

use crate::nn::stated::layer;

layer! {
    /// Binary cross entropy of probabilities; see
    /// [`binary_cross_entropy`](ops::binary_cross_entropy).
    pub BceLoss = "BCELoss";
    BceLossSpec {
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    values(weight)
    forward(input, target) -> Tensor = |spec, with| {
        ops::binary_cross_entropy(input, target, with.optional("weight")?.as_ref(), spec.reduction)
    }
}

layer! {
    /// Binary cross entropy of numbers before the logistic function; see
    /// [`binary_cross_entropy_with_logits`](ops::binary_cross_entropy_with_logits).
    pub BceWithLogitsLoss = "BCEWithLogitsLoss";
    BceWithLogitsLossSpec {
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    values(weight, pos_weight)
    forward(input, target) -> Tensor = |spec, with| {
        ops::binary_cross_entropy_with_logits(input, target, with.optional("weight")?.as_ref(), with.optional("pos_weight")?.as_ref(), spec.reduction)
    }
}

layer! {
    /// Cross entropy of classes, of numbers before the softmax; see
    /// [`cross_entropy`](ops::cross_entropy).
    ///
    /// ```python
    /// >>> loss = fl.nn.CrossEntropyLoss()(fl.tensor([[0.0, 0.0]]), fl.tensor([1]))
    /// >>> round(loss.item(), 4)
    /// 0.6931
    /// ```
    pub CrossEntropyLoss = "CrossEntropyLoss";
    CrossEntropyLossSpec {
        /// Targets of this number do not count.
        ignore_index: i64 = -100,
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
        /// The share of the target given to all classes.
        label_smoothing: f64 = 0.0,
    }
    new()
    values(weight)
    forward(input, target) -> Tensor = |spec, with| {
        let options = ops::CrossEntropyOptions { ignore_index: spec.ignore_index, reduction: spec.reduction, label_smoothing: spec.label_smoothing };
        ops::cross_entropy(input, target, with.optional("weight")?.as_ref(), options)
    }
}

layer! {
    /// The negative logarithm of the right class's probability; see
    /// [`nll_loss`](ops::nll_loss).
    pub NllLoss = "NLLLoss";
    NllLossSpec {
        /// Targets of this number do not count.
        ignore_index: i64 = -100,
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    values(weight)
    forward(input, target) -> Tensor = |spec, with| {
        let options = ops::NllLossOptions { ignore_index: spec.ignore_index, reduction: spec.reduction };
        ops::nll_loss(input, target, with.optional("weight")?.as_ref(), options)
    }
}

layer! {
    /// The square of the difference; see [`mse_loss`](ops::mse_loss).
    ///
    /// ```python
    /// >>> fl.nn.MSELoss("sum")(fl.tensor([1.0, 2.0]), fl.tensor([0.0, 4.0])).item()
    /// 5.0
    /// ```
    pub MseLoss = "MSELoss";
    MseLossSpec {
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    forward(input, target) -> Tensor = |spec, with| {
        ops::mse_loss(input, target, spec.reduction)
    }
}

layer! {
    /// The absolute difference; see [`l1_loss`](ops::l1_loss).
    pub L1Loss = "L1Loss";
    L1LossSpec {
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    forward(input, target) -> Tensor = |spec, with| {
        ops::l1_loss(input, target, spec.reduction)
    }
}

layer! {
    /// The square of small differences, the absolute value of large ones; see
    /// [`smooth_l1_loss`](ops::smooth_l1_loss).
    pub SmoothL1Loss = "SmoothL1Loss";
    SmoothL1LossSpec {
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
        /// What counts as small.
        beta: f64 = 1.0,
    }
    new()
    forward(input, target) -> Tensor = |spec, with| {
        let options = ops::SmoothL1LossOptions { reduction: spec.reduction, beta: spec.beta };
        ops::smooth_l1_loss(input, target, options)
    }
}

layer! {
    /// The square of small differences, a line beyond; see [`huber_loss`](ops::huber_loss).
    pub HuberLoss = "HuberLoss";
    HuberLossSpec {
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
        /// What counts as small.
        delta: f64 = 1.0,
    }
    new()
    forward(input, target) -> Tensor = |spec, with| {
        let options = ops::HuberLossOptions { reduction: spec.reduction, delta: spec.delta };
        ops::huber_loss(input, target, options)
    }
}

layer! {
    /// The divergence of Kullback and Leibler; see [`kl_div`](ops::kl_div).
    pub KlDivLoss = "KLDivLoss";
    KlDivLossSpec {
        /// What becomes of the losses of a batch.
        reduction: KlReduction = KlReduction::Mean,
        /// Whether targets are logarithms.
        log_target: bool = false,
    }
    new()
    forward(input, target) -> Tensor = |spec, with| {
        let options = ops::KlDivOptions { reduction: spec.reduction, log_target: spec.log_target };
        ops::kl_div(input, target, options)
    }
}

layer! {
    /// The likelihood of counts; see [`poisson_nll_loss`](ops::poisson_nll_loss).
    pub PoissonNllLoss = "PoissonNLLLoss";
    PoissonNllLossSpec {
        /// Whether inputs are logarithms.
        log_input: bool = true,
        /// Whether terms that do not depend on the input are added.
        full: bool = false,
        /// What keeps logarithms from zero.
        eps: f64 = 1e-8,
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    forward(input, target) -> Tensor = |spec, with| {
        let options = ops::PoissonNllLossOptions { log_input: spec.log_input, full: spec.full, eps: spec.eps, reduction: spec.reduction };
        ops::poisson_nll_loss(input, target, options)
    }
}

layer! {
    /// The likelihood of normal numbers of a given variance; see
    /// [`gaussian_nll_loss`](ops::gaussian_nll_loss).
    pub GaussianNllLoss = "GaussianNLLLoss";
    GaussianNllLossSpec {
        /// Whether terms that do not depend on the input are added.
        full: bool = false,
        /// What keeps divisors from zero.
        eps: f64 = 1e-6,
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    forward(input, target, variance) -> Tensor = |spec, with| {
        let options = ops::GaussianNllLossOptions { full: spec.full, eps: spec.eps, reduction: spec.reduction };
        ops::gaussian_nll_loss(input, target, variance, options)
    }
}

layer! {
    /// The hinge of margins; see [`hinge_loss`](ops::hinge_loss).
    pub HingeLoss = "HingeLoss";
    HingeLossSpec {
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    forward(input, target) -> Tensor = |spec, with| {
        ops::hinge_loss(input, target, spec.reduction)
    }
}

layer! {
    /// The hinge of distances; see [`hinge_embedding_loss`](ops::hinge_embedding_loss).
    pub HingeEmbeddingLoss = "HingeEmbeddingLoss";
    HingeEmbeddingLossSpec {
        /// The margin.
        margin: f64 = 1.0,
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    forward(input, target) -> Tensor = |spec, with| {
        let options = ops::HingeEmbeddingLossOptions { margin: spec.margin, reduction: spec.reduction };
        ops::hinge_embedding_loss(input, target, options)
    }
}

layer! {
    /// The logistic loss of two classes; see [`soft_margin_loss`](ops::soft_margin_loss).
    pub SoftMarginLoss = "SoftMarginLoss";
    SoftMarginLossSpec {
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    forward(input, target) -> Tensor = |spec, with| {
        ops::soft_margin_loss(input, target, spec.reduction)
    }
}

layer! {
    /// The hinge of the difference of two numbers; see
    /// [`margin_ranking_loss`](ops::margin_ranking_loss).
    pub MarginRankingLoss = "MarginRankingLoss";
    MarginRankingLossSpec {
        /// The margin.
        margin: f64 = 0.0,
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    forward(first, second, target) -> Tensor = |spec, with| {
        let options = ops::MarginRankingLossOptions { margin: spec.margin, reduction: spec.reduction };
        ops::margin_ranking_loss(first, second, target, options)
    }
}

layer! {
    /// The hinge between the right class and the others; see
    /// [`multi_margin_loss`](ops::multi_margin_loss).
    pub MultiMarginLoss = "MultiMarginLoss";
    MultiMarginLossSpec {
        /// The power.
        p: i64 = 1,
        /// The margin.
        margin: f64 = 1.0,
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    values(weight)
    forward(input, target) -> Tensor = |spec, with| {
        let options = ops::MultiMarginLossOptions { p: spec.p, margin: spec.margin, reduction: spec.reduction };
        ops::multi_margin_loss(input, target, with.optional("weight")?.as_ref(), options)
    }
}

layer! {
    /// The angle between vectors that belong together or not; see
    /// [`cosine_embedding_loss`](ops::cosine_embedding_loss).
    pub CosineEmbeddingLoss = "CosineEmbeddingLoss";
    CosineEmbeddingLossSpec {
        /// The margin.
        margin: f64 = 0.0,
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    forward(first, second, target) -> Tensor = |spec, with| {
        let options = ops::CosineEmbeddingLossOptions { margin: spec.margin, reduction: spec.reduction };
        ops::cosine_embedding_loss(first, second, target, options)
    }
}

layer! {
    /// The hinge of distances to a like and an unlike vector; see
    /// [`triplet_margin_loss`](ops::triplet_margin_loss).
    pub TripletMarginLoss = "TripletMarginLoss";
    TripletMarginLossSpec {
        /// The margin.
        margin: f64 = 1.0,
        /// The power of the norm.
        p: f64 = 2.0,
        /// What keeps roots from zero.
        eps: f64 = 1e-6,
        /// Whether the nearer of two distances counts.
        swap: bool = false,
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
    }
    new()
    forward(anchor, positive, negative) -> Tensor = |spec, with| {
        let options = ops::TripletMarginLossOptions { margin: spec.margin, p: spec.p, eps: spec.eps, swap: spec.swap, reduction: spec.reduction };
        ops::triplet_margin_loss(anchor, positive, negative, options)
    }
}

layer! {
    /// The likelihood of sequences without alignment; see [`ctc_loss`](ops::ctc_loss).
    pub CtcLoss = "CTCLoss";
    CtcLossSpec {
        /// The number of the blank.
        blank: usize = 0,
        /// What becomes of the losses of a batch.
        reduction: Reduction = Reduction::Mean,
        /// Whether losses that are infinite become zero.
        zero_infinity: bool = false,
    }
    new()
    forward(log_probs, targets, input_lengths, target_lengths) -> Tensor = |spec, with| {
        let options = ops::CtcLossOptions { blank: spec.blank, reduction: spec.reduction, zero_infinity: spec.zero_infinity };
        ops::ctc_loss(log_probs, targets, input_lengths, target_lengths, options)
    }
}
