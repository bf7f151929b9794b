//! What PyTorch, NumPy and the array API call the arguments: the one table of it. Functions and methods take
//! these names beside their own.

use super::PyFunction;

/// By our name: what others call it, wherever a function has no argument of that name itself. The first one
/// is in the stubs.
const EVERYWHERE: &[(&str, &[&str])] = &[
    ("axis", &["dim"]),
    ("axes", &["dims", "dim", "axis"]),
    ("keepdims", &["keepdim"]),
    ("x", &["input"]),
    ("a", &["input", "x"]),
    ("b", &["other", "y"]),
    ("shape", &["size"]),
    ("parts", &["tensors", "arrays"]),
    ("kernel", &["kernel_size"]),
    ("correction", &["unbiased", "ddof"]),
    ("slope", &["negative_slope"]),
];

/// The same by function and our name.
const SOMEWHERE: &[(&str, &[&str])] = &[
    ("adaptive_avg_pool1d.sizes", &["output_size"]),
    ("adaptive_avg_pool2d.sizes", &["output_size"]),
    ("adaptive_avg_pool3d.sizes", &["output_size"]),
    ("adaptive_max_pool1d.sizes", &["output_size"]),
    ("adaptive_max_pool2d.sizes", &["output_size"]),
    ("adaptive_max_pool3d.sizes", &["output_size"]),
    ("avg_pool1d.divisor", &["divisor_override"]),
    ("avg_pool2d.divisor", &["divisor_override"]),
    ("avg_pool3d.divisor", &["divisor_override"]),
    ("batch_norm.mean", &["running_mean"]),
    ("batch_norm.variance", &["running_var"]),
    ("bernoulli.p", &["input"]),
    ("chunk.count", &["chunks"]),
    ("clip.low", &["min", "a_min"]),
    ("clip.high", &["max", "a_max"]),
    ("cosine_embedding_loss.first", &["input1"]),
    ("cosine_embedding_loss.second", &["input2"]),
    ("cosine_similarity.a", &["x1"]),
    ("cosine_similarity.b", &["x2"]),
    ("diag.offset", &["diagonal", "k"]),
    ("diag_embed.axis_a", &["dim1"]),
    ("diag_embed.axis_b", &["dim2"]),
    ("diagonal.axis_a", &["dim1", "axis1"]),
    ("diagonal.axis_b", &["dim2", "axis2"]),
    ("embedding.ids", &["input"]),
    ("flatten.start", &["start_dim"]),
    ("flatten.end", &["end_dim"]),
    ("gaussian_nll_loss.variance", &["var"]),
    ("group_norm.groups", &["num_groups"]),
    ("gumbel_softmax.x", &["logits"]),
    ("gumbel_softmax.temperature", &["tau"]),
    ("hard_shrink.width", &["lambd"]),
    ("hard_tanh.low", &["min_val"]),
    ("hard_tanh.high", &["max_val"]),
    ("histogram.low", &["min"]),
    ("histogram.high", &["max"]),
    ("interpolate.scale", &["scale_factor"]),
    ("margin_ranking_loss.first", &["input1"]),
    ("margin_ranking_loss.second", &["input2"]),
    ("masked_select.mask", &["condition"]),
    ("meshgrid.vectors", &["tensors"]),
    ("multinomial.probabilities", &["input"]),
    ("multinomial.samples", &["num_samples"]),
    ("narrow.len", &["length"]),
    ("one_hot.ids", &["tensor", "input"]),
    ("one_hot.classes", &["num_classes"]),
    ("outer.b", &["vec2"]),
    ("pairwise_distance.a", &["x1"]),
    ("pairwise_distance.b", &["x2"]),
    ("pinv.rcond", &["rtol"]),
    ("pixel_shuffle.factor", &["upscale_factor"]),
    ("pixel_unshuffle.factor", &["downscale_factor"]),
    ("pow.b", &["exponent"]),
    ("quantile.method", &["interpolation"]),
    ("quantiles.method", &["interpolation"]),
    ("rot90.turns", &["k"]),
    ("scaled_dot_product_attention.q", &["query"]),
    ("scaled_dot_product_attention.k", &["key"]),
    ("scaled_dot_product_attention.v", &["value"]),
    ("scaled_dot_product_attention.mask", &["attn_mask"]),
    ("scaled_dot_product_attention.causal", &["is_causal"]),
    ("scaled_dot_product_attention.dropout", &["dropout_p"]),
    ("scatter.updates", &["src", "value"]),
    ("scatter_add.updates", &["src"]),
    ("scatter_reduce.updates", &["src"]),
    ("scatter_reduce.reduction", &["reduce"]),
    ("searchsorted.sorted", &["sorted_sequence"]),
    ("searchsorted.values", &["input"]),
    ("soft_shrink.width", &["lambd"]),
    ("split.sizes", &["split_size_or_sections", "split_size"]),
    ("squeeze.axes", &["dim", "axis"]),
    ("tensor.data", &["obj"]),
    ("tile.repeats", &["dims", "reps"]),
    ("transpose.axis_a", &["dim0"]),
    ("transpose.axis_b", &["dim1"]),
    ("tril.k", &["diagonal"]),
    ("triu.k", &["diagonal"]),
    ("where.a", &["input", "x"]),
    ("where.b", &["other", "y"]),
];

/// Functions that PyTorch offers to run in the place of their input: here `inplace` is accepted, and changes nothing.
const IN_PLACE: &[&str] = &[
    "alpha_dropout",
    "celu",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "feature_alpha_dropout",
    "hard_sigmoid",
    "hard_swish",
    "hard_tanh",
    "leaky_relu",
    "mish",
    "relu",
    "relu6",
    "selu",
    "silu",
    "threshold",
];

/// The other names of a function's arguments, each with ours; with none for one that is accepted without effect.
pub fn others<'a>(function: &PyFunction<'a>) -> Vec<(&'static str, Option<String>)> {
    let mut found: Vec<(&'static str, Option<String>)> = Vec::new();
    let is_taken = |other: &str| function.params.iter().any(|param| param.name == other);
    for param in &function.params {
        let qualified = format!("{}.{}", function.name, param.name);
        let of_function = SOMEWHERE.iter().filter(|(name, _)| *name == qualified);
        let general = EVERYWHERE.iter().filter(|(name, _)| *name == param.name);
        for other in of_function.chain(general).flat_map(|(_, others)| others.iter()) {
            if !is_taken(other) && found.iter().all(|(known, _)| known != other) {
                found.push((other, Some(param.name.clone())));
            }
        }
    }
    if IN_PLACE.contains(&function.name) {
        found.push(("inplace", None));
    }
    found
}

/// [`EVERYWHERE`], as pairs of another name and ours.
pub fn everywhere() -> impl Iterator<Item = (&'static str, &'static str)> {
    EVERYWHERE.iter().flat_map(|(ours, others)| others.iter().map(|other| (*other, *ours)))
}
