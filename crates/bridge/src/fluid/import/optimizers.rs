//! Updates of optimizers.

use fluvial_core::{Dim, Result, Var};
use fluvial_ops as ops;

use super::call::Call;
use super::table::{Entry, Outs};
use super::value::{Val, scalar};

pub const OPS: &[Entry] = &[
    Entry::many("adadelta", |c| {
        let (p, g) = (c.var("Param")?, gradient(c)?);
        let (rho, eps) = (c.float("rho", 0.95), c.float("epsilon", 1e-6));
        let squares = mixed(&c.var("AvgSquaredGrad")?, &ops::square(&g)?, rho)?;
        let past = c.var("AvgSquaredUpdate")?;
        let ratio = ops::div(&(&past + eps).check()?, &(&squares + eps).check()?)?;
        let step = ops::mul(&ops::sqrt(&ratio)?, &g)?;
        let updates = mixed(&past, &ops::square(&step)?, rho)?;
        let step = match c.opt("LearningRate")? {
            Some(rate) => ops::mul(&scalar(&rate)?, &step)?,
            None => step,
        };
        Ok(vec![
            ("ParamOut", one(ops::sub(&p, &step)?)),
            ("AvgSquaredGradOut", one(squares)),
            ("AvgSquaredUpdateOut", one(updates)),
        ])
    }),
    Entry::many("adagrad", |c| {
        let squares = ops::add(&c.var("Moment")?, &ops::square(&gradient(c)?)?)?;
        rooted(c, squares)
    }),
    Entry::many("adam", |c| adam(c, c.var("Param")?, rate(c)?)),
    Entry::many("adamax", |c| {
        let (p, g) = (c.var("Param")?, gradient(c)?);
        let (beta1, beta2) = (c.float("beta1", 0.9), c.float("beta2", 0.999));
        let moment = mixed(&c.var("Moment")?, &g, beta1)?;
        let shrunk = (&c.var("InfNorm")? * beta2 + c.float("epsilon", 1e-8)).check()?;
        let norm = ops::maximum(&ops::abs(&g)?, &shrunk)?;
        let rate = ops::div(&rate(c)?, &(1.0 - &scalar(&c.var("Beta1Pow")?)?).check()?)?;
        let step = ops::mul(&rate, &ops::div(&moment, &norm)?)?;
        Ok(vec![
            ("ParamOut", one(ops::sub(&p, &step)?)),
            ("MomentOut", one(moment)),
            ("InfNormOut", one(norm)),
        ])
    }),
    Entry::many("adamw", |c| {
        let (p, rate) = (c.var("Param")?, (&rate(c)? * c.float("lr_ratio", 1.0)).check()?);
        let decayed = match c.flag("with_decay", false) {
            true => ops::mul(&p, &(1.0 - &(&rate * c.float("coeff", 0.01))).check()?)?,
            false => p,
        };
        adam(c, decayed, rate)
    }),
    Entry::many("decayed_adagrad", |c| {
        let squares =
            mixed(&c.var("Moment")?, &ops::square(&gradient(c)?)?, c.float("decay", 0.95))?;
        rooted(c, squares)
    }),
    Entry::many("ftrl", ftrl),
    Entry::many("lamb", lamb),
    Entry::many("lars_momentum", |c| {
        let (p, g, rate) = (c.var("Param")?, gradient(c)?, rate(c)?);
        let decay = match c.floats("lars_weight_decay") {
            Some(all) => all[0],
            None => c.float("lars_weight_decay", 0.0005),
        };
        let (of_p, of_g) = (length(&p)?, length(&g)?);
        let below = (&of_g + &(&of_p * decay) + c.float("epsilon", 0.0)).check()?;
        let scaled = (&ops::div(&of_p, &below)? * c.float("lars_coeff", 0.001)).check()?;
        let both = ops::logical_and(
            &ops::gt(&of_p, &of_p.literal(0.0))?,
            &ops::gt(&of_g, &of_g.literal(0.0))?,
        )?;
        let local = ops::where_(&both, &ops::mul(&rate, &scaled)?, &rate)?;
        let pull = ops::add(&g, &(&p * decay).check()?)?;
        let old = (&c.var("Velocity")? * c.float("mu", 0.9)).check()?;
        let speed = ops::add(&old, &ops::mul(&local, &pull)?)?;
        Ok(vec![("ParamOut", one(ops::sub(&p, &speed)?)), ("VelocityOut", one(speed))])
    }),
    Entry::many("momentum", |c| {
        let (p, rate, mu) = (c.var("Param")?, rate(c)?, c.float("mu", 0.9));
        let mut g = (&gradient(c)? * c.float("rescale_grad", 1.0)).check()?;
        if c.text("regularization_method", "") == "l2_decay" {
            g = ops::add(&g, &(&p * c.float("regularization_coeff", 0.0)).check()?)?;
        }
        let speed = ops::add(&(&c.var("Velocity")? * mu).check()?, &g)?;
        let step = match c.flag("use_nesterov", false) {
            true => ops::add(&g, &(&speed * mu).check()?)?,
            false => speed.clone(),
        };
        let new = ops::sub(&p, &ops::mul(&rate, &step)?)?;
        Ok(vec![("ParamOut", one(new)), ("VelocityOut", one(speed))])
    }),
    Entry::many("rmsprop", |c| {
        let (p, g, rho) = (c.var("Param")?, gradient(c)?, c.float("decay", 0.9));
        let squares = mixed(&c.var("MeanSquare")?, &ops::square(&g)?, rho)?;
        let mut outs: Outs = vec![("MeanSquareOut", one(squares.clone()))];
        let mut below = squares;
        if c.flag("centered", false) {
            let mean = mixed(&c.var("MeanGrad")?, &g, rho)?;
            below = ops::sub(&below, &ops::square(&mean)?)?;
            outs.push(("MeanGradOut", one(mean)));
        }
        let root = ops::sqrt(&(&below + c.float("epsilon", 1e-10)).check()?)?;
        let step = ops::div(&ops::mul(&rate(c)?, &g)?, &root)?;
        let moment = ops::add(&(&c.var("Moment")? * c.float("momentum", 0.0)).check()?, &step)?;
        outs.push(("ParamOut", one(ops::sub(&p, &moment)?)));
        outs.push(("MomentOut", one(moment)));
        Ok(outs)
    }),
    Entry::many("sgd", |c| {
        let step = ops::mul(&rate(c)?, &gradient(c)?)?;
        Ok(vec![("ParamOut", one(ops::sub(&c.var("Param")?, &step)?))])
    }),
];

fn one(x: Var) -> Vec<Val> {
    vec![Val::new(x)]
}

fn rate(c: &Call<'_>) -> Result<Var> {
    if c.opt_val("MasterParam").is_some() || c.opt_val("SkipUpdate").is_some() {
        return Err(c.refuse("parameters in two precisions, or updates that may be left out"));
    }
    let dtype = c.var("Param")?.dtype();
    scalar(&ops::cast(&c.var("LearningRate")?, dtype)?)
}

/// The gradient as a whole.
fn gradient(c: &Call<'_>) -> Result<Var> {
    super::value::like(&c.var("Grad")?, &c.var("Param")?.dims())
}

fn mixed(old: &Var, new: &Var, share: f64) -> Result<Var> {
    (&(old * share) + &(new * (1.0 - share))).check()
}

fn length(x: &Var) -> Result<Var> {
    ops::sqrt(&ops::sum(&ops::square(x)?, &[], false)?)
}

/// The update of Adagrad, with the sums of squares as they are now.
fn rooted(c: &Call<'_>, squares: Var) -> Result<Outs> {
    let root = (&ops::sqrt(&squares)? + c.float("epsilon", 1e-6)).check()?;
    let step = ops::mul(&rate(c)?, &ops::div(&gradient(c)?, &root)?)?;
    Ok(vec![("ParamOut", one(ops::sub(&c.var("Param")?, &step)?)), ("MomentOut", one(squares))])
}

/// The powers of the shares, before and after.
fn powers(c: &Call<'_>, beta1: f64, beta2: f64) -> Result<(Var, Var, Outs)> {
    let (first, second) = (c.var("Beta1Pow")?, c.var("Beta2Pow")?);
    let mut outs: Outs = Vec::new();
    if !c.flag("use_global_beta_pow", false) {
        outs.push(("Beta1PowOut", one((&first * beta1).check()?)));
        outs.push(("Beta2PowOut", one((&second * beta2).check()?)));
    }
    Ok((scalar(&first)?, scalar(&second)?, outs))
}

/// A number that is an input or an attribute.
fn number(c: &Call<'_>, slot: &str, name: &str, default: f64) -> Result<f64> {
    match c.known(slot)? {
        Some(tensor) => Ok(tensor.to_f64s().first().copied().unwrap_or(default)),
        None => Ok(c.float(name, default)),
    }
}

fn adam(c: &Call<'_>, p: Var, rate: Var) -> Result<Outs> {
    let g = gradient(c)?;
    let beta1 = number(c, "Beta1Tensor", "beta1", 0.9)?;
    let beta2 = number(c, "Beta2Tensor", "beta2", 0.999)?;
    let eps = number(c, "EpsilonTensor", "epsilon", 1e-8)?;
    let (mut first, mut second, mut outs) = powers(c, beta1, beta2)?;
    if matches!(c.val("Grad")?, Val::Rows(_)) && !outs.is_empty() {
        // With rows, Paddle writes the new powers over the old ones before it reads them.
        (first, second) = ((&first * beta1).check()?, (&second * beta2).check()?);
    }
    let (m1, m2) = (c.var("Moment1")?, c.var("Moment2")?);
    let mut mean = mixed(&m1, &g, beta1)?;
    let mut squares = mixed(&m2, &ops::square(&g)?, beta2)?;
    let root = ops::sqrt(&(1.0 - &second).check()?)?;
    let rate = ops::div(&ops::mul(&rate, &root)?, &(1.0 - &first).check()?)?;
    let below = ops::add(&ops::sqrt(&squares)?, &(&root * eps).check()?)?;
    let mut new = ops::sub(&p, &ops::mul(&rate, &ops::div(&mean, &below)?)?)?;
    if let (Val::Rows(rows), true) = (c.val("Grad")?, c.flag("lazy_mode", false)) {
        // Only rows that have a gradient change.
        let ones = ops::ones(&rows.index.dims(), p.dtype())?;
        let counts = ops::index_add(&ones, &rows.index, 0, rows.height)?;
        let mut dims = vec![Dim::size(1); p.rank()];
        dims[0] = rows.height;
        let named = ops::reshape(&ops::gt(&counts, &counts.literal(0.0))?, &dims)?;
        new = ops::where_(&named, &new, &p)?;
        mean = ops::where_(&named, &mean, &m1)?;
        squares = ops::where_(&named, &squares, &m2)?;
    }
    outs.extend([("ParamOut", one(new)), ("Moment1Out", one(mean)), ("Moment2Out", one(squares))]);
    Ok(outs)
}

fn lamb(c: &Call<'_>) -> Result<Outs> {
    let (p, g) = (c.var("Param")?, gradient(c)?);
    let (beta1, beta2) = (c.float("beta1", 0.9), c.float("beta2", 0.999));
    let (first, second, mut outs) = powers(c, beta1, beta2)?;
    let mean = mixed(&c.var("Moment1")?, &g, beta1)?;
    let squares = mixed(&c.var("Moment2")?, &ops::square(&g)?, beta2)?;
    let grown = ops::div(&mean, &(1.0 - &first).check()?)?;
    let root = ops::sqrt(&ops::div(&squares, &(1.0 - &second).check()?)?)?;
    let decay = c.float("weight_decay", 0.01);
    let below = (&root + c.float("epsilon", 1e-6)).check()?;
    let step = ops::add(&ops::div(&grown, &below)?, &(&p * decay).check()?)?;
    let step = match decay > 0.0 || c.flag("always_adapt", false) {
        true => {
            let (of_p, of_step) = (length(&p)?, length(&step)?);
            let zero = of_p.literal(0.0);
            let both = ops::logical_and(&ops::gt(&of_p, &zero)?, &ops::gt(&of_step, &zero)?)?;
            let ratio = ops::where_(&both, &ops::div(&of_p, &of_step)?, &of_p.literal(1.0))?;
            ops::mul(&ratio, &step)?
        }
        false => step,
    };
    outs.extend([
        ("ParamOut", one(ops::sub(&p, &ops::mul(&rate(c)?, &step)?)?)),
        ("Moment1Out", one(mean)),
        ("Moment2Out", one(squares)),
    ]);
    Ok(outs)
}

fn ftrl(c: &Call<'_>) -> Result<Outs> {
    let (p, g, rate) = (c.var("Param")?, gradient(c)?, rate(c)?);
    let (old, linear) = (c.var("SquaredAccumulator")?, c.var("LinearAccumulator")?);
    let (l1, l2) = (c.float("l1", 0.0) + 1e-10, c.float("l2", 0.0) + 1e-10);
    let power = -c.float("lr_power", -0.5);
    let new = ops::add(&old, &ops::square(&g)?)?;
    let raised = |x: &Var| match power == 0.5 {
        true => ops::sqrt(x),
        false => ops::pow(x, &x.literal(power)),
    };
    let pull = ops::div(&ops::sub(&raised(&new)?, &raised(&old)?)?, &rate)?;
    let linear = ops::sub(&ops::add(&linear, &g)?, &ops::mul(&pull, &p)?)?;
    let above = ops::sub(&(&ops::sign(&linear)? * l1).check()?, &linear)?;
    let below = (&ops::div(&raised(&new)?, &rate)? + 2.0 * l2).check()?;
    let is_far = ops::gt(&ops::abs(&linear)?, &linear.literal(l1))?;
    let updated = ops::where_(&is_far, &ops::div(&above, &below)?, &p.literal(0.0))?;
    Ok(vec![
        ("ParamOut", one(updated)),
        ("SquaredAccumOut", one(new)),
        ("LinearAccumOut", one(linear)),
    ])
}
