//! Softmax, normalisations, attention, recurrent networks and what surrounds them.

use fluvial_core::{Dim, Result, Var};
use fluvial_ops::*;
use fluvial_testkit::Golden;
use fluvial_testkit::check::Tolerance;
use fluvial_testkit::golden::Given;

fn nets(function: &'static str) -> Golden {
    Golden::new("nets", function)
}

#[test]
fn softmaxes() {
    nets("softmax").check(20, |c| Ok(vec![softmax(c.x(0), c.int("axis"))?]));
    nets("log_softmax").check(20, |c| Ok(vec![log_softmax(c.x(0), c.int("axis"))?]));
}

#[test]
fn linears() {
    nets("linear").check(5, |c| Ok(vec![linear(c.x(0), c.x(1), c.option(2))?]));
}

#[test]
fn embeddings() {
    let norm = |c: &Given<'_>| c.optional_float("norm_type").unwrap_or(2.0);
    nets("embedding").check(10, |c| {
        let options = EmbeddingOptions {
            padding_idx: c.has("padding_idx").then(|| c.int("padding_idx")),
            max_norm: c.optional_float("max_norm"),
            norm_type: norm(c),
        };
        Ok(vec![embedding(c.x(0), c.x(1), options)?])
    });
    nets("renormalise_rows")
        .check(4, |c| Ok(vec![renormalise_rows(c.x(0), c.x(1), c.float("max_norm"), norm(c))?]));
}

#[test]
fn attentions() {
    nets("attention").check(25, |c| {
        let options = AttentionOptions {
            causal: c.flag("causal"),
            scale: c.optional_float("scale"),
            ..AttentionOptions::default()
        };
        let found = scaled_dot_product_attention(c.x(0), c.x(1), c.x(2), c.option(3), options)?;
        Ok(vec![found])
    });
}

#[test]
fn rotary_embeddings() {
    nets("rotary_embedding")
        .check(10, |c| Ok(vec![rotary_embedding(c.x(0), c.x(1), c.x(2), c.flag("interleaved"))?]));
    nets("rotary_tables").check(4, |c| {
        let len = Dim::size(c.size("length"));
        let (cos, sin) = rotary_tables(len, c.size("dim"), c.float("base"), c.x(0).dtype())?;
        Ok(vec![cos, sin])
    });
}

#[test]
fn batch_norms() {
    nets("batch_norm").check(20, |c| {
        let (weight, bias) = (c.option(3), c.option(4));
        Ok(vec![batch_norm(c.x(0), c.x(1), c.x(2), weight, bias, c.float("eps"))?])
    });
    let train = |x: &Var, c: &Given<'_>| {
        let (y, mean, variance) = batch_norm_train(x, c.option(1), c.option(2), c.float("eps"))?;
        Ok(vec![y, mean, variance])
    };
    let loose = Tolerance { relative: 2e-4, absolute: 2e-4 };
    nets("batch_norm_train").f32_within(loose).check(20, |c| train(c.x(0), c));
    // Far from zero, f32 holds few digits of the distances from the mean.
    let loose = Tolerance { relative: 2e-2, absolute: 2e-2 };
    let shifted = nets("batch_norm_train_shifted").f32_within(loose);
    shifted.check(1, |c| train(&(c.x(0) + c.float("shift")), c));
}

#[test]
fn other_norms() {
    let loose = Tolerance { relative: 2e-4, absolute: 2e-4 };
    nets("layer_norm").f32_within(loose).check(20, |c| {
        let (weight, bias) = (c.option(1), c.option(2));
        Ok(vec![layer_norm(c.x(0), c.size("count"), weight, bias, c.float("eps"))?])
    });
    nets("rms_norm")
        .f32_within(loose)
        .check(20, |c| Ok(vec![rms_norm(c.x(0), c.size("count"), c.option(1), c.float("eps"))?]));
    nets("group_norm").f32_within(loose).check(20, |c| {
        let (weight, bias) = (c.option(1), c.option(2));
        Ok(vec![group_norm(c.x(0), c.size("groups"), weight, bias, c.float("eps"))?])
    });
    nets("instance_norm")
        .f32_within(loose)
        .check(20, |c| Ok(vec![instance_norm(c.x(0), c.option(1), c.option(2), c.float("eps"))?]));
}

#[test]
fn norms_of_channels_and_weights() {
    nets("local_response_norm").check(12, |c| {
        let options = LrnOptions {
            size: c.size("size"),
            alpha: c.float("alpha"),
            beta: c.float("beta"),
            k: c.float("k"),
        };
        Ok(vec![local_response_norm(c.x(0), options)?])
    });
    nets("spectral_norm").check(15, |c| {
        let options = SpectralNormOptions {
            axis: c.int("axis"),
            iterations: c.size("iterations"),
            ..SpectralNormOptions::default()
        };
        let (weight, u, v) = spectral_norm(c.x(0), c.x(1), c.x(2), options)?;
        Ok(vec![weight, u, v])
    });
}

fn rnn_options(c: &Given<'_>) -> Result<RnnOptions> {
    Ok(RnnOptions {
        layers: c.size("layers"),
        bidirectional: c.flag("bidirectional"),
        bias: c.flag("bias"),
        batch_first: c.flag("batch_first"),
        nonlinearity: match c.has("nonlinearity") {
            true => c.text("nonlinearity").parse()?,
            false => Nonlinearity::Tanh,
        },
        dropout: 0.0,
        projection: false,
    })
}

/// The weights of a case: all that comes after the input, the lengths and the first states.
fn weights<'a>(c: &'a Given<'_>, n_states: usize) -> Vec<&'a Var> {
    let others = (1..2 + n_states).filter(|&i| c.option(i).is_some()).count() + 1;
    c.all().split_off(others)
}

fn recurrent(function: &'static str) -> Golden {
    nets(function).modes_within(Tolerance { relative: 1e-12, absolute: 1e-12 })
}

#[test]
fn plain_recurrent_networks() {
    recurrent("rnn").check(20, |c| {
        let (out, last) = rnn(c.x(0), c.option(2), &weights(c, 1), c.option(1), rnn_options(c)?)?;
        Ok(vec![out, last])
    });
}

#[test]
fn gated_recurrent_networks() {
    recurrent("gru").check(20, |c| {
        let (out, last) = gru(c.x(0), c.option(2), &weights(c, 1), c.option(1), rnn_options(c)?)?;
        Ok(vec![out, last])
    });
}

#[test]
fn long_short_term_memories() {
    recurrent("lstm").check(20, |c| {
        let (h0, c0) = (c.option(2), c.option(3));
        let (out, h, cell) = lstm(c.x(0), h0, c0, &weights(c, 2), c.option(1), rnn_options(c)?)?;
        Ok(vec![out, h, cell])
    });
}

#[test]
fn single_steps() {
    for (name, nonlinearity) in
        [("rnn_tanh_cell", Nonlinearity::Tanh), ("rnn_relu_cell", Nonlinearity::Relu)]
    {
        nets(name).check(6, |c| {
            let (b_ih, b_hh) = (c.option(4), c.option(5));
            Ok(vec![rnn_cell(c.x(0), c.x(1), c.x(2), c.x(3), b_ih, b_hh, nonlinearity)?])
        });
    }
    nets("gru_cell").check(6, |c| {
        Ok(vec![gru_cell(c.x(0), c.x(1), c.x(2), c.x(3), c.option(4), c.option(5))?])
    });
    nets("lstm_cell").check(6, |c| {
        let (b_ih, b_hh) = (c.option(5), c.option(6));
        let (h, cell) = lstm_cell(c.x(0), c.x(1), c.x(2), c.x(3), c.x(4), b_ih, b_hh)?;
        Ok(vec![h, cell])
    });
}
