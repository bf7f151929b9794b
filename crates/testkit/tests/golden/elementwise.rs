//! Every function of one and two numbers against PyTorch, with gradients.

use fluvial_core::{Error, Result, Var};
use fluvial_ops::*;
use fluvial_testkit::Golden;
use fluvial_testkit::check::Tolerance;

/// The function of that name. Its attributes are numbers, by name.
pub fn apply(name: &str, x: &[&Var], number: &dyn Fn(&str) -> Option<f64>) -> Result<Var> {
    if let Some((_, f)) = UNARY.iter().find(|(known, _)| *known == name) {
        return f(x[0]);
    }
    if let Some((_, f)) = BINARY.iter().find(|(known, _)| *known == name)
        && x.len() == 2
    {
        return f(x[0], x[1]);
    }
    let of = |attribute: &str| number(attribute).expect("the case has this attribute");
    match name {
        "softplus" => softplus(x[0], of("beta"), of("threshold")),
        "leaky_relu" => leaky_relu(x[0], of("slope")),
        "elu" => elu(x[0], of("alpha")),
        "celu" => celu(x[0], of("alpha")),
        "gelu" => gelu(x[0], of("tanh_form") != 0.0),
        "hard_tanh" => hard_tanh(x[0], of("low_bound"), of("high_bound")),
        "hard_shrink" => hard_shrink(x[0], of("width")),
        "soft_shrink" => soft_shrink(x[0], of("width")),
        "threshold" => threshold(x[0], of("threshold"), of("value")),
        "clip" => clip(x[0], number("low_bound"), number("high_bound")),
        "nan_to_num" => nan_to_num(x[0], of("nan"), number("posinf"), number("neginf")),
        "polygamma" => polygamma(of("n") as usize, x[0]),
        "glu" => glu(x[0], of("axis") as i64),
        "lerp" => lerp(x[0], x[1], x[2]),
        "where" => where_(x[0], x[1], x[2]),
        _ => Err(Error::argument(format!("the tests know no `{name}`"))),
    }
}

type OfOne = fn(&Var) -> Result<Var>;
type OfTwo = fn(&Var, &Var) -> Result<Var>;

const UNARY: &[(&str, OfOne)] = &[
    ("neg", neg),
    ("abs", abs),
    ("sign", sign),
    ("sqrt", sqrt),
    ("rsqrt", rsqrt),
    ("square", square),
    ("exp", exp),
    ("expm1", expm1),
    ("exp2", exp2),
    ("log", log),
    ("log1p", log1p),
    ("log2", log2),
    ("log10", log10),
    ("sin", sin),
    ("cos", cos),
    ("tan", tan),
    ("asin", asin),
    ("acos", acos),
    ("atan", atan),
    ("sinh", sinh),
    ("cosh", cosh),
    ("tanh", tanh),
    ("asinh", asinh),
    ("acosh", acosh),
    ("atanh", atanh),
    ("erf", erf),
    ("erfc", erfc),
    ("lgamma", lgamma),
    ("digamma", digamma),
    ("sigmoid", sigmoid),
    ("log_sigmoid", log_sigmoid),
    ("softsign", softsign),
    ("relu", relu),
    ("relu6", relu6),
    ("selu", selu),
    ("silu", silu),
    ("mish", mish),
    ("hard_sigmoid", hard_sigmoid),
    ("hard_swish", hard_swish),
    ("tanh_shrink", tanh_shrink),
    ("floor", floor),
    ("ceil", ceil),
    ("round", round),
    ("trunc", trunc),
    ("reciprocal", reciprocal),
    ("isnan", isnan),
    ("isinf", isinf),
    ("isfinite", isfinite),
    ("logical_not", logical_not),
    ("bitwise_not", bitwise_not),
];

const BINARY: &[(&str, OfTwo)] = &[
    ("add", add),
    ("sub", sub),
    ("mul", mul),
    ("div", div),
    ("pow", pow),
    ("remainder", remainder),
    ("floor_div", floor_div),
    ("maximum", maximum),
    ("minimum", minimum),
    ("fmax", fmax),
    ("fmin", fmin),
    ("atan2", atan2),
    ("hypot", hypot),
    ("copysign", copysign),
    ("logaddexp", logaddexp),
    ("eq", eq),
    ("ne", ne),
    ("lt", lt),
    ("le", le),
    ("gt", gt),
    ("ge", ge),
    ("logical_and", logical_and),
    ("logical_or", logical_or),
    ("logical_xor", logical_xor),
    ("bitwise_and", bitwise_and),
    ("bitwise_or", bitwise_or),
    ("bitwise_xor", bitwise_xor),
    ("left_shift", left_shift),
    ("right_shift", right_shift),
    ("prelu", prelu),
];

#[track_caller]
fn check(area: &'static str, name: &'static str, least: usize) {
    // PyTorch has a sixth in `f32` in their gradients.
    let rounded = matches!(name, "hard_sigmoid" | "hard_swish");
    let golden = Golden::new(area, name);
    let golden = if rounded { golden.within(Tolerance::of(1e-7)) } else { golden };
    golden.check(least, |c| {
        // Some cases hold an input fixed, so that no gradient of it is asked for.
        let fixed =
            c.has("powers").then(|| Var::of(&c.floats("powers"), &[c.floats("powers").len()]));
        let fixed = fixed.transpose()?.map(|powers| cast(&powers, c.x(0).dtype())).transpose()?;
        let inputs: Vec<&Var> = c.all().into_iter().chain(&fixed).collect();
        Ok(vec![apply(name, &inputs, &|attribute| c.optional_float(attribute))?])
    });
}

#[test]
fn of_one_number() {
    for (name, _) in UNARY {
        check("unary", name, if *name == "bitwise_not" { 3 } else { 4 });
    }
}

#[test]
fn with_attributes() {
    for name in ["softplus", "leaky_relu", "elu", "celu", "polygamma"] {
        check("unary", name, 12);
    }
    for name in ["gelu", "hard_tanh", "hard_shrink", "soft_shrink", "threshold"] {
        check("unary", name, 10);
    }
    check("unary", "clip", 20);
    for name in ["nan_to_num", "glu"] {
        check("unary", name, 4);
    }
    check("unary", "prelu", 6);
}

#[test]
fn of_two_numbers() {
    for (name, _) in BINARY.iter().filter(|(name, _)| *name != "prelu") {
        check("binary", name, 5);
    }
    for name in ["lerp", "where"] {
        check("binary", name, 4);
    }
}
