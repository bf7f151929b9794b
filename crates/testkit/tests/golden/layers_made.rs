//! The layers of the golden file, made from the attributes of a case.

use fluvial::prelude::*;
use serde_json::Value as Json;

/// Calls a layer on the inputs of a case, some of which may be missing.
pub type Call = Box<dyn Fn(&[Option<Var>]) -> Result<Vec<Var>>>;

/// What a case says of its layer.
struct Said<'a>(&'a Json);

impl Said<'_> {
    fn flag(&self, name: &str) -> bool {
        self.0[name] == true
    }

    fn size(&self, name: &str) -> Option<usize> {
        self.0[name].as_u64().map(|size| size as usize)
    }

    fn sizes(&self, name: &str) -> Option<Vec<usize>> {
        let items = self.0[name].as_array()?;
        Some(items.iter().map(|item| item.as_u64().expect("a size") as usize).collect())
    }

    fn float(&self, name: &str) -> Option<f64> {
        self.0[name].as_f64()
    }

    fn at(&self, i: usize) -> usize {
        self.sizes("sizes").expect("sizes")[i]
    }

    fn kernel(&self) -> Vec<usize> {
        self.sizes("kernel").expect("a kernel")
    }
}

/// Applies builders where the case has their attribute.
macro_rules! with {
    ($layer:expr, $said:expr; $($name:literal: $kind:ident => $builder:ident),* $(,)?) => {{
        let mut layer = $layer;
        $(with!(@$kind layer, $said, $name, $builder);)*
        layer
    }};
    (@flag $layer:ident, $said:expr, $name:literal, $builder:ident) => {
        if $said.flag($name) {
            $layer = $layer.$builder();
        }
    };
    (@lacks $layer:ident, $said:expr, $name:literal, $builder:ident) => {
        if $said.0[$name] == false {
            $layer = $layer.$builder();
        }
    };
    (@is $layer:ident, $said:expr, $name:literal, $builder:ident) => {
        if let Some(value) = $said.0[$name].as_bool() {
            $layer = $layer.$builder(value);
        }
    };
    (@$kind:ident $layer:ident, $said:expr, $name:literal, $builder:ident) => {
        if let Some(value) = $said.$kind($name) {
            $layer = $layer.$builder(value);
        }
    };
}

/// A layer of one input.
fn single(layer: impl Layer + 'static) -> Call {
    Box::new(move |x| Ok(vec![layer.forward(x[0].as_ref().expect("an input"))?]))
}

macro_rules! convolved {
    ($layer:ident, $said:expr, $at:expr; $($more:tt)*) => {{
        let layer = $layer::new($at, $said.at(0), $said.at(1), $said.kernel());
        single(with!(layer, $said; "bias": lacks => no_bias, "stride": sizes => stride,
            "padding": sizes => padding, "dilation": sizes => dilation, "groups": size => groups, $($more)*))
    }};
}

macro_rules! pooled {
    ($layer:ident, $said:expr; $($more:tt)*) => {
        single(with!($layer::new($said.kernel()), $said; "stride": sizes => stride,
            "padding": sizes => padding, "ceil_mode": is => ceil_mode, $($more)*))
    };
}

macro_rules! batch_normed {
    ($layer:ident, $said:expr, $at:expr) => {
        single(with!($layer::new($at, $said.size("channels").expect("channels")), $said;
            "momentum": float => momentum, "eps": float => eps, "cumulative": flag => cumulative,
            "no_affine": flag => no_affine, "no_running": flag => no_running_statistics))
    };
}

macro_rules! recurrent {
    ($layer:ident, $said:expr, $at:expr) => {
        with!($layer::new($at, $said.at(0), $said.at(1)), $said; "layers": size => layers,
            "bidirectional": flag => bidirectional, "batch_first": flag => batch_first,
            "no_bias": flag => no_bias)
    };
}

macro_rules! block {
    ($layer:ident, $said:expr, $at:expr) => {{
        let said = $said;
        let layer = $layer::new($at, said.at(0), said.at(1), said.at(2)).dropout(0.0);
        let layer = with!(layer, said; "norm_first": flag => norm_first, "bias": lacks => no_bias,
            "batch_first": flag => batch_first, "dropout": float => dropout,
            "layer_norm_eps": float => eps);
        match said.0["activation"] == "gelu" {
            true => layer.activation(|x: &Var| gelu(x, false)),
            false => layer,
        }
    }};
}

/// The layer of that name.
pub fn made(layer: &str, attributes: &Json, at: &Path) -> Call {
    let said = Said(attributes);
    match layer {
        "Linear" => {
            single(with!(Linear::new(at, said.at(0), said.at(1)), said; "no_bias": flag => no_bias))
        }
        "LazyLinear" => single(LazyLinear::new(at, said.at(0))),
        "Bilinear" => {
            let layer = Bilinear::new(at, said.at(0), said.at(1), said.at(2));
            let layer = with!(layer, said; "no_bias": flag => no_bias);
            Box::new(move |x| Ok(vec![layer.forward2(given(x, 0), given(x, 1))?]))
        }
        "PRelu" => single(PRelu::new(at, said.at(0))),
        "Embedding" => {
            let layer = Embedding::new(at, said.at(0), said.at(1));
            let layer = match said.size("padding_idx") {
                Some(idx) => layer.padding_idx(idx as i64),
                None => layer,
            };
            single(
                with!(layer, said; "max_norm": float => max_norm, "norm_type": float => norm_type),
            )
        }
        "Sequential" => single(
            Sequential::new(at)
                .add(|at| Linear::new(at, 3, 4))
                .then(relu)
                .add(|at| BatchNorm1d::new(at, 4))
                .add(|at| Sequential::new(at).add(|at| Linear::new(at, 4, 2)).then(Tanh::new())),
        ),
        "Flatten" => single(Flatten::new()),
        "Identity" => single(Identity::new()),
        "PixelShuffle" => single(PixelShuffle::new(2)),
        "PixelUnshuffle" => single(PixelUnshuffle::new(2)),
        "ChannelShuffle" => single(ChannelShuffle::new(2)),
        _ => None
            .or_else(|| windows(layer, &said, at))
            .or_else(|| normalisation(layer, &said, at))
            .or_else(|| sequence(layer, &said, at))
            .or_else(|| activation(layer))
            .unwrap_or_else(|| panic!("no layer is called {layer}")),
    }
}

fn windows(layer: &str, said: &Said<'_>, at: &Path) -> Option<Call> {
    let same = said.0["padding"] == "same";
    Some(match layer {
        "Conv1d" => convolved!(Conv1d, said, at;),
        "Conv2d" if same => single(Conv2d::new(at, said.at(0), said.at(1), said.kernel()).same()),
        "Conv2d" => convolved!(Conv2d, said, at;),
        "Conv3d" => convolved!(Conv3d, said, at;),
        "ConvTranspose1d" => {
            convolved!(ConvTranspose1d, said, at; "output_padding": sizes => output_padding)
        }
        "ConvTranspose2d" => {
            convolved!(ConvTranspose2d, said, at; "output_padding": sizes => output_padding)
        }
        "ConvTranspose3d" => {
            convolved!(ConvTranspose3d, said, at; "output_padding": sizes => output_padding)
        }
        "MaxPool1d" => pooled!(MaxPool1d, said; "dilation": sizes => dilation),
        "MaxPool2d" => pooled!(MaxPool2d, said; "dilation": sizes => dilation),
        "MaxPool3d" => pooled!(MaxPool3d, said; "dilation": sizes => dilation),
        "AvgPool1d" => pooled!(AvgPool1d, said; "count_include_pad": is => count_include_pad),
        "AvgPool2d" => pooled!(AvgPool2d, said; "count_include_pad": is => count_include_pad),
        "AvgPool3d" => pooled!(AvgPool3d, said; "count_include_pad": is => count_include_pad),
        "LpPool1d" => single(
            with!(LpPool1d::new(said.float("p")?, said.kernel()), said; "stride": sizes => stride),
        ),
        "LpPool2d" => single(
            with!(LpPool2d::new(said.float("p")?, said.kernel()), said; "stride": sizes => stride),
        ),
        "LpPool3d" => single(
            with!(LpPool3d::new(said.float("p")?, said.kernel()), said; "stride": sizes => stride),
        ),
        "AdaptiveAvgPool1d" => single(AdaptiveAvgPool1d::new(said.kernel())),
        "AdaptiveAvgPool2d" => single(AdaptiveAvgPool2d::new(said.kernel())),
        "AdaptiveAvgPool3d" => single(AdaptiveAvgPool3d::new(said.kernel())),
        "AdaptiveMaxPool1d" => single(AdaptiveMaxPool1d::new(said.kernel())),
        "AdaptiveMaxPool2d" => single(AdaptiveMaxPool2d::new(said.kernel())),
        "AdaptiveMaxPool3d" => single(AdaptiveMaxPool3d::new(said.kernel())),
        "GlobalAvgPool" => single(GlobalAvgPool::new()),
        "GlobalMaxPool" => single(GlobalMaxPool::new()),
        _ => return None,
    })
}

fn normalisation(layer: &str, said: &Said<'_>, at: &Path) -> Option<Call> {
    Some(match layer {
        "BatchNorm1d" => batch_normed!(BatchNorm1d, said, at),
        "BatchNorm2d" => batch_normed!(BatchNorm2d, said, at),
        "BatchNorm3d" => batch_normed!(BatchNorm3d, said, at),
        "LayerNorm" => single(with!(LayerNorm::new(at, &said.sizes("sizes")?), said;
            "eps": float => eps, "no_bias": flag => no_bias, "no_affine": flag => no_affine)),
        // The smallest step of the element type differs between the file and f32.
        "RmsNorm" if said.flag("eps_free") => {
            single(RmsNorm::new(at, &said.sizes("sizes")?).eps(f64::EPSILON))
        }
        "RmsNorm" => {
            single(with!(RmsNorm::new(at, &said.sizes("sizes")?), said; "eps": float => eps))
        }
        "GroupNorm" => single(with!(GroupNorm::new(at, said.at(0), said.at(1)), said;
            "no_affine": flag => no_affine)),
        "InstanceNorm" => {
            single(with!(InstanceNorm::new(at, said.at(0)), said; "affine": flag => affine))
        }
        "LocalResponseNorm" => single(with!(LocalResponseNorm::new(said.at(0)), said;
            "alpha": float => alpha, "beta": float => beta, "k": float => k)),
        "SpectralNorm" => {
            let layer = SpectralNorm::new(at, &said.sizes("sizes")?);
            single(layer.iterations(said.size("iterations")?))
        }
        _ => return None,
    })
}

fn sequence(layer: &str, said: &Said<'_>, at: &Path) -> Option<Call> {
    Some(match layer {
        "Rnn" => {
            let layer = with!(recurrent!(Rnn, said, at), said; "relu": flag => relu);
            Box::new(move |x| layer.run(given(x, 0), option(x, 1), None).map(|(y, h)| vec![y, h]))
        }
        "Gru" => {
            let layer = recurrent!(Gru, said, at);
            Box::new(move |x| layer.run(given(x, 0), option(x, 1), None).map(|(y, h)| vec![y, h]))
        }
        "Lstm" => {
            let layer = recurrent!(Lstm, said, at);
            Box::new(move |x| {
                let (y, h, c) = layer.run(given(x, 0), option(x, 1).zip(option(x, 2)), None)?;
                Ok(vec![y, h, c])
            })
        }
        "RnnCell" => {
            let layer = with!(RnnCell::new(at, said.at(0), said.at(1)), said;
                "no_bias": flag => no_bias, "relu": flag => relu);
            Box::new(move |x| Ok(vec![layer.step(given(x, 0), option(x, 1))?]))
        }
        "GruCell" => {
            let layer = GruCell::new(at, said.at(0), said.at(1));
            Box::new(move |x| Ok(vec![layer.step(given(x, 0), option(x, 1))?]))
        }
        "LstmCell" => {
            let layer = LstmCell::new(at, said.at(0), said.at(1));
            Box::new(move |x| {
                let (h, c) = layer.step(given(x, 0), option(x, 1).zip(option(x, 2)))?;
                Ok(vec![h, c])
            })
        }
        "MultiHeadAttention" => {
            let layer = MultiHeadAttention::new(at, said.at(0), said.at(1));
            let layer = match said.sizes("widths") {
                Some(widths) => layer.key_value_widths(widths[0], widths[1]),
                None => layer,
            };
            let layer = with!(layer, said; "no_bias": flag => no_bias,
                "batch_first": flag => batch_first);
            let need = said.0["need"].as_str().map(str::to_string);
            Box::new(move |x| {
                let (q, k, v) = (given(x, 0), given(x, 1), given(x, 2));
                let masks = Masks { attention: option(x, 3), keys: option(x, 4), causal: false };
                let Some(need) = &need else { return Ok(vec![layer.attend(q, k, v, masks)?]) };
                let (y, weights) = layer.attend_with_weights(q, k, v, masks, need == "mean")?;
                Ok(vec![y, weights])
            })
        }
        "TransformerEncoderLayer" => {
            let layer = block!(TransformerEncoderLayer, said, at);
            Box::new(move |x| Ok(vec![layer.encode(given(x, 0), masks(x, 1, 2))?]))
        }
        "TransformerDecoderLayer" => {
            let layer = block!(TransformerDecoderLayer, said, at);
            Box::new(move |x| {
                let memory = Masks { attention: option(x, 4), ..Masks::none() };
                Ok(vec![layer.decode(given(x, 0), given(x, 1), masks(x, 2, 3), memory)?])
            })
        }
        "TransformerEncoder" => {
            let layer =
                TransformerEncoder::new(at, 2, |at| block!(TransformerEncoderLayer, said, at))
                    .norm(said.at(0));
            Box::new(move |x| Ok(vec![layer.encode(given(x, 0), masks(x, 1, 2))?]))
        }
        "TransformerDecoder" => {
            let layer =
                TransformerDecoder::new(at, 2, |at| block!(TransformerDecoderLayer, said, at));
            Box::new(move |x| {
                let memory = Masks { attention: option(x, 4), ..Masks::none() };
                Ok(vec![layer.decode(given(x, 0), given(x, 1), masks(x, 2, 3), memory)?])
            })
        }
        _ => return None,
    })
}

fn activation(layer: &str) -> Option<Call> {
    Some(match layer {
        "Relu" => single(Relu::new()),
        "Relu6" => single(Relu6::new()),
        "Sigmoid" => single(Sigmoid::new()),
        "Tanh" => single(Tanh::new()),
        "Softsign" => single(Softsign::new()),
        "Selu" => single(Selu::new()),
        "Silu" => single(Silu::new()),
        "Mish" => single(Mish::new()),
        "HardSigmoid" => single(HardSigmoid::new()),
        "HardSwish" => single(HardSwish::new()),
        "LogSigmoid" => single(LogSigmoid::new()),
        "TanhShrink" => single(TanhShrink::new()),
        "LeakyRelu" => single(LeakyRelu::new()),
        "Elu" => single(Elu::new()),
        "Celu" => single(Celu::new()),
        "Gelu" => single(Gelu::new()),
        "Glu" => single(Glu::new()),
        "HardTanh" => single(HardTanh::new()),
        "HardShrink" => single(HardShrink::new()),
        "SoftShrink" => single(SoftShrink::new()),
        "Softplus" => single(Softplus::new()),
        "Softmax" => single(Softmax::new()),
        "LogSoftmax" => single(LogSoftmax::new()),
        _ => return None,
    })
}

fn masks(x: &[Option<Var>], attention: usize, keys: usize) -> Masks<'_> {
    Masks { attention: option(x, attention), keys: option(x, keys), causal: false }
}

fn given(x: &[Option<Var>], i: usize) -> &Var {
    x[i].as_ref().expect("the case has this input")
}

fn option(x: &[Option<Var>], i: usize) -> Option<&Var> {
    x.get(i).and_then(Option::as_ref)
}
