//! Recurrent networks.

use fluvial_core::{Result, Var};
use fluvial_ops::{
    self as ops, DynamicGruOptions, DynamicLstmOptions, GateActivation, Nonlinearity, RnnOptions,
};

use super::call::Call;
use super::table::{Entry, Outs};
use super::value::Val;

pub const OPS: &[Entry] = &[
    Entry::many("gru", |c| {
        let (weight, bias, h0) = (c.var("Weight")?, c.opt("Bias")?, c.opt("H0")?);
        let options = gru_options(c)?.reverse(c.flag("is_reverse", false));
        let bias = bias.map(|bias| ops::flatten(&bias, 0, -1)).transpose()?;
        let (x, lengths) = (c.var("Input")?, c.lengths("Input")?);
        let hidden = ops::dynamic_gru(&x, &lengths, &weight, bias.as_ref(), h0.as_ref(), options)?;
        Ok(vec![("Hidden", vec![Val::Dense(hidden, c.val("Input")?.lengths().to_vec())])])
    }),
    Entry::many("gru_unit", |c| {
        let (x, hidden, weight) = (c.var("Input")?, c.var("HiddenPrev")?, c.var("Weight")?);
        let bias = c.opt("Bias")?.map(|bias| ops::flatten(&bias, 0, -1)).transpose()?;
        let numbered = |name: &str, default: i64| match c.int(name, default) {
            0 => Ok(GateActivation::Identity),
            1 => Ok(GateActivation::Sigmoid),
            2 => Ok(GateActivation::Tanh),
            3 => Ok(GateActivation::Relu),
            other => Err(c.refuse(format!("{other} is the number of no activation"))),
        };
        let options = DynamicGruOptions::default()
            .origin_mode(c.flag("origin_mode", false))
            .gate_activation(numbered("gate_activation", 1)?)
            .candidate_activation(numbered("activation", 2)?);
        let (new, reset, gates) = ops::gru_unit(&x, &hidden, &weight, bias.as_ref(), options)?;
        Ok(vec![
            ("Hidden", vec![new.into()]),
            ("ResetHiddenPrev", vec![reset.into()]),
            ("Gate", vec![gates.into()]),
        ])
    }),
    Entry::many("lstm", |c| {
        let (x, lengths, weight) = (c.var("Input")?, c.lengths("Input")?, c.var("Weight")?);
        let bias = c.opt("Bias")?.map(|bias| ops::flatten(&bias, 0, -1)).transpose()?;
        let (h0, c0) = (c.opt("H0")?, c.opt("C0")?);
        let options = lstm_options(c)?;
        let (hidden, cell) = ops::dynamic_lstm(
            &x,
            &lengths,
            &weight,
            bias.as_ref(),
            h0.as_ref(),
            c0.as_ref(),
            options,
        )?;
        let levels = || c.val("Input").map(|val| val.lengths().to_vec());
        Ok(vec![
            ("Hidden", vec![Val::Dense(hidden, levels()?)]),
            ("Cell", vec![Val::Dense(cell, levels()?)]),
        ])
    }),
    Entry::many("lstm_unit", |c| {
        let (cell, hidden) =
            ops::lstm_unit(&c.var("X")?, &c.var("C_prev")?, c.float("forget_bias", 0.0))
                .map(|(hidden, cell)| (cell, hidden))?;
        Ok(vec![("C", vec![cell.into()]), ("H", vec![hidden.into()])])
    }),
    Entry::many("rnn", rnn),
];

fn activation(c: &Call<'_>, name: &str, default: &str) -> Result<GateActivation> {
    match c.text(name, default).as_str() {
        "sigmoid" => Ok(GateActivation::Sigmoid),
        "tanh" => Ok(GateActivation::Tanh),
        "relu" => Ok(GateActivation::Relu),
        "identity" => Ok(GateActivation::Identity),
        other => Err(c.refuse(format!("`{other}` is not an activation of a gate"))),
    }
}

fn gru_options(c: &Call<'_>) -> Result<DynamicGruOptions> {
    Ok(DynamicGruOptions::default()
        .origin_mode(c.flag("origin_mode", false))
        .gate_activation(activation(c, "gate_activation", "sigmoid")?)
        .candidate_activation(activation(c, "activation", "tanh")?))
}

fn lstm_options(c: &Call<'_>) -> Result<DynamicLstmOptions> {
    Ok(DynamicLstmOptions::default()
        .peepholes(c.flag("use_peepholes", true))
        .reverse(c.flag("is_reverse", false))
        .gate_activation(activation(c, "gate_activation", "sigmoid")?)
        .cell_activation(activation(c, "cell_activation", "tanh")?)
        .candidate_activation(activation(c, "candidate_activation", "tanh")?))
}

/// Networks over a whole batch: weights of all layers and directions, then their biases.
fn rnn(c: &Call<'_>) -> Result<Outs> {
    let (x, states, all) = (c.var("Input")?, c.vars("PreState")?, c.vars("WeightList")?);
    let layers = c.count("num_layers", 1)?;
    let directions = if c.flag("is_bidirec", false) { 2 } else { 1 };
    let count = layers.saturating_mul(directions);
    if all.len() != count.saturating_mul(4) {
        return Err(c.refuse(format!("{} weights for {count} cells", all.len())));
    }
    let mut weights: Vec<&Var> = Vec::new();
    for i in 0..count {
        weights.extend([&all[2 * i], &all[2 * i + 1]]);
        weights.extend([&all[2 * (count + i)], &all[2 * (count + i) + 1]]);
    }
    let dropout = match c.flag("is_test", false) {
        true => 0.0,
        false => c.float("dropout_prob", 0.0),
    };
    let mode = c.text("mode", "LSTM");
    let options = RnnOptions::default()
        .layers(layers)
        .bidirectional(directions == 2)
        .dropout(dropout)
        .nonlinearity(match mode.as_str() {
            "RNN_RELU" => Nonlinearity::Relu,
            _ => Nonlinearity::Tanh,
        });
    let lengths = c.opt("SequenceLength")?;
    let lengths =
        lengths.map(|lengths| ops::cast(&lengths, fluvial_core::DType::I64)).transpose()?;
    let h0 = states.first();
    let (out, states) = match mode.as_str() {
        "LSTM" => {
            let (out, h, cell) =
                ops::lstm(&x, h0, states.get(1), &weights, lengths.as_ref(), options)?;
            (out, vec![h.into(), cell.into()])
        }
        "GRU" => {
            let (out, h) = ops::gru(&x, h0, &weights, lengths.as_ref(), options)?;
            (out, vec![h.into()])
        }
        "RNN_TANH" | "RNN_RELU" => {
            let (out, h) = ops::rnn(&x, h0, &weights, lengths.as_ref(), options)?;
            (out, vec![h.into()])
        }
        other => return Err(c.refuse(format!("`{other}` is not a mode"))),
    };
    Ok(vec![("Out", vec![out.into()]), ("State", states)])
}
